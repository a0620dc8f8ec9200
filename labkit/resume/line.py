"""The line y = 3x + 2, trained by arithmetic that anyone can follow: `Line`, one update at a time, and `train`.

16 samples x_i = (i - 7.5) / 4, batches of 4, weights from 0, mean squared error, heavy-ball momentum
(v = 0.8 v + g; w -= 0.02 v), float64. The order is shuffled in place before the first step, and again whenever a step
starts with all 16 samples used. Sums are written as loops: from Python 3.12 on, `sum` rounds floats differently.
"""

from __future__ import annotations

import hashlib
import math
import random
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labkit.errors import UsageError
from labkit.inputs import whole

if TYPE_CHECKING:
    from labkit.resume.line_report import Report

SAMPLES, BATCH, LEARNING_RATE, MOMENTUM = 16, 4, 0.02, 0.8
X = tuple((i - 7.5) / 4 for i in range(SAMPLES))
Y = tuple(3 * x + 2 for x in X)
DATASET = {
    "name": "y = 3x + 2",
    "samples": SAMPLES,
    "batch": BATCH,
    "sha256": hashlib.sha256(repr((X, Y)).encode()).hexdigest(),
}
FIELDS = ("parameters", "optimizer", "step", "samplePosition", "sampleOrder", "rngState", "dataset")
FAULTS = ("drop-optimizer", "reset-cursor", "reset-rng")
"""What a resume may forget: the momentum, the place in the order, or the shuffler's state."""


@dataclass(frozen=True)
class StepRecord:
    """One update, as it left the state.

    Attributes:
        step: updates done, this one included; from 1.
        ids: the samples of this update, in order.
        lr: learning rate of this update.
        w, b: the parameters after it; 3 and 2 are right.
        vw, vb: the momentum after it: the optimizer's memory. Zero after a resume: it was forgotten.
        mse: mean squared error over all 16 samples. Small in right and in wrong runs alike: no evidence of a resume.
        position: samples of this order that are used up; the cursor, 0 to 16.
        order: the order being read.
        rng: the first 16 digits of the SHA-256 of the shuffler's state.
    """

    step: int
    ids: tuple[int, ...]
    lr: float
    w: float
    b: float
    vw: float
    vb: float
    mse: float
    position: int
    order: tuple[int, ...]
    rng: str


class Line:
    """The model, its optimizer and its data order between two updates.

    Args:
        seed: of the shuffler.
    """

    def __init__(self, seed: int = 7) -> None:
        self.w = self.b = self.vw = self.vb = 0.0
        self.step = self.position = 0
        self.rng = random.Random(seed)
        self.order = list(range(SAMPLES))
        self.rng.shuffle(self.order)

    def advance(self) -> StepRecord:
        """Do one update; what it left behind."""
        if self.position == SAMPLES:
            self.rng.shuffle(self.order)
            self.position = 0
        ids = self.order[self.position : self.position + BATCH]
        gw = gb = 0.0
        for i in ids:
            error = self.w * X[i] + self.b - Y[i]
            gw += error * X[i]
            gb += error
        self.vw = MOMENTUM * self.vw + 2 / BATCH * gw
        self.vb = MOMENTUM * self.vb + 2 / BATCH * gb
        self.w -= LEARNING_RATE * self.vw
        self.b -= LEARNING_RATE * self.vb
        self.position += BATCH
        self.step += 1
        return StepRecord(
            self.step, tuple(ids), LEARNING_RATE, self.w, self.b, self.vw, self.vb, mean_squared_error(self.w, self.b),
            self.position, tuple(self.order), fingerprint(self.rng.getstate()),
        )  # fmt: skip

    def state(self) -> dict[str, Any]:
        """Everything the next update needs, as plain JSON values; a copy. The fields are those of `FIELDS`."""
        return {
            "parameters": {"w": self.w, "b": self.b},
            "optimizer": {
                "learningRate": LEARNING_RATE,
                "momentum": MOMENTUM,
                "velocity": {"w": self.vw, "b": self.vb},
            },
            "step": self.step,
            "samplePosition": self.position,
            "sampleOrder": list(self.order),
            "rngState": plain_rng(self.rng.getstate()),
            "dataset": dict(DATASET),
        }

    @classmethod
    def restore(cls, state: Mapping[str, Any]) -> Line:
        """A line that goes on where `state` was taken.

        Raises:
            UsageError: a field is missing or can't be; the text names it.
        """
        check_fields(state)
        line = cls()
        line.w, line.b = (_number(f"parameters.{k}", state["parameters"], k) for k in "wb")
        velocity = _part("optimizer", state["optimizer"], "velocity")
        line.vw, line.vb = (_number(f"optimizer.velocity.{k}", velocity, k) for k in "wb")
        for name, own in (("learningRate", LEARNING_RATE), ("momentum", MOMENTUM)):
            if (found := _number(f"optimizer.{name}", state["optimizer"], name)) != own:
                raise UsageError(f"optimizer.{name} is {found}, this line's is {own}: it is another configuration")
        line.step, line.position, line.order = read_place(state)
        try:
            line.rng.setstate(rng_from_plain(state["rngState"]))
        except (TypeError, ValueError, IndexError, OverflowError):
            raise UsageError("rngState isn't a state of random.Random: give what getstate() returned") from None
        return line


