"""One public report as a small program, with a clean twin; and the trainer that the programs share."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import nn

from labkit.resume.auditing import audit
from labkit.resume.auditing_report import ResumeReport
from labkit.resume.kill import AFTER_SAVE

SAMPLES, BATCH = 8, 2
PER_EPOCH = SAMPLES // BATCH


@dataclass(frozen=True)
class Case:
    """`make(fault)` builds the program; `component` is what the audit must name in it."""

    report: str
    wrong: str
    component: str
    make: Callable[[bool], Any]
    options: dict[str, Any] = field(default_factory=dict)

    def run(self, *, fault: bool, kill_at: str | list[int] = "every") -> ResumeReport:
        """Audit the program or its twin; `kill_at`: in which steps to kill, where the case keeps to the usual six."""
        settings: dict[str, Any] = {"steps": 6, "phases": (AFTER_SAVE,), "twice": False, "timeout": 60}
        if "steps" not in self.options:
            settings["kill_at"] = kill_at
        return audit(self.make(fault), **(settings | self.options))


class Trainer:
    """A plain loop: 8 samples in batches of 2, a checkpoint after every step, published by a rename.

    A case changes one thing: what is packed, how it is unpacked, or what a step does.
    """

    def __init__(self, fault: bool) -> None:
        self.fault = fault

    def start(self, folder: Path) -> dict[str, Any]:
        torch.manual_seed(1)
        state = self.build()
        held = self.read(folder)
        if held is not None:
            self.unpack(state, held)
        return state

    def build(self) -> dict[str, Any]:
        model = nn.Sequential(nn.Linear(3, 6), nn.Tanh(), nn.Linear(6, 1))
        optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
        return {"step": 0, "epoch": 0, "cursor": 0, "model": model, "optimizer": optimizer}

    def order(self, state: dict[str, Any]) -> list[int]:
        shuffled = torch.randperm(SAMPLES, generator=torch.Generator().manual_seed(100 + state["epoch"]))
        return shuffled.tolist()

    def batch(self, state: dict[str, Any]) -> list[int]:
        """The ids of the next batch; moves the cursor."""
        if state["cursor"] == PER_EPOCH:
            state["epoch"], state["cursor"] = state["epoch"] + 1, 0
        start = state["cursor"] * BATCH
        state["cursor"] += 1
        return self.order(state)[start : start + BATCH]

    def step(self, state: dict[str, Any]) -> Any:
        ids = self.batch(state)
        state["optimizer"].zero_grad()
        loss(state["model"], ids).backward()
        state["optimizer"].step()
        state["step"] += 1
        return ids

    def pack(self, state: dict[str, Any]) -> dict[str, Any]:
        held = {name: state[name] for name in ("step", "epoch", "cursor")}
        return held | {"model": state["model"].state_dict(), "optimizer": state["optimizer"].state_dict()}

    def unpack(self, state: dict[str, Any], held: dict[str, Any]) -> None:
        state.update({name: held[name] for name in ("step", "epoch", "cursor")})
        state["model"].load_state_dict(held["model"])
        state["optimizer"].load_state_dict(held["optimizer"])

    def name(self) -> str:
        return "checkpoint.pt"

    def save(self, state: dict[str, Any], folder: Path) -> None:
        write(self.pack(state), folder / self.name())

    def read(self, folder: Path) -> dict[str, Any] | None:
        path = folder / self.name()
        return torch.load(path, weights_only=True) if path.exists() else None


def write(held: Any, path: Path) -> None:
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    torch.save(held, temporary)
    os.replace(temporary, path)


def inputs(ids: list[int]) -> torch.Tensor:
    return torch.sin(torch.tensor(ids, dtype=torch.float32)[:, None] * torch.tensor([0.7, 1.3, 2.1]))


def loss(model: nn.Module, ids: list[int]) -> torch.Tensor:
    x = inputs(ids)
    return (model(x) - x.sum(1, keepdim=True)).pow(2).mean()
