"""The same line in torch: nn.Linear in float64, SGD with momentum, a schedule, and state dicts to save and restore."""

from __future__ import annotations

import io
import pickle
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import nn

from labkit.atomic_file import write_atomic
from labkit.errors import UsageError, reason
from labkit.inputs import whole
from labkit.resume.line import (
    BATCH,
    DATASET,
    FAULTS,
    LEARNING_RATE,
    MOMENTUM,
    SAMPLES,
    StepRecord,
    X,
    Y,
    check_fault,
    check_target,
    fingerprint,
    mean_squared_error,
    plain_rng,
    read_place,
    rng_from_plain,
)
from labkit.resume.line_report import Report

TORCH_FAULTS = (*FAULTS, "reset-schedule")
_PARTS = ("model", "optimizer", "scheduler", "step", "samplePosition", "sampleOrder", "rngState", "dataset")


class TorchLine:
    """The line between two updates, held in torch's own objects.

    Args:
        seed: of the shuffler.
        decay: the learning rate of update n (from 0) is 0.02 * decay**n.

    Attributes:
        model: nn.Linear(1, 1) in float64, both weights 0 at first.
        optimizer: SGD with momentum 0.8.
        scheduler: LambdaLR, stepped once an update.
    """

    def __init__(self, seed: int = 7, decay: float = 1.0) -> None:
        self.model = nn.Linear(1, 1, dtype=torch.float64)
        for parameter in self.model.parameters():
            nn.init.zeros_(parameter)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=LEARNING_RATE, momentum=MOMENTUM)
        self.scheduler = torch.optim.lr_scheduler.LambdaLR(self.optimizer, lambda update: decay**update)
        self.step = self.position = 0
        self.rng = random.Random(seed)
        self.order = list(range(SAMPLES))
        self.rng.shuffle(self.order)
        self._x = torch.tensor(X, dtype=torch.float64)[:, None]
        self._y = torch.tensor(Y, dtype=torch.float64)[:, None]

    def advance(self) -> StepRecord:
        """Do one update; what it left behind."""
        if self.position == SAMPLES:
            self.rng.shuffle(self.order)
            self.position = 0
        ids = self.order[self.position : self.position + BATCH]
        self.optimizer.zero_grad()
        loss: torch.Tensor = nn.functional.mse_loss(self.model(self._x[ids]), self._y[ids])
        loss.backward()  # type: ignore[no-untyped-call]
        rate = float(self.optimizer.param_groups[0]["lr"])
        self.optimizer.step()
        self.scheduler.step()
        self.position += BATCH
        self.step += 1
        (w, vw), (b, vb) = (self._pair(parameter) for parameter in (self.model.weight, self.model.bias))
        return StepRecord(
            self.step, tuple(ids), rate, w, b, vw, vb, mean_squared_error(w, b), self.position, tuple(self.order),
            fingerprint(self.rng.getstate()),
        )  # fmt: skip

    def _pair(self, parameter: torch.Tensor) -> tuple[float, float]:
        memory = self.optimizer.state.get(parameter, {}).get("momentum_buffer")
        return parameter.item(), 0.0 if memory is None else memory.item()

    def state(self) -> dict[str, Any]:
        """The parts to save. As in any state_dict the tensors are live: copy them before the next update."""
        return {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "scheduler": self.scheduler.state_dict(),
            "step": self.step,
            "samplePosition": self.position,
            "sampleOrder": list(self.order),
            "rngState": plain_rng(self.rng.getstate()),
            "dataset": dict(DATASET),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on where `state` was taken.

        Raises:
            UsageError: a part is missing or doesn't fit.
        """
        if missing := [name for name in _PARTS if name not in state]:
            raise UsageError(f"the checkpoint lacks {missing[0]}: without it the next update can't be the same")
        if dict(state["dataset"]) != DATASET:
            raise UsageError(f"dataset is {state['dataset']}: this line trains on {DATASET}")
        self.step, self.position, self.order = read_place(state)
        try:
            self.model.load_state_dict(state["model"])
            self.optimizer.load_state_dict(state["optimizer"])
            self.scheduler.load_state_dict(state["scheduler"])
            self.rng.setstate(rng_from_plain(state["rngState"]))
        except (RuntimeError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise UsageError(f"the checkpoint doesn't fit this line: {' '.join(str(error).split())}") from None


def train_torch(
    steps: int,
    *,
    seed: int = 7,
    decay: float = 1.0,
    checkpoint: str | Path | None = None,
    resume: str | Path | Mapping[str, Any] | None = None,
    fault: str | None = None,
) -> Report:
    """`train` in torch: the same steps, within 1e-12 of the line's values where decay is 1.

    Args:
        steps, seed: as for `train`.
        decay: the learning rate of update n (from 0) is 0.02 * decay**n; give the same again when resuming.
        checkpoint: write the state after the last update here: torch.save, put in place atomically.
        resume: a checkpoint file (read with weights_only, so it runs no code), or what `TorchLine.state` returns.
        fault: one of `TORCH_FAULTS`: those of `train`, or "reset-schedule".

    Raises:
        UsageError: an argument or the checkpoint can't be used.
        WriteError: the checkpoint can't be written.
    """
    steps, seed = whole("steps", steps, 1), whole("seed", seed, 0)
    if isinstance(decay, bool) or not isinstance(decay, int | float) or not 0 < decay <= 1:
        raise UsageError(f"decay is {decay!r}: give a number above 0, at most 1")
    check_fault(fault, TORCH_FAULTS, resume)
    line, start = TorchLine(seed, decay), None
    if resume is not None:
        state = dict(_read(resume) if isinstance(resume, str | Path) else resume)
        line.restore(state)
        _forget(line, fault, seed)
        start = line.step
        check_target(steps, start)
    records = tuple(line.advance() for _ in range(steps - line.step))
    if checkpoint is not None:
        buffer = io.BytesIO()
        torch.save(line.state(), buffer)
        write_atomic(checkpoint, buffer.getvalue())
    return Report(seed, steps, start, fault, "torch", records, _plain(line))


def _forget(line: TorchLine, fault: str | None, seed: int) -> None:
    """What a resume leaves out, left out."""
    if fault == "drop-optimizer":
        line.optimizer.state.clear()
    elif fault == "reset-cursor":
        line.position = 0
    elif fault == "reset-rng":
        line.rng = random.Random(seed)
    elif fault == "reset-schedule":
        line.scheduler.last_epoch = 0
        line.optimizer.param_groups[0]["lr"] = LEARNING_RATE


def _plain(line: TorchLine) -> dict[str, Any]:
    """The state in the line's own fields, so that reports of both can be compared."""
    (w, vw), (b, vb) = (line._pair(parameter) for parameter in (line.model.weight, line.model.bias))
    rate = float(line.optimizer.param_groups[0]["lr"])
    return {
        "parameters": {"w": w, "b": b},
        "optimizer": {"learningRate": rate, "momentum": MOMENTUM, "velocity": {"w": vw, "b": vb}},
        "step": line.step,
        "samplePosition": line.position,
        "sampleOrder": list(line.order),
        "rngState": plain_rng(line.rng.getstate()),
        "dataset": dict(DATASET),
    }


def _read(path: str | Path) -> Mapping[str, Any]:
    try:
        found = torch.load(path, weights_only=True)
    except OSError as error:
        raise UsageError(f"{path} can't be read: {reason(error)}") from None
    except (RuntimeError, pickle.UnpicklingError, EOFError, ValueError) as error:
        raise UsageError(f"{path} isn't a checkpoint of train_torch: {str(error).splitlines()[0]}") from None
    if not isinstance(found, Mapping):
        raise UsageError(f"{path} holds a {type(found).__name__}: give a checkpoint of train_torch")
    return found
