"""A person's metric on real ranks, called with plain lists: one list of values a rank."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from labkit.errors import UsageError

Rows = list[tuple[int, int, int]]
"""Gathered rows: (id, prediction, target)."""


def across_ranks(metric: Callable[[list[float]], Any]) -> Callable[[Sequence[Sequence[float]]], list[Any]]:
    """`metric` as a function of all ranks' values: it runs on one real rank for each list, and gives what each returns.

    One list alone runs here, without a process group: a metric must work there too.

    Args:
        metric: called on every rank with that rank's own list of numbers (which may be empty).

    Raises:
        UsageError: metric can't be called, or there is no list.
    """
    if not callable(metric):
        raise UsageError(f"metric is {metric!r}: give a function of one rank's values")

    def on_ranks(shards: Sequence[Sequence[float]]) -> list[Any]:
        from labkit import ranks

        if not shards:
            raise UsageError("shards is empty: give one list of values for each rank")
        if len(shards) == 1:
            return [metric(list(shards[0]))]
        try:
            return ranks.run(_call, metric, [list(shard) for shard in shards], ranks=len(shards))
        except ranks.RankError as error:
            if "NotImplementedError" in str(error):  # an answer that is still open
                raise NotImplementedError from None
            raise

    on_ranks.__name__ = getattr(metric, "__name__", "metric")
    return on_ranks


def _call(rank: int, metric: Callable[[list[float]], Any], shards: list[list[float]]) -> Any:
    return metric(shards[rank])


def gathered_rows(samples: int, batch_size: int, ranks: int, *, late: bool = False) -> Rows:
    """Rows (id, prediction, target) as rank 0 has them after real ranks evaluated `samples` samples and gathered.

    The ranks share the samples out by accelerate's rule, so some are borrowed. Sample i has target i % 2; two of three
    are predicted right.

    Args:
        samples: how many.
        batch_size: of one rank.
        ranks: how many.
        late: gather once, after the last step: rank by rank; otherwise in every step.

    Raises:
        UsageError: a value can't be used.
    """
    from labkit import ranks as real
    from labkit.sharding.planning import plan

    made = plan(samples, batch_size, ranks)
    rows: Rows = real.run(_gather, made.per_rank, late, ranks=ranks)[0]
    return rows


def _gather(rank: int, per_rank: list[list[list[int]]], late: bool) -> Rows:
    from labkit.metrics.group import collect

    steps = [[(i, i % 2 if i % 3 else 1 - i % 2, i % 2) for i in batch] for batch in per_rank[rank]]
    if late:
        steps = [[row for step in steps for row in step]]
    return [tuple(row) for step in steps for part in collect(step) for row in part]
