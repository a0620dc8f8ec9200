"""Who reads what: rules that explain samples read twice or by nobody. Each is a function; the first that fits wins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import cached_property

from labkit.sharding.findings import Finding, count, every, listed
from labkit.sharding.ledger import Ledger

TWICE_SLACK = (
    0.05  # a share of a share: what is seen may differ from samples / ranks by this part, or by a batch a rank
)


@dataclass(frozen=True)
class Extra:
    """A sample handed over once more: whose step got it, and who had it first."""

    id: Hashable
    rank: int
    step: int
    worker: int
    first_rank: int
    first_worker: int
    last: bool  # in the last step of that rank, or of its worker


@dataclass(frozen=True)
class View:
    """One epoch of a ledger, as the rules look at it."""

    ledger: Ledger
    epoch: int

    @cached_property
    def sets(self) -> dict[int, frozenset[Hashable]]:
        """Samples of each rank; one rank stands for a group."""
        return {rank: frozenset(self.ledger.ids(self.epoch, rank)) for rank in self.ledger.leaders}

    @cached_property
    def union(self) -> frozenset[Hashable]:
        """Samples that anybody read."""
        return frozenset().union(*self.sets.values())

    @cached_property
    def batch(self) -> int:
        """Samples in the largest batch of a rank."""
        return max((len(d.ids) for rank in self.sets for d in self.ledger.walks[self.epoch, rank]), default=0)

    @cached_property
    def tails(self) -> int:
        """Last steps of a rank that may be filled up: one, or one a worker where each worker has its own stream."""
        return max((s.workers for s in self.ledger.setups if s is not None and s.kind == "iterable"), default=1) or 1

    @cached_property
    def room(self) -> int:
        """The most samples that filling up to equal, full batches can hand out again."""
        return len(self.sets) * self.batch * self.tails - 1

    @cached_property
    def extras(self) -> tuple[Extra, ...]:
        """Every sample handed over once more."""
        first: dict[Hashable, tuple[int, int]] = {}
        found = []
        for d in self.ledger.in_order(self.epoch, self.ledger.leaders):
            walk = self.ledger.walks[self.epoch, d.rank]
            last = d.step >= len(walk) - self.tails
            for one, worker in zip(d.ids, d.workers, strict=True):
                if one in first:
                    found.append(Extra(one, d.rank, d.step, worker, *first[one], last))
                else:
                    first[one] = (d.rank, worker)
        return tuple(found)

    @cached_property
    def head(self) -> Hashable:
        """The first sample of the order that is shared out: the first one of the first rank."""
        return next((one for rank in self.sets for one in self.ledger.ids(self.epoch, rank)), None)

    @cached_property
    def across(self) -> tuple[Extra, ...]:
        """Those that another rank had first."""
        return tuple(one for one in self.extras if one.rank != one.first_rank)

    @cached_property
    def within(self) -> tuple[Extra, ...]:
        """Those that the same rank had first."""
        return tuple(one for one in self.extras if one.rank == one.first_rank)

    @cached_property
    def told_shares(self) -> tuple[int, ...]:
        """Shares that the loader says it makes, one number for each part that shares out; 1 is left out."""
        found: set[tuple[int, ...]] = {s.shares for s in self.ledger.setups if s is not None}
        return tuple(n for n in max(found, default=(), key=len) if n > 1)

    @cached_property
    def short(self) -> int:
        """Samples that nobody read."""
        return self.ledger.short(self.epoch)


def _every_worker(view: View) -> Finding | None:
    """Two or more workers of a rank read the same samples."""
    for rank, ids in view.sets.items():
        held: dict[int, set[Hashable]] = {}
        for delivery in view.ledger.walks[view.epoch, rank]:
            for one, worker in zip(delivery.ids, delivery.workers, strict=True):
                held.setdefault(worker, set()).add(one)
        if len(held) < 2 or not ids:
            continue
        smallest = min(held.values(), key=len)
        shared = set.intersection(*held.values())
        if len(shared) * 2 > len(smallest) and len(shared) > 1:
            times = sum(map(len, held.values())) / len(ids)
            return Finding(
                "every-worker-reads-all",
                f"Each of rank {rank}'s {len(held)} workers reads the whole stream: samples come {times:.3g} times.",
                (
                    f"rank {rank}, epoch {view.epoch}: {times * len(ids):,.0f} reads of {count(len(ids), 'sample')}",
                    f"all {len(held)} workers read {listed(_some(shared))}",
                ),
                "In the data set's __iter__, ask torch.utils.data.get_worker_info() and let worker w of W take every "
                "W-th sample (or file) from w on.",
            )
    return None


def _every_rank(view: View) -> Finding | None:
    """All ranks read the same samples, and not because a small data set was filled up."""
    if len(view.sets) < 2 or not view.union:
        return None
    if any(len(ids) != len(view.union) for ids in view.sets.values()):
        return None
    if _with_replacement(view) and len({view.ledger.ids(view.epoch, rank) for rank in view.sets}) > 1:
        return None
    filled = len(view.extras) <= view.room and view.told_shares and all(x.last for x in view.extras)
    if filled or (len(view.union) == 1 and view.told_shares):
        return None
    ranks = len(view.sets)
    iterable = view.ledger.setup is not None and view.ledger.setup.kind == "iterable"
    fix = (
        "Give each rank its own part: in __iter__ keep every P-th sample or file from the rank on "
        "(webdataset: nodesplitter=wds.split_by_node), or let accelerate prepare the loader."
        if iterable
        else "Give the loader sampler=DistributedSampler(dataset, ranks, rank), or let accelerate prepare it."
    )
    return Finding(
        "every-rank-reads-all",
        f"{every(ranks, 'rank')} read the same {count(len(view.union), 'sample')}: an epoch is {ranks} epochs long and "
        "gradients of the ranks are alike.",
        (
            f"epoch {view.epoch}: {len(view.extras):,} of {len(view.extras) + len(view.union):,} reads are repeats",
            f"every rank has {listed(_some(view.union))}",
        ),
        fix + " If these ranks share data on purpose (tensor or context parallel), say groups=[[...]].",
    )


def _shared_shard(view: View) -> Finding | None:
    """Some ranks, not all, read the very same samples, shares of more than filling up explains."""
    alike: dict[frozenset[Hashable], list[int]] = {}
    for rank, ids in view.sets.items():
        alike.setdefault(ids, []).append(rank)
    twins = [(ids, ranks) for ids, ranks in alike.items() if len(ranks) > 1 and ids]
    if not twins or len(alike) == 1 or all(x.last for x in view.extras):
        return None
    said = "; ".join(f"ranks {listed(ranks)} read the same {count(len(ids), 'sample')}" for ids, ranks in twins)
    lost = f" {count(view.short, 'sample')} nobody reads." if view.short else ""
    return Finding(
        "shared-shard",
        f"{said[0].upper()}{said[1:]}.{lost}",
        tuple(f"ranks {listed(ranks)}: {listed(_some(ids))}" for ids, ranks in twins),
        "Shard by the global rank and the global number of ranks, not by local_rank or the ranks of one machine. If "
        "these ranks share data on purpose, say groups=[[...]].",
    )


def _sharded_twice(view: View) -> Finding | None:
    """About samples / ranks are seen in all: each rank took its share of what was one rank's share already."""
    ranks, total = len(view.sets), view.ledger.samples
    if ranks < 2 or not view.short or not view.union:
        return None
    layers = view.told_shares
    slack = max(TWICE_SLACK * total / ranks, ranks * view.batch)
    near = abs(len(view.union) - total / ranks) <= slack and view.short > slack and not view.within
    if not (len(layers) > 1 or (near and not view.across and total / ranks > slack)):
        return None
    return Finding(
        "sharded-twice",
        f"Only {len(view.union):,} of {total:,} samples are read, about 1 in {ranks}: the data is shared out twice.",
        (
            f"epoch {view.epoch}: {view.short:,} samples are read by nobody",
            f"parts that share out: {listed(_sharing_parts(view)) or 'not named by the loader'}",
        ),
        "Share out once: give accelerate (or another wrapper) the loader without a DistributedSampler and without a "
        "data set that is cut by rank.",
    )


