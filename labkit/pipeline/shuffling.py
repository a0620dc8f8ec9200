"""Two-stage shuffling: the order of the shards once an epoch, then a bounded buffer in each reader; and how good it is.

Quality is on a scale with two computed ends: 0 for the order in which the samples are stored, 1 for what a full shuffle
of as many samples gives on average.
"""

from __future__ import annotations

import random
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from labkit.errors import UsageError
from labkit.inputs import flag, whole

if TYPE_CHECKING:
    from labkit.picture import Picture

T = TypeVar("T")


def shard_order(shards: int, *, seed: int, epoch: int, shuffle: bool = True) -> list[int]:
    """The shards' numbers in the order of this epoch: the same for every reader that has the same seed."""
    order = list(range(whole("shards", shards, 1)))
    if flag("shuffle", shuffle):
        random.Random(f"{seed}/{epoch}/shards").shuffle(order)
    return order


def buffered(samples: Iterable[T], buffer: int, rng: random.Random) -> Iterator[T]:
    """Samples by way of a buffer of at most `buffer`: once it is full, each new one pushes out one drawn at random.

    With a buffer of 1 nothing moves. A sample never comes out more than `buffer - 1` places before its turn.
    """
    held: list[T] = []
    whole("buffer", buffer, 1)
    for sample in samples:
        if len(held) < buffer - 1:
            held.append(sample)
            continue
        place = rng.randrange(buffer)
        if place == len(held):  # the new one itself
            yield sample
        else:
            held[place], out = sample, held[place]
            yield out
    rng.shuffle(held)
    yield from held


def two_stage(
    shards: int,
    read: Callable[[int], Iterable[T]],
    *,
    buffer: int,
    seed: int,
    epoch: int,
    reader: int = 0,
    readers: int = 1,
    shuffle_shards: bool = True,
) -> Iterator[T]:
    """One reader's samples of one epoch. Its shards are every `readers`-th of the epoch's order, each read once, whole.

    Args:
        shards: how many there are.
        read: shard number -> its samples, in their order.
        buffer: samples that the reader holds. 1: none is moved.
        seed: of the job; all readers have the same.
        epoch: from 0. A new one gives a new order of shards, and new places in the buffer.
        reader: number of this reader, from 0.
        readers: how many share the shards.
        shuffle_shards: False: the shards in their stored order.

    Raises:
        UsageError: a value can't be used.
    """
    reader, readers = whole("reader", reader, 0), whole("readers", readers, 1)
    if reader >= readers:
        raise UsageError(f"reader is {reader}: with {readers} readers they are 0 to {readers - 1}")
    whole("buffer", buffer, 1)
    mine = shard_order(shards, seed=seed, epoch=epoch, shuffle=shuffle_shards)[reader::readers]
    stream = (sample for shard in mine for sample in read(shard))
    return buffered(stream, buffer, random.Random(f"{seed}/{epoch}/{reader}"))


def mixing(order: Sequence[int], batch_size: int) -> float:
    """Mean square distance of a batch's mean from the mean of all: how untypical the batches are. 0: not at all.

    `order` holds the stored places of the samples, 0 to n - 1, in the order in which they were trained on. A last batch
    that isn't full is left out.
    """
    size = whole("batch_size", batch_size, 1)
    count = len(order)
    if sorted(order) != list(range(count)):
        raise UsageError(f"order is no arrangement of 0 to {count - 1}: give each sample's stored place once")
    if count < 2 * size:
        raise UsageError(f"{count} samples are fewer than two batches of {size}: there is nothing to compare")
    middle = (count - 1) / 2
    means = [sum(order[i : i + size]) / size for i in range(0, count - size + 1, size)]
    return sum((mean - middle) ** 2 for mean in means) / len(means)


def full_mixing(count: int, batch_size: int) -> float:
    """What `mixing` gives on average over all orders: (n + 1)(n - b) / (12 b), for n samples in batches of b.

    A batch of b places drawn from 0 to n - 1 without replacement has a mean with variance (s2 / b)(n - b)/(n - 1), and
    s2 = (n^2 - 1) / 12 (the variance of a mean under sampling without replacement; W. G. Cochran, Sampling Techniques).
    """
    return (count + 1) * (count - batch_size) / (12 * batch_size)


