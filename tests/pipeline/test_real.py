"""The line on a real DataLoader: orders, counts and identities; no figure depends on how fast this machine is."""

from __future__ import annotations

import dataclasses
import multiprocessing
import os
import re
import subprocess
import sys
import time

import pytest

from labkit.errors import UsageError
from labkit.pipeline import LineRun, compare, run_line, simulate
from labkit.pipeline import real as real_module


@pytest.fixture(scope="module")
def run() -> LineRun:
    return run_line([3, 9, 1, 4, 2, 12, 1, 5, 1, 2], 4, workers=3, prefetch_factor=2)


def test_every_batch_once_in_order(run):
    assert run.ids == tuple(range(10))
    assert len(run) == 10


def test_batches_go_round_real_worker_processes(run):
    assert run.worker == tuple(i % 3 for i in range(10))
    assert len(set(run.pids)) == run.workers == 3
    assert os.getpid() not in run.pids


def test_waits_and_training_are_the_whole_run(run):
    assert sum(run.waits) + sum(run.train) == pytest.approx(run.makespan)
    assert run.makespan == run.train_end[-1]
    assert min(run.prepare_start) == 0


def test_nothing_happens_before_its_cause(run):
    for i in range(len(run)):
        assert run.prepare_start[i] < run.prepare_end[i] < run.train_start[i] < run.train_end[i]
        if i >= run.workers:
            assert run.prepare_start[i] > run.prepare_end[i - run.workers]
    credit = run.workers * run.prefetch_factor
    for i in range(credit, len(run)):
        # Batch i's task goes out within the fetch of batch i - credit, which begins when the training before it ends.
        assert run.prepare_start[i] > run.train_start[i - credit] - run.waits[i - credit]


def test_sleeps_last_at_least_as_long_as_asked(run):
    assert all(took >= asked for took, asked in zip(run.prepare, run.asked_prepare, strict=True))
    assert all(took >= asked for took, asked in zip(run.train, run.asked_train, strict=True))


def test_one_worker_with_one_credit():
    run = run_line(2, 3, batches=5, workers=1, prefetch_factor=1)
    assert run.ids == tuple(range(5))
    assert len(run.pids) == 1


def test_no_process_is_left(run):
    assert not [child for child in multiprocessing.active_children() if child.pid in run.pids]


def test_no_process_is_left_after_an_error(monkeypatch):
    real_sleep = time.sleep
    main, seen = os.getpid(), []

    def sleep(seconds):
        if os.getpid() == main:
            seen.extend(child.pid for child in multiprocessing.active_children())
            raise KeyboardInterrupt
        real_sleep(seconds)

    monkeypatch.setattr(real_module.time, "sleep", sleep)
    with pytest.raises(KeyboardInterrupt) as caught:
        run_line(1, 1, batches=8, workers=2)
    assert len(seen) >= 2
    assert not {child.pid for child in multiprocessing.active_children()} & set(seen)
    assert caught.tb  # held until here, as a notebook holds the last error's traceback, and all that it refers to


def test_a_worker_that_dies_ends_the_run_and_leaves_nobody(monkeypatch):
    before = {child.pid for child in multiprocessing.active_children()}
    main, real_sleep = os.getpid(), time.sleep
    monkeypatch.setattr(real_module.time, "sleep", lambda s: real_sleep(s) if os.getpid() == main else os._exit(3))
    with pytest.raises(RuntimeError, match="exited unexpectedly"):
        run_line(1, 1, batches=8, workers=2)
    assert {child.pid for child in multiprocessing.active_children()} <= before


