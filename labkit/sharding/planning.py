"""Who gets which sample, on paper: the rules of accelerate and of torch, each in a few lines.

Every rule deals out places in one endless stream: the samples in reading order, then the same again from the start.
Place p holds sample p mod N, so a place of N or more is borrowed: that sample is already someone's. A rule says how
long the stream is and which rank takes which places; duplicates, drops and steps follow from the places.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from labkit.errors import UsageError
from labkit.inputs import flag, whole
from labkit.sharding.inputs import sample_ids
from labkit.words import counted

if TYPE_CHECKING:
    import pandas as pd

    from labkit.picture import Picture

Batches = list[list[int]]
"""One rank's batches, each a list of places in the stream."""

_RULES = {
    "batches": "whole batches dealt to the ranks in turn",
    "slices": "every batch cut into one slice a rank",
    "stride": "samples dealt to the ranks one by one in turn",
    "dispatch": "rank 0 reads, every round cut into one slice a rank",
}


@dataclass(frozen=True, eq=False, repr=False)
class Plan:
    """Which rank reads which samples, step by step.

    Attributes:
        rule: "batches" (accelerate), "slices" (accelerate with split_batches), "stride" (torch) or "dispatch".
        batch_size: samples in a batch of one rank; with "slices", in the batch that all ranks share.
        ranks: how many ranks.
        ids: the samples in reading order.
    """

    rule: str
    batch_size: int
    ranks: int
    ids: Sequence[Hashable]
    _places: list[Batches] = field(kw_only=True)

    @cached_property
    def per_rank(self) -> list[list[list[Any]]]:
        """The plan itself: for each rank a list of its batches, each a list of ids."""
        size = len(self.ids)
        return [[[self.ids[p % size] for p in batch] for batch in batches] for batches in self._places]

    @cached_property
    def duplicates(self) -> tuple[Any, ...]:
        """Ids handed out once more than they should be, in the order of borrowing; an id borrowed twice is in it twice.

        Each one counts again in a metric that doesn't remove it. Many against the samples: the metric is off.
        """
        size = len(self.ids)
        return tuple(self.ids[p % size] for p in sorted(self._dealt) if p >= size)

    @cached_property
    def dropped(self) -> tuple[Any, ...]:
        """Ids that no rank reads, in reading order. Many: the tail of the data is never trained on or counted."""
        return tuple(one for p, one in enumerate(self.ids) if p not in self._dealt)

    @cached_property
    def steps(self) -> tuple[int, ...]:
        """Batches of each rank. Unequal: the rank with more waits in its last all-reduce for one that is gone."""
        return tuple(len(batches) for batches in self._places)

    @property
    def hang_risk(self) -> bool:
        """Whether some rank takes fewer steps, so that a collective in every step would wait for it for ever."""
        return len(set(self.steps)) > 1

    @cached_property
    def ragged_steps(self) -> tuple[int, ...]:
        """Steps that all ranks take with batches of unequal size: an all_gather of rows goes wrong there."""
        shared = range(min(self.steps))
        return tuple(s for s in shared if len({len(batches[s]) for batches in self._places}) > 1)

    def borrowed(self, rank: int, step: int) -> list[bool]:
        """For each sample of a batch, whether it is borrowed: some rank (maybe this one) has it already."""
        return [p >= len(self.ids) for p in self._places[rank][step]]

    @cached_property
    def _dealt(self) -> set[int]:
        return {p for batches in self._places for batch in batches for p in batch}

    def frame(self) -> pd.DataFrame:
        """One row for every sample of every batch: rank, step, place in the batch, id, borrowed (True or False)."""
        import pandas as pd

        rows = [
            (rank, step, place, one, p >= len(self.ids))
            for rank, batches in enumerate(self._places)
            for step, batch in enumerate(batches)
            for place, (p, one) in enumerate(zip(batch, self.per_rank[rank][step], strict=True))
        ]
        return pd.DataFrame(rows, columns=["rank", "step", "place", "id", "borrowed"])

    def summary(self) -> str:
        """The plan in one paragraph."""
        return (
            f"{counted(len(self.ids), 'sample')}, batch size {self.batch_size}, {counted(self.ranks, 'rank')}, "
            f"{_RULES[self.rule]}. {self._steps_said()} "
            f"{_listed(self.duplicates, 'handed out again', 'No sample is handed out twice')}; "
            f"{_listed(self.dropped, 'dropped', 'none is dropped')}."
        )

    def _steps_said(self) -> str:
        if self.hang_risk:
            taken = ", ".join(f"rank {r} {n}" for r, n in enumerate(self.steps))
            return f"Steps differ ({taken}): a collective in every step hangs."
        return f"{counted(self.steps[0], 'step')} on every rank."

    def __repr__(self) -> str:
        """The summary, so that a bare `plan(...)` at the end of a cell says what it is."""
        return f"Plan({self.summary()})"

    def text(self) -> str:
        """The plan in words and one line a rank; a star marks what is borrowed."""
        lines = [self.summary()]
        for rank, batches in enumerate(self.per_rank):
            parts = []
            for step, batch in enumerate(batches):
                marks = zip(batch, self.borrowed(rank, step), strict=True)
                parts.append("[" + " ".join(f"{one}{'*' * again}" for one, again in marks) + "]")
            lines.append(f"rank {rank}: {' '.join(parts) or 'nothing'}")
        return "\n".join(lines)

    def as_dict(self) -> dict[str, Any]:
        """The plan as plain values, for JSON: settings, every rank's batches, duplicates, dropped, steps, hang_risk."""
        return {
            "rule": self.rule,
            "samples": len(self.ids),
            "batch_size": self.batch_size,
            "ranks": self.ranks,
            "per_rank": self.per_rank,
            "duplicates": list(self.duplicates),
            "dropped": list(self.dropped),
            "steps": list(self.steps),
            "hang_risk": self.hang_risk,
        }

    def plot(self, *, title: str | None = None) -> Picture:
        """Which sample went to which rank: a row a rank, a box a batch; borrowed samples hatched and starred."""
        from labkit.sharding.drawing import draw_plan

        return draw_plan(self, title=title)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        return self.plot()._repr_mimebundle_(**kwargs)


