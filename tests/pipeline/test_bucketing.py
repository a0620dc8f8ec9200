"""Length buckets: every sample once, and padding never without correlation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.errors import UsageError
from labkit.pipeline.bucketing import bucketed, lognormal_lengths, pools, trade
from labkit.pipeline.bucketing_drawing import draw_batches

lengths = st.lists(st.integers(1, 50), min_size=1, max_size=60)


@given(lengths, st.integers(1, 7), st.integers(1, 6), st.booleans(), st.integers(0, 9))
def test_every_sample_once_and_batches_alike_within_a_pool(held, size, pool, mixed, seed):
    batches = bucketed(held, size, pool=pool, seed=seed, shuffle_batches=mixed)
    assert sorted(one for batch in batches for one in batch) == list(range(len(held)))
    assert sorted(map(len, batches))[1:] == [size] * (len(batches) - 1)
    if pool > 1 and not mixed:
        for start in range(0, len(batches), pool):
            flat = [held[one] for batch in batches[start : start + pool] for one in batch]
            assert flat == sorted(flat)


@given(lengths, st.integers(1, 7), st.integers(1, 6), st.integers(0, 9))
def test_the_figures_against_numpy(held, size, pool, seed):
    batches = bucketed(held, size, pool=pool, seed=seed)
    found = trade(held, batches)
    taken = [np.array([held[one] for one in batch], float) for batch in batches]
    padded = sum(len(batch) * batch.max() for batch in taken)
    assert found.padding == pytest.approx(sum(batch.max() * len(batch) - batch.sum() for batch in taken) / padded)
    means = np.array([batch.mean() for batch in taken])
    if len(means) > 2 and np.std(means[:-1]) > 1e-6 and np.std(means[1:]) > 1e-6:
        assert found.correlation == pytest.approx(np.corrcoef(means[:-1], means[1:])[0, 1], abs=1e-6)
    flat = np.concatenate(taken)
    if flat.std() > 0:
        within = sum(((batch - batch.mean()) ** 2).sum() for batch in taken)
        assert found.between == pytest.approx(1 - within / ((flat - flat.mean()) ** 2).sum(), abs=1e-9)


@pytest.mark.slow
def test_the_known_figures_of_lognormal_lengths():
    """Sigma 0.6, batches of 16: 61 % at random, 21 % in pools of 10, below 0.1 % sorted; correlation rises with it."""
    held = lognormal_lengths(128_000, seed=0, median=10_000)  # long, so that rounding doesn't matter
    found = {pool: trade(held, bucketed(held, 16, pool=pool, seed=1)) for pool in (1, 10, 100, 8000)}
    assert found[1].padding == pytest.approx(0.61, abs=0.005)
    assert found[10].padding == pytest.approx(0.207, abs=0.006)
    assert found[100].padding == pytest.approx(0.038, abs=0.004)
    assert found[8000].padding < 0.0012
    assert [round(found[pool].correlation, 1) for pool in found] == [0.0, 0.2, 0.8, 1.0]
    assert found[10].between < found[100].between < found[8000].between


def test_shuffled_batches_keep_their_padding_and_lose_their_order():
    held = lognormal_lengths(6400, seed=0)
    inorder = trade(held, bucketed(held, 16, pool=100, seed=1))
    mixed = trade(held, bucketed(held, 16, pool=100, seed=1, shuffle_batches=True))
    assert mixed.padding == pytest.approx(inorder.padding, abs=0.001)
    assert mixed.correlation < 0.2 < 0.6 < inorder.correlation
    assert mixed.between == pytest.approx(inorder.between)


def test_pictures_say_both():
    held = lognormal_lengths(640, seed=0)
    picture = pools(held, 16, (1, 5, 40), seed=0)
    assert picture.alt.count("padding") == picture.alt.count("correlation") == 6
    assert "Lengths of the first batches" in draw_batches(held, bucketed(held, 16, pool=5, seed=0), "Five").alt


def test_wrong_values_are_named():
    for said, call in {
        "lengths is empty or holds one below 1": lambda: bucketed([3, 0], 2, pool=1, seed=0),
        "pool is 0": lambda: bucketed([3], 2, pool=0, seed=0),
        "batches is empty": lambda: trade([3], []),
        "holds an empty batch": lambda: trade([3], [[0], []]),
        "batches name sample 1": lambda: trade([3], [[1]]),
        "samples is 0": lambda: lognormal_lengths(0, seed=1),
    }.items():
        with pytest.raises(UsageError, match=said):
            call()
