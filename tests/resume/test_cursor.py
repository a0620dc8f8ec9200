"""A loader's state is the committed position: nothing lost, nothing twice, whatever was prefetched."""

from __future__ import annotations

import random
import time

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.data import Dataset, IterableDataset

from labkit.errors import UsageError
from labkit.resume import CommittedLoader, CommittedStream, Permutation

pytestmark = pytest.mark.slow  # real processes all through


class Numbers(Dataset):
    """Sample i is (i, a draw): the draw stands for random augmentation."""

    def __init__(self, n: int) -> None:
        self.n = n

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, i: int):
        return i, torch.rand(()).item() + random.random() + np.random.random()  # noqa: NPY002


class Huge(Dataset):
    def __len__(self) -> int:
        return 3_000_000_000

    def __getitem__(self, i: int) -> int:
        return i


@given(n=st.integers(1, 3000), seed=st.integers(0, 9), epoch=st.integers(0, 9))
@settings(max_examples=60)
def test_a_permutation_holds_each_number_once(n, seed, epoch):
    order = Permutation(n, seed=seed, epoch=epoch)
    assert sorted(order) == list(range(n))
    assert order[n // 2] == list(order)[n // 2]
    assert order[1 : n - 1] == list(order)[1 : n - 1]


def test_permutations_differ_and_spread():
    a, b = list(Permutation(1000, seed=1)), list(Permutation(1000, seed=1, epoch=1))
    assert a != b
    assert sum(x == y for x, y in zip(a, b, strict=True)) < 12
    places = np.array([list(Permutation(16, seed=s)).index(3) for s in range(3200)])
    counts = np.bincount(places, minlength=16)  # each place about 200 times: chi-square with 15 degrees of freedom
    assert ((counts - 200) ** 2 / 200).sum() < 50


def walk(loader, steps):
    seen = []
    while len(seen) < steps:
        for batch in loader:
            loader.commit()
            seen.append([one.tolist() for one in batch])
            if len(seen) == steps:
                break
    return seen


def test_ten_not_thirteen():
    loader = CommittedLoader(Numbers(64), 2, num_workers=1, prefetch_factor=4)
    walked = iter(loader)
    for _ in range(10):
        next(walked)
    loader.commit()
    for _ in range(3):  # handed out for an update that never came
        next(walked)
    assert (loader.state_dict()["cursor"], loader.handed_out) == (10, 13)


@pytest.mark.parametrize(("before", "after"), [(0, 0), (2, 1), (0, 2)])
def test_resumed_at_every_step_the_samples_and_draws_are_the_same(before, after):
    straight = walk(CommittedLoader(Numbers(21), 4, seed=3), 14)
    for step in range(1, 13) if not before else (1, 6, 7):
        first = CommittedLoader(Numbers(21), 4, seed=3, num_workers=before)
        walk(first, step)
        second = CommittedLoader(Numbers(21), 4, seed=3, num_workers=after)
        second.load_state_dict(first.state_dict())
        assert walk(second, 14 - step) == straight[step:]


def test_ranks_share_an_epoch():
    for drop_last in (False, True):
        loaders = [CommittedLoader(Numbers(22), 4, rank=r, ranks=2, drop_last=drop_last) for r in range(2)]
        ids = [i for loader in loaders for batch in range(len(loader)) for i in loader.ids(batch)]
        assert [len(one) for one in loaders] == ([2, 2] if drop_last else [3, 3])
        assert len(set(ids)) == (16 if drop_last else 22)


def test_the_callers_generators_are_left_alone():
    torch.manual_seed(0)
    before = torch.get_rng_state()
    loader = CommittedLoader(Numbers(8), 2)
    loader._loader.dataset.__getitems__([(0, 0, 1)])
    assert torch.equal(torch.get_rng_state(), before)


def test_seeking_goes_straight_there():
    loader = CommittedLoader(Huge(), 8, seed=1)
    began = time.perf_counter()
    loader.seek(10**9)
    ids = loader.ids(loader.cursor)
    seconds = time.perf_counter() - began
    assert (loader.epoch, loader.cursor, len(ids)) == (0, 10**9 // 8, 8)
    assert ids == [Permutation(3_000_000_000, seed=1)[10**9 + i] for i in range(8)]
    assert next(iter(loader)).tolist() == ids
    assert seconds < 1  # a walk there would take minutes; the figure is in `make bench`


def test_a_position_in_other_data_is_refused():
    state = CommittedLoader(Numbers(20), 4).state_dict()
    with pytest.raises(UsageError, match="samples is 24, but the saved position is for 20"):
        CommittedLoader(Numbers(24), 4).load_state_dict(state)
    with pytest.raises(UsageError, match="batch_size"):
        CommittedLoader(Numbers(20), 5).load_state_dict(state)


class Count(IterableDataset):
    """A stream that knows where it is."""

    def __init__(self) -> None:
        self.at = 0

    def __iter__(self):
        while self.at < 12:
            self.at += 1
            yield self.at - 1
        self.at = 0

    def state_dict(self):
        return {"at": self.at}

    def load_state_dict(self, state):
        self.at = state["at"]


@pytest.mark.parametrize("workers", [0, 1])
def test_a_stream_goes_on_from_the_last_commit(workers):
    from torchdata.stateful_dataloader import StatefulDataLoader

    def make():
        return CommittedStream(StatefulDataLoader(Count(), batch_size=2, num_workers=workers))

    straight = [batch.tolist() for batch in make()]
    for step in (1, 3, 5):
        first = make()
        walked = iter(first)
        seen = [next(walked).tolist() for _ in range(step)]
        first.commit()
        next(walked)  # handed out, not applied
        second = make()
        second.load_state_dict(first.state_dict())
        for batch in second:
            seen.append(batch.tolist())
            second.commit()
        assert seen == straight, step
        assert second.state_dict()["cursor"] == 6
        assert [batch.tolist() for batch in second] == straight
        assert second.epoch == 1
