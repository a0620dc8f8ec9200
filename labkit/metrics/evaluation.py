"""One metric on one rank's samples, reduced the way it is meant to be: what `audit` runs on real ranks."""

from __future__ import annotations

import copy
import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from labkit.errors import UsageError
from labkit.metrics import group
from labkit.metrics.arrays import as_array

REDUCTIONS = ("mean", "weighted", "gather", "own")


@dataclass(frozen=True)
class Subject:
    """A metric and how it becomes one number.

    Attributes:
        metric: a callable on (predictions, targets), or an object with update and compute.
        reduction: "mean" (each rank's value, averaged), "weighted" (by samples), "gather" (all samples to every rank,
            one call there) or "own" (the metric sees to it).
        batch_size: samples a call or update; None: all of a rank's at once.
        predictions: one entry a sample; likewise `targets` and `ids`.
    """

    metric: Any
    reduction: str
    batch_size: int | None
    predictions: Any
    targets: Any
    ids: Any

    @property
    def is_object(self) -> bool:
        """Whether it is updated and computed, in place of called."""
        return updates(self.metric)

    def fresh(self) -> Any:
        """The metric as it was before any update."""
        if isinstance(self.metric, type):
            return self.metric()
        made = copy.deepcopy(self.metric)
        if callable(getattr(made, "reset", None)):
            made.reset()
        return made

    def batches(self, part: Sequence[int]) -> list[list[int]]:
        """A rank's samples, cut into batches; one empty batch where it has none."""
        size = self.batch_size or max(len(part), 1)
        return [list(part[i : i + size]) for i in range(0, len(part), size)] or [[]]

    def value(self, part: Sequence[int]) -> float:
        """The metric over all ranks' parts, as this rank comes to know it."""
        if self.is_object:
            return self._updated(part)
        if self.reduction == "own":
            return one_number(self.metric(*self.rows(part)))
        if self.reduction == "gather":
            everyone = [i for rows in group.collect(list(part)) for i in rows]
            return one_number(self.metric(*self.rows(everyone)))
        batches = self.batches(part)
        values = np.array([one_number(self.metric(*self.rows(batch))) if batch else np.nan for batch in batches])
        if self.reduction == "mean":
            return float(group.add_up(np.array([values.mean()]))[0] / group.ranks())
        weights = np.array([len(batch) for batch in batches], np.float64)
        total, count = group.add_up(np.array([values[weights > 0] @ weights[weights > 0], weights.sum()]))
        return float(total / count)

    def alone(self, part: Sequence[int]) -> float:
        """The metric over `part` in one call, nothing reduced."""
        if not self.is_object:
            return one_number(self.metric(*self.rows(part)))
        made = self.fresh()
        self.feed(made, part)
        return one_number(made.compute())

    def rows(self, part: Sequence[int]) -> tuple[Any, Any]:
        """Predictions and targets of these samples, of the type they came in."""
        return pick(self.predictions, part), pick(self.targets, part)

    def feed(self, made: Any, part: Sequence[int]) -> None:
        """One update of a metric object; with ids where its update takes them."""
        if takes_ids(made):
            made.update(*self.rows(part), ids=pick(self.ids, part))
        else:
            made.update(*self.rows(part))

    def _updated(self, part: Sequence[int]) -> float:
        made = self.fresh()
        for batch in self.batches(part):
            if batch:
                self.feed(made, batch)
        for name in ("all_gather", "all_reduce"):  # labkit's own; torchmetrics reduces inside compute
            if callable(getattr(made, name, None)):
                reduced = getattr(made, name)()
                made = made if reduced is None else reduced
                break
        return one_number(made.compute())


def updates(metric: Any) -> bool:
    """Whether `metric` is an object (or a class of ones) with update and compute."""
    return callable(getattr(metric, "update", None)) and callable(getattr(metric, "compute", None))


def takes_ids(metric: Any) -> bool:
    """Whether its update takes the samples' ids."""
    try:
        return "ids" in inspect.signature(metric.update).parameters
    except (TypeError, ValueError):
        return False


def pick(values: Any, part: Sequence[int]) -> Any:
    """Some rows, in the type they came in; a list gives an array."""
    if hasattr(values, "detach"):
        import torch

        return values[torch.tensor(list(part), dtype=torch.int64, device=values.device)]
    return np.asarray(values)[np.asarray(part, np.int64)]


def one_number(value: Any) -> float:
    """A metric's value as a float.

    Raises:
        UsageError: it isn't one number.
    """
    try:
        found = as_array(value)
        if found.size == 1 and found.dtype.kind in "biuf":
            return float(found.reshape(-1)[0])
    except (TypeError, ValueError):
        pass
    shape = getattr(value, "shape", None) or ((len(value),) if isinstance(value, list | tuple) else ())
    if math.prod(shape) > 1:
        many = f"{math.prod(shape)} numbers" if len(shape) == 1 else f"numbers of shape {tuple(shape)}"
        raise UsageError(
            f"the metric gave {many}: the audit follows one; wrap it to give one of them, or their mean, and audit each"
        )
    text = " ".join(repr(value).split())
    raise UsageError(f"the metric gave {text[:60]}: it must give one number; wrap it so that it does")


def on_rank(rank: int, subject: Subject, parts: Sequence[Sequence[Sequence[int]]]) -> list[float]:
    """One value for each partition, as this rank comes to know it. Runs inside a process group."""
    return [subject.value(partition[rank]) for partition in parts]


Runner = Callable[..., list[Any]]