def train(
    steps: int,
    *,
    seed: int = 7,
    checkpoint: str | Path | None = None,
    resume: str | Path | Mapping[str, Any] | None = None,
    fault: str | None = None,
) -> Report:
    """Train the line until `steps` updates are done in all.

    Args:
        steps: the cumulative target: resuming a checkpoint of step 19 with 80 does 61 more.
        seed: of the shuffler, for a run from the start. A resumed run has the checkpoint's; there the seed serves
            only reset-rng, which starts the shuffler anew from it.
        checkpoint: write the state after the last update to this JSON file, atomically.
        resume: go on from this checkpoint: a file, or a mapping with the fields of `FIELDS`.
        fault: what the resume forgets, one of `FAULTS`.

    Raises:
        UsageError: an argument or the checkpoint can't be used; the text names it.
        WriteError: the checkpoint can't be written; the file that was there is as it was.
    """
    from labkit.resume.checkpoint_file import read_checkpoint, write_checkpoint
    from labkit.resume.line_report import Report

    steps = whole("steps", steps, 1)
    seed = whole("seed", seed, 0)
    check_fault(fault, FAULTS, resume)
    if resume is None:
        line, start = Line(seed), None
    else:
        state = read_checkpoint(resume) if isinstance(resume, str | Path) else resume
        line = Line.restore(spoil(state, fault, seed))
        start = line.step
        check_target(steps, start)
    records = tuple(line.advance() for _ in range(steps - line.step))
    state = line.state()
    if checkpoint is not None:
        write_checkpoint(checkpoint, state)
    return Report(seed, steps, start, fault, "python", records, state)


def spoil(state: Mapping[str, Any], fault: str | None, seed: int) -> dict[str, Any]:
    """The state as a resume that forgets something would restore it; `state` itself stays as it is."""
    check_fields(state)
    spoilt = dict(state)
    if fault == "drop-optimizer":
        spoilt["optimizer"] = {**spoilt["optimizer"], "velocity": {"w": 0.0, "b": 0.0}}
    elif fault == "reset-cursor":
        spoilt["samplePosition"] = 0
    elif fault == "reset-rng":
        spoilt["rngState"] = plain_rng(random.Random(seed).getstate())
    return spoilt


def mean_squared_error(w: float, b: float) -> float:
    """Over all 16 samples."""
    total = 0.0
    for x, y in zip(X, Y, strict=True):
        error = w * x + b - y
        total += error * error
    return total / SAMPLES


def fingerprint(rng_state: Any) -> str:
    """16 hexadecimal digits that tell one state of random.Random from another."""
    return hashlib.sha256(repr(rng_state).encode()).hexdigest()[:16]


def plain_rng(state: Any) -> list[Any]:
    """What `getstate()` returns, as JSON values."""
    version, numbers, spare = state
    return [version, list(numbers), spare]


def rng_from_plain(plain: Any) -> tuple[Any, ...]:
    """What `setstate()` takes; a state of the wrong size is refused here, since setstate's own text says little."""
    version, numbers, spare = plain
    if version != 3 or len(numbers) != 625 or not all(type(n) is int for n in numbers):
        raise ValueError
    return version, tuple(numbers), spare


def check_fault(fault: str | None, known: tuple[str, ...], resume: object) -> None:
    """UsageError where the fault has no such name, or where there is no resume to go wrong."""
    if fault is not None and fault not in known:
        raise UsageError(f"fault is {fault!r}: choose one of {', '.join(known)}")
    if fault is not None and resume is None:
        raise UsageError(f"fault is {fault!r} without a resume: a fault is what a resume forgets; give resume as well")


def check_target(steps: int, start: int) -> None:
    """UsageError where the target lies before the checkpoint."""
    if steps < start:
        raise UsageError(
            f"steps is {steps}, the checkpoint stands at {start}: steps is the cumulative target; give {start} or more"
        )


def check_fields(state: Any) -> None:
    """UsageError where a field of a checkpoint is missing, or comes from another task."""
    if not isinstance(state, Mapping):
        raise UsageError(f"the checkpoint is a {type(state).__name__}: give a mapping with {', '.join(FIELDS)}")
    for name in FIELDS:
        if name not in state:
            raise UsageError(f"the checkpoint lacks {name}: without it the next update can't be the same")
    for name in ("parameters", "optimizer", "dataset"):
        if not isinstance(state[name], Mapping):
            raise UsageError(f"{name} is {state[name]!r}: give a mapping")
    if dict(state["dataset"]) != DATASET:
        raise UsageError(f"dataset is {dict(state['dataset'])}: this line trains on {DATASET}")


def read_place(state: Mapping[str, Any]) -> tuple[int, int, list[int]]:
    """Step, position and order of a checkpoint, checked."""
    step = whole("step", state["step"], 0)
    position = whole("samplePosition", state["samplePosition"], 0)
    if position > SAMPLES or position % BATCH:
        raise UsageError(f"samplePosition is {position}: the cursor stands between batches, at 0, 4, 8, 12 or 16")
    order = state["sampleOrder"]
    if not isinstance(order, list | tuple) or any(type(i) is not int for i in order):
        raise UsageError("sampleOrder isn't a list of whole numbers: give the 16 samples in some order")
    if sorted(order) != list(range(SAMPLES)):
        raise UsageError(
            f"sampleOrder holds {len(order)} entries, {len(set(order))} different: give 0 to 15, each once"
        )
    return step, position, list(order)


def _part(name: str, holder: Any, key: str) -> Any:
    if not isinstance(holder, Mapping) or key not in holder:
        raise UsageError(f"{name} lacks {key}: give a number")
    return holder[key]


def _number(name: str, holder: Any, key: str) -> float:
    value = _part(name.rpartition(".")[0], holder, key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise UsageError(f"{name} is {value!r}: give a finite number")
    return float(value)
