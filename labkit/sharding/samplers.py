"""Samplers written to be read: torch's rule and accelerate's, each as the loop that carries it out.

They work in a real DataLoader, with one difference from the libraries': they look at no process group, so `ranks` and
`rank` are given. `StrideSampler` goes to `DataLoader(sampler=...)`, `BatchShards` and `BatchSlices` to
`DataLoader(batch_sampler=...)`. What they hand out is what `labkit.sharding.plan` says.
"""

from __future__ import annotations

from collections.abc import Iterator, Sized
from itertools import cycle, islice
from typing import Any

from labkit.errors import UsageError
from labkit.inputs import flag, whole


class Order:
    """The order in which an epoch goes through the data: 0, 1, 2, ... or shuffled with seed + epoch.

    Every rank must come to the same order by itself, so the seed holds no rank, and every rank must be told the epoch.
    """

    def __init__(self, data: Any, *, shuffle: bool = False, seed: int = 0) -> None:
        self.samples = whole("samples", len(data) if isinstance(data, Sized) else data, 1)
        self.shuffle = flag("shuffle", shuffle)
        self.seed = whole("seed", seed, 0)
        self.epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Call it before every epoch. Without it every epoch is shuffled the same way."""
        self.epoch = whole("epoch", epoch, 0)

    def __len__(self) -> int:
        """Samples in one epoch."""
        return self.samples

    def __iter__(self) -> Iterator[int]:
        """This epoch's ids, in order."""
        if not self.shuffle:
            return iter(range(self.samples))
        import torch

        generator = torch.Generator().manual_seed(self.seed + self.epoch)
        return iter(torch.randperm(self.samples, generator=generator).tolist())


class _Shard:
    """What the three samplers share: an order, and this rank's place among the ranks."""

    def __init__(self, data: Any, ranks: int, rank: int, *, shuffle: bool, seed: int, drop_last: bool) -> None:
        self.order = Order(data, shuffle=shuffle, seed=seed)
        self.ranks, self.rank = _place(ranks, rank)
        self.drop_last = flag("drop_last", drop_last)

    def set_epoch(self, epoch: int) -> None:
        """Call it before every epoch. Without it every epoch is shuffled the same way."""
        self.order.set_epoch(epoch)

    def _stream(self, length: int) -> Iterator[int]:
        """The first `length` ids of the order; past its end it goes on from the start, and those ids are borrowed."""
        return islice(cycle(self.order), length)


class StrideSampler(_Shard):
    """torch's rule: ids are dealt to the ranks one by one, in turn. Hands out ids, like `DistributedSampler`.

    Args:
        data: the data set, or how many samples it has.
        ranks: how many ranks.
        rank: this one, from 0.
        shuffle: shuffle the order, with seed + epoch.
        seed: the same on every rank.
        drop_last: leave out samples mod ranks at the end, in place of repeating some from the start.

    Raises:
        UsageError: a value can't be used.
    """

    def __init__(
        self, data: Any, ranks: int, rank: int, *, shuffle: bool = False, seed: int = 0, drop_last: bool = False
    ) -> None:
        super().__init__(data, ranks, rank, shuffle=shuffle, seed=seed, drop_last=drop_last)

    def __len__(self) -> int:
        """Samples of this rank in one epoch: the same on every rank."""
        whole_turns, rest = divmod(len(self.order), self.ranks)
        return whole_turns + (rest > 0 and not self.drop_last)

    def __iter__(self) -> Iterator[int]:
        """This rank's ids."""
        return islice(self._stream(len(self) * self.ranks), self.rank, None, self.ranks)