@pytest.mark.slow
@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_other_ways_to_start_a_process(method):
    code = (
        f"import multiprocessing; multiprocessing.set_start_method({method!r});"
        "from labkit.pipeline import run_line; run = run_line(1, 1, batches=6, workers=2);"
        "print(run.ids, len(set(run.pids)), multiprocessing.active_children())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "(0, 1, 2, 3, 4, 5) 2 []"


@pytest.mark.parametrize(
    ("arguments", "setting", "message"),
    [
        ((-1, 10), {"batches": 4}, "prepare is -1.0"),
        ((6, [10, float("nan")]), {}, "train[1] is nan"),
        ((6, 10), {}, "batches is missing"),
        ((6, 10), {"batches": 4, "workers": 0}, "workers is 0"),
        ((6, 10), {"batches": 4, "prefetch_factor": 0}, "prefetch_factor is 0"),
        ((6, 10), {"batches": 4, "workers": 1.0}, "workers is 1.0"),
    ],
)
def test_bad_input_starts_no_process(arguments, setting, message):
    with pytest.raises(UsageError, match=re.escape(message)):
        run_line(*arguments, **setting)


def test_each_row_of_a_comparison_adds_one_term(run):
    found = compare(run)
    frame = found.frame()
    assert list(frame.model) == ["ideal line", "+ credits", "+ measured times", "+ get cost", "measured"]
    assert found.ideal == simulate(run.asked_prepare, run.asked_train, workers=3)
    assert found.jitter == simulate(run.prepare, run.train, workers=3, prefetch_factor=2)
    # Terms only ever add time: credits hold workers back, sleeps overshoot, fetches cost.
    assert frame.makespan[:4].is_monotonic_increasing
    assert frame.change.sum() == pytest.approx(run.makespan - found.ideal.makespan)
    assert found.error == found.fetch.makespan / run.makespan - 1
    assert frame["error %"].iloc[-1] == 0


def made_up(**changes) -> LineRun:
    """A run as an ideal line with a fetch of exactly 0.5 would give it."""
    line = simulate([14, 2, 2, 30, 2], 10, prefetch_factor=2, get_cost=0.5)
    values = {name: getattr(line, name) for name in ("prepare", "train", "prepare_start", "prepare_end")}
    values |= {name: getattr(line, name) for name in ("train_start", "train_end", "waits", "makespan")}
    values |= {"asked_prepare": line.prepare, "asked_train": line.train, "ids": tuple(range(5)), "worker": (0,) * 5}
    return LineRun(**{**values, "pids": (1,), "workers": 1, "prefetch_factor": 2, **changes})


def test_the_fetch_is_calibrated_and_the_model_then_exact_on_its_own_line():
    found = compare(made_up())
    assert found.get_cost == pytest.approx(0.5)
    assert found.error == pytest.approx(0)
    assert found.jitter.makespan < found.fetch.makespan


def test_the_fetch_is_calibrated_on_batches_that_were_ready():
    run = made_up()
    late = [i for i in range(1, 5) if run.prepare_end[i] > run.train_end[i - 1]]
    assert late == [3]
    sooner = tuple(
        end - (i in late) for i, end in enumerate(run.prepare_end)
    )  # now 1.5 passes until the trainer has it
    assert compare(made_up(prepare_end=sooner)).get_cost == pytest.approx(0.5)
    all_late = tuple(start - 0.4 for start in run.train_start)
    assert compare(made_up(prepare_end=all_late)).get_cost == pytest.approx(0.4)


def test_a_run_of_one_batch_still_compares():
    run = run_line(1, 1, batches=1)
    assert compare(run).error == pytest.approx(0)


def test_the_comparison_drawn(run):
    picture = compare(run).plot()
    assert f"measured {run.makespan:.5g}" in picture.alt
    lanes = [tick.get_text() for tick in picture.figure.axes[0].get_yticklabels()]
    assert lanes == ["ideal line", "refitted", "measured"]
    assert len(picture.table) == 5


def test_only_a_run_can_be_compared():
    with pytest.raises(UsageError, match="run is Timeline: give what run_line"):
        compare(simulate(6, 10, batches=4))
    assert dataclasses.is_dataclass(compare(made_up()))
