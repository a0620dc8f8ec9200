"""simulate_many, required_depth and jittered, each against something simpler."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.errors import UsageError
from labkit.pipeline import jittered, replications, required_depth, simulate, simulate_many

GOLDEN = json.loads((Path(__file__).parent / "golden.json").read_text())
time = st.one_of(st.integers(0, 9).map(float), st.floats(0, 100))


@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 5),
    st.integers(1, 12),
    st.one_of(st.none(), st.integers(0, 14)),
    st.integers(1, 14),
    st.sampled_from([0.0, 0.5]),
)
def test_every_row_is_what_simulate_gives(seed, runs, batches, depth, workers, get_cost):
    rng = np.random.default_rng(seed)
    prepare, train = rng.exponential(5, (2, runs, batches))
    many = simulate_many(prepare, train, depth=depth, workers=workers, get_cost=get_cost)
    for row in range(runs):
        one = simulate(prepare[row], train[row], depth=depth, workers=workers, get_cost=get_cost)
        assert many.makespans[row] == one.makespan
        assert tuple(many.waits[row]) == one.waits


def test_batches_turned_a_few_at_a_time_give_the_same(monkeypatch):
    prepare, train = np.random.default_rng(3).exponential(5, (2, 6, 50))
    whole = simulate_many(prepare, train, workers=2, prefetch_factor=2)
    monkeypatch.setattr(replications, "_BUFFER", 1)
    pieces = simulate_many(prepare, train, workers=2, prefetch_factor=2)
    assert (pieces.waits == whole.waits).all()
    assert (pieces.makespans == whole.makespans).all()


def test_shapes_broadcast():
    prepare = np.arange(12.0).reshape(3, 4)
    full = np.full((3, 4), 5.0)
    expected = simulate_many(prepare, full, workers=2, prefetch_factor=2)
    for train in (5, 5.0, [5] * 4, [[5]], full, np.full((3, 1), 5)):
        many = simulate_many(prepare, train, workers=2, prefetch_factor=2)
        assert (many.makespans == expected.makespans).all()
        assert (many.waits == expected.waits).all()
    assert many.makespans.shape == (3,)
    assert many.waits.shape == (3, 4)


def test_inputs_are_left_as_they_were():
    prepare, train = np.full((2, 3), 6.0), np.full((2, 3), 10.0)
    simulate_many(prepare, train, depth=1)
    assert (prepare == 6).all()
    assert (train == 10).all()


@pytest.mark.parametrize(
    ("prepare", "train", "setting", "message"),
    [
        ([[1, 2], [3, -4]], 1, {}, "prepare[1, 1] is -4.0: times must be finite, 0 or more"),
        ([[1, np.nan]], 1, {}, "prepare[0, 1] is nan"),
        (1, [[1, np.inf]], {}, "train[0, 1] is inf"),
        ([[1, 2], [3]], 1, {}, "prepare has rows of unequal length"),
        ([["a"]], 1, {}, "prepare is [['a']]: give numbers"),
        (np.ones((2, 3)), np.ones((2, 4)), {}, "prepare has shape (2, 3) and train has shape (2, 4)"),
        (np.ones((2, 3, 4)), 1, {}, "prepare has shape (2, 3, 4)"),
        (np.ones((0, 3)), 1, {}, "give at least one replication"),
        ([[1]], 1, {"depth": -1}, "depth is -1"),
        ([[1]], 1, {"depth": 1, "prefetch_factor": 1}, "give one of the two"),
        ([[1]], 1, {"get_cost": float("nan")}, "get_cost is nan"),
    ],
)
def test_bad_input(prepare, train, setting, message):
    with pytest.raises(UsageError, match=re.escape(message)) as caught:
        simulate_many(prepare, train, **setting)
    assert "\n" not in str(caught.value)


@given(st.lists(st.tuples(time, time), min_size=1, max_size=14))
def test_required_depth_is_the_least_that_brute_force_finds(line):
    prepare, train = map(list, zip(*line, strict=True))
    free = simulate(prepare, train)
    slack = 1e-9 * free.makespan

    def equal(depth):
        waits = simulate(prepare, train, depth=depth).waits
        # Cumulated, because a later start is what a wait costs; rounding may move a wait by less than the slack.
        return np.allclose(np.cumsum(waits), np.cumsum(free.waits), rtol=0, atol=max(slack, 1e-300))

    assert required_depth(prepare, train) == next(depth for depth in range(len(line) + 1) if equal(depth))


def test_required_depth_of_a_swing():
    assert required_depth([1, 1, 1, 1, 41, 1], 10) == 3  # 41 late: the batch in training and three more cover it
    assert simulate([1, 1, 1, 1, 41, 1], 10, depth=3).stall == simulate([1, 1, 1, 1, 41, 1], 10).stall
    assert simulate([1, 1, 1, 1, 41, 1], 10, depth=2).stall > simulate([1, 1, 1, 1, 41, 1], 10).stall
    assert required_depth([14] * 8, 10) == 0
    assert required_depth([0, 0, 0], 0) == 0
    with pytest.raises(UsageError, match=r"prepare\[1\] is -1.0"):
        required_depth([1, -1], 2)
    with pytest.raises(UsageError, match="a sequence of times"):
        required_depth(1, 2)


@pytest.mark.parametrize("case", GOLDEN["jitter"], ids=lambda case: f"seed {case['seed']}")
def test_jitter_is_mulberry32(case):
    assert jittered(case["time"], case["batches"], case["amount"], case["seed"]) == case["times"]


@given(time, st.integers(1, 50), st.floats(0, 1), st.integers(0, 2**32 - 1))
def test_jitter_stays_in_its_range(middle, batches, amount, seed):
    times = jittered(middle, batches, amount, seed)
    assert len(times) == batches
    assert all(0 <= t <= 2 * middle for t in times)
    rounding = 2 * math.ulp(2 * middle)
    assert all(abs(t - middle) <= middle * amount + rounding for t in times)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((-1, 4, 0.5, 1), "time is -1.0"),
        ((10, 0, 0.5, 1), "batches is 0"),
        ((10, 4, 1.5, 1), "amount is 1.5"),
        ((10, 4, float("nan"), 1), "amount is nan"),
        ((10, 4, "0.5", 1), "amount is '0.5'"),
        ((10, 4, None, 1), "amount is None"),
        ((10, 4, 0.5, -1), "seed is -1"),
        ((10, 4, 0.5, 2**32), "seed is 4294967296"),
    ],
)
def test_bad_jitter(arguments, message):
    with pytest.raises(UsageError, match=re.escape(message)):
        jittered(*arguments)
