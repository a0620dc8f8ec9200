"""Lab 09's apparatus: a disk that writes down what is done to it, saves that are damaged, a save in the background."""

from __future__ import annotations

import errno
import hashlib
import json
import random
import threading
from collections.abc import Callable, Mapping
from typing import Any

TARGET = "checkpoint.json"
"""The file that durable.publish replaces."""


class Disk:
    """A directory with few operations, each recorded. Texts are written in UTF-8.

    Args:
        fault: "flip": the first write that is whole in memory arrives with one bit changed; "fsync": the first fsync
            fails, after which the system may have dropped what wasn't written.
    """

    def __init__(self, fault: str = "") -> None:
        self.log: list[list[Any]] = []
        self.unsafe = False
        self._fault = fault
        self._files: dict[str, str] = {}
        self._failed: set[str] = set()

    def write(self, name: str, text: str) -> None:
        """Write a file: a new one, or over the old content of one that is there."""
        _text("name", name)
        _text("text", text)
        self.log.append(["truncate" if name in self._files else "create", name, "", ""])
        if text:
            self.log.append(["write", name, text, ""])
        if self._fault == "flip" and text:
            self._fault, middle = "", len(text) // 2
            text = text[:middle] + chr(ord(text[middle]) ^ 1) + text[middle + 1 :]
        self._files[name] = text
        self._failed.discard(name)

    def fsync(self, name: str) -> None:
        """Make a file's content durable. OSError: it can't be."""
        self._need(name)
        if self._fault == "fsync":
            self._fault = ""
            self._failed.add(name)
            raise OSError(errno.EIO, "Input/output error", name)
        self.log.append(["fsync", name, "", ""])

    def read(self, name: str) -> str:
        """What is in a file now."""
        return self._need(name)

    def exists(self, name: str) -> bool:
        """Whether there is such a file."""
        return name in self._files

    def rename(self, old: str, new: str) -> None:
        """Give a file another name, at once; a file that had that name is replaced."""
        self._files[new] = self._need(old)
        self.unsafe |= old in self._failed and new == TARGET
        if old != new:
            del self._files[old]
            self.log.append(["rename", old, "", new])

    def remove(self, name: str) -> None:
        """Remove a file."""
        self._need(name)
        del self._files[name]
        self.log.append(["unlink", name, "", ""])

    def fsync_dir(self) -> None:
        """Make the names in the directory durable."""
        self.log.append(["fsync_dir", "", "", ""])

    def _need(self, name: str) -> str:
        if name not in self._files:
            raise FileNotFoundError(errno.ENOENT, "No such file", name)
        return self._files[name]


def _text(what: str, value: Any) -> None:
    if type(value) is not str:
        raise TypeError(f"{what} is a {type(value).__name__}: give text")


def recorded(save: Callable[[Disk, str], Any]) -> Callable[..., dict[str, Any]]:
    """`save` at work on a recording disk, as plain data.

    The result takes the texts to save, the first of which is on the disk at the start, and a fault of the disk. It
    gives the operations, the number of them after each save, the content in the end, and what was raised.
    """

    def run(texts: list[str], fault: str = "") -> dict[str, Any]:
        disk = Disk()
        disk._files[TARGET] = texts[0]
        marks, raised = [], ""
        disk._fault = fault
        for text in texts[1:]:
            try:
                save(disk, text)
            except NotImplementedError:
                raise
            except Exception as error:
                if not fault:
                    raise
                raised = type(error).__name__
                break
            marks.append(len(disk.log))
        found = disk._files.get(TARGET)
        return {"operations": disk.log, "marks": marks, "content": found, "raised": raised, "unsafe": disk.unsafe}

    run.__name__ = getattr(save, "__name__", "save")
    return run


# durable.torn ------------------------------------------------------------------------------------------------------

KINDS = ("whole", "torn", "zeros", "flipped", "mixed")
"""What may have become of a save: nothing bad; cut short; blocks that never arrived; a bit; two saves in one."""

Folder = dict[str, bytes]


def kinds_of(seed: int) -> dict[str, str]:
    """What became of each of the six folders: every kind, and one twice."""
    rng = random.Random(f"{seed}/torn")
    kinds = [*KINDS, rng.choice(KINDS[1:])]
    rng.shuffle(kinds)
    return dict(zip("ABCDEF", kinds, strict=True))


def damaged(seed: int) -> dict[str, Folder]:
    """Six folders as they were found after a power cut: weights.json, momentum.json, manifest.json, in bytes."""
    rng = random.Random(f"{seed}/bytes")
    return {letter: _folder(kind, rng) for letter, kind in kinds_of(seed).items()}


