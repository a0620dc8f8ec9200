"""Batches of samples of like length: less padding, and batches whose lengths depend on their neighbours. Both numbers.

*Padding* is the share of all positions of all batches that hold nothing: 1 - sum of lengths / sum over batches of
(longest length x samples). *Correlation* is Pearson's, between the mean lengths of each batch and the next.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from labkit.errors import UsageError
from labkit.inputs import flag, whole

if TYPE_CHECKING:
    from labkit.picture import Picture

Batch = tuple[int, ...]


@dataclass(frozen=True)
class Trade:
    """What a way of batching costs and gains; never one without the others.

    Attributes:
        padding: share of all positions that is padding, 0 to 1. A large value: that much of the work is for nothing.
        correlation: of the mean lengths of neighbouring batches, -1 to 1; 0 where lengths don't vary or there are
            fewer than three batches. A large value: one short batch follows another, so the steps of a run drift.
        between: share of the variance of lengths that lies between batches and not within them, 0 to 1. Near 1: every
            batch holds samples of one length only, in whatever order the batches come.
        ahead: samples whose length must be known before the first batch can be made.
    """

    padding: float
    correlation: float
    between: float
    ahead: int

    def text(self) -> str:
        """One line for people."""
        return (
            f"padding {100 * self.padding:.3g} %, correlation of neighbouring batches {self.correlation:.2f}, "
            f"between batches {100 * self.between:.0f} % of the variance of length"
        )


def bucketed(
    lengths: Sequence[int], batch_size: int, *, pool: int, seed: int, epoch: int = 0, shuffle_batches: bool = False
) -> list[Batch]:
    """Batches of sample numbers: shuffle, cut into pools of `pool` batches, sort each by length, cut into batches.

    Args:
        lengths: of each sample.
        batch_size: samples in a batch; the last one may hold fewer.
        pool: batches sorted together. 1: batches of the plain shuffle. As many as there are: all sorted.
        seed, epoch: which shuffle.
        shuffle_batches: shuffle the finished batches of each pool. They keep their samples.

    Raises:
        UsageError: a value can't be used.
    """
    size, many = whole("batch_size", batch_size, 1), whole("pool", pool, 1)
    _lengths(lengths)
    rng = random.Random(f"{seed}/{epoch}")
    order = list(range(len(lengths)))
    rng.shuffle(order)
    batches: list[Batch] = []
    for start in range(0, len(order), size * many):
        part = order[start : start + size * many]
        if many > 1:
            part.sort(key=lambda one: lengths[one])
        cut = [tuple(part[i : i + size]) for i in range(0, len(part), size)]
        if flag("shuffle_batches", shuffle_batches):
            rng.shuffle(cut)
        batches += cut
    return batches


def trade(lengths: Sequence[int], batches: Sequence[Sequence[int]], *, ahead: int = 0) -> Trade:
    """Padding, correlation and between-batch variance of some batches of sample numbers.

    Raises:
        UsageError: no batches, an empty one, or numbers that aren't samples.
    """
    _lengths(lengths)
    if not batches or not all(batches):
        raise UsageError("batches is empty, or holds an empty batch: give batches of sample numbers")
    for batch in batches:
        for one in batch:
            if not 0 <= one < len(lengths):
                raise UsageError(f"batches name sample {one}: there are samples 0 to {len(lengths) - 1}")
    taken = [[lengths[one] for one in batch] for batch in batches]
    real = sum(map(sum, taken))
    positions = sum(max(batch) * len(batch) for batch in taken)
    means = [sum(batch) / len(batch) for batch in taken]
    count = sum(map(len, taken))
    middle = real / count
    total = sum((one - middle) ** 2 for batch in taken for one in batch)
    apart = sum(len(batch) * (mean - middle) ** 2 for batch, mean in zip(taken, means, strict=True))
    return Trade(1 - real / positions, _correlation(means[:-1], means[1:]), apart / total if total else 0.0, ahead)


def lognormal_lengths(samples: int, *, seed: int, median: float = 400, sigma: float = 0.6) -> list[int]:
    """Whole lengths whose logarithm is normal, as those of texts roughly are; at least 1."""
    rng = random.Random(f"lengths/{seed}")
    return [max(1, round(median * math.exp(rng.gauss(0, sigma)))) for _ in range(whole("samples", samples, 1))]


def pools(lengths: Sequence[int], batch_size: int, sizes: Sequence[int], *, seed: int) -> Picture:
    """Padding and correlation for several sizes of pool, with the batches of a pool in sorted and in shuffled order."""
    from labkit.pipeline.bucketing_drawing import draw_pools

    made = {
        (pool, mixed): trade(
            lengths,
            bucketed(lengths, batch_size, pool=pool, seed=seed, shuffle_batches=mixed),
            ahead=min(pool * batch_size, len(lengths)),
        )
        for pool in sizes
        for mixed in (False, True)
    }
    return draw_pools(made)


def _lengths(lengths: Sequence[int]) -> None:
    if not lengths or min(lengths) < 1:
        raise UsageError("lengths is empty or holds one below 1: give the length of every sample")


def _correlation(a: Sequence[float], b: Sequence[float]) -> float:
    if len(a) < 2:
        return 0.0
    x, y = sum(a) / len(a), sum(b) / len(b)
    above = sum((i - x) * (j - y) for i, j in zip(a, b, strict=True))
    below = math.sqrt(sum((i - x) ** 2 for i in a) * sum((j - y) ** 2 for j in b))
    return above / below if below > 1e-12 * abs(x * y) else 0.0
