"""Predictions: every prediction with its sample's id, so that what was borrowed can be taken out again, even late."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any

import numpy as np

from labkit.errors import UsageError
from labkit.metrics.arrays import as_array, pair


class Predictions:
    """Predictions and targets by sample id; the first one for an id counts.

    Cutting the last d rows off a gathered array removes the wrong ones as soon as anything about the order or the
    number of rows differs from what the cut expects. An id says which sample a row is, whoever read it, and when.

    Args:
        metric: called on (predictions, targets) by `compute`, once, over each sample once; None: `compute` needs it.
    """

    def __init__(self, metric: Callable[[Any, Any], Any] | None = None) -> None:
        self.metric = metric
        self._rows: dict[Hashable, tuple[Any, Any]] = {}
        self.repeated = 0
        """Rows that came for an id that was there already, in this rank or, after all_gather, in all of them."""

    def __len__(self) -> int:
        """Samples, each counted once."""
        return len(self._rows)

    def update(self, predictions: Any, targets: Any, ids: Any) -> None:
        """Take in one batch: predictions (one row a sample), targets and ids of the same length.

        Raises:
            UsageError: the lengths differ, or an id isn't hashable.
        """
        pair(predictions, targets)
        given, true = as_array(predictions), as_array(targets)
        names = ids.tolist() if hasattr(ids, "tolist") else list(ids) if isinstance(ids, Iterable) else None
        if names is None or len(names) != len(given):
            said = f"{len(names)} of them" if names is not None else repr(ids)
            raise UsageError(f"ids is {said} for {len(given)} predictions: give one id for each sample")
        self._take(zip(names, given, true, strict=True))

    def all_gather(self) -> Predictions:
        """The predictions of all ranks, as a new Predictions, on every rank; ranks may hold different numbers.

        Rows are taken rank by rank, the first one for an id counts, and `compute` orders them by id, so the result is
        the same on every rank. A copy without a process group. Every rank receives every rank's rows.
        """
        from labkit.metrics.group import collect

        everyone = Predictions(self.metric)
        for rows, repeated in collect((list(self._rows.items()), self.repeated)):
            everyone.repeated += repeated
            everyone._take((one, *row) for one, row in rows)
        return everyone

    def ordered(self) -> tuple[list[Any], np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """Ids, predictions and targets, each sample once, by id; ids that can't be compared go by their text."""
        try:
            ids: list[Any] = sorted(self._rows)
        except TypeError:
            ids = sorted(self._rows, key=lambda one: (type(one).__name__, repr(one)))
        return ids, np.array([self._rows[i][0] for i in ids]), np.array([self._rows[i][1] for i in ids])

    def compute(self, metric: Callable[[Any, Any], Any] | None = None) -> Any:
        """`metric(predictions, targets)` over each sample once, in the order of ids.

        Raises:
            UsageError: no metric was given, here or before.
        """
        metric = metric or self.metric
        if metric is None:
            raise UsageError("metric is missing: give Predictions(metric) or compute(metric) a callable")
        _, predictions, targets = self.ordered()
        return metric(predictions, targets)

    def _take(self, rows: Iterable[tuple[Hashable, Any, Any]]) -> None:
        for one, given, true in rows:
            try:
                known = one in self._rows
            except TypeError:
                raise UsageError(f"an id is {one!r}, which isn't hashable: give numbers, strings or tuples") from None
            if known:
                self.repeated += 1
            else:
                self._rows[one] = (given, true)