def _orders_diverge(view: View) -> Finding | None:
    """Samples read by two ranks and samples read by none in one epoch: shares of different permutations."""
    if not view.across or view.within or not view.short or len(view.across) <= 0.25 * view.short:
        return None
    if all(x.last for x in view.extras):
        return None
    return Finding(
        "orders-diverge",
        f"Ranks shuffle differently: {_are(len(view.across))} read by more than one rank and "
        f" {view.short:,} by none, in one epoch.",
        (
            f"epoch {view.epoch}, read twice: {listed(x.id for x in view.across)}",
            f"read by nobody: {listed(view.ledger.missing(view.epoch)) or 'ids unknown'}",
        ),
        "All ranks must permute with one seed (seed + epoch, never seed + rank), and every rank must set the same "
        "epoch; only then are their shares parts of one order.",
    )


def _padding(view: View) -> Finding | None:
    """Everything read again is read in the last steps, no more than filling up needs, and nothing else is amiss."""
    extras = view.extras
    if not extras or len(extras) > view.room or not all(x.last for x in extras):
        return None
    if view.across and view.head not in {x.id for x in extras}:  # filling up starts at the head of the order
        return None
    if view.short > view.room or (view.within and not view.told_shares and len(view.sets) > 1 and not view.across):
        return None
    total = len(view.union)
    where = Counter((x.rank, x.step) for x in extras)
    return Finding(
        "padding",
        f"{_are(len(extras), total)} read again at the end to make "
        f"the ranks' steps equal: {total + len(extras):,} reads instead of {total:,}.",
        (
            f"epoch {view.epoch}, read again: {listed(x.id for x in extras)}",
            *(f"rank {rank}, step {step}: {n} of its samples" for (rank, step), n in sorted(where.items())[:4]),
        ),
        "In evaluation remove them by id before the metric, or don't pad and add up sums and counts over the ranks "
        "(labkit.metrics.SumCount). In training it does little harm. accelerate's gather_for_metrics cuts by position: "
        "only right where the data set's length is known and what you gather has one row a sample.",
    )


