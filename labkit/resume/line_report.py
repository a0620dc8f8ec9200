"""What `train` returns: every update of one run, and the state it ended in."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labkit.atomic_file import write_atomic
from labkit.errors import UsageError
from labkit.resume.checkpoint_file import read_json
from labkit.resume.line import StepRecord, check_fields

if TYPE_CHECKING:
    import pandas as pd

    from labkit.picture import Picture

KIND, VERSION = "labkit.line.report", 1


@dataclass(frozen=True, repr=False)
class Report:
    """One run of the line, or the part of it after a resume.

    Attributes:
        seed: of the shuffler, as given to `train`.
        steps: the cumulative target.
        resumed_from: updates in the checkpoint it went on from; None for a run from the start.
        fault: what the resume forgot; None for a right one.
        arithmetic: "python" (the standard library) or "torch" (the twin).
        records: one StepRecord an update done here, in order. Empty: the checkpoint had reached the target.
        state: the checkpoint's fields after the last update, as plain values.
    """

    seed: int
    steps: int
    resumed_from: int | None
    fault: str | None
    arithmetic: str
    records: tuple[StepRecord, ...]
    state: dict[str, Any]

    @property
    def w(self) -> float:
        """The slope at the end; 3 is right."""
        return float(self.state["parameters"]["w"])

    @property
    def b(self) -> float:
        """The intercept at the end; 2 is right."""
        return float(self.state["parameters"]["b"])

    @property
    def mse(self) -> float:
        """Mean squared error over all samples at the end. Small in right and wrong resumes alike."""
        from labkit.resume.line import mean_squared_error

        return mean_squared_error(self.w, self.b)

    def frame(self) -> pd.DataFrame:
        """One row an update: step, ids, lr, w, b, vw, vb, mse, position, order, rng."""
        import pandas as pd

        return pd.DataFrame([asdict(record) for record in self.records], columns=[f.name for f in fields(StepRecord)])

    def plot(self, other: Report | None = None) -> Picture:
        """The run's path; with `other`, two trajectories and where they part."""
        from labkit.resume.line_drawing import draw_run, draw_two

        return draw_run(self) if other is None else draw_two(self, other)

    def text(self) -> str:
        """The run in two lines, with every digit of the result."""
        start = "from the start" if self.resumed_from is None else f"resumed from step {self.resumed_from}"
        flaw = f", fault {self.fault}" if self.fault else ""
        twin = "" if self.arithmetic == "python" else f", {self.arithmetic}"
        return (
            f"step {self.state['step']} ({start}, {len(self.records)} updates done here{flaw}{twin})\n"
            f"w {self.w!r}  b {self.b!r}  MSE {self.mse:.6g}"
        )

    def __repr__(self) -> str:
        """The text in one line."""
        return f"Report({self.text()})".replace("\n", "; ")

    def to_json(self) -> str:
        """Everything, as JSON; floats come back to the last bit."""
        return json.dumps({"kind": KIND, "version": VERSION, **asdict(self)}, indent=1, allow_nan=False)

    def save(self, path: str | Path) -> Path:
        """Write `to_json` to a file, atomically; returns its path."""
        write_atomic(path, self.to_json().encode() + b"\n")
        return Path(path)

    @classmethod
    def load(cls, path: str | Path) -> Report:
        """What `save` wrote.

        Raises:
            UsageError: the file can't be read or isn't such a report; the text names it.
        """
        return cls.from_dict(read_json(path, "report"), str(path))

    @classmethod
    def from_dict(cls, found: dict[str, Any], name: str = "the report") -> Report:
        """A report from its JSON object; `name` is what an error calls it."""
        if found.get("kind") != KIND:
            raise UsageError(f"{name} isn't a report of a run (its kind is {found.get('kind')!r}): give one of train's")
        if type(version := found.get("version")) is not int or version > VERSION:
            raise UsageError(f"{name} has version {version!r}, this labkit reads up to {VERSION}: upgrade labkit")
        try:
            records = tuple(_record(row) for row in found["records"])
            check_fields(found["state"])
            float(found["state"]["parameters"]["w"]), float(found["state"]["parameters"]["b"])
            rest = {key: found[key] for key in ("seed", "steps", "resumed_from", "fault", "arithmetic", "state")}
        except UsageError as error:
            raise UsageError(f"{name}: {error}") from None
        except (KeyError, TypeError, ValueError) as error:
            raise UsageError(f"{name} isn't a whole report ({error}): write it again with --output") from None
        return cls(records=records, **rest)


def _record(row: dict[str, Any]) -> StepRecord:
    record = StepRecord(**{**row, "ids": tuple(row["ids"]), "order": tuple(row["order"])})
    numbers = (record.lr, record.w, record.b, record.vw, record.vb, record.mse)
    if not all(type(value) is float and math.isfinite(value) for value in numbers):
        raise ValueError(f"step {record.step!r} holds a value that isn't a finite number")
    if type(record.step) is not int or type(record.position) is not int or type(record.rng) is not str:
        raise ValueError(f"step {record.step!r}: step, position or rng has the wrong type")
    return record
