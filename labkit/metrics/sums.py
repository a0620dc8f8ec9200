"""SumCount: a mean that stays right across ranks, batches and very many samples."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np

from labkit.errors import UsageError
from labkit.metrics.arrays import floats, pair


@dataclass
class SumCount:
    """A running mean kept as its sum and its count, since those two can be added up over ranks and a mean can't.

    The count is an int64: a float32 count stops at 16,777,216. The sum is a float64. Nothing is sent before
    `all_reduce`, which sends these 16 bytes a rank, however many samples there are.

    Attributes:
        sum: sum of the values so far, in their own unit.
        count: how many values.
    """

    sum: float = 0.0
    count: int = 0

    def update(self, values: Any, count: int | None = None) -> None:
        """Take in values (a number, or one dimension of them), or with `count` the sum of that many values.

        Raises:
            UsageError: a value isn't finite, or count is negative or not a whole number.
        """
        if count is None:
            found = floats("values", values, empty=True)
            total, count = float(found.sum(dtype=np.float64)), found.size
        else:
            if isinstance(count, bool) or not isinstance(count, Integral) or count < 0:
                raise UsageError(f"count is {count!r}: give a whole number, 0 or more")
            if hasattr(values, "item") and getattr(values, "ndim", 1) == 0:
                values = values.item()
            if isinstance(values, bool) or not isinstance(values, Real) or not math.isfinite(values):
                raise UsageError(f"values is {values!r}: with count, give the sum of that many values, a finite number")
            total = float(values)
        self.sum += total
        self.count += int(count)
        if self.count >= 2**63:
            raise UsageError(f"count is {self.count}: it doesn't fit 63 bits any more")

    def all_reduce(self) -> SumCount:
        """The sum and the count of all ranks, as a new SumCount, on every rank; a copy without a process group.

        It gives a new one because adding the ranks' totals into each rank's own would count them again the next time.
        """
        from labkit.metrics.group import add_up

        total = float(add_up(np.array([self.sum], np.float64))[0])
        return SumCount(total, int(add_up(np.array([self.count], np.int64))[0]))

    def compute(self) -> float:
        """The mean; NaN where nothing was counted."""
        return self.sum / self.count if self.count else math.nan


class MeanOf:
    """The mean of a per-sample value, as a metric: update on every batch, all_reduce, compute.

    Args:
        per_sample: called on (predictions, targets) of a batch; gives one number a sample (`lambda p, t: p == t`).
    """

    def __init__(self, per_sample: Callable[[Any, Any], Any]) -> None:
        self.per_sample = per_sample
        self.total = SumCount()

    def update(self, predictions: Any, targets: Any) -> None:
        """Take in one batch.

        Raises:
            UsageError: the lengths differ, or a value isn't finite.
        """
        pair(predictions, targets)
        if len(predictions):
            self.total.update(self.per_sample(predictions, targets))

    def all_reduce(self) -> MeanOf:
        """The mean over all ranks, as a new MeanOf, on every rank; a copy without a process group."""
        everyone = MeanOf(self.per_sample)
        everyone.total = self.total.all_reduce()
        return everyone

    def compute(self) -> float:
        """The mean; NaN where nothing was counted."""
        return self.total.compute()
