"""A line-up of metrics, some of them wrong, for somebody to find out which by auditing them on real ranks."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from labkit.metrics.auditing import audit, audit_with, subject_of
from labkit.metrics.confusion import ConfusionCounts
from labkit.metrics.predictions import Predictions
from labkit.metrics.report import MetricReport

VERDICTS = ("nothing", "mean of means", "not a mean", "padding", "precision")
"""What may be wrong with a suspect; a line-up holds each once."""


@dataclass(frozen=True, repr=False)
class Suspect:
    """A metric somebody wrote, with the predictions it was used on.

    Attributes:
        name: its letter.
    """

    name: str
    _metric: Any = field(repr=False)
    _reduction: str | None = field(repr=False)
    _rows: tuple[Any, Any] = field(repr=False)

    def audit(self, ranks: int | Sequence[int] = (2, 3)) -> MetricReport:
        """`labkit.metrics.audit` on it: on so many real ranks, over many partitions."""
        return audit(self._metric, *self._rows, ranks=ranks, reduction=self._reduction)

    def audit_with(self, run: Callable[..., list[Any]], ranks: Sequence[int]) -> MetricReport:
        """The same, on ranks of the caller's."""
        return audit_with(run, subject_of(self._metric, *self._rows, self._reduction), ranks=ranks)

    def __repr__(self) -> str:
        """Its letter."""
        return f"Suspect({self.name})"


def audit_all(suspects: Mapping[str, Suspect], ranks: Sequence[int] = (2, 3)) -> dict[str, MetricReport]:
    """Every suspect's audit, on real ranks that stay from one to the next, so that it takes about half the time."""
    from labkit.ranks import pool

    with contextlib.ExitStack() as stack:
        pools = {count: stack.enter_context(pool(count)) for count in ranks}

        def run(fn: Callable[..., Any], *args: Any, ranks: int, timeout: float) -> list[Any]:
            return pools[ranks].run(fn, *args, timeout=timeout)

        return {name: suspect.audit_with(run, ranks) for name, suspect in suspects.items()}


def lineup(job: int) -> dict[str, Suspect]:
    """The five suspects of job number `job`, by letter."""
    generator = np.random.default_rng(job)
    size = int(generator.integers(40, 60)) * 6 + 1  # leaves a rest on 2 and on 3 ranks, so that samplers borrow
    targets = np.sort(generator.integers(0, 2, size))
    wrong = generator.random(size) < np.where(targets == 1, 0.45, 0.1)
    wrong[:2] = [False, True]  # the first samples, which are borrowed, aren't all alike
    rows = (np.where(wrong, 1 - targets, targets), targets)
    return {letter: Suspect(letter, *_made(kind), rows) for letter, kind in planted(job).items()}


def planted(job: int) -> dict[str, str]:
    """What is wrong with each, by letter."""
    kinds = list(VERDICTS)
    random.Random(job).shuffle(kinds)
    return dict(zip("ABCDE", kinds, strict=True))


def _made(kind: str) -> tuple[Any, str | None]:
    if kind == "nothing":
        return Predictions(accuracy), None
    if kind == "mean of means":
        return accuracy, "mean"
    if kind == "not a mean":
        return f1, "weighted"
    if kind == "padding":
        return accuracy, "gather"
    return FloatCount, None


def accuracy(predictions: Any, targets: Any) -> float:
    """Share of right predictions."""
    return float((np.asarray(predictions) == np.asarray(targets)).mean())


def f1(predictions: Any, targets: Any) -> float:
    """F1 of class 1."""
    counts = ConfusionCounts(2)
    counts.update(predictions, targets)
    return counts.f1()


class FloatCount:
    """Accuracy that counts each sample's id once, in float32."""

    def __init__(self) -> None:
        self.kept = Predictions(accuracy)
        self.count = np.zeros(1, np.float32)

    def update(self, predictions: Any, targets: Any, ids: Any) -> None:
        """Take in one batch."""
        self.kept.update(predictions, targets, ids)
        self.count += np.float32(len(targets))

    def all_gather(self) -> FloatCount:
        """All ranks' rows."""
        everyone = FloatCount()
        everyone.kept, everyone.count = self.kept.all_gather(), self.count
        return everyone

    def compute(self) -> float:
        """The accuracy."""
        return float(self.kept.compute())