def shuffle_quality(order: Sequence[int], batch_size: int) -> float:
    """How well an order is shuffled, as the batches feel it: (none - order) / (none - full), each by `mixing`.

    0: no better than the stored order. 1: as a full shuffle on average; a single full shuffle scatters about it, by
    about sqrt(2 / batches) / batch_size. Above 1: batches more alike than chance makes them (dealt out, not shuffled).

    It looks at batches alone: an order of batches in which each is typical counts as shuffled, and an epoch that
    repeats the one before is not seen.

    Raises:
        UsageError: `order` is no arrangement of 0 to n - 1, or too short for two batches.
    """
    count = len(order)
    none = mixing(range(count), batch_size)
    return (none - mixing(order, batch_size)) / (none - full_mixing(count, batch_size))


def shard_reads(order: Iterable[int], shard_of: Callable[[int], int] | Sequence[int], *, held: int = 1) -> int:
    """How often a shard must be fetched to deliver samples in this order, where `held` shards fit into memory.

    The shard that was wanted longest ago makes room (LRU). In storage order that is one fetch a shard; in a full
    shuffle nearly one a sample.
    """
    find = shard_of if callable(shard_of) else shard_of.__getitem__
    room: OrderedDict[int, None] = OrderedDict()
    fetched = 0
    for sample in order:
        shard = find(sample)
        if shard in room:
            room.move_to_end(shard)
            continue
        fetched += 1
        room[shard] = None
        if len(room) > whole("held", held, 1):
            room.popitem(last=False)
    return fetched


@dataclass(frozen=True)
class Shuffle:
    """One epoch under one way of shuffling: its order, how good that is, and what it cost.

    Attributes:
        name: the way, in a few words.
        order: stored places in the order of training.
        batch_size: of the batches that quality is about.
        quality: 0 stored order, 1 full shuffle; see `shuffle_quality`.
        shard_reads: how many times a shard was fetched. The number of shards is the least.
        held: samples held in memory at once, at most.
    """

    name: str
    order: tuple[int, ...]
    batch_size: int
    quality: float
    shard_reads: int
    held: int

    def text(self) -> str:
        """One line for people: quality and price together."""
        held = f"{self.held:,} sample{'s' * (self.held != 1)} held"
        return f"{self.name}: quality {self.quality:.2f}, {self.shard_reads:,} shard reads, {held}"

    def plot(self) -> Picture:
        """The order as a cloud of points: stored place against place in training."""
        from labkit.pipeline.shuffling_drawing import draw_shuffles

        return draw_shuffles([self])


def try_shuffle(
    shards: int,
    shard_samples: int,
    *,
    batch_size: int,
    buffer: int = 1,
    shuffle_shards: bool = True,
    full: bool = False,
    seed: int = 0,
    epoch: int = 0,
) -> Shuffle:
    """Shuffle an epoch of `shards` shards of `shard_samples` samples each; its quality and its price.

    Args:
        shards, shard_samples: the data.
        batch_size: of the batches that quality is about.
        buffer: samples that the reader holds.
        shuffle_shards: draw the order of the shards first.
        full: draw a full shuffle instead, and fetch a shard for each sample that isn't in the shard held.
        seed, epoch: which shuffle.

    Raises:
        UsageError: a value can't be used.
    """
    whole("shards", shards, 1)
    size = whole("shard_samples", shard_samples, 1)
    count = shards * size
    if flag("full", full):
        order = list(range(count))
        random.Random(f"{seed}/{epoch}/full").shuffle(order)
        reads, held, name = shard_reads(order, lambda one: one // size), size, "full shuffle"
    else:
        fetched: list[int] = []

        def read(shard: int) -> range:
            fetched.append(shard)
            return range(shard * size, (shard + 1) * size)

        order = list(two_stage(shards, read, buffer=buffer, seed=seed, epoch=epoch, shuffle_shards=shuffle_shards))
        reads, held = len(fetched), min(buffer, count)
        name = f"{'shards shuffled' if shuffle_shards else 'stored order'}, buffer {buffer}"
    return Shuffle(name, tuple(order), batch_size, shuffle_quality(order, batch_size), reads, held)
