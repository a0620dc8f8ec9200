"""Three metrics over the same samples on real ranks, each either from gathered rows or from three reduced numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from labkit.errors import UsageError
from labkit.inputs import whole

METRICS = ("mean loss", "F1", "AUC")
WAYS = ("gather", "reduce")
ROW = 12
"""Bytes of a row: a float32 score and an int64 target."""
THREE = 24
"""Bytes of three float64."""


@dataclass(frozen=True)
class Evaluated:
    """One metric, evaluated one way on real ranks.

    Attributes:
        metric: its name.
        way: "gather" (every row to rank 0) or "reduce" (three numbers a rank, added up).
        value: what rank 0 came to.
        right: the metric over all samples, in one call on one process.
        payload: bytes that all ranks together handed to the collective. Large: it grows with the samples.
    """

    metric: str
    way: str
    value: float
    right: float
    payload: int

    @property
    def wrong(self) -> bool:
        """Whether the value isn't the metric over all samples."""
        return abs(self.value - self.right) > 1e-5


def evaluate(samples: int, ranks: int, ways: Mapping[str, str], *, seed: int = 0) -> list[Evaluated]:
    """Evaluate made-up predictions on real ranks, each metric its own way, and count the bytes handed over.

    "reduce" adds up: for the mean loss its sum and count; for F1 tp, fp and fn; for AUC, which has no such numbers, the
    ranks' AUCs weighted by their samples, which is the best that three numbers can do.

    Args:
        samples: over all ranks; sorted by score, so ranks hold different ones.
        ranks: how many.
        ways: "gather" or "reduce" for each of METRICS.
        seed: of the made-up scores and targets.

    Raises:
        UsageError: a value can't be used.
    """
    from labkit import ranks as real

    samples, ranks, seed = whole("samples", samples, 1), whole("ranks", ranks, 1), whole("seed", seed, 0)
    for metric in METRICS:
        if ways.get(metric) not in WAYS:
            raise UsageError(f"ways[{metric!r}] is {ways.get(metric)!r}: give 'gather' or 'reduce'")
    scores, targets = made_up(samples, seed)
    by_rank = real.run(_on_rank, scores, targets, [ways[metric] for metric in METRICS], ranks=ranks)
    found = []
    for i, metric in enumerate(METRICS):
        payload = sum(mine[i][1] for mine in by_rank)
        found.append(Evaluated(metric, ways[metric], by_rank[0][i][0], of(metric, scores, targets), payload))
    return found


def made_up(samples: int, seed: int) -> tuple[Any, Any]:
    """Scores (float32) and targets (int64) of a middling classifier, in the order of their scores."""
    generator = np.random.default_rng([seed, samples])
    targets = generator.integers(0, 2, samples)
    scores = np.clip(generator.normal(0.4 + 0.2 * targets, 0.2), 0.01, 0.99).astype(np.float32)
    order = np.argsort(scores, kind="stable")
    return scores[order], targets[order]


def of(metric: str, scores: Any, targets: Any) -> float:
    """A metric over rows: the mean squared loss, F1 at 0.5, or AUC."""
    from labkit.metrics.confusion import ConfusionCounts
    from labkit.metrics.ranking import auc

    if metric == "mean loss":
        return float(((scores.astype(np.float64) - targets) ** 2).mean())
    if metric == "AUC":
        return auc(scores, targets)
    counts = ConfusionCounts(2)
    counts.update((scores > 0.5).astype(np.int64), targets)
    return counts.f1()


def _on_rank(rank: int, scores: Any, targets: Any, ways: list[str]) -> list[tuple[float, int]]:
    """On one rank: value and bytes handed over, for each metric."""
    import torch.distributed as dist

    ranks = dist.get_world_size()
    # Unequal shares in the order of the scores, as a data set sorted by difficulty would give them.
    cuts = [len(scores) * r * (r + 1) // (ranks * (ranks + 1)) for r in range(ranks + 1)]
    mine = slice(cuts[rank], cuts[rank + 1])
    return [
        (_gathered if way == "gather" else _reduced)(metric, scores[mine], targets[mine])
        for metric, way in zip(METRICS, ways, strict=True)
    ]


def _gathered(metric: str, scores: Any, targets: Any) -> tuple[float, int]:
    from labkit.metrics.group import collect

    parts = collect((scores, targets))
    rows = [np.concatenate(part) for part in zip(*parts, strict=True)]
    return of(metric, *rows), int(scores.nbytes + targets.nbytes)


def _reduced(metric: str, scores: Any, targets: Any) -> tuple[float, int]:
    from labkit.metrics.group import add_up

    n = len(scores)
    if metric == "mean loss":
        numbers = [of(metric, scores, targets) * n if n else 0.0, n, 0]
    elif metric == "F1":
        said = scores > 0.5
        numbers = [(said & (targets == 1)).sum(), (said & (targets == 0)).sum(), (~said & (targets == 1)).sum()]
    else:
        own = of(metric, scores, targets)
        numbers = [0.0, 0, 0] if np.isnan(own) else [own * n, n, 0]
    mine = np.array(numbers, np.float64)
    a, b, c = add_up(mine)
    if metric == "F1":
        return float(2 * a / (2 * a + b + c)), int(mine.nbytes)
    return float(a / b), int(mine.nbytes)
