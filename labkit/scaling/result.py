"""A throughput measurement with everything that has to be the same before it may be compared with another."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Any

import labkit
from labkit.errors import UsageError
from labkit.words import counted

if TYPE_CHECKING:
    import pandas as pd

FORMAT = 1


@dataclass(frozen=True)
class Benchmark:
    """Samples per second on real ranks, and how they were come to.

    Attributes:
        label: a name for people; never compared.
        settings: what was varied on purpose, as plain values; never compared.
        ranks: how many.
        batch_size: samples in one step of one rank.
        backend: of the process group.
        device: "cpu" or "cuda".
        hardware: CPU model, cores, memory in GiB, GPUs.
        versions: Python, torch, NumPy, labkit, the system.
        data: the data's identity; "" where none was given, and then it can't be compared.
        warmup: steps before the first interval; not counted.
        steps: steps in one interval.
        intervals: intervals measured.
        discard: how many intervals were left out at each end after sorting by time: the rule, not a choice made later.
        seconds: time of each interval in order, on the slowest rank, from a barrier to a barrier.
        warmup_seconds: time of the warm-up steps. Large against the intervals: what comes first costs extra.
    """

    label: str
    settings: dict[str, Any]
    ranks: int
    batch_size: int
    backend: str
    device: str
    hardware: dict[str, Any]
    versions: dict[str, str]
    data: str
    warmup: int
    steps: int
    intervals: int
    discard: int
    seconds: tuple[float, ...]
    warmup_seconds: float

    @cached_property
    def kept(self) -> tuple[float, ...]:
        """The intervals that count, in s, shortest first: all but `discard` at each end."""
        ordered = sorted(self.seconds)
        return tuple(ordered[self.discard : len(ordered) - self.discard])

    @property
    def interval_seconds(self) -> float:
        """Mean time of the intervals that count, in s."""
        return mean(self.kept)

    @property
    def samples(self) -> int:
        """Samples of all ranks in one interval."""
        return self.ranks * self.batch_size * self.steps

    @property
    def rate(self) -> float:
        """Samples per second of all ranks together: over the mean of the intervals that count (a trimmed mean)."""
        return self.samples / self.interval_seconds

    @property
    def spread(self) -> tuple[float, float]:
        """Samples per second of the slowest and the fastest interval that count. Differences inside it say nothing."""
        return self.samples / self.kept[-1], self.samples / self.kept[0]

    @property
    def step_seconds(self) -> float:
        """Mean time of one step, in s, over the intervals that count."""
        return self.interval_seconds / self.steps

    def frame(self) -> pd.DataFrame:
        """One row an interval: interval, seconds, samples per second, counts (True or False)."""
        import pandas as pd

        order = sorted(range(len(self.seconds)), key=lambda i: self.seconds[i])
        counted = set(order[self.discard : len(order) - self.discard])
        rows = [(i, s, self.samples / s, i in counted) for i, s in enumerate(self.seconds)]
        return pd.DataFrame(rows, columns=["interval", "seconds", "samples per second", "counts"])

    def text(self) -> str:
        """The measurement and its conditions in a few lines."""
        low, high = self.spread
        cores = self.hardware.get("cores", 0)
        lines = [
            f"{self.label or 'benchmark'}: {self.rate:,.1f} samples/s ({low:,.1f} to {high:,.1f}), "
            f"{counted(self.ranks, 'rank')}, batch size {self.batch_size} a rank, "
            f"{1000 * self.step_seconds:.3g} ms a step",
            f"{counted(self.warmup, 'warm-up step')} ({1000 * self.warmup_seconds:.3g} ms), "
            f"{counted(self.intervals, 'interval')} of {counted(self.steps, 'step')}, "
            f"{self.discard} left out at each end",
            f"{self.hardware.get('cpu')}, {counted(cores, 'core')}, {self.device}",
            f"torch {self.versions.get('torch')}; data: {self.data or 'not identified'}",
        ]
        if self.device == "cpu" and isinstance(cores, int) and self.ranks > cores:
            lines.append(f"{self.ranks} ranks share {counted(cores, 'core')}: this measures the sharing as well.")
        return "\n".join(lines)

    def __repr__(self) -> str:
        """The first line of the text."""
        return f"Benchmark({self.text().splitlines()[0]})"

    def to_json(self) -> str:
        """Everything, as JSON."""
        return json.dumps({"format": FORMAT, **asdict(self), "samples_per_second": self.rate}, indent=2)

    def save(self, path: str | Path) -> Path:
        """Write `to_json` to a file; returns its path."""
        path = Path(path)
        path.write_text(self.to_json() + "\n", encoding="utf-8")
        return path

    @classmethod
    def from_json(cls, text: str) -> Benchmark:
        """What `to_json` wrote.

        Raises:
            UsageError: it isn't such a report; the text names the field.
        """
        try:
            found = json.loads(text)
        except ValueError as error:
            raise UsageError(f"the report isn't JSON ({error}): give a file that a benchmark wrote") from None
        if not isinstance(found, dict) or found.get("format") != FORMAT:
            got = found.get("format") if isinstance(found, dict) else None
            raise UsageError(f"the report's format is {got!r}: labkit {labkit.__version__} reads format {FORMAT}")
        values = {}
        for name, kind in _FIELDS.items():
            if name not in found:
                raise UsageError(f"the report lacks {name}: give a file that a benchmark wrote")
            value = found[name]
            if not isinstance(value, kind) or isinstance(value, bool):
                raise UsageError(f"the report's {name} is {value!r}: give a file that a benchmark wrote")
            values[name] = value
        values["seconds"] = tuple(_time(i, value) for i, value in enumerate(values["seconds"]))
        values["hardware"] = {k: tuple(v) if isinstance(v, list) else v for k, v in values["hardware"].items()}
        made = cls(**values)
        if made.intervals != len(made.seconds) or made.discard < 0 or 2 * made.discard >= made.intervals:
            raise UsageError(
                f"the report has {len(made.seconds)} intervals, {made.intervals} declared and {made.discard} left out "
                "at each end: give a file that a benchmark wrote"
            )
        if min(made.ranks, made.batch_size, made.steps) < 1:
            raise UsageError("the report's ranks, batch_size or steps is below 1: give a file that a benchmark wrote")
        return made

    @classmethod
    def load(cls, path: str | Path) -> Benchmark:
        """What `save` wrote.

        Raises:
            UsageError: the file can't be read, or isn't such a report.
        """
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"{path} can't be read: {getattr(error, 'strerror', None) or 'it is not text'}") from None
        try:
            return cls.from_json(text)
        except UsageError as error:
            raise UsageError(f"{path}: {error}") from None


_FIELDS: dict[str, Any] = {
    "label": str,
    "settings": dict,
    "ranks": int,
    "batch_size": int,
    "backend": str,
    "device": str,
    "hardware": dict,
    "versions": dict,
    "data": str,
    "warmup": int,
    "steps": int,
    "intervals": int,
    "discard": int,
    "seconds": list,
    "warmup_seconds": (int, float),
}


def _time(i: int, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise UsageError(f"the report's seconds[{i}] is {value!r}: give a file that a benchmark wrote")
    return float(value)
