"""`labkit.ranks.pool`: the same processes again, seeds and place set anew, and what ends them."""

from __future__ import annotations

import os
import random

import jobs_for_ranks
import pytest
import torch
import torch.distributed as dist
from leftovers import gone, marked

from labkit import ranks
from labkit.errors import UsageError


def test_a_pool_keeps_its_processes_and_nothing_else(monkeypatch) -> None:
    def draw(rank: int) -> tuple[int, float, float, str | None]:
        return os.getpid(), random.random(), torch.rand(1).item(), os.environ.get("SOME_WORD")

    with ranks.pool(2) as pool:
        monkeypatch.setenv("SOME_WORD", "first")
        first = pool.run(draw)
        monkeypatch.delenv("SOME_WORD")
        second = pool.run(draw)
        assert [r[:3] for r in first] == [r[:3] for r in second]
        assert [r[3] for r in first + second] == ["first", "first", None, None]
        assert pool.run(jobs_for_ranks.total, 1.0) == [3.0, 3.0]


def test_after_a_fault_a_pool_starts_new_ranks() -> None:
    with ranks.pool(2) as pool:
        before = pool.run(lambda rank: os.getpid())
        with pytest.raises(ranks.RankError, match="rank 1 raised ValueError in step 2: no such batch"):
            pool.run(jobs_for_ranks.fails_on_one)
        assert not gone(set(before))
        after = pool.run(lambda rank: os.getpid())
        assert not set(before) & set(after)


def test_steps_are_counted_from_each_run_s_start() -> None:
    with ranks.pool(2) as pool:
        pool.run(jobs_for_ranks.total)
        with pytest.raises(ranks.RankError) as caught:
            pool.run(jobs_for_ranks.fails_on_one)
        assert caught.value.step == 2


def test_each_run_shows_its_own_prints(capsys) -> None:
    with ranks.pool(2) as pool:
        for word in ("one", "two"):
            pool.run(lambda rank, word: print(word), word)
            assert capsys.readouterr().out == f"rank 0 | {word}\nrank 1 | {word}\n"


def test_a_run_that_destroys_its_group_costs_the_next_one_a_start() -> None:
    with ranks.pool(2) as pool:
        pool.run(lambda rank: dist.destroy_process_group())
        assert pool.run(jobs_for_ranks.total) == [1.0, 1.0]


def test_ranks_of_a_pool_end_with_it() -> None:
    pool = ranks.pool(2)
    pids = set(pool.run(lambda rank: os.getpid()))
    assert pids <= marked()
    pool.close()
    pool.close()
    assert not pids & marked()
    with pytest.raises(UsageError, match="this pool is closed"):
        pool.run(jobs_for_ranks.total)


def test_ranks_of_a_forgotten_pool_end_too() -> None:
    pool = ranks.pool(2)
    pids = set(pool.run(lambda rank: os.getpid()))
    del pool
    assert not gone(pids)


def test_pools_of_different_sizes_and_runs_side_by_side() -> None:
    with ranks.pool(2) as two, ranks.pool(3) as three:
        for _ in range(2):
            assert two.run(jobs_for_ranks.total) == [1.0] * 2
            assert three.run(jobs_for_ranks.total) == [3.0] * 3
            assert ranks.run(jobs_for_ranks.total, ranks=2) == [1.0] * 2