class BatchShards(_Shard):
    """accelerate's rule: whole batches are dealt to the ranks in turn. Hands out batches of ids.

    Args:
        data: the data set, or how many samples it has.
        batch_size: samples in a batch of this rank.
        ranks: how many ranks.
        rank: this one, from 0.
        shuffle: shuffle the order, with seed + epoch.
        seed: the same on every rank.
        even_batches: fill the last round with the first samples, so that all ranks take the same steps.
        drop_last: leave the last round out when it isn't full; even_batches then has nothing to do.

    Raises:
        UsageError: a value can't be used.
    """

    def __init__(
        self,
        data: Any,
        batch_size: int,
        ranks: int,
        rank: int,
        *,
        shuffle: bool = False,
        seed: int = 0,
        even_batches: bool = True,
        drop_last: bool = False,
    ) -> None:
        super().__init__(data, ranks, rank, shuffle=shuffle, seed=seed, drop_last=drop_last)
        self.batch_size = whole("batch_size", batch_size, 1)
        self.even_batches = flag("even_batches", even_batches)

    def __len__(self) -> int:
        """Batches of this rank in one epoch."""
        batches = -(-self._length() // self.batch_size)
        return len(range(self.rank, batches, self.ranks))

    def __iter__(self) -> Iterator[list[int]]:
        """This rank's batches."""
        return islice(batched(self._stream(self._length()), self.batch_size), self.rank, None, self.ranks)

    def _length(self) -> int:
        """How many ids all ranks take together."""
        return _tail(len(self.order), self.batch_size * self.ranks, self.even_batches, self.drop_last)


class BatchSlices(_Shard):
    """accelerate's rule with split_batches: every batch is cut, and each rank takes its slice of it.

    Args:
        data: the data set, or how many samples it has.
        batch_size: samples in the batch that all ranks share; a multiple of ranks.
        ranks: how many ranks.
        rank: this one, from 0.
        shuffle: shuffle the order, with seed + epoch.
        seed: the same on every rank.
        even_batches: fill the last batch with the first samples, so that every slice is full.
        drop_last: leave the last batch out when it isn't full.

    Raises:
        UsageError: a value can't be used, or batch_size isn't a multiple of ranks.
    """

    def __init__(
        self,
        data: Any,
        batch_size: int,
        ranks: int,
        rank: int,
        *,
        shuffle: bool = False,
        seed: int = 0,
        even_batches: bool = True,
        drop_last: bool = False,
    ) -> None:
        super().__init__(data, ranks, rank, shuffle=shuffle, seed=seed, drop_last=drop_last)
        self.batch_size = whole("batch_size", batch_size, 1)
        self.even_batches = flag("even_batches", even_batches)
        if self.batch_size % self.ranks:
            raise UsageError(
                f"batch_size is {self.batch_size} and ranks is {self.ranks}: give a multiple of {self.ranks}, "
                "so that every rank's slice has the same size"
            )

    def __len__(self) -> int:
        """Batches of this rank in one epoch."""
        share = self.batch_size // self.ranks
        full, rest = divmod(self._length(), self.batch_size)
        return full + (rest > self.rank * share)

    def __iter__(self) -> Iterator[list[int]]:
        """This rank's slices. One with nothing in it isn't handed out: the rank takes a step less."""
        share = self.batch_size // self.ranks
        for batch in batched(self._stream(self._length()), self.batch_size):
            piece = batch[self.rank * share : (self.rank + 1) * share]
            if piece:
                yield piece

    def _length(self) -> int:
        """How many ids all ranks take together."""
        return _tail(len(self.order), self.batch_size, self.even_batches, self.drop_last)


def batched(ids: Iterator[int], size: int) -> Iterator[list[int]]:
    """Lists of `size` ids; the last may be shorter."""
    while batch := list(islice(ids, size)):
        yield batch


def _tail(samples: int, round_size: int, even: bool, drop_last: bool) -> int:
    """Ids in one epoch when the last round is left out, filled up, or left short."""
    full, rest = divmod(samples, round_size)
    if drop_last:
        return full * round_size
    return (full + (rest > 0)) * round_size if even else samples


def _place(ranks: int, rank: int) -> tuple[int, int]:
    ranks, rank = whole("ranks", ranks, 1), whole("rank", rank, 0)
    if rank >= ranks:
        raise UsageError(f"rank is {rank} and ranks is {ranks}: give a rank from 0 to {ranks - 1}")
    return ranks, rank
