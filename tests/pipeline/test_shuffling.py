"""Two-stage shuffling and its scale: the ends by enumeration, the middle by what must hold."""

from __future__ import annotations

import itertools
import math
import random
import statistics
from fractions import Fraction

import packs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.errors import UsageError
from labkit.pipeline.shuffling import (
    buffered,
    full_mixing,
    mixing,
    shard_order,
    shard_reads,
    shuffle_quality,
    try_shuffle,
    two_stage,
)


@pytest.mark.parametrize(("count", "size"), [(4, 2), (5, 2), (6, 2), (6, 3), (7, 3)])
def test_the_upper_end_by_enumeration(count, size):
    """All orders, in fractions: what `mixing` gives on average is the formula, a last short batch or not."""
    middle, total, orders = Fraction(count - 1, 2), Fraction(0), 0
    for order in itertools.permutations(range(count)):
        batches = [order[i : i + size] for i in range(0, count - size + 1, size)]
        total += sum((Fraction(sum(b), size) - middle) ** 2 for b in batches) / len(batches)
        orders += 1
    assert total / orders == Fraction((count + 1) * (count - size), 12 * size)
    assert full_mixing(count, size) == pytest.approx(float(total / orders))


def test_the_ends_of_the_scale():
    assert shuffle_quality(range(640), 16) == 0
    assert shuffle_quality(range(639, -1, -1), 16) == pytest.approx(0)
    rng = random.Random(0)
    found = [shuffle_quality(rng.sample(range(640), 640), 16) for _ in range(200)]
    assert statistics.mean(found) == pytest.approx(1, abs=0.005)
    assert statistics.stdev(found) == pytest.approx((2 / 40) ** 0.5 / 16, rel=0.3)


def test_whole_shards_in_another_order_are_not_shuffled():
    one = try_shuffle(40, 160, batch_size=16, buffer=1)
    assert one.quality == pytest.approx(0, abs=0.01)
    assert one.shard_reads == 40


def test_the_quality_of_a_buffer_is_what_its_waiting_times_give():
    """A sample waits a geometric time in a buffer of k shards, so two of a batch share a shard with probability
    1 - k (1 - exp(-1/k)): of the way from a full shuffle to the stored order, that much is left. About 1/(2k)."""
    for k in (1, 2, 4, 8):
        found = [try_shuffle(100, 48, batch_size=16, buffer=48 * k, seed=s).quality for s in range(6)]
        assert statistics.mean(found) == pytest.approx(k * (1 - math.exp(-1 / k)), abs=0.04), k


def test_a_full_shuffle_pays_for_every_sample():
    full = try_shuffle(20, 100, batch_size=20, full=True)
    assert full.quality == pytest.approx(1, abs=0.05)
    assert 1800 < full.shard_reads <= 2000
    two = try_shuffle(20, 100, batch_size=20, buffer=800)
    assert two.shard_reads == 20
    assert 0.6 < two.quality < 1
    assert "quality" in two.plot().alt


@given(st.lists(st.integers()), st.integers(1, 9), st.integers())
def test_a_buffer_loses_nothing_and_hurries_nothing(samples, buffer, seed):
    taken = []

    def source():
        for place, _ in enumerate(samples):
            taken.append(place)
            yield place

    out = []
    for place in buffered(source(), buffer, random.Random(seed)):
        out.append(place)
        assert len(taken) - len(out) <= buffer - 1, "never more than the buffer, the one just given among them"
        assert place <= len(out) - 1 + buffer - 1
    assert sorted(out) == list(range(len(samples)))
    if buffer == 1:
        assert out == sorted(out)


def test_every_place_of_a_buffer_is_equally_likely():
    counts = [0] * 4
    for seed in range(4000):
        counts[next(buffered(range(10), 4, random.Random(seed)))] += 1
    assert all(900 < count < 1100 for count in counts)


@given(st.integers(1, 12), st.integers(1, 4), st.integers(1, 30), st.integers(0, 3), st.booleans())
def test_readers_share_the_shards_and_read_each_once(shards, readers, buffer, epoch, mixed):
    read = []

    def samples(shard):
        read.append(shard)
        return [(shard, i) for i in range(3)]

    out = [
        list(two_stage(shards, samples, buffer=buffer, seed=1, epoch=epoch, reader=r, readers=readers,
                       shuffle_shards=mixed))
        for r in range(readers)
    ]  # fmt: skip
    assert sorted(read) == list(range(shards))
    assert sorted(itertools.chain(*out)) == [(s, i) for s in range(shards) for i in range(3)]


def test_epochs_differ_and_come_back():
    first, again, other = (shard_order(20, seed=3, epoch=e) for e in (0, 0, 1))
    assert first == again != other
    assert shard_order(20, seed=3, epoch=0, shuffle=False) == list(range(20))
    assert (
        try_shuffle(9, 20, batch_size=4, buffer=9, epoch=0).order
        != try_shuffle(9, 20, batch_size=4, buffer=9, epoch=1).order
    )


@given(st.permutations(range(12)), st.integers(1, 4))
def test_shard_reads_against_a_plain_list(order, held):
    room, fetched = [], 0
    for sample in order:
        shard = sample // 3
        fetched += shard not in room
        room = ([s for s in room if s != shard] + [shard])[-held:]
    assert shard_reads(order, lambda one: one // 3, held=held) == fetched
    assert shard_reads(order, [i // 3 for i in range(12)], held=held) == fetched


def test_wrong_orders_are_named():
    with pytest.raises(UsageError, match="no arrangement of 0 to 3"):
        shuffle_quality([0, 1, 1, 2], 2)
    with pytest.raises(UsageError, match="fewer than two batches of 3"):
        mixing(range(5), 3)
    with pytest.raises(UsageError, match="with 2 readers they are 0 to 1"):
        list(two_stage(3, range, buffer=1, seed=0, epoch=0, reader=2, readers=2))
    with pytest.raises(UsageError, match="buffer is 0"):
        try_shuffle(3, 3, batch_size=1, buffer=0)


@pytest.mark.slow
def test_a_real_loader_on_real_shards(tmp_path):
    from torch.utils.data import DataLoader

    from labkit.pipeline.shuffling_loader import ShuffledShards

    packed = packs.packed(tmp_path, "tar", packs.samples(48), shard_samples=6)
    keys = [one.key for one in packs.samples(48)]
    data = ShuffledShards(packed, buffer=12, seed=5)
    for workers in (0, 2):
        orders = []
        for epoch in (0, 1):
            data.set_epoch(epoch)
            seen = list(DataLoader(data, batch_size=None, num_workers=workers))
            orders.append([one["key"] for one in seen])
            assert sorted(orders[-1]) == sorted(keys)
            opened = {}
            for one in seen:
                opened[one["worker"]] = max(opened.get(one["worker"], 0), one["opens"])
            assert sum(opened.values()) == 8, "each shard is opened once, whoever reads it"
        assert orders[0] != orders[1]
