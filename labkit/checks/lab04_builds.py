"""The functions a learner builds in lab 04, called for every rank: what holds for all ranks together, then the ids."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any

from labkit.checks.answer import Answer
from labkit.checks.evidence import Fault, Rule, over_inputs
from labkit.checks.result import Evidence
from labkit.sharding import plan, plan_dispatch, plan_distributed_sampler


class _EveryRank:
    """Stands for the rank in the inputs of a function that is called once for each."""

    def __repr__(self) -> str:
        return "rank"


RANK = _EveryRank()


class ByRank:
    """An answer that gives a list over the ranks: wherever `RANK` stands it is called with 0, 1, ..., ranks - 1."""

    def __init__(self, answer: Answer, ranks_at: int) -> None:
        self._answer, self._at = answer, ranks_at

    def value(self) -> Any:
        """See `Answer.value`."""
        return self._answer.value()

    def call(self, *args: Any) -> list[Any]:
        """What the answer gives each rank."""
        return [self._answer.call(*(rank if one is RANK else one for one in args)) for rank in range(args[self._at])]


# sharding.distributed_sampler --------------------------------------------------------------------------------------

Share = list[list[int]]  # over ranks


def share_evidence(answer: Answer, rng: random.Random) -> Iterator[Evidence]:
    """Hold a person's `my_share(samples, ranks, rank, drop_last)` to torch's rule, smallest settings first."""
    settings = [(n, p) for n in range(1, 12) for p in (1, 2, 3, 4)]
    settings += sorted((rng.randint(12, 200), rng.randint(2, 9)) for _ in range(12))
    inputs = [(n, p, RANK, drop) for n, p in settings for drop in (False, True)]
    rules = [
        Rule("each rank gets a list of ids", _share_shape),
        Rule("every rank gets as many ids as the others", _share_equal),
        Rule("without drop_last, no sample is left out", _share_whole),
        Rule("with drop_last, no sample is handed out twice and less than a round is left out", _share_dropping),
        Rule("no more is borrowed than equal shares need", _share_borrowed),
        Rule("the ids are those of torch's DistributedSampler", _share_exact, SHARE_MISTAKES),
    ]
    yield from over_inputs(ByRank(answer, 1), "my_share", inputs, rules)


def _share_shape(found: Any, samples: int, ranks: int, rank: Any, drop: bool) -> Fault | None:
    for r, share in enumerate(found):
        if (fault := _not_ids(share, samples)) is not None:
            return Fault(f"rank {r}: {fault}", f"a list of ids from 0 to {samples - 1}", next_step="return a list.")
    return None


def _not_ids(share: Any, samples: int) -> str | None:
    if type(share) not in (list, tuple):
        return f"{share!r}"[:120]
    return next((f"{one!r}"[:120] for one in share if type(one) is not int or not 0 <= one < samples), None)


def _share_equal(found: Share, samples: int, ranks: int, rank: Any, drop: bool) -> Fault | None:
    sizes = [len(share) for share in found]
    if len(set(sizes)) == 1:
        return None
    return Fault(
        f"{_listed(sizes)} ids on ranks 0 to {ranks - 1}",
        "the same number on each",
        "a rank with fewer ids runs out of batches first, and the others wait for it in their next collective.",
        "how many ids is a rank's share, rounded up (or down with drop_last)?",
    )


def _share_whole(found: Share, samples: int, ranks: int, rank: Any, drop: bool) -> Fault | None:
    gone = sorted(set(range(samples)) - set(chain(*found)))
    if drop or not gone:
        return None
    return Fault(
        f"{_listed(gone)} read by nobody",
        "every id on some rank",
        "those samples are never trained on, nor counted in an evaluation.",
        "start from the list of all ids; what must be added, so that the ranks divide it?",
    )


def _share_dropping(found: Share, samples: int, ranks: int, rank: Any, drop: bool) -> Fault | None:
    if not drop:
        return None
    twice = sorted(one for one, n in Counter(chain(*found)).items() if n > 1)
    if twice:
        return Fault(
            f"{_listed(twice)} handed out twice", "no id twice", next_step="with drop_last nothing is borrowed."
        )
    left = samples - len(set(chain(*found)))
    if left >= ranks:
        return Fault(
            f"{left} ids left out",
            f"at most {ranks - 1}",
            next_step="how many ids are over when all ranks have equal shares?",
        )
    return None


def _share_borrowed(found: Share, samples: int, ranks: int, rank: Any, drop: bool) -> Fault | None:
    total, least = sum(map(len, found)), -(-samples // ranks) * ranks
    if drop or total <= least:
        return None
    return Fault(
        f"{total} ids in all",
        f"{least}: the next multiple of {ranks}",
        "each id borrowed counts twice in an evaluation.",
        "what is the smallest list that the ranks divide and that holds every id?",
    )


def _share_exact(found: Share, samples: int, ranks: int, rank: Any, drop: bool) -> Fault | None:
    truth = _share_truth(samples, ranks, rank, drop)
    for r, (mine, right) in enumerate(zip(found, truth, strict=True)):
        if list(mine) != right:
            return Fault(
                f"rank {r} gets {_listed(mine)}",
                "every `ranks`-th id of the filled list (or cut, with drop_last), from the rank on",
                "",
                "write the ids of this small case in one row, and under each the rank that takes it.",
            )
    return None


def _share_truth(samples: int, ranks: int, rank: Any, drop: bool) -> Share:
    found = plan_distributed_sampler(samples, ranks, drop_last=drop).per_rank
    return [[one for batch in batches for one in batch] for batches in found]


def _filled(samples: int, ranks: int, drop: bool, fill: Callable[[int], int]) -> list[int]:
    """All ids, cut or filled to a multiple of ranks; `fill` gives the i-th borrowed id."""
    if drop:
        return list(range(samples // ranks * ranks))
    return [*range(samples), *(fill(i) for i in range(-samples % ranks))]


def _blocks(ids: list[int], ranks: int) -> Share:
    size = len(ids) // ranks
    return [ids[r * size : (r + 1) * size] for r in range(ranks)]


def _strides(ids: list[int], ranks: int) -> Share:
    return [ids[r::ranks] for r in range(ranks)]


SHARE_MISTAKES = {
    "those are neighbouring blocks: torch deals the ids out one by one, like cards.": (
        lambda n, p, rank, drop: _blocks(_filled(n, p, drop, lambda i: i % n), p)
    ),
    "you borrow the last id again and again: torch borrows from the start of the list.": (
        lambda n, p, rank, drop: _strides(_filled(n, p, drop, lambda i: n - 1), p)
    ),
    "you borrow the last ids: torch borrows from the start of the list.": (
        lambda n, p, rank, drop: _strides(_filled(n, p, drop, lambda i: (n - (-n % p) + i) % n), p)
    ),
    "you borrow id 0 alone: torch goes on from the start, 0, 1, 2, ...": (
        lambda n, p, rank, drop: _strides(_filled(n, p, drop, lambda i: 0), p)
    ),
    "drop_last makes no difference in your answer.": lambda n, p, rank, drop: _share_truth(n, p, rank, False),
}


# sharding.batch_shard and sharding.split ---------------------------------------------------------------------------

Batches = list[list[list[int]]]  # over ranks, over steps


def batch_evidence(answer: Answer, rng: random.Random) -> Iterator[Evidence]:
    """Hold a person's `my_batches(samples, batch_size, ranks, rank, even_batches, drop_last)` to accelerate's rule."""
    settings = [(n, b, p) for n in (1, 2, 3, 4, 5, 7, 8, 9, 12, 13) for b in (1, 2, 3) for p in (1, 2, 3)]
    settings += sorted((rng.randint(14, 120), rng.randint(2, 9), rng.randint(2, 6)) for _ in range(12))
    yield from _batched(answer, "my_batches", settings, False, BATCH_MISTAKES)


def split_evidence(answer: Answer, rng: random.Random) -> Iterator[Evidence]:
    """Hold a person's `my_slices(...)` to accelerate's rule with split_batches."""
    settings = [(n, s * p, p) for n in (1, 2, 3, 4, 5, 7, 8, 9, 12, 13) for s in (1, 2, 3) for p in (1, 2, 3)]
    for _ in range(12):
        ranks = rng.randint(2, 6)
        settings.append((rng.randint(14, 120), ranks * rng.randint(1, 4), ranks))
    yield from _batched(answer, "my_slices", sorted(settings), True, SPLIT_MISTAKES)


def _batched(
    answer: Answer, name: str, settings: Sequence[tuple[int, int, int]], split: bool, mistakes: dict[str, Any]
) -> Iterator[Evidence]:
    def size(b: int, p: int) -> int:
        return b // p if split else b

    inputs = [(n, b, p, RANK, even, drop) for n, b, p in settings for even, drop in _FLAGS]

    def shape(found: Any, n: int, b: int, p: int, rank: Any, even: bool, drop: bool) -> Fault | None:
        for r, batches in enumerate(found):
            if type(batches) not in (list, tuple):
                return Fault(f"rank {r}: {batches!r}"[:120], "a list of batches", next_step="return [[0, 1], ...].")
            for step, batch in enumerate(batches):
                if (bad := _not_ids(batch, n)) is not None:
                    return Fault(
                        f"rank {r}, step {step}: {bad}",
                        f"a list of ids, 0 to {n - 1}",
                        next_step="a batch is a list of ids.",
                    )
                if not batch:
                    return Fault(
                        f"rank {r}, step {step}: an empty batch",
                        "at least one id in every batch",
                        "a mean over an empty batch is nan; a rank with nothing to do takes one step less.",
                        "leave the batch out.",
                    )
        return None

    def small(found: Batches, n: int, b: int, p: int, rank: Any, even: bool, drop: bool) -> Fault | None:
        most = max((len(batch) for batches in found for batch in batches), default=0)
        if most <= size(b, p):
            return None
        what = f"{b} // {p} = {size(b, p)}, since the ranks share the batch" if split else f"{b}"
        return Fault(f"a batch of {most} ids", f"at most {what}", next_step="count the ids of one rank's first batch.")

    def kept(found: Batches, n: int, b: int, p: int, rank: Any, even: bool, drop: bool) -> Fault | None:
        gone = sorted(set(range(n)) - {one for batches in found for batch in batches for one in batch})
        if not gone or (drop and len(gone) < size(b, p) * p):
            return None
        return Fault(
            f"{_listed(gone)} read by nobody",
            f"fewer than {size(b, p) * p} ids left out" if drop else "every id on some rank",
            next_step="follow the last ids of this small case: which batch holds them, and whose is it?",
        )

    def steps(found: Batches, n: int, b: int, p: int, rank: Any, even: bool, drop: bool) -> Fault | None:
        taken = [len(batches) for batches in found]
        if not (even or drop) or len(set(taken)) == 1:
            return None
        return Fault(
            f"{_listed(taken)} batches on ranks 0 to {p - 1}",
            f"as many on each, with {'drop_last' if drop else 'even_batches'}",
            "the rank with more batches waits in its last step for one that has gone.",
            "which ids must be added (or left out), so that the last round has a batch for every rank?",
        )

    def exact(found: Batches, n: int, b: int, p: int, rank: Any, even: bool, drop: bool) -> Fault | None:
        truth = plan(n, b, p, split_batches=split, even_batches=even, drop_last=drop).per_rank
        if [[list(batch) for batch in batches] for batches in found] == truth:
            return None
        r = next(r for r in range(p) if [list(batch) for batch in found[r]] != truth[r])
        return Fault(
            f"rank {r} gets {_listed(found[r])}",
            "slice `rank` of every batch" if split else "batch k on rank k mod ranks",
            "",
            "write down all batches of this small case in a row, the last one as the flags want it; who takes what?",
        )

    rules = [
        Rule("each rank gets a list of batches", shape),
        Rule("no batch is too long", small),
        Rule("no sample is lost that the flags would keep", kept),
        Rule("equal steps wherever the flags promise them", steps),
        Rule(f"the batches are accelerate's{' with split_batches' if split else ''}", exact, mistakes),
    ]
    yield from over_inputs(ByRank(answer, 2), name, inputs, rules)


_FLAGS = ((True, False), (False, False), (True, True), (False, True))


def _cut(ids: Sequence[int], size: int) -> list[list[int]]:
    return [list(ids[i : i + size]) for i in range(0, len(ids), size)]


def _in_blocks(n: int, b: int, p: int, rank: Any, even: bool, drop: bool) -> Batches:
    """Neighbouring batches to one rank."""
    dealt = plan(n, b, p, even_batches=even, drop_last=drop).per_rank
    row = [batches[step] for step in range(len(dealt[0])) for batches in dealt if step < len(batches)]
    counts, found = [len(batches) for batches in dealt], []
    for count in counts:
        found.append(row[:count])
        row = row[count:]
    return found


def _last_left_short(n: int, b: int, p: int, rank: Any, even: bool, drop: bool) -> Batches:
    """Whole batches are borrowed for the round, but the last short one isn't filled."""
    if not even or drop:
        return plan(n, b, p, even_batches=even, drop_last=drop).per_rank
    batches = _cut(range(n), b)
    row = [*batches, *(batches[i % len(batches)] for i in range(-len(batches) % p))]
    return [row[r::p] for r in range(p)]


