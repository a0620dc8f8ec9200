"""Every way in which a rank goes wrong: one error that names rank, step and cause, soon, and nothing left."""

from __future__ import annotations

import ctypes
import os
import re
import signal
import sys
import tempfile
import time

import pytest
import torch
import torch.distributed as dist
from leftovers import gone, marked
from torch.utils.data import DataLoader

from labkit import ranks

pytestmark = pytest.mark.slow  # real processes all through

FOREVER = 10_000


def raises(rank: int) -> None:
    dist.barrier()
    dist.all_reduce(torch.ones(2))
    if rank == 2:
        raise ValueError("no such batch\nsecond line")
    dist.barrier()


def all_raise(rank: int) -> None:
    raise ZeroDivisionError(f"from {rank}")


def killed(rank: int) -> None:
    dist.barrier()
    if rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    dist.barrier()


def ends_itself(rank: int) -> None:
    if rank == 3:
        os._exit(5)
    dist.barrier()


def leaves(rank: int) -> None:
    if rank == 3:
        sys.exit("enough")
    dist.barrier()


def crashes(rank: int) -> None:
    if rank == 0:
        ctypes.string_at(0)
    dist.barrier()


def one_step_less(rank: int) -> None:
    for _ in range(3 - (rank == 1)):
        dist.all_reduce(torch.ones(2))


def one_step_less_unwaited(rank: int) -> None:
    for _ in range(3 - (rank == 1)):
        dist.all_reduce(torch.ones(2), async_op=True).wait()


def other_collective(rank: int) -> None:
    dist.barrier()
    if rank == 1:
        dist.broadcast(torch.ones(2), 0)
    else:
        dist.all_reduce(torch.ones(2))
    dist.barrier()


def other_size(rank: int) -> None:
    dist.all_reduce(torch.ones(3 + (rank == 2)))
    dist.barrier()


def never_sent(rank: int) -> None:
    if rank == 0:
        dist.recv(torch.ones(1), 1)


def one_step_less_in_a_subgroup(rank: int) -> None:
    group = dist.new_group([1, 3])
    for _ in range(2 - (rank == 3)):
        dist.barrier(group)


