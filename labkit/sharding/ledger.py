"""The ledger: what every rank's steps got, put together from the ranks' notes. No judgement, only what was seen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from labkit.sharding.setup import Setup


@dataclass(frozen=True)
class Delivery:
    """What one step of one rank got.

    Attributes:
        rank: the rank whose step it is.
        epoch: from 0.
        step: from 0 in each epoch.
        ids: its samples, in order.
        workers: for each sample the worker process that read it; -1 is the rank's own process.
        readers: for each sample the rank that read it: another one where rank 0 reads for all.
        size: rows of the batch as the step saw it; None where that can't be seen. 0: an empty batch.
        places: for each sample the index that the loader asked for; None for streams.
    """

    rank: int
    epoch: int
    step: int
    ids: tuple[Hashable, ...]
    workers: tuple[int, ...]
    readers: tuple[int, ...]
    size: int | None
    places: tuple[int | None, ...]


@dataclass(frozen=True)
class Stream:
    """Where the generators of one reading process stood when its first batch of an epoch began.

    Attributes:
        rank: the rank.
        worker: the worker process; -1 is the rank's own process.
        epoch: from 0.
        stood: a number for each generator's state, by name; equal numbers are equal states.
        drawn: the generators that reading a sample moved; only these matter.
    """

    rank: int
    worker: int
    epoch: int
    stood: dict[str, int]
    drawn: frozenset[str]


@dataclass(frozen=True)
class Trouble:
    """Something that ended a rank's walk early.

    Attributes:
        kind: "raised", "endless", or a cause of `labkit.ranks.RankError`.
        rank: whose; -1 where no single rank is to blame.
        epoch: the epoch it was in.
        step: the step it was about to get.
        said: one line.
        traceback: where it happened; may be empty.
    """

    kind: str
    rank: int
    epoch: int
    step: int
    said: str
    traceback: str = ""


@dataclass(frozen=True)
class Ledger:
    """Everything that was seen.

    Attributes:
        ranks: how many ranks.
        epochs: how many epochs each rank walked.
        deliveries: what each step got, by epoch, rank and step.
        setups: each rank's loader; None for a rank that never got that far.
        said: (epoch, rank) -> steps that `len(loader)` promised; absent where it promises nothing.
        whole: (epoch, rank) pairs walked to their end.
        streams: generators by rank, worker and epoch.
        troubles: what ended early.
        expected: the ids that an epoch should cover; None where nothing says so.
        expected_count: how many samples an epoch should cover, where only the number is known.
        identity: how samples are told apart: "index", "sample_id", "key", "value" or "content".
        groups: ranks that share their data on purpose; every rank alone where none do.
        grouped_by: "given", "seen" or "".
        notes: what limits what can be seen.
        capped: whether epochs were cut short on request.
    """

    ranks: int
    epochs: int
    deliveries: tuple[Delivery, ...]
    setups: tuple[Setup | None, ...]
    said: dict[tuple[int, int], int] = field(default_factory=dict)
    whole: frozenset[tuple[int, int]] = frozenset()
    streams: tuple[Stream, ...] = ()
    troubles: tuple[Trouble, ...] = ()
    expected: frozenset[Hashable] | None = None
    expected_count: int | None = None
    identity: str = "index"
    groups: tuple[tuple[int, ...], ...] = ()
    grouped_by: str = ""
    notes: tuple[str, ...] = ()
    capped: bool = False

    @cached_property
    def walks(self) -> dict[tuple[int, int], tuple[Delivery, ...]]:
        """(epoch, rank) -> its deliveries in order; empty where a rank took no step."""
        found: dict[tuple[int, int], list[Delivery]] = {
            (e, r): [] for e in range(self.epochs) for r in range(self.ranks)
        }
        for one in self.deliveries:
            found[one.epoch, one.rank].append(one)
        return {key: tuple(sorted(many, key=lambda d: d.step)) for key, many in found.items()}

    def ids(self, epoch: int, rank: int) -> tuple[Hashable, ...]:
        """The samples of a rank in an epoch, in order."""
        return tuple(one for delivery in self.walks[epoch, rank] for one in delivery.ids)

    def steps(self, epoch: int) -> tuple[int, ...]:
        """Steps of each rank in an epoch."""
        return tuple(len(self.walks[epoch, rank]) for rank in range(self.ranks))

    @cached_property
    def leaders(self) -> tuple[int, ...]:
        """One rank of each group: what a group shares counts once."""
        return tuple(min(group) for group in self.groups) if self.groups else tuple(range(self.ranks))

    def complete(self, epoch: int) -> bool:
        """Whether every rank walked this epoch to its end, so that what is missing is really missing."""
        return all((epoch, rank) in self.whole for rank in range(self.ranks))

    def counts(self, epoch: int) -> Counter[Hashable]:
        """How often each sample was handed over in an epoch; what a group shares counts once."""
        return self._counts[epoch]

    @cached_property
    def _counts(self) -> list[Counter[Hashable]]:
        return [Counter(one for rank in self.leaders for one in self.ids(epoch, rank)) for epoch in range(self.epochs)]

    @cached_property
    def again(self) -> dict[tuple[int, int, int], tuple[bool, ...]]:
        """(epoch, rank, step) -> for each sample, whether some step had it before in this epoch.

        Steps of the same number happen at once; among them the lower rank counts as the first.
        """
        group_of = {rank: group for group in self.groups or [(r,) for r in range(self.ranks)] for rank in group}
        found: dict[tuple[int, int, int], tuple[bool, ...]] = {}
        for epoch in range(self.epochs):
            seen: set[Hashable] = set()
            for delivery in self.in_order(epoch, self.leaders):
                marks = []
                for one in delivery.ids:
                    marks.append(one in seen)
                    seen.add(one)
                for rank in group_of[delivery.rank]:
                    found[epoch, rank, delivery.step] = tuple(marks)
        return found

    def in_order(self, epoch: int, ranks: Iterable[int]) -> Iterator[Delivery]:
        """Deliveries of an epoch by step, then rank."""
        walks = [self.walks[epoch, rank] for rank in ranks]
        for step in range(max(map(len, walks), default=0)):
            yield from (walk[step] for walk in walks if step < len(walk))

    def repeated(self, epoch: int) -> tuple[Hashable, ...]:
        """Ids handed over once more in an epoch, in that order; one handed over three times is in it twice."""
        return tuple(
            one
            for delivery in self.in_order(epoch, self.leaders)
            for one, again in zip(delivery.ids, self.again[epoch, delivery.rank, delivery.step], strict=False)
            if again
        )

    def missing(self, epoch: int) -> tuple[Hashable, ...]:
        """Expected ids that no step got in an epoch; empty where nothing is expected, or the epoch was cut short."""
        if self.expected is None or not self.complete(epoch):
            return ()
        return _sorted(self.expected - set(self.counts(epoch)))

    def short(self, epoch: int) -> int:
        """How many samples an epoch lacks, ids known or not."""
        if not self.complete(epoch):
            return 0
        seen = len(self.counts(epoch))
        return max(len(self.missing(epoch)), (self.expected_count or 0) - seen)

    @property
    def setup(self) -> Setup | None:
        """The loader of the lowest rank that has one."""
        return next((one for one in self.setups if one is not None), None)

    @property
    def samples(self) -> int:
        """How many samples an epoch should cover, as far as is known; else how many were seen in any epoch."""
        if self.expected is not None:
            return max(len(self.expected), self.expected_count or 0)
        seen: set[Hashable] = set()
        for counts in self._counts:
            seen |= set(counts)
        return max(self.expected_count or 0, len(seen))


def _sorted(ids: Iterable[Any]) -> tuple[Any, ...]:
    ids = list(ids)
    try:
        return tuple(sorted(ids))
    except TypeError:
        return tuple(sorted(ids, key=repr))
