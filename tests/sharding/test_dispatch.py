"""Dispatch mode and unequal steps, on real ranks; the plan of dispatch against accelerate's own dispatcher."""

from __future__ import annotations

import pytest
import torch

from labkit import ranks
from labkit.errors import UsageError
from labkit.sharding import Dispatch, compare_dispatch, plan_dispatch, uneven_steps


class Numbers:
    def __init__(self, size):
        self.size, self.read = size, []

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        self.read.append(index)
        return torch.tensor([index, index * index])


@pytest.mark.parametrize("way", ["broadcast", "scatter"])
@pytest.mark.parametrize("drop_last", [False, True])
def test_every_rank_gets_what_the_plan_says_and_only_rank_0_reads(way, drop_last):
    def on_rank(rank):
        data = Numbers(17)
        loader = Dispatch(data, 2, way=way, drop_last=drop_last)
        batches = list(loader)
        assert all((batch[:, 1] == batch[:, 0] ** 2).all() for batch in batches)
        return [batch[:, 0].tolist() for batch in batches], len(data.read), loader.reads, loader.payload, len(loader)

    made = plan_dispatch(17, 2, 3, drop_last=drop_last)
    found = ranks.run(on_rank, ranks=3)
    assert [batches for batches, *_ in found] == made.per_rank
    rows = sum(len(batch) for batches in made.per_rank for batch in batches)
    assert [(read, reads) for _, read, reads, *_ in found] == [(rows, rows), (0, 0), (0, 0)]
    own = [sum(len(batch) for batch in batches) * 16 for batches in made.per_rank]
    received = [rows * 16] * 3 if way == "broadcast" else own
    assert [payload for *_, payload, _ in found][1:] == received[1:]
    assert {length for *_, length in found} == set(made.steps)


def test_without_a_process_group_one_process_keeps_everything():
    assert [batch[:, 0].tolist() for batch in Dispatch(Numbers(5), 2)] == [[0, 1], [2, 3], [4]]


def test_reads_and_bytes_against_shard_mode():
    report = compare_dispatch(50, 4, 3, sample_bytes=1000)
    shard, broadcast, scatter = report.modes
    assert shard.reads == (20, 20, 20)  # 60: the borrowed ones are read again
    assert broadcast.reads == scatter.reads == (51, 0, 0)
    assert sum(shard.payload) == 0
    assert broadcast.payload == (102_000, 51_000, 51_000)
    assert scatter.payload == (34_000, 17_000, 17_000)
    if broadcast.sent is not None:
        assert sum(broadcast.sent) > 102_000 > sum(scatter.sent) > 34_000 > sum(shard.sent)
    assert len(report.frame()) == 9
    assert "reads by rank 51, 0, 0" in report.text()


@pytest.mark.parametrize(("samples", "split"), [(9, False), (17, False), (24, False), (10, True), (16, True)])
def test_the_plan_of_dispatch_is_what_accelerate_does(samples, split):
    def on_rank(rank):
        from accelerate import Accelerator
        from accelerate.utils import DataLoaderConfiguration
        from torch.utils.data import DataLoader

        config = DataLoaderConfiguration(dispatch_batches=True, split_batches=split)
        loader = Accelerator(cpu=True, dataloader_config=config).prepare(DataLoader(range(samples), batch_size=4))
        return [batch.tolist() for batch in loader]

    found = ranks.run(on_rank, ranks=2)
    assert found == plan_dispatch(samples, 4, 2, split_batches=split).per_rank


@pytest.mark.slow
def test_join_divides_by_the_ranks_at_the_start_or_by_those_left():
    assert uneven_steps((3, 2)) == [[1.0, 2.0, 1.5], [1.0, 2.0]]
    assert uneven_steps((3, 2), divide_by_initial_world_size=False) == [[1.0, 2.0, 3.0], [1.0, 2.0]]


@pytest.mark.slow
def test_without_join_unequal_steps_are_an_error():
    with pytest.raises(ranks.RankError):
        uneven_steps((3, 2), join=False)
    assert uneven_steps((2, 2), join=False) == [[1.0, 2.0], [1.0, 2.0]]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Dispatch(Numbers(5), 2, way="carrier pigeon"), "way is 'carrier pigeon': give broadcast or scatter"),
        (lambda: Dispatch(Numbers(0), 2), "samples is 0: an empty data set"),
        (lambda: Dispatch(Numbers(5), 0), "batch_size is 0"),
        (lambda: compare_dispatch(10, 2, 1), "ranks is 1: give a whole number, 2 or more"),
        (lambda: compare_dispatch(10, 2, 2, sample_bytes=0), "sample_bytes is 0"),
        (lambda: uneven_steps(3), "steps is 3: give how many"),
        (lambda: uneven_steps((3, -1)), r"steps\[1\] is -1"),
        (lambda: uneven_steps((3, 2), join=1), "join is 1: give True or False"),
    ],
)
def test_bad_input_gets_one_line(call, message):
    with pytest.raises(UsageError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)
