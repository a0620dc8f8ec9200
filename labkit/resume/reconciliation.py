"""The first component in which two runs differ, and what it does to the update after it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from labkit.errors import UsageError
from labkit.resume.checkpoint_file import TASK, read_checkpoint, read_json
from labkit.resume.line import BATCH, SAMPLES, Line, StepRecord, fingerprint, rng_from_plain
from labkit.resume.line_report import KIND, Report

if TYPE_CHECKING:
    import pandas as pd

COMPONENTS = (
    "dataset", "sampleIds", "learningRate", "parameters", "optimizer", "samplePosition", "sampleOrder", "rngState",
)  # fmt: skip
"""What is compared at each step, in this order: what an update reads, what it writes, what the next one will read."""

Source: TypeAlias = "Report | Mapping[str, Any] | str | Path"


@dataclass(frozen=True)
class Divergence:
    """Where two runs part.

    Attributes:
        component: the first of `COMPONENTS` that differs at `step`.
        step: the first step at which anything differs; the state meant is the one after it.
        a, b: the component in the first and in the second run.
        effect: what the difference does to the next update, in words and figures.
        first: for each component, the first step at which it differs; None where it never does. One that differs later
            than the others is a consequence, or shows only when it is next used.
        compared: first and last step that both runs hold.
    """

    component: str
    step: int
    a: Any
    b: Any
    effect: str
    first: dict[str, int | None]
    compared: tuple[int, int]

    def text(self) -> str:
        """The finding in a few lines, both values with every digit."""
        others = [
            f"{name} at {step}" for name, step in self.first.items() if step is not None and name != self.component
        ]
        never = [name for name, step in self.first.items() if step is None]
        return "\n".join(
            [
                f"first difference: {self.component} after step {self.step}",
                f"  A: {show(self.a)}",
                f"  B: {show(self.b)}",
                f"next update: {self.effect}",
                f"also different: {', '.join(others) or 'nothing'}",
                f"never different: {', '.join(never) or 'nothing'} (steps {self.compared[0]} to {self.compared[1]})",
            ]
        )

    def frame(self) -> pd.DataFrame:
        """One row a component: component, first step that differs (missing where it never does)."""
        import pandas as pd

        steps = pd.array(list(self.first.values()), dtype="Int64")
        return pd.DataFrame({"component": list(self.first), "first difference": steps})

    def to_json(self) -> str:
        """Everything, as JSON."""
        return json.dumps(asdict(self), allow_nan=False)


@dataclass(frozen=True)
class Trajectory:
    """A run as it is compared: its components by step, and its last whole state where there is one."""

    steps: dict[int, dict[str, Any]]
    state: Mapping[str, Any] | None
    simulated: bool


def reconcile(a: Source, b: Source) -> Divergence | None:
    """The first difference between two runs, or None where every step that both hold is the same, bit for bit.

    Args:
        a, b: reports of `train`, checkpoints (mappings with its fields), or paths of JSON files with either. A
            checkpoint is one step. Names, dates and places of files, seeds and settings of a run aren't state.

    Raises:
        UsageError: one can't be read, or they have no step in common.
    """
    one, two = trajectory(a), trajectory(b)
    common = sorted(one.steps.keys() & two.steps.keys())
    if not common:
        raise UsageError(
            f"nothing to compare: the first holds {_held(one)}, the second {_held(two)}; no step is in both"
        )
    first: dict[str, int | None] = dict.fromkeys(COMPONENTS)
    for step in common:
        left, right = one.steps[step], two.steps[step]
        for name in COMPONENTS:
            if first[name] is None and name in left and name in right and left[name] != right[name]:
                first[name] = step
    differing = [step for step in first.values() if step is not None]
    if not differing:
        return None
    step = min(differing)
    component = next(name for name in COMPONENTS if first[name] == step)
    return Divergence(
        component, step, one.steps[step][component], two.steps[step][component], _effect(component, step, one, two),
        first, (common[0], common[-1]),
    )  # fmt: skip


def trajectory(source: Source) -> Trajectory:
    """A report or a checkpoint, in memory or in a file, as what is compared."""
    if isinstance(source, Report):
        return _of_report(source)
    if isinstance(source, Mapping):
        return _of_checkpoint(source)
    if not isinstance(source, str | Path):
        raise UsageError(f"can't compare a {type(source).__name__}: give a report, a checkpoint or a path of one")
    found = read_json(source, "report or checkpoint")
    if found.get("kind") == KIND:
        return _of_report(Report.from_dict(found, str(source)))
    if found.get("task") == TASK:
        return _of_checkpoint(read_checkpoint(source))
    raise UsageError(f"{source} is neither a report of train nor a checkpoint of the line")


def show(value: Any) -> str:
    """A component's value as a person reads it, every digit kept."""
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {show(part)}" for key, part in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(show(part) for part in value)
    return value if isinstance(value, str) else repr(value)


def next_shuffle(step: int, position: int) -> int:
    """The step that will shuffle anew, for a state after `step` with the cursor at `position`."""
    return step + (SAMPLES - position) // BATCH + 1