def _rank_repeats(view: View) -> Finding | None:
    """One rank reads samples more than once, and nothing before explained it."""
    if not view.within:
        return None
    by_rank = Counter(x.rank for x in view.within)
    crossing = sum(x.worker != x.first_worker for x in view.within)
    hedge = " (or the data holds equal samples: give sample_id)" if view.ledger.identity in ("content", "value") else ""
    return Finding(
        "rank-repeats",
        f"{count(len(by_rank), 'rank')} read samples more than once in epoch {view.epoch}: "
        f"{len(view.within):,} reads too many{hedge}.",
        (
            f"read again: {listed(x.id for x in view.within)}",
            *(f"rank {rank}: {n} repeats" for rank, n in sorted(by_rank.items())[:4]),
            *((f"{crossing} of them by another worker than the first time",) if crossing else ()),
        ),
        "Look where the rank's stream is put together: interleaving that starts a short source again, a loop or repeat "
        "in __iter__, splitting before mixing. Stop at the first source that ends, or share out after mixing.",
    )


def _ranks_overlap(view: View) -> Finding | None:
    """Ranks read some of the same samples, and nothing before explained it."""
    if not view.across:
        return None
    pairs = Counter((x.first_rank, x.rank) for x in view.across)
    hedge = " (or the data holds equal samples: give sample_id)" if view.ledger.identity in ("content", "value") else ""
    return Finding(
        "ranks-overlap",
        f"{_are(len(view.across))} read by more than one rank in epoch {view.epoch}{hedge}.",
        (
            f"read again: {listed(x.id for x in view.across)}",
            *(f"ranks {a} and {b}: {n} samples" for (a, b), n in pairs.most_common(4)),
        ),
        "Cut disjoint parts: rank r of P takes places r, r + P, r + 2P ... of one order that all ranks share; a start "
        "that each rank draws for itself (seed + rank) overlaps.",
    )