def _drops_one_batch(n: int, b: int, p: int, rank: Any, even: bool, drop: bool) -> Batches:
    """drop_last leaves out the short batch; a round that isn't whole is then left or filled, as even says."""
    return plan(n // b * b, b, p, even_batches=False).per_rank if drop and n >= b else _plain(n, b, p, even, drop)


def _plain(n: int, b: int, p: int, even: bool, drop: bool) -> Batches:
    return plan(n, b, p, even_batches=even, drop_last=drop).per_rank


BATCH_MISTAKES = {
    "you give each rank neighbouring batches: accelerate deals whole batches out in turn.": _in_blocks,
    "you deal out single samples, as torch's DistributedSampler does: here a batch stays whole.": (
        lambda n, b, p, rank, even, drop: plan_distributed_sampler(n, p, b, drop_last=drop).per_rank
    ),
    "the short last batch stays short in your answer: it is filled up before others are borrowed.": _last_left_short,
    "drop_last leaves out more than the short batch: a round that can't give every rank a batch goes too.": (
        _drops_one_batch
    ),
    "even_batches makes no difference in your answer.": (lambda n, b, p, rank, even, drop: _plain(n, b, p, True, drop)),
    "you never borrow: even_batches fills the last round from the start.": (
        lambda n, b, p, rank, even, drop: _plain(n, b, p, False, drop)
    ),
}


def _sliced(n: int, b: int, p: int, even: bool, drop: bool) -> list[list[int]]:
    """The batches before they are cut."""
    end = n // b * b if drop else -(-n // b) * b if even else n
    return _cut([i % n for i in range(end)], b)


SPLIT_MISTAKES = {
    "you deal out single samples of the batch: a slice is a piece of neighbours.": (
        lambda n, b, p, rank, even, drop: [
            [batch[r::p] for batch in _sliced(n, b, p, even, drop) if batch[r::p]] for r in range(p)
        ]
    ),
    "you cut the last batch into equal pieces, as dispatch does: here a slice is always batch_size // ranks long.": (
        lambda n, b, p, rank, even, drop: plan_dispatch(n, b, p, split_batches=True, drop_last=drop).per_rank
    ),
    "you deal out whole batches: with split_batches every rank has a slice of each.": (
        lambda n, b, p, rank, even, drop: _plain(n, b // p, p, even, drop)
    ),
    "even_batches makes no difference in your answer.": (
        lambda n, b, p, rank, even, drop: plan(n, b, p, split_batches=True, drop_last=drop).per_rank
    ),
    "you never borrow: even_batches fills the last batch from the start.": (
        lambda n, b, p, rank, even, drop: plan(n, b, p, split_batches=True, even_batches=False, drop_last=drop).per_rank
    ),
}


def _listed(values: Sequence[Any], most: int = 8) -> str:
    return ", ".join(map(str, values[:most])) + (", ..." if len(values) > most else "") or "nothing"
