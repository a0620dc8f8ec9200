"""Ways to share samples out over ranks: those that must not change a metric, and those that borrow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from labkit.metrics.arrays import as_array
from labkit.sharding.planning import Plan, plan, plan_distributed_sampler


@dataclass(frozen=True)
class Partition:
    """One way to share samples out.

    Attributes:
        name: what it is, in words.
        parts: sample numbers of each rank.
        borrowed: sample numbers that are in there once more than they should be.
        kind: "exact" (each sample once, every rank has some), "idle" (each once, one rank has none) or "padded".
    """

    name: str
    parts: tuple[tuple[int, ...], ...]
    borrowed: tuple[int, ...] = ()
    kind: str = "exact"

    @property
    def sizes(self) -> tuple[int, ...]:
        """Samples of each rank."""
        return tuple(len(part) for part in self.parts)


def exact_partitions(targets: Any, ranks: int, *, seed: int, draws: int = 2) -> list[Partition]:
    """Every sample once: in turn, sorted by target in unequal blocks, and `draws` random ones of unequal sizes."""
    size = len(targets)
    if ranks == 1:
        return [Partition("all on one rank", (tuple(range(size)),))]
    made = [Partition("in turn", tuple(tuple(range(rank, size, ranks)) for rank in range(ranks)))]
    generator = np.random.default_rng([seed, ranks, size])
    shares = np.arange(1, ranks + 1)  # rank 0 has the fewest
    ends = np.maximum(np.cumsum(shares) * size // shares.sum(), np.arange(1, ranks + 1))
    made.append(_blocks("sorted by target, unequal", _sorted(targets), ends[:-1]))
    for draw in range(draws):
        cuts = np.sort(generator.choice(np.arange(1, size), ranks - 1, replace=False))
        name = f"random, unequal ({draw + 1})" if draws > 1 else "random, unequal"
        made.append(_blocks(name, generator.permutation(size), cuts))
    return made


def idle_partition(size: int, ranks: int) -> Partition:
    """Every sample once, but none on the last rank."""
    parts = [tuple(range(rank, size, ranks - 1)) for rank in range(ranks - 1)]
    return Partition("last rank has none", (*parts, ()), kind="idle")


def padded_partitions(size: int, ranks: int, batch_size: int | None) -> list[Partition]:
    """What samplers that even out give where that repeats samples: torch's, and accelerate's for a batch size."""
    found = [("padded as DistributedSampler pads", plan_distributed_sampler(size, ranks))]
    if batch_size is not None:
        found.append((f"padded as accelerate pads batches of {batch_size}", plan(size, batch_size, ranks)))
    return [_padded(name, made) for name, made in found if made.duplicates]


def _padded(name: str, made: Plan) -> Partition:
    parts = tuple(tuple(one for batch in batches for one in batch) for batches in made.per_rank)
    return Partition(name, parts, made.duplicates, "padded")


def _blocks(name: str, order: Sequence[int] | Any, cuts: Sequence[int] | Any) -> Partition:
    return Partition(name, tuple(tuple(int(i) for i in block) for block in np.split(np.asarray(order), cuts)))


def _sorted(targets: Any) -> Any:
    found = as_array(targets)
    keys = found if found.ndim == 1 else found.reshape(len(found), -1)[:, 0]
    return np.argsort(keys, kind="stable")