def _of_report(report: Report) -> Trajectory:
    dataset = dict(report.state["dataset"])
    steps = {record.step: {"dataset": dataset, **_components(record)} for record in report.records}
    own = report.arithmetic == "python"
    if not steps:
        return Trajectory(_of_checkpoint(report.state).steps, report.state if own else None, own)
    return Trajectory(steps, report.state if own else None, own)


def _of_checkpoint(state: Mapping[str, Any]) -> Trajectory:
    line = Line.restore(state)
    found = {
        "dataset": dict(state["dataset"]),
        "learningRate": state["optimizer"]["learningRate"],
        "parameters": {"w": line.w, "b": line.b},
        "optimizer": {"w": line.vw, "b": line.vb},
        "samplePosition": line.position,
        "sampleOrder": list(line.order),
        "rngState": fingerprint(rng_from_plain(state["rngState"])),
    }
    return Trajectory({line.step: found}, state, True)


def _components(record: StepRecord) -> dict[str, Any]:
    return {
        "sampleIds": list(record.ids),
        "learningRate": record.lr,
        "parameters": {"w": record.w, "b": record.b},
        "optimizer": {"w": record.vw, "b": record.vb},
        "samplePosition": record.position,
        "sampleOrder": list(record.order),
        "rngState": record.rng,
    }


def _held(found: Trajectory) -> str:
    low, high = min(found.steps), max(found.steps)
    return f"step {low}" if low == high else f"steps {low} to {high}"


def _effect(component: str, step: int, one: Trajectory, two: Trajectory) -> str:
    """What the next update makes of it: the component's own part in words, then what both runs really do next."""
    left, right = one.steps[step], two.steps[step]
    said = _WORDS[component](step, left, right)
    here, there = _following(one, step), _following(two, step)
    if here is None or there is None:
        return said
    moves = []
    for after, before in ((here, left), (there, right)):
        w, b = (after["parameters"][k] - before["parameters"][k] for k in "wb")
        moves.append(f"w by {w:+.4g} and b by {b:+.4g}")
    if here["sampleIds"] != there["sampleIds"]:
        said += f"; step {step + 1} reads samples {show(here['sampleIds'])} in A, {show(there['sampleIds'])} in B"
    same = moves[0] == moves[1]
    return f"{said}; step {step + 1} moves {moves[0]}{' in both' if same else f' in A, {moves[1]} in B'}"


def _following(found: Trajectory, step: int) -> dict[str, Any] | None:
    """The step after `step`: recorded, or worked out from the last state."""
    if step + 1 in found.steps:
        return found.steps[step + 1]
    if found.state is None or found.state["step"] != step:
        return None
    return _components(Line.restore(found.state).advance())


def _dataset(step: int, a: Mapping[str, Any], b: Mapping[str, Any]) -> str:
    return "the runs learn from different data: no later step can be compared"


def _ids(step: int, a: Mapping[str, Any], b: Mapping[str, Any]) -> str:
    return f"step {step} took its gradient on other samples, so step {step + 1} starts from other weights and momentum"


def _rate(step: int, a: Mapping[str, Any], b: Mapping[str, Any]) -> str:
    return f"the schedule is not where it was: every update is scaled by {b['learningRate']!r} where A has its own rate"


def _parameters(step: int, a: Mapping[str, Any], b: Mapping[str, Any]) -> str:
    gap = {k: b["parameters"][k] - a["parameters"][k] for k in "wb"}
    return f"its gradient is taken at other weights (w off by {gap['w']:+.4g}, b by {gap['b']:+.4g})"


def _optimizer(step: int, a: Mapping[str, Any], b: Mapping[str, Any]) -> str:
    gap = {k: b["optimizer"][k] - a["optimizer"][k] for k in "wb"}
    return f"it carries other momentum on (vw off by {gap['w']:+.4g}, vb by {gap['b']:+.4g})"


def _position(step: int, a: Mapping[str, Any], b: Mapping[str, Any]) -> str:
    gap = b["samplePosition"] - a["samplePosition"]
    return f"it reads from another place: {abs(gap)} samples are {'skipped' if gap > 0 else 'read again'} in B"


def _order(step: int, a: Mapping[str, Any], b: Mapping[str, Any]) -> str:
    return "it reads other samples, or the same in another order, from here to the next shuffle and after it"


def _rng(step: int, a: Mapping[str, Any], b: Mapping[str, Any]) -> str:
    shuffles = next_shuffle(step, a["samplePosition"])
    if shuffles == step + 1:
        return f"step {shuffles} shuffles with it, so it reads other samples"
    return f"nothing yet, the order is already drawn; step {shuffles} shuffles and will read other samples"


_WORDS: dict[str, Callable[[int, Mapping[str, Any], Mapping[str, Any]], str]] = {
    "dataset": _dataset,
    "sampleIds": _ids,
    "learningRate": _rate,
    "parameters": _parameters,
    "optimizer": _optimizer,
    "samplePosition": _position,
    "sampleOrder": _order,
    "rngState": _rng,
}
