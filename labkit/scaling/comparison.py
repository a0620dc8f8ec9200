"""Two benchmarks side by side, if they are alike in all that matters; a refusal that says what differs, if not."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from labkit.errors import UsageError
from labkit.scaling.result import Benchmark

# In this order, so that the difference that matters most is named first.
FIELDS = (
    "hardware",
    "device",
    "batch_size",
    "data",
    "ranks",
    "backend",
    "warmup",
    "steps",
    "intervals",
    "discard",
    "versions",
)


class NotComparable(UsageError):
    """The two runs differ in something besides what was to be compared; the text says in what."""


@dataclass(frozen=True)
class Difference:
    """One thing that two runs don't share.

    Attributes:
        field: its name, such as "batch_size" or "hardware.cores".
        a: its value in the first run.
        b: its value in the second.
        names: what to call the two: their labels, or a and b where labels don't tell them apart.
    """

    field: str
    a: Any
    b: Any
    names: tuple[str, str] = ("a", "b")

    def __str__(self) -> str:
        """`batch_size is 32 in 'old' and 64 in 'new'`."""
        first, second = self.names
        if self.field == "data" and not (self.a and self.b):
            which = "both runs" if not self.a and not self.b else first if not self.a else second
            return f"data isn't identified in {which}: give benchmark(data=...) what the step reads"
        return f"{self.field} is {self.a!r} in {first} and {self.b!r} in {second}"


@dataclass(frozen=True)
class Comparison:
    """How two alike runs compare.

    Attributes:
        a: the first run.
        b: the second.
        ratio: samples per second of b over those of a. Above 1: b is faster.
        least: the least that the intervals allow: b's slowest over a's fastest.
        most: the most: b's fastest over a's slowest.
    """

    a: Benchmark
    b: Benchmark
    ratio: float
    least: float
    most: float

    @property
    def clear(self) -> bool:
        """Whether every interval of one run beats every interval of the other."""
        return self.least > 1 or self.most < 1

    def text(self) -> str:
        """The comparison in one line."""
        first, second = _names(self.a, self.b)
        verdict = "" if self.clear else ": may be chance"
        return (
            f"{second} gives {self.ratio:.3g} times the samples/s of {first} "
            f"({self.least:.3g} to {self.most:.3g}{verdict})"
        )

    def __repr__(self) -> str:
        """The text."""
        return f"Comparison({self.text()})"


def differences(a: Benchmark, b: Benchmark) -> list[Difference]:
    """Everything that keeps the two from being compared, most important first; empty where nothing does.

    `label` and `settings` are what a comparison is about, so they may differ. Data that isn't identified counts as
    different: nobody can say that it was the same.
    """
    found = []
    names = _names(a, b)
    for field in FIELDS:
        first, second = getattr(a, field), getattr(b, field)
        if isinstance(first, dict) and isinstance(second, dict):
            keys = [*first, *(key for key in second if key not in first)]
            found += [
                Difference(f"{field}.{key}", first.get(key), second.get(key), names)
                for key in keys
                if first.get(key) != second.get(key)
            ]
        elif first != second or (field == "data" and not first):
            found.append(Difference(field, first, second, names))
    return found


def _names(a: Benchmark, b: Benchmark) -> tuple[str, str]:
    """The labels, in quotes, where both have one and they differ."""
    return (repr(a.label), repr(b.label)) if a.label and b.label and a.label != b.label else ("a", "b")


def compare(a: Benchmark, b: Benchmark, *, varied: Collection[str] = ()) -> Comparison:
    """Compare two runs; refuse if they differ in anything but their settings and what is named in `varied`.

    Args:
        a: the run to compare with.
        b: the run to judge.
        varied: fields that differ on purpose, such as ("ranks",) or ("versions.torch",). Say so in what you write.

    Raises:
        NotComparable: they differ in something else; the text names the first such field and how many more there are.
        UsageError: a name in varied isn't a field.
    """
    for one in (a, b):
        if not isinstance(one, Benchmark):
            raise UsageError(f"got a {type(one).__name__} to compare: give two results of benchmark(...)")
    if isinstance(varied, str):
        raise UsageError(f"varied is {varied!r}: give a tuple of names, such as ({varied!r},)")
    for name in varied:
        if str(name).split(".")[0] not in FIELDS:
            raise UsageError(f"varied holds {name!r}: give one of {', '.join(FIELDS)}")
    unlike = [one for one in differences(a, b) if one.field not in varied and one.field.split(".")[0] not in varied]
    if unlike:
        more = f" ({len(unlike) - 1} more: {', '.join(one.field for one in unlike[1:])})" if len(unlike) > 1 else ""
        raise NotComparable(f"not comparable: {unlike[0]}{more}")
    (slow_a, fast_a), (slow_b, fast_b) = a.spread, b.spread
    return Comparison(a, b, b.rate / a.rate, slow_b / fast_a, fast_b / slow_a)
