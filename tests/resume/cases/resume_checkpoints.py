"""Reports about the checkpoint itself: steps mixed in it, an incomplete one that is the newest, bytes that changed."""

from __future__ import annotations

import contextlib
import hashlib
import threading

import torch
from resume_case import Case, Trainer, write

from labkit.resume.kill import AFTER_SAVE, AFTER_STEP, DAMAGED, DURING_SAVE


class Background(Trainer):
    """A thread writes while training goes on. The fault hands it the live tensors of the model."""

    def start(self, folder):
        self.moved = threading.Event()
        self.writer = None
        return super().start(folder)

    def save(self, state, folder):
        held = super().pack(state)
        held["optimizer"] = copied(held["optimizer"])
        if not self.fault:
            held["model"] = copied(held["model"])
        self.moved.clear()
        self.writer = threading.Thread(target=self.publish, args=(held, folder / self.name()))
        self.writer.start()

    def publish(self, held, path):
        self.moved.wait(5)  # a disk is slower than a step
        write(held, path)

    def step(self, state):
        ids = super().step(state)
        self.moved.set()
        if self.writer is not None:
            self.writer.join()  # at most one save under way
        return ids


def copied(held):
    if isinstance(held, torch.Tensor):
        return held.clone()
    if isinstance(held, dict):
        return {key: copied(value) for key, value in held.items()}
    return [copied(value) for value in held] if isinstance(held, list) else held


class Incomplete(Trainer):
    """One file a step, written in place; the one with the largest number is loaded, whole or not."""

    def save(self, state, folder):
        path = folder / f"{state['step']:06d}.pt"
        torch.save(self.pack(state), path) if self.fault else write(self.pack(state), path)

    def read(self, folder):
        found = sorted(folder.glob("*.pt"))
        return torch.load(found[-1], weights_only=True) if found else None


class Flipped(Trainer):
    """torch.load takes changed bytes for weights. The twin writes a checksum, and falls back to the save before."""

    def build(self):
        state = super().build()
        state["table"] = torch.zeros(4096)
        return state

    def step(self, state):
        ids = super().step(state)
        state["table"] += len(ids)
        return ids

    def pack(self, state):
        return super().pack(state) | {"table": state["table"].clone()}

    def unpack(self, state, held):
        super().unpack(state, held)
        state["table"] = held["table"].clone()

    def save(self, state, folder):
        path = folder / f"{state['step']:06d}.pt"
        write(self.pack(state), path)
        if not self.fault:
            path.with_suffix(".sum").write_text(hashlib.sha256(path.read_bytes()).hexdigest())

    def read(self, folder):
        for path in sorted(folder.glob("*.pt"), reverse=True):
            with contextlib.suppress(FileNotFoundError):
                if self.fault or path.with_suffix(".sum").read_text() == hashlib.sha256(path.read_bytes()).hexdigest():
                    return torch.load(path, weights_only=True)
        return None


CASES = [
    Case("Lightning#20953", "a background save writes the next step's weights", "step across components", Background,
         {"phases": (AFTER_STEP,)}),
    Case("transformers#35782", "the newest checkpoint is incomplete, and is loaded", "checkpoint", Incomplete,
         {"phases": (DURING_SAVE, AFTER_SAVE)}),
    Case("pytorch#126952", "one flipped byte loads as a weight", "checkpoint", Flipped,
         {"phases": (DAMAGED,), "steps": 4}),
]  # fmt: skip