def _dropped(view: View) -> Finding | None:
    """A tail dropped on request: a fault only if it is the same one in every epoch."""
    if not view.short or not _dropping(view):
        return None
    ledger = view.ledger
    gone = [set(ledger.missing(epoch)) for epoch in range(ledger.epochs)]
    never = set.intersection(*gone) if gone else set()
    # Without ids: every epoch read the same samples, and each was short.
    lost = len(never) or (0 if any(gone) else min(ledger.short(epoch) for epoch in range(ledger.epochs)))
    if ledger.epochs < 2 or not lost or (ledger.setup and ledger.setup.shuffles):
        return None
    return Finding(
        "dropped",
        f"{_are(lost, ledger.samples)} dropped in every epoch: drop_last without shuffling always loses the same tail.",
        (f"never read: {listed(_some(never))}" if never else "which ones can't be told: no epoch yields them",),
        "Shuffle, so that each epoch loses others; in evaluation keep them: drop_last=False, sums and counts.",
    )


def _missing(view: View) -> Finding | None:
    """Samples read by nobody, and nothing before explained it."""
    if not view.short or _dropping(view):
        return None
    known = view.ledger.missing(view.epoch)
    return Finding(
        "missing",
        f"{_are(view.short, view.ledger.samples)} read by nobody in epoch {view.epoch}.",
        (
            (f"not read: {listed(known)}",)
            if known
            else ("which ones can't be told: the stream only says how many it has",)
        ),
        "Look at the end of each rank's share: a length rounded down, files that don't divide by ranks x workers, a "
        "loop that stops with the shortest source.",
    )


def _dropping(view: View) -> bool:
    """Whether dropping on request explains what nobody read: less than a full batch on every rank (and worker)."""
    told = any(s.drop_last for s in view.ledger.setups if s is not None)
    size = max((s.batch_size or 0 for s in view.ledger.setups if s is not None), default=0)
    return told and view.short < max(view.batch, size) * len(view.sets) * view.tails + len(view.sets)


def _are(number: int, total: int | None = None) -> str:
    """`1 sample of 21 is`, `3 samples are`."""
    return f"{count(number, 'sample')}{'' if total is None else f' of {total:,}'} {'is' if number == 1 else 'are'}"


def _with_replacement(view: View) -> bool:
    return any(s.replacement for s in view.ledger.setups if s is not None)


def _sharing_parts(view: View) -> list[str]:
    setup = view.ledger.setup
    return [name for name in setup.samplers if "Distributed" in name or "Shard" in name] if setup else []


def _some(ids: object) -> list[Hashable]:
    """A few ids in a steady order."""
    items: list[Hashable] = list(ids)  # type: ignore[call-overload]
    try:
        return sorted(items)  # type: ignore[type-var]
    except TypeError:
        return sorted(items, key=repr)


BOTH: tuple[Callable[[View], Finding | None], ...] = (_every_worker, _every_rank)
"""Rules that may hold at once; if one does, the others have nothing left to explain."""

FIRST: tuple[Callable[[View], Finding | None], ...] = (
    _shared_shard,
    _sharded_twice,
    _orders_diverge,
    _padding,
    _rank_repeats,
    _ranks_overlap,
)
"""The first of these that holds explains what was read twice."""


def sharing(ledger: Ledger) -> list[Finding]:
    """Findings about who reads what, from the first epoch in which something is amiss."""
    if not ledger.deliveries:
        return []
    for epoch in range(ledger.epochs):
        view = View(ledger, epoch)
        found = [one for rule in BOTH if (one := rule(view))]
        if found or _with_replacement(view):  # then what comes twice or never is meant
            return found
        explained = next((one for rule in FIRST if (one := rule(view))), None)
        if explained is not None:
            found.append(explained)
        if explained is None or explained.cause in ("padding", "rank-repeats", "ranks-overlap"):
            found += [one for rule in (_dropped, _missing) if (one := rule(view))][:1]
        if found:
            return found
    return []
