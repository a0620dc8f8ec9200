"""The samplers hand out what plan says, in a real DataLoader too, and reshuffle with set_epoch as torch does."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from labkit.errors import UsageError
from labkit.sharding import BatchShards, BatchSlices, StrideSampler, plan, plan_distributed_sampler

sizes = st.tuples(st.integers(1, 60), st.integers(1, 9), st.integers(1, 6))


@given(sizes, st.booleans())
def test_stride_is_the_plan(size, drop_last):
    samples, _, ranks = size
    made = plan_distributed_sampler(samples, ranks, drop_last=drop_last)
    for rank in range(ranks):
        sampler = StrideSampler(samples, ranks, rank, drop_last=drop_last)
        assert [[one] for one in sampler] == made.per_rank[rank]
        assert len(sampler) == made.steps[rank]


@given(sizes, st.booleans(), st.booleans(), st.booleans())
def test_batches_and_slices_are_the_plan(size, split, even, drop_last):
    samples, batch_size, ranks = size
    batch_size *= ranks if split else 1
    made = plan(samples, batch_size, ranks, split_batches=split, even_batches=even, drop_last=drop_last)
    for rank in range(ranks):
        kind = BatchSlices if split else BatchShards
        sampler = kind(samples, batch_size, ranks, rank, even_batches=even, drop_last=drop_last)
        assert list(sampler) == made.per_rank[rank]
        assert len(sampler) == made.steps[rank]


@given(st.integers(1, 50), st.integers(1, 5), st.integers(0, 5), st.integers(0, 5))
def test_shuffled_as_torch_shuffles(samples, ranks, seed, epoch):
    for rank in range(ranks):
        ours = StrideSampler(samples, ranks, rank, shuffle=True, seed=seed)
        theirs = DistributedSampler(range(samples), ranks, rank, shuffle=True, seed=seed)
        ours.set_epoch(epoch)
        theirs.set_epoch(epoch)
        assert list(ours) == list(theirs)


def test_without_set_epoch_the_order_stays():
    sampler = BatchShards(100, 5, 2, 0, shuffle=True)
    first = list(sampler)
    assert list(sampler) == first
    sampler.set_epoch(1)
    assert list(sampler) != first


@pytest.mark.parametrize("workers", [0, 2])
def test_in_a_real_dataloader(workers):
    data = TensorDataset(torch.arange(23))
    seen = []
    for rank in range(2):
        batches = DataLoader(data, batch_sampler=BatchShards(data, 3, 2, rank), num_workers=workers)
        assert [batch.tolist() for (batch,) in batches] == plan(23, 3, 2).per_rank[rank]
        ids = DataLoader(data, batch_size=4, sampler=StrideSampler(data, 2, rank), num_workers=workers)
        seen += [one for (batch,) in ids for one in batch.tolist()]
    assert sorted(seen) == sorted([*range(23), 0])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: StrideSampler(10, 2, 2), "rank is 2 and ranks is 2: give a rank from 0 to 1"),
        (lambda: StrideSampler(10, 0, 0), "ranks is 0"),
        (lambda: StrideSampler([], 2, 0), "samples is 0"),
        (lambda: StrideSampler(-1, 2, 0), "samples is -1"),
        (lambda: StrideSampler(float("nan"), 2, 0), "samples is nan"),
        (lambda: BatchShards(10, 0, 2, 0), "batch_size is 0"),
        (lambda: BatchSlices(10, 3, 2, 0), "batch_size is 3 and ranks is 2: give a multiple of 2"),
        (lambda: BatchSlices(10, 4, 2, 0).set_epoch(1.5), "epoch is 1.5"),
        (lambda: BatchShards(10, 4, 2, 0, even_batches=1), "even_batches is 1: give True or False"),
    ],
)
def test_bad_input_gets_one_line(make, message):
    with pytest.raises(UsageError, match=message) as caught:
        make()
    assert "\n" not in str(caught.value)
