"""How far off a metric is, by formula: for borrowed samples, and for means of means."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from labkit.errors import UsageError
from labkit.inputs import whole
from labkit.metrics.arrays import floats


def padding_bias(samples: int, borrowed: int, borrowed_mean: float, mean: float) -> float:
    """What `borrowed` repeated samples add to a mean over `samples`: d / (N + d) * (x_D - M).

    Exact for any mean of per-sample values: (N M + d x_D) / (N + d) - M. Samples are borrowed from the head of the
    data, so with data sorted by class the difference x_D - M, and the bias with it, doesn't average out.

    Args:
        samples: N, samples without the borrowed ones.
        borrowed: d, how many rows were repeated (`len(plan(...).duplicates)`).
        borrowed_mean: x_D, mean of the metric's per-sample values over the borrowed rows.
        mean: M, their mean over the N samples.

    Returns:
        The padded mean minus the true one, in the metric's unit.

    Raises:
        UsageError: a value can't be used.
    """
    n, d = whole("samples", samples, 1), whole("borrowed", borrowed, 0)
    x, m = _one("borrowed_mean", borrowed_mean), _one("mean", mean)
    return d / (n + d) * (x - m)


def worst_padding_bias(samples: int, borrowed: int) -> float:
    """The largest that `padding_bias` can be for a metric between 0 and 1: d / (N + d). 24 of 1000: 0.0234."""
    return padding_bias(samples, borrowed, 1.0, 0.0)


def mean_of_means_bias(counts: Any, means: Any) -> float:
    """What averaging the ranks' means adds, where ranks hold different numbers of samples: -Cov(n_r, m_r) / mean(n).

    The covariance is over ranks, divided by how many there are (population). It follows from mean(n m) =
    mean(n) mean(m) + Cov(n, m), with mean(n m) / mean(n) the true mean. The same holds for batches in place of ranks.

    Args:
        counts: n_r, samples of each rank; a rank without samples can't have a mean and is refused.
        means: m_r, each rank's own mean.

    Returns:
        The mean of means minus the mean over all samples, in the metric's unit.

    Raises:
        UsageError: the lengths differ, or a count isn't above 0.
    """
    n, m = floats("counts", counts), floats("means", means)
    if len(n) != len(m):
        raise UsageError(f"counts has {len(n)} entries and means has {len(m)}: give one of each for every rank")
    if (n <= 0).any():
        i = int(np.argmax(n <= 0))
        raise UsageError(f"counts[{i}] is {n[i]:g}: a rank without samples has no mean; leave it out")
    return float(-((n - n.mean()) * (m - m.mean())).mean() / n.mean())


def mean_of_means_bound(counts: Any, means: Any) -> float:
    """The most that `mean_of_means_bias` can be, either way: CV(n) * sd(m), by the Cauchy-Schwarz inequality."""
    n, m = floats("counts", counts), floats("means", means)
    return float(n.std() / n.mean() * m.std())


def tail_weight(samples: int, batch_size: int) -> tuple[float, float]:
    """The weight of the last, short batch in a mean over batches, and the weight that it should have.

    In K batches a tail of t samples weighs 1/K in place of t/N.

    Raises:
        UsageError: a value can't be used.
    """
    n, size = whole("samples", samples, 1), whole("batch_size", batch_size, 1)
    batches = -(-n // size)
    return 1 / batches, (n - (batches - 1) * size) / n


def pooled_mean(counts: Sequence[float] | Any, means: Sequence[float] | Any) -> float:
    """The mean over all samples from the ranks' counts and means: sum(n m) / sum(n)."""
    n, m = floats("counts", counts), floats("means", means)
    if len(n) != len(m):
        raise UsageError(f"counts has {len(n)} entries and means has {len(m)}: give one of each for every rank")
    if n.sum() <= 0:
        raise UsageError("counts add up to 0: there is no sample to take a mean of")
    return float((n * m).sum() / n.sum())


def _one(name: str, value: Any) -> float:
    found = floats(name, value)
    if found.size != 1:
        raise UsageError(f"{name} has {found.size} values: give one number")
    return float(found[0])