def plan(
    samples: Any,
    batch_size: int,
    ranks: int,
    *,
    split_batches: bool = False,
    even_batches: bool = True,
    drop_last: bool = False,
) -> Plan:
    """Who reads what under accelerate's rules (`accelerate.data_loader.BatchSamplerShard`, version 1.15).

    Whole batches: batch k goes to rank k mod ranks. Split: rank r takes slice r of every batch. At the end, drop_last
    leaves out what doesn't fill a round; even_batches fills it with the first samples; neither leaves it short.
    `IterableDatasetShard` deals out the same samples (it always evens, unless it drops).

    Args:
        samples: how many samples, or their ids in the order in which the sampler gives them.
        batch_size: samples a batch: of one rank, or with split_batches of all ranks together.
        ranks: how many ranks.
        split_batches: cut every batch into slices, in place of dealing whole batches.
        even_batches: give every rank the same number of full batches by borrowing from the start.
        drop_last: leave out the tail; even_batches then has nothing to do.

    Raises:
        UsageError: a value can't be used, or split_batches and batch_size isn't a multiple of ranks.
    """
    ids = sample_ids(samples)
    batch_size, ranks = whole("batch_size", batch_size, 1), whole("ranks", ranks, 1)
    even, drop = flag("even_batches", even_batches), flag("drop_last", drop_last)
    if flag("split_batches", split_batches):
        if batch_size % ranks:
            raise UsageError(_cannot_split(batch_size, ranks))
        places, rule = slices_of_batches(len(ids), batch_size, ranks, even, drop), "slices"
    else:
        places, rule = batches_in_turn(len(ids), batch_size, ranks, even, drop), "batches"
    return Plan(rule, batch_size, ranks, ids, _places=places)


def plan_distributed_sampler(
    samples: Any,
    ranks: int,
    batch_size: int = 1,
    *,
    drop_last: bool = False,
    shuffle: bool = False,
    seed: int = 0,
    epoch: int = 0,
) -> Plan:
    """Who reads what under torch's rule (`torch.utils.data.DistributedSampler`), in batches of `batch_size`.

    Rank r takes samples r, r + ranks, r + 2 * ranks, ... of the order; the order is filled up from its own start to a
    multiple of ranks, or cut to one with drop_last. DistributedSampler's own default is shuffle=True; here it is off,
    so that a plan shows the rule. Shuffled, the order is `torch.randperm` seeded with seed + epoch, as there.

    Args:
        samples: how many samples, or their ids in order.
        ranks: how many ranks.
        batch_size: samples a batch, as given to the DataLoader; its last batch may be short on every rank alike.
        drop_last: the sampler's setting: leave out samples mod ranks from the end, in place of repeating some.
        shuffle: shuffle the order first.
        seed: the sampler's seed.
        epoch: what was given to `set_epoch`; 0 for a program that never calls it.

    Raises:
        UsageError: a value can't be used.
    """
    ids = sample_ids(samples)
    ranks, batch_size = whole("ranks", ranks, 1), whole("batch_size", batch_size, 1)
    seed, epoch = whole("seed", seed, 0), whole("epoch", epoch, 0)
    if flag("shuffle", shuffle):
        import torch

        order = torch.randperm(len(ids), generator=torch.Generator().manual_seed(seed + epoch)).tolist()
        ids = [ids[i] for i in order]
    places = strides(len(ids), batch_size, ranks, flag("drop_last", drop_last))
    return Plan("stride", batch_size, ranks, ids, _places=places)


