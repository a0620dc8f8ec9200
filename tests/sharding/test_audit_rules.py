"""The rules on ledgers made by hand, from plans: no processes, so every setting can be tried."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import product

import pytest

from labkit.sharding import plan, plan_dispatch, plan_distributed_sampler
from labkit.sharding.findings import CAUSES
from labkit.sharding.groups import shared_on_purpose
from labkit.sharding.ledger import Delivery, Ledger, Stream, Trouble
from labkit.sharding.rules_running import resumed, running
from labkit.sharding.rules_sharing import sharing
from labkit.sharding.setup import Setup

# What a fault is called, whatever else is found beside it.
SHARING_FAULTS = {
    "every-rank-reads-all", "shared-shard", "every-worker-reads-all", "sharded-twice", "orders-diverge",
    "ranks-overlap", "rank-repeats", "missing",
}  # fmt: skip


def ledger_of(epochs, size, *, setup=None, groups=(), streams=(), said=None, complete=True):
    """A ledger from the ids of every step: epochs x ranks x steps x ids."""
    ranks = len(epochs[0])
    deliveries = tuple(
        Delivery(r, e, s, tuple(ids), (-1,) * len(ids), (r,) * len(ids), len(ids), tuple(ids))
        for e, epoch in enumerate(epochs)
        for r, walk in enumerate(epoch)
        for s, ids in enumerate(walk)
    )
    setup = setup or Setup("map", "DataLoader", "Numbers", length=size, shuffles=False)
    whole = frozenset(product(range(len(epochs)), range(ranks))) if complete else frozenset()
    return Ledger(
        ranks, len(epochs), deliveries, (setup,) * ranks, said or {}, whole, streams, expected=frozenset(range(size)),
        groups=groups,
    )  # fmt: skip


def causes(ledger):
    found = [finding.cause for finding in [*running(ledger), *sharing(ledger)]]
    assert set(found) <= set(CAUSES)
    return found


def judged_as_planned(the_plan, setup):
    found = causes(ledger_of([the_plan.per_rank] * 2, len(the_plan.ids), setup=setup))
    assert ("padding" in found) == bool(the_plan.duplicates), the_plan
    assert not SHARING_FAULTS & set(found), the_plan
    assert bool({"steps-differ", "no-steps"} & set(found)) == the_plan.hang_risk or max(the_plan.steps) == 0, the_plan
    if the_plan.dropped and max(the_plan.steps) > 0:
        assert "dropped" in found, the_plan
    if not (the_plan.duplicates or the_plan.dropped or the_plan.hang_risk):
        assert found == [], the_plan


@pytest.mark.parametrize("ranks", [2, 3, 4, 5])
def test_every_plan_of_accelerate_is_called_by_its_name(ranks):
    for size, batch, even, drop in product(range(1, 33), range(1, 7), (True, False), (True, False)):
        setup = Setup(
            "map", "DataLoaderShard", length=size, batch_size=batch, drop_last=drop, shuffles=False, shares=(ranks,)
        )
        judged_as_planned(plan(size, batch, ranks, even_batches=even, drop_last=drop), setup)
        if batch % ranks == 0:
            split = plan(size, batch, ranks, split_batches=True, even_batches=even, drop_last=drop)
            judged_as_planned(split, setup)


@pytest.mark.parametrize("ranks", [2, 3, 4, 5])
def test_every_plan_of_torchs_sampler_is_called_by_its_name(ranks):
    for size, batch, drop in product(range(1, 33), range(1, 7), (True, False)):
        setup = Setup(
            "map", "DataLoader", length=size, batch_size=batch, drop_last=drop, shuffles=False, shares=(ranks,)
        )
        judged_as_planned(plan_distributed_sampler(size, ranks, batch, drop_last=drop), setup)


def test_plans_of_dispatch_are_padding_or_nothing():
    for size, batch, ranks in product(range(4, 33), range(1, 7), (2, 3, 4)):
        setup = Setup("map", "DataLoaderDispatcher", length=size, batch_size=batch, shuffles=False)
        judged_as_planned(plan_dispatch(size, batch, ranks), setup)


def test_rows_dealt_by_hand_without_any_sharing_part_are_judged_alike():
    for size, batch, ranks in product(range(8, 33), range(1, 5), (2, 3, 4)):
        if size >= ranks * batch:
            bare = Setup("map", "DataLoader", length=size, batch_size=batch, shuffles=False)
            judged_as_planned(plan(size, batch, ranks), bare)


def test_a_whole_step_too_many_on_every_rank_is_no_padding():
    walk = [[[0, 1], [2, 3], [0, 1]], [[4, 5], [6, 7], [4, 5]]]
    setup = Setup("map", "DataLoader", length=8, batch_size=2, shuffles=False, shares=(2,))
    assert causes(ledger_of([walk], 8, setup=setup)) == ["rank-repeats"]
    early = [[[0, 1], [0, 1], [2, 3]], [[4, 5], [6, 7], [8, 9]]]
    assert causes(ledger_of([early], 10, setup=replace(setup, length=10))) == ["rank-repeats"]


def strided(order, ranks, batch, rank):
    own = order[rank::ranks]
    return [own[i : i + batch] for i in range(0, len(own), batch)]


def test_orders_that_diverge_and_shares_that_overlap_are_told_apart():
    orders = [list(range(24)), random.Random(1).sample(range(24), 24)]
    diverging = [strided(orders[rank], 2, 4, rank) for rank in (0, 1)]
    assert causes(ledger_of([diverging], 24)) == ["orders-diverge"]
    overlapping = [[[0, 1, 2], [3, 4, 5]], [[4, 5, 6], [7, 8, 9]]]
    assert causes(ledger_of([overlapping], 10)) == ["ranks-overlap"]
    mostly_missing = [[[0, 1], [2, 3], [4, 5]], [[1, 6], [7, 8], [9, 10]]]
    assert causes(ledger_of([mostly_missing], 24)) == ["ranks-overlap", "missing"]


def test_a_share_of_a_share_and_a_shard_read_by_two():
    whole = list(range(32))
    twice = [strided(strided(whole, 2, 32, rank)[0], 2, 4, rank) for rank in (0, 1)]
    assert causes(ledger_of([twice], 32)) == ["sharded-twice"]
    local = [strided(whole, 4, 4, rank % 2) for rank in range(4)]
    assert causes(ledger_of([local], 32)) == ["shared-shard"]


def test_samples_that_nobody_reads_are_missing_unless_dropping_was_asked_for_and_differs_by_epoch():
    walk = [[[0, 1], [2, 3]], [[4, 5], [6, 7]]]
    other = [[[9, 1], [8, 3]], [[4, 5], [6, 7]]]
    assert causes(ledger_of([walk], 10)) == ["missing"]
    dropping = Setup("map", "DataLoader", length=10, batch_size=2, drop_last=True, shuffles=True)
    assert causes(ledger_of([walk, other], 10, setup=dropping)) == []
    fixed = replace(dropping, shuffles=False)
    assert causes(ledger_of([walk, walk], 10, setup=fixed)) == ["dropped"]
    assert causes(ledger_of([walk], 10, setup=fixed)) == []  # one epoch doesn't tell
    assert causes(ledger_of([walk], 40, setup=dropping)) == ["missing"]  # more than dropping explains
    assert causes(ledger_of([walk], 10, complete=False)) == []  # cut short: nothing can be said


SHUFFLED = [[[3, 0, 9, 4], [7, 1, 8, 2]], [[5, 11, 6, 15], [13, 10, 14, 12]]]
RESHUFFLED = [[[5, 1, 0, 2], [3, 9, 4, 7]], [[8, 13, 6, 10], [11, 12, 15, 14]]]


def test_the_same_order_is_a_fault_only_where_it_is_a_shuffled_one():
    told = Setup("map", "DataLoader", length=16, shuffles=True, epoch_setters=("sampler",))
    untold = replace(told, shuffles=None)
    for setup in (told, untold):
        assert causes(ledger_of([SHUFFLED, SHUFFLED], 16, setup=setup)) == ["same-order"]
        assert causes(ledger_of([SHUFFLED, RESHUFFLED], 16, setup=setup)) == []
    rising = [strided(list(range(16)), 2, 4, rank) for rank in (0, 1)]
    assert causes(ledger_of([rising, rising], 16, setup=untold)) == []
    assert causes(ledger_of([SHUFFLED, SHUFFLED], 16, setup=replace(told, shuffles=False))) == []
    frozen = replace(told, persistent=True, workers=2, epoch_setters=("dataset",))
    assert causes(ledger_of([SHUFFLED, SHUFFLED], 16, setup=frozen)) == ["frozen-epoch"]


def stream(rank, worker, epoch, number, drawn=True, name="numpy"):
    return Stream(rank, worker, epoch, {name: number}, frozenset([name]) if drawn else frozenset())


@pytest.mark.parametrize(
    ("streams", "cause"),
    [
        ([stream(0, 0, 0, 5), stream(0, 1, 0, 5)], "same-draws-in-workers"),
        ([stream(0, 0, 0, 5), stream(1, 0, 0, 5)], "same-draws-on-ranks"),
        ([stream(0, 0, 0, 5), stream(0, 0, 1, 5)], "same-draws-every-epoch"),
    ],
)
def test_equal_draws_matter_only_where_they_are_drawn(streams, cause):
    walks = [strided(list(range(16)), 2, 4, rank) for rank in (0, 1)]

    def found(streams, **changes):
        setup = Setup("map", "DataLoader", length=16, shuffles=False, workers=2)
        return causes(ledger_of([walks, walks], 16, setup=replace(setup, **changes), streams=tuple(streams)))

    assert found(streams) == [cause]
    assert found([replace(one, drawn=frozenset()) for one in streams]) == []
    assert found([replace(one, stood={"numpy": i}) for i, one in enumerate(streams)]) == []
    own = [replace(one, stood={"dataset.rng": 5}, drawn=frozenset(["dataset.rng"])) for one in streams]
    assert found(own) == [cause]
    assert found(own, kind="iterable") == []  # it may only be shuffling


def test_groups_are_neighbours_in_blocks_and_agree_with_what_the_loader_says():
    whole = list(range(16))
    pairs = [strided(whole, 2, 4, rank // 2) for rank in range(4)]
    crossed = [strided(whole, 2, 4, rank % 2) for rank in range(4)]
    shares = lambda n: Setup("map", "DataLoader", length=16, shares=(n,) if n else ())  # noqa: E731
    assert shared_on_purpose(ledger_of([pairs], 16, setup=shares(0)), None) == (((0, 1), (2, 3)), "seen")
    assert shared_on_purpose(ledger_of([pairs], 16, setup=shares(2)), None)[1] == "seen"
    assert shared_on_purpose(ledger_of([pairs], 16, setup=shares(4)), None) == ((), "")
    assert shared_on_purpose(ledger_of([crossed], 16, setup=shares(0)), None) == ((), "")
    assert shared_on_purpose(ledger_of([[pairs[0]] * 4], 16, setup=shares(0)), None) == ((), "")


def test_what_ended_early_is_blamed_on_the_first_and_silences_what_follows_from_it():
    walks = [[[0, 1], [2, 3]], [[4, 5]]]
    troubles = (Trouble("raised", 0, 0, 2, "ValueError: bad"), Trouble("raised", 1, 0, 1, "OSError: gone"))
    ledger = replace(ledger_of([walks], 8, complete=False), troubles=troubles)
    assert causes(ledger) == ["raised"]
    assert running(ledger)[0].said == "Rank 1 raised in step 1 of epoch 0 (so did rank 0): OSError: gone"


def test_a_resumed_walk_is_compared_from_where_it_goes_on():
    whole = ledger_of([SHUFFLED, RESHUFFLED], 16)
    assert resumed(whole, ledger_of([[walk[1:] for walk in RESHUFFLED]], 16), 1, 1) is None
    assert "the order of epoch 0" in resumed(whole, ledger_of([[walk[1:] for walk in SHUFFLED]], 16), 1, 1).said
    assert "from the beginning" in resumed(whole, ledger_of([RESHUFFLED], 16), 1, 1).said
    short = ledger_of([[walk[2:] for walk in RESHUFFLED]], 16)
    assert "the epoch is over" in resumed(whole, short, 1, 1).evidence[1]