def _folder(kind: str, rng: random.Random) -> Folder:
    step = rng.randint(100, 900)
    files = {f"{name}.json": _values(step, rng) for name in ("weights", "momentum")}
    sums = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    hit = rng.choice(sorted(files))
    content = files[hit]
    if kind == "torn":
        files[hit] = content[: len(content) * 2 // 3]
    elif kind == "zeros":
        half = len(content) // 2
        files[hit] = content[:half] + b"\0" * (len(content) - half)
    elif kind == "flipped":
        files[hit] = _one_bit(content, rng)
    elif kind == "mixed":
        files[hit] = _values(step - 50, rng)
    return {**files, "manifest.json": json.dumps({"step": step, "sha256": sums}).encode()}


def _values(step: int, rng: random.Random) -> bytes:
    return json.dumps({"step": step, "values": [round(rng.uniform(-3, 3), 6) for _ in range(6)]}).encode()


def _one_bit(content: bytes, rng: random.Random) -> bytes:
    """One digit after a point becomes its neighbour: still a number, and another one."""
    after = [i for i in range(content.index(b"values"), len(content) - 1) if content[i : i + 1] == b"."]
    place = rng.choice(after) + 1
    return content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]


def loads(folder: Mapping[str, bytes]) -> bool:
    """Whether a loader that knows no checksums takes the folder without an error."""
    try:
        return all("values" in json.loads(content) for name, content in folder.items() if name != "manifest.json")
    except ValueError:
        return False


# durable.snapshot --------------------------------------------------------------------------------------------------

SCENES = ("flat", "nested", "tensors", "full disk")
_PATIENCE = 5.0  # seconds for which a write waits to see the caller go on; only a caller that waits pays them
_patched = threading.Lock()


def in_background(start_save: Callable[[Any, Callable[[Any], None]], Any]) -> Callable[[str], dict[str, Any]]:
    """`start_save` while training goes on: its thread gets to run only after the state has been changed.

    The result takes a scene of `SCENES` and gives what was written beside the state at the call, as plain data.
    """

    def run(scene: str) -> dict[str, Any]:
        state = _state(scene)
        at_call = _plain(state)
        caller, went_on, released = threading.get_ident(), threading.Event(), threading.Event()
        notes: dict[str, Any] = {"written": None, "same_thread": False, "in_time": True, "waited": True}

        def write(copy: Any) -> None:
            notes["same_thread"] |= threading.get_ident() == caller
            if not notes["same_thread"]:
                released.wait(_PATIENCE)  # a slow disk: whoever doesn't wait for it is gone before
            if scene == "full disk":
                raise OSError(errno.ENOSPC, "No space left on device")
            notes["written"] = _plain(copy)

        original = threading.Thread.run

        def late(thread: threading.Thread) -> None:
            notes["in_time"] &= went_on.wait(_PATIENCE)
            original(thread)

        wait = None
        with _patched:
            threading.Thread.run = late  # type: ignore[method-assign, assignment]
            try:
                try:
                    wait = start_save(state, write)
                finally:
                    _train(state)
                    went_on.set()
                slow = threading.Timer(0.25, released.set)
                slow.start()
                raised = _end(wait)
                notes["waited"] = released.is_set() or notes["same_thread"]
                slow.join()
            except OSError as error:  # from start_save itself: it wrote at once
                raised = f"{type(error).__name__} in start_save"
            finally:
                threading.Thread.run = original  # type: ignore[method-assign]
        return {**notes, "at_call": at_call, "now": _plain(state), "raised": raised}

    run.__name__ = getattr(start_save, "__name__", "start_save")
    return run


def _end(wait: Any) -> str:
    if wait is ...:
        raise NotImplementedError
    if not callable(wait):
        raise TypeError(f"start_save returned {wait!r}: return a function that waits for the end")
    try:
        wait()
    except OSError as error:
        return type(error).__name__
    return ""


def _state(scene: str) -> dict[str, Any]:
    if scene == "tensors":
        import torch

        return {"step": 3, "model": {"w": torch.tensor([1.0, 2.0])}, "momentum": torch.tensor([0.5, 0.25])}
    if scene == "nested":
        return {"step": 3, "model": {"w": [1.0, 2.0]}, "optimizer": {"groups": [{"lr": 0.02, "v": [0.5, 0.25]}]}}
    return {"step": 3, "w": [1.0, 2.0], "v": [0.5, 0.25]}


def _train(state: Any) -> None:
    """An update in place, as optimizers do it."""
    pairs = state.items() if isinstance(state, dict) else enumerate(state)
    for key, value in list(pairs):
        if isinstance(value, dict | list):
            _train(value)
        elif isinstance(value, int | float):
            state[key] = value + 1
        else:
            value.add_(1)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value.tolist() if hasattr(value, "tolist") else value