def plan_dispatch(
    samples: Any, batch_size: int, ranks: int, *, split_batches: bool = False, drop_last: bool = False
) -> Plan:
    """Who gets what when rank 0 reads for all (accelerate's `DataLoaderDispatcher`, version 1.15).

    A round is ranks batches (one batch with split_batches), cut into equal slices. A last round that the ranks don't
    divide is filled up from the start, so slices there are just long enough. Where accelerate has fewer samples in
    its first round than it wants to borrow (1 sample on 3 ranks) it crashes; this plan goes round again.

    Args:
        samples: how many samples, or their ids in reading order.
        batch_size: samples a batch of one rank; with split_batches, of all ranks together.
        ranks: how many ranks.
        split_batches: read one batch a round and cut it, in place of reading one batch for every rank.
        drop_last: leave out a round that isn't full.

    Raises:
        UsageError: a value can't be used, or split_batches and batch_size isn't a multiple of ranks.
    """
    ids = sample_ids(samples)
    batch_size, ranks = whole("batch_size", batch_size, 1), whole("ranks", ranks, 1)
    split = flag("split_batches", split_batches)
    if split and batch_size % ranks:
        raise UsageError(_cannot_split(batch_size, ranks))
    places = slices_of_rounds(
        len(ids), batch_size if split else batch_size * ranks, ranks, flag("drop_last", drop_last)
    )
    return Plan("dispatch", batch_size, ranks, ids, _places=places)


def batches_in_turn(samples: int, batch_size: int, ranks: int, even: bool, drop_last: bool) -> list[Batches]:
    """Batch k to rank k mod ranks."""
    if drop_last:
        samples = _down(samples, batch_size * ranks)
    elif even:
        samples = _up(samples, batch_size * ranks)
    batches = _cut(range(samples), batch_size)
    return [batches[rank::ranks] for rank in range(ranks)]


def slices_of_batches(samples: int, batch_size: int, ranks: int, even: bool, drop_last: bool) -> list[Batches]:
    """Slice r of every batch to rank r; a slice with nothing in it is no batch."""
    if drop_last:
        samples = _down(samples, batch_size)
    elif even:
        samples = _up(samples, batch_size)
    share = batch_size // ranks
    slices = [
        [batch[rank * share : (rank + 1) * share] for batch in _cut(range(samples), batch_size)]
        for rank in range(ranks)
    ]
    return [[piece for piece in pieces if piece] for pieces in slices]


def strides(samples: int, batch_size: int, ranks: int, drop_last: bool) -> list[Batches]:
    """Places r, r + ranks, r + 2 * ranks, ... to rank r."""
    samples = _down(samples, ranks) if drop_last else _up(samples, ranks)
    return [_cut(range(rank, samples, ranks), batch_size) for rank in range(ranks)]


def slices_of_rounds(samples: int, round_size: int, ranks: int, drop_last: bool) -> list[Batches]:
    """Slice r of every round to rank r; the last round is filled up to a multiple of ranks only."""
    samples = _down(samples, round_size) if drop_last else _down(samples, round_size) + _up(samples % round_size, ranks)
    rounds = _cut(range(samples), round_size)
    shares = [len(one) // ranks for one in rounds]
    return [[one[r * n : (r + 1) * n] for one, n in zip(rounds, shares, strict=True)] for r in range(ranks)]


def _cut(places: Sequence[int], size: int) -> Batches:
    """Consecutive pieces of `size`; the last may be shorter."""
    return [list(places[i : i + size]) for i in range(0, len(places), size)]


def _down(n: int, step: int) -> int:
    return n // step * step


def _up(n: int, step: int) -> int:
    return -(-n // step) * step


def _cannot_split(batch_size: int, ranks: int) -> str:
    near = sorted({_down(batch_size, ranks), _up(batch_size, ranks)} - {0})
    return (
        f"batch_size is {batch_size} and ranks is {ranks}: split_batches cuts every batch into {ranks} equal slices; "
        f"give a multiple of {ranks}, such as {' or '.join(map(str, near))}"
    )


def _listed(ids: tuple[Any, ...], verb: str, none: str, most: int = 12) -> str:
    if not ids:
        return none
    shown = ", ".join(map(str, ids[:most])) + (", ..." if len(ids) > most else "")
    return f"{counted(len(ids), 'sample')} {verb} ({shown})"
