"""Loaders with planted faults, to be found. A number picks fault and figures: a learner sees it and a real run."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from labkit.sharding.planted_draws import draws

__all__ = ("LOADERS", "NOTHING", "Mystery", "Permuted", "Places", "draws", "mystery", "planted")

NOTHING = "nothing"


class Places:
    """A sampler that hands out given ids."""

    def __init__(self, ids: Sequence[int]) -> None:
        self.ids = list(ids)

    def __iter__(self) -> Iterator[int]:
        return iter(self.ids)

    def __len__(self) -> int:
        return len(self.ids)


class Permuted:
    """A rank's share of a permutation; every pass over it is another epoch."""

    def __init__(self, size: int, ranks: int, rank: int, seed: int) -> None:
        self.size, self.ranks, self.rank, self.seed, self.epoch = size, ranks, rank, seed, -1

    def __iter__(self) -> Iterator[int]:
        self.epoch += 1
        order = list(range(self.size))
        random.Random(f"{self.seed}/{self.epoch}").shuffle(order)
        return iter(order[self.rank :: self.ranks])

    def __len__(self) -> int:
        return self.size // self.ranks


def _stream() -> Any:
    """The class of streams, made on first use: torch is not loaded where the exercises are only listed."""
    if made := globals().get("Stream"):
        return made
    from torch.utils.data import IterableDataset

    class Stream(IterableDataset):  # type: ignore[type-arg]
        """A rank's share as a stream. It doesn't ask which worker it is in."""

        def __init__(self, own: range) -> None:
            self.own = own

        def __iter__(self) -> Iterator[int]:
            return iter(self.own)

    Stream.__qualname__ = "Stream"
    globals()["Stream"] = Stream
    return Stream


def __getattr__(name: str) -> Any:
    if name == "Stream":  # a worker that was not forked looks the class up by name
        return _stream()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _loader(data: Any, batch: int, **options: Any) -> Any:
    from torch.utils.data import DataLoader

    return DataLoader(data, batch_size=batch, **options)


def _stride(data: Any, ranks: int, rank: int, **options: Any) -> Any:
    from torch.utils.data import DistributedSampler

    return DistributedSampler(data, ranks, rank, **({"shuffle": False} | options))


def _reads_all(rng: random.Random, batch: int, rank: int, ranks: int) -> Any:
    return _loader(range(rng.randint(20, 36)), batch, shuffle=True)


def _padding(rng: random.Random, batch: int, rank: int, ranks: int) -> Any:
    data = range(ranks * rng.randint(8, 11) + rng.randint(1, ranks - 1))
    return _loader(data, batch, sampler=_stride(data, ranks, rank))


def _twice(rng: random.Random, batch: int, rank: int, ranks: int) -> Any:
    from torch.utils.data import Subset

    data = range(ranks * ranks * batch * rng.randint(2, 3))
    mine: Any = Subset(data, data[rank::ranks])  # type: ignore[arg-type]
    return _loader(mine, batch, sampler=_stride(mine, ranks, rank))


def _diverge(rng: random.Random, batch: int, rank: int, ranks: int) -> Any:
    size = ranks * rng.randint(9, 14)
    return _loader(range(size), batch, sampler=Permuted(size, ranks, rank, rng.randint(0, 99) + rank))


def _shared(rng: random.Random, batch: int, rank: int, ranks: int) -> Any:
    data = range(ranks * batch * rng.randint(3, 5))
    return _loader(data, batch, sampler=_stride(data, ranks, min(rank, ranks - 2)))


def _same_order(rng: random.Random, batch: int, rank: int, ranks: int) -> Any:
    data = range(ranks * rng.randint(9, 14))
    return _loader(data, batch, sampler=_stride(data, ranks, rank, shuffle=True, seed=rng.randint(0, 99)))


def _worker_reads_all(rng: random.Random, batch: int, rank: int, ranks: int) -> Any:
    size = ranks * rng.randint(6, 9)
    return _loader(_stream()(range(rank, size, ranks)), batch, num_workers=2)


def _steps_differ(rng: random.Random, batch: int, rank: int, ranks: int) -> Any:
    size = ranks * batch * rng.randint(2, 4) + rng.randint(1, ranks - 1)  # some ranks have one sample over
    return _loader(range(size), batch, sampler=Places(range(rank, size, ranks)))


def _dropped(rng: random.Random, batch: int, rank: int, ranks: int) -> Any:
    data = range(ranks * rng.randint(8, 11) + rng.randint(1, ranks - 1))
    return _loader(data, batch, sampler=_stride(data, ranks, rank, drop_last=True))


def _overlap(rng: random.Random, batch: int, rank: int, ranks: int) -> Any:
    own = batch * rng.randint(4, 6)
    start, longer = rank * own, own + 2 * batch
    return _loader(range(ranks * own), batch, sampler=Places([i % (ranks * own) for i in range(start, start + longer)]))


def _repeats(rng: random.Random, batch: int, rank: int, ranks: int) -> Any:
    size = ranks * rng.randint(10, 14)
    own = range(rank, size, ranks)
    windows = [one for first in range(0, len(own), 2) for one in own[first : first + 3]]  # each starts in the last
    return _loader(range(size), batch, sampler=Places(windows))


def _sound(rng: random.Random, batch: int, rank: int, ranks: int) -> Any:
    size = ranks * rng.randint(9, 14)
    return _loader(range(size), batch, sampler=Permuted(size, ranks, rank, rng.randint(0, 99)))


LOADERS: dict[str, Callable[[random.Random, int, int, int], Any]] = {
    "every-rank-reads-all": _reads_all,
    "padding": _padding,
    "sharded-twice": _twice,
    "orders-diverge": _diverge,
    "shared-shard": _shared,
    "same-order": _same_order,
    "every-worker-reads-all": _worker_reads_all,
    "steps-differ": _steps_differ,
    "dropped": _dropped,
    "ranks-overlap": _overlap,
    "rank-repeats": _repeats,
    NOTHING: _sound,
}
"""What is wrong -> the loader that has it; the words are those of `labkit.sharding.CAUSES`."""


@dataclass(frozen=True)
class Mystery:
    """A loader of the collection: call it with (rank, ranks), as `labkit.sharding.audit` does."""

    number: int

    @property
    def _cause(self) -> str:
        return list(LOADERS)[self.number % len(LOADERS)]

    def __call__(self, rank: int, ranks: int) -> Any:
        """The loader of one rank, 3 ranks or more."""
        rng = random.Random(self.number)  # the same on every rank
        return LOADERS[self._cause](rng, rng.randint(2, 4), rank, ranks)


def mystery(number: int) -> Mystery:
    """Loader `number` of the collection, to be given to `audit`. It may have a fault, or none."""
    return Mystery(number)


def planted(number: int, ranks: int) -> dict[str, Any]:
    """What is wrong with loader `number`, and how many ids epoch 0 hands out again or never. Computed, not run."""
    found: Counter[int] = Counter()
    size = 0
    for rank in range(ranks):
        loader = mystery(number)(rank, ranks)
        data = loader.dataset
        if hasattr(data, "own"):  # the stream: each worker reads it whole
            found.update(list(data.own) * loader.num_workers)
            size += len(data.own)
            continue
        indices = getattr(data, "indices", None)
        found.update(i if indices is None else indices[i] for i in loader.sampler)
        size = len(getattr(data, "dataset", data))
    return {"cause": mystery(number)._cause, "again": found.total() - len(found), "missing": size - len(found)}