@pytest.mark.parametrize(
    ("fault", "line", "rank", "step", "cause"),
    [
        (raises, r"rank 2 raised ValueError in step 3: no such batch", 2, 3, "raised"),
        (
            all_raise,
            r"rank 0 raised ZeroDivisionError in step 1( \(so did ranks? [123, ]+\))?: from 0",
            0,
            1,
            "raised",
        ),
        (killed, r"rank 1 died \(signal 9, SIGKILL\).* in step 2", 1, 2, "died"),
        (ends_itself, r"rank 3 ended its own process \(exit status 5\) in step 1", 3, 1, "died"),
        (leaves, r"rank 3 raised SystemExit in step 1: enough", 3, 1, "raised"),
        (crashes, r"rank 0 died \(signal 11, SIGSEGV\) in step 1", 0, 1, "died"),
        (
            one_step_less,
            r"rank 1 ended after 2 collectives while rank \d (waits in|began) its 3rd \(all_reduce\): .*",
            1,
            3,
            "unequal",
        ),
        (
            one_step_less_unwaited,
            r"rank 1 ended after 2 collectives while rank \d (waits in|began) its 3rd \(all_reduce\): .*",
            1,
            3,
            "unequal",
        ),
        (
            other_collective,
            r"rank 1 calls broadcast as its 2nd collective where rank 0 calls all_reduce: .*",
            1,
            2,
            "unequal",
        ),
        (
            other_size,
            r"rank 2 brings 4 numbers to its 1st collective \(all_reduce\) where rank 0 brings 3: .*",
            2,
            1,
            "unequal",
        ),
        (never_sent, r"rank 1 ended while rank 0 still needed it .*", 1, 1, "unequal"),
        (
            one_step_less_in_a_subgroup,
            r"rank 3 ended after 1 collective while rank 1 (waits in|began) its 2nd \(barrier\): .*",
            3,
            2,
            "unequal",
        ),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
def test_a_fault_is_named_before_the_time_is_over(fault, line: str, rank: int, step: int, cause: str) -> None:
    with pytest.raises(ranks.RankError) as caught:
        ranks.run(fault, timeout=300)
    error = caught.value
    assert re.fullmatch(line, str(error)), str(error)
    assert (error.rank, error.step, error.cause) == (rank, step, cause)
    assert "\n" not in str(error)


def test_a_collective_made_of_others_is_one_step() -> None:
    def work(rank: int) -> None:
        dist.all_gather_object([None] * 2, rank)
        raise ValueError

    with pytest.raises(ranks.RankError, match="in step 2") as caught:
        ranks.run(work, ranks=2)
    assert caught.value.step == 2


def test_the_traceback_is_the_rank_s_own_with_source_lines() -> None:
    with pytest.raises(ranks.RankError) as caught:
        ranks.run(raises)
    error = caught.value
    assert 'raise ValueError("no such batch\\nsecond line")' in error.traceback
    assert "labkit/ranks" not in error.traceback
    assert error.__notes__ == [error.traceback]
    shown = error._render_traceback_()
    assert shown[0].startswith("Traceback")
    assert shown[-1] == "RankError: rank 2 raised ValueError in step 3: no such batch"


def test_a_crash_tells_where() -> None:
    with pytest.raises(ranks.RankError) as caught:
        ranks.run(crashes)
    assert "ctypes.string_at(0)" in caught.value.traceback
    assert "Segmentation fault" in caught.value.traceback


def test_an_exception_that_has_no_text_of_its_own() -> None:
    class Odd(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no text")

    def work(rank: int) -> None:
        raise Odd

    with pytest.raises(ranks.RankError, match=r"rank 0 raised Odd in step 1"):
        ranks.run(work, ranks=2)


def test_a_handled_exception_is_no_fault() -> None:
    def work(rank: int) -> int:
        try:
            raise ValueError
        except ValueError:
            dist.barrier()
        return rank

    assert ranks.run(work, ranks=2) == [0, 1]


@pytest.mark.slow
def test_ranks_may_end_at_very_different_times() -> None:
    def work(rank: int) -> int:
        value = torch.ones(1)
        dist.all_reduce(value)
        time.sleep(1.2 * rank)
        return int(value)

    assert ranks.run(work, ranks=2) == [2, 2]


@pytest.mark.slow
def test_a_hang_is_blamed_on_the_rank_that_nobody_waits_for() -> None:
    def hangs(rank: int) -> None:
        dist.barrier()
        if rank == 1:
            time.sleep(FOREVER)
        dist.barrier()

    begin = time.monotonic()
    with pytest.raises(ranks.RankError) as caught:
        ranks.run(hangs, ranks=3, timeout=4)
    error = caught.value
    assert time.monotonic() - begin >= 4
    assert (error.rank, error.step, error.cause) == (1, 2, "hung")
    assert str(error).startswith("rank 1 hung: no progress for ")
    assert str(error).endswith("after 1 collective, when the 4 s were over; ranks 0, 2 waited in barrier")
    assert "time.sleep(FOREVER)" in error.traceback


@pytest.mark.slow
def test_a_busy_loop_that_ignores_signals_ends_at_the_timeout() -> None:
    def stubborn(rank: int) -> None:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR2, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        while True:
            pass

    ranks.warm_up()
    before = marked()
    with pytest.raises(ranks.RankError, match="hung") as caught:
        ranks.run(stubborn, ranks=2, timeout=3)
    assert caught.value.cause == "hung"
    assert marked() <= before


@pytest.mark.slow
def test_ddp_with_one_step_less_is_told_apart_from_a_hang() -> None:
    def train(rank: int) -> None:
        model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))
        for _ in range(3 - (rank == 1)):
            model(torch.ones(1, 2)).sum().backward()

    with pytest.raises(ranks.RankError, match="rank 1 ended while rank 0 still needed it") as caught:
        ranks.run(train, ranks=2, timeout=300)
    assert caught.value.cause == "unequal"
    assert "backward()" in caught.value.traceback


@pytest.mark.slow
def test_workers_and_orphans_of_a_killed_rank_are_gone(tmp_path) -> None:
    def work(rank: int, folder: str) -> None:
        batches = iter(DataLoader(range(10_000), num_workers=2))
        next(batches)
        pids = [w.pid for w in batches._workers]
        if (child := os.fork()) == 0:  # a daemon: its own session, its parent gone
            os.setsid()
            if (grandchild := os.fork()) == 0:
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
                time.sleep(FOREVER)
            with open(f"{folder}/daemon{rank}", "w") as file:
                file.write(str(grandchild))
            os._exit(0)
        os.waitpid(child, 0)
        with open(f"{folder}/workers{rank}", "w") as file:
            file.write(" ".join(map(str, pids)))
        dist.barrier()
        if rank == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        dist.barrier()

    ranks.warm_up()
    before = marked()
    with pytest.raises(ranks.RankError, match="rank 1 died"):
        ranks.run(work, str(tmp_path), ranks=2, timeout=300)
    started = {int(word) for path in tmp_path.iterdir() for word in path.read_text().split()}
    assert len(started) == 6
    assert not started & marked()
    assert marked() <= before
    assert not [p for p in os.listdir("/dev/shm") if any(str(pid) in p for pid in started)]


@pytest.mark.slow
def test_workers_run_where_the_temporary_folder_has_a_long_name(tmp_path, monkeypatch) -> None:
    deep = tmp_path / ("x" * 100)
    deep.mkdir()
    monkeypatch.setenv("TMPDIR", str(deep))
    monkeypatch.setattr(tempfile, "tempdir", None)
    ranks.stop()
    assert ranks.run(lambda rank: next(iter(DataLoader(range(3), num_workers=1))).item(), ranks=2) == [0, 0]
    monkeypatch.undo()
    ranks.stop()


def test_nothing_is_left_of_a_run_that_went_well() -> None:
    def work(rank: int) -> int:
        if os.fork() == 0:
            time.sleep(FOREVER)
        return os.getpid()

    ranks.warm_up()
    before = marked()
    pids = ranks.run(work, ranks=2)
    assert not set(pids) & marked()
    assert marked() <= before
    assert not gone(set(pids))
