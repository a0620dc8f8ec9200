"""`probe` on real loaders: order, counts, identities, faults. No figure depends on how fast this machine is."""

from __future__ import annotations

import copy
import itertools
import json
import multiprocessing
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset

from labkit.errors import LabkitError, UsageError
from labkit.pipeline import Measurement, probe
from labkit.pipeline.measurement_views import trace


class Numbers(Dataset):
    """Sample i is i; preparing takes `ms`; `wrong` raises, `deadly` ends the process."""

    def __init__(self, count=64, ms=0.5, wrong=-1, deadly=-1):
        self.count, self.ms, self.wrong, self.deadly = count, ms, wrong, deadly

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        time.sleep(self.ms / 1000)
        if i == self.wrong:
            raise ValueError(f"sample {i} is broken")
        if i == self.deadly:
            os._exit(3)
        return i


class Stream(IterableDataset):
    def __init__(self, count):
        self.count = count

    def __iter__(self):
        yield from range(self.count)


class Endless:
    def __iter__(self):
        while True:
            yield torch.zeros(2)


def nothing(batch):
    """A step that takes no time to speak of."""


def children():
    return {child.pid for child in multiprocessing.active_children()}


@pytest.fixture(scope="module")
def run() -> Measurement:
    return probe(DataLoader(Numbers(64), batch_size=4, num_workers=2), lambda batch: time.sleep(0.003), warmup=2)


def test_the_sum_of_what_the_trainer_did_is_the_makespan(run):
    assert len(run) == 14
    assert sum(run.fetch_waits) + sum(run.transfer) + sum(run.train) == pytest.approx(run.makespan)
    assert run.makespan == run.train_end[-1]
    assert run.samples == 56
    assert run.samples_per_s == pytest.approx(56 / run.makespan * 1000)
    after = run.makespan - run.fetch_waits[0]
    assert run.wait_share == pytest.approx(sum(run.fetch_waits[1:]) / after)


def test_each_batch_is_matched_to_the_worker_that_made_it(run):
    assert run.worker == tuple(i % 2 for i in range(14))
    assert len(set(run.pids)) == run.workers == 2
    assert os.getpid() not in run.pids
    for i in range(14):
        assert run.prepare_start[i] < run.prepare_end[i] < run.train_start[i] < run.train_end[i]
        assert run.prepare[i] >= 4 * 0.5
        assert 0 <= run.collate[i] < run.prepare[i]
        assert run.sending[i] > 0
    for i in range(2, 14):
        assert run.prepare_start[i] >= run.prepare_end[i - 2]


def test_the_queue_holds_what_was_finished_and_not_fetched(run):
    assert all(0 <= depth <= 4 for depth in run.queue_depth)
    asked = (0.0, *run.train_end[:-1])
    for i, depth in enumerate(run.queue_depth):
        finished = sum(end <= asked[i] for end in run.prepare_end[i:])
        assert depth <= finished  # finished and packed is later than finished


def test_first_wait_holds_the_start_of_the_workers(run):
    assert 0 < run.starting < run.first_wait


def test_the_loader_keeps_its_settings_and_gets_no_workers():
    loader = DataLoader(Numbers(16), batch_size=4, num_workers=1, persistent_workers=True)
    before = copy.copy(loader.__dict__)
    probe(loader, nothing)
    assert loader.__dict__ == before
    assert [int(batch[0]) for batch in loader] == [0, 4, 8, 12]
    loader._iterator._shutdown_workers()


def test_batches_reach_the_step_as_the_loader_makes_them():
    seen = []
    probe(DataLoader(Numbers(12), batch_size=5, num_workers=2), lambda b: seen.append(b.tolist()), warmup=0)
    assert seen == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9], [10, 11]]


@pytest.mark.parametrize(
    ("setting", "workers"),
    [
        ({"num_workers": 0}, 0),
        ({"num_workers": 1, "batch_size": None}, 1),
        ({"num_workers": 2, "batch_size": 4, "persistent_workers": True, "prefetch_factor": 1}, 2),
        ({"num_workers": 2, "batch_size": 4, "in_order": False}, 2),
    ],
)
def test_other_settings(setting, workers):
    run = probe(DataLoader(Numbers(16), **setting), nothing, warmup=1)
    assert run.workers == workers
    assert None not in run.prepare
    assert set(run.worker) <= set(range(max(workers, 1)))
    if workers == 0:
        assert run.timeline().makespan == pytest.approx(run.makespan)
        assert set(run.queue_depth) == {0}


@pytest.mark.slow
@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_other_ways_to_start_a_worker(method):
    run = probe(DataLoader(Numbers(16), num_workers=2, multiprocessing_context=method), nothing)
    assert None not in run.prepare
    assert len(set(run.pids)) == 2


def test_iterable_data_sets_and_workers_that_end_early():
    run = probe(DataLoader(Stream(9), batch_size=2, num_workers=2), nothing, warmup=0)
    assert len(run) == 10  # each worker goes through the whole stream
    assert run.samples == 18
    assert sorted(run.worker) == [0] * 5 + [1] * 5


def test_torchdata_and_accelerate():
    from accelerate import Accelerator
    from torchdata.stateful_dataloader import StatefulDataLoader

    plain = DataLoader(Numbers(16), batch_size=2, num_workers=1)
    for loader in (StatefulDataLoader(Numbers(16), batch_size=2, num_workers=1), Accelerator().prepare(plain)):
        run = probe(loader, nothing, warmup=1)
        assert (len(run), run.workers) == (7, 1)
        assert None not in run.prepare
        assert run.prepare_end[3] < run.train_start[3]


@pytest.mark.parametrize("loader", [[1, 2, 3, 4], (i for i in range(4)), ["text", None, {}, object()]])
def test_anything_that_can_be_iterated(loader):
    run = probe(loader, nothing)
    assert len(run) == 2
    assert run.workers is None
    assert run.prepare == (None, None)
    assert run.timeline().makespan == pytest.approx(run.makespan)
    assert "not seen" in run.text()


def test_what_a_batch_holds():
    run = probe([{"x": torch.zeros(5, 2), "y": torch.zeros(5)}] * 4, nothing)
    assert (run.samples, run.batch_bytes) == (10, 60)


def test_an_endless_loader_is_bounded():
    assert len(probe(Endless(), nothing, batches=7)) == 7
    run = probe(Endless(), nothing, budget_s=0.1)
    assert run.ending == "budget"
    assert "budget ended the pass" in run.text()


@pytest.mark.parametrize(
    ("loader", "step", "setting", "message"),
    [
        ([], nothing, {}, "the loader yields no batch"),
        ([1], nothing, {}, "the loader ended after 1 batches, all of them warm-up"),
        (5, nothing, {}, "loader is int: give something"),
        ([1, 2, 3], None, {}, "step is None"),
        ([1, 2, 3], nothing, {"batches": 0}, "batches is 0"),
        ([1, 2, 3], nothing, {"budget_s": 0.001}, "budget_s is 0.001: give at least 0.05"),
        ([1, 2, 3], nothing, {"budget_s": "long"}, "budget_s is 'long'"),
        (DataLoader(Numbers(0), num_workers=1), nothing, {}, "the loader yields no batch"),
    ],
)
def test_bad_input_is_one_line(loader, step, setting, message):
    with pytest.raises(UsageError, match=re.escape(message)) as caught:
        probe(loader, step, **setting)
    assert "\n" not in str(caught.value)


def fails(loader, step, message, **setting):
    before = children()
    with pytest.raises(LabkitError, match=message) as caught:
        probe(loader, step, **setting)
    assert "\n" not in str(caught.value)
    assert children() <= before
    return caught


@pytest.mark.parametrize("workers", [0, 2])
def test_a_loader_that_raises(workers):
    loader = DataLoader(Numbers(16, wrong=9), batch_size=2, num_workers=workers)
    where = ", in worker 0" if workers else ""
    fails(loader, nothing, f"the loader raised at batch 4{where}: ValueError: sample 9 is broken")


def test_a_worker_that_dies():
    loader = DataLoader(Numbers(16, deadly=6), batch_size=2, num_workers=2)
    fails(loader, nothing, r"the loader lost worker 1 \(pid \d+\) before batch \d")


def test_a_worker_that_hangs():
    loader = DataLoader(Numbers(2, ms=60_000), batch_size=1, num_workers=1)
    begin = time.monotonic()
    fails(loader, nothing, "gave no batch 0: no batch came within the time budget", budget_s=2)
    assert time.monotonic() - begin < 50


def test_a_step_that_raises():
    def step(batch):
        if batch == 3:
            raise TypeError("no gradient")

    fails([0, 1, 2, 3, 4], step, "the step raised at step 3: TypeError: no gradient")


def test_a_step_that_is_interrupted_leaves_no_worker():
    def step(batch):
        raise KeyboardInterrupt

    before = children()
    with pytest.raises(KeyboardInterrupt) as caught:
        probe(DataLoader(Numbers(16), num_workers=2), step)
    assert children() <= before
    assert caught.tb  # held, as a notebook holds the last error


class Unpicklable:
    def __reduce__(self):
        raise RuntimeError("this can't travel")


def stuck(samples):
    return Unpicklable()


def test_a_batch_that_cant_be_sent():
    loader = DataLoader(Numbers(4), num_workers=1, collate_fn=stuck)
    begin = time.monotonic()
    fails(loader, nothing, "a worker couldn't send its batch: RuntimeError: this can't travel")
    assert time.monotonic() - begin < 50, "told when it happened, not when the budget of a minute was over"


def test_nothing_is_left_on_the_disk(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    probe(DataLoader(Numbers(8), num_workers=1), nothing)
    fails(DataLoader(Numbers(8, wrong=3), num_workers=1), nothing, "sample 3")
    assert list(tmp_path.iterdir()) == []


def test_the_line_from_the_measured_times(run):
    line = run.timeline()
    assert len(line) == len(run)
    assert (line.workers, line.depth) == (2, 2)
    assert line.get_cost == run.fetch_cost > 0
    assert line.train == pytest.approx(run.train)


def test_no_line_for_batches_out_of_order():
    run = probe(DataLoader(Numbers(8), num_workers=1, in_order=False), nothing)
    with pytest.raises(UsageError, match="in_order is False"):
        run.timeline()
    assert "predict" not in run.plot().alt


def test_views(run, tmp_path):
    frame = run.frame()
    assert len(frame) == 14
    assert {"prepare", "wait", "train", "worker", "queue_depth"} <= set(frame.columns)
    picture = run.plot()
    lanes = [tick.get_text() for tick in picture.figure.axes[0].get_yticklabels()]
    assert lanes == ["worker 0", "worker 1", "trainer", "predicted"]
    assert f"{run.makespan:.4g} ms" in picture.alt
    assert json.loads(json.dumps(run.as_dict()))["makespan"] == run.makespan
    assert run.to_perfetto(tmp_path / "run.json") == tmp_path / "run.json"
    with pytest.raises(UsageError, match="can't write"):
        run.to_perfetto(tmp_path / "no" / "run.json")


def test_the_trace_has_a_track_for_each_process(run):
    events = trace(run)["traceEvents"]
    names = {event["pid"]: event["args"]["name"] for event in events if event["name"] == "process_name"}
    assert names == {
        os.getpid(): "trainer",
        run.pids[0]: "DataLoader worker 0",
        run.pids[1]: "DataLoader worker 1",
    }
    slices = [event for event in events if event["ph"] == "X"]
    assert {event["name"] for event in slices} >= {"prepare 0", "train 13", "wait"}
    for pid in names:
        track = sorted((e["ts"], e["ts"] + e["dur"]) for e in slices if e["pid"] == pid)
        assert track
        assert track[0][0] >= 0
        assert all(b[0] >= a[1] - 1e-6 for a, b in itertools.pairwise(track))


def test_measured_figures_are_worked_out_from_the_moments():
    from labkit.pipeline.probe_loader import Made
    from labkit.pipeline.trace import Trace

    def made(worker, start, end):
        return Made(worker, 100 + worker, start, end - 0.001, end, 0.002, 0.002, 0, 0, 0, end + 0.001, 0.001, 50, 0)

    about = Trace(
        begin=10.0,
        iterated=10.01,
        asked=(10.01, 10.05, 10.07),
        taken=(10.03, 10.06, 10.08),
        moved=(10.03, 10.06, 10.085),
        ended=(10.05, 10.07, 10.1),
        made=(made(0, 10.0, 10.02), made(0, 10.02, 10.055), made(0, 10.055, 10.068)),
        samples=(4, 4, 2),
        octets=80,
        workers=1,
        prefetch_factor=2,
        in_order=True,
        pids=(100,),
        states=(),
        trainer_cpu=0.0,
        others=None,
        ending="loader",
        device="cpu",
        synchronised=True,
    )
    run = Measurement.of(about, 1)
    assert run.fetch_waits == pytest.approx((10, 10))
    assert run.transfer == pytest.approx((0, 5))
    assert run.train == pytest.approx((10, 15))
    assert run.prepare == pytest.approx((35, 13))
    assert run.prepare_start == pytest.approx((-30, 5))
    assert run.queue_depth == (0, 1)
    assert run.collate == pytest.approx((1, 1))
    assert run.makespan == pytest.approx(50)
    assert run.samples == 6
    assert (run.first_wait, run.starting) == pytest.approx((30, 10))
    assert run.fetch_cost == pytest.approx((5 + 10) / 2)
    assert run.wait_share == pytest.approx(10 / 40)
    # what was left to prepare at 0: 5 ms of batch 0, then all of batch 1
    assert run.timeline().prepare == pytest.approx((5, 13))


def test_only_files_of_its_own_are_written():
    assert not list(Path.cwd().glob("labkit-probe-*"))


def test_a_worker_that_ends_while_it_sends_is_named():
    """Torch then raises a bare EOFError in the trainer, or not, as it happens: so the translation is asked directly."""
    from types import SimpleNamespace

    from labkit.pipeline.probe_pass import _fault

    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    watched = SimpleNamespace(pids={0: os.getpid(), 1: gone.pid})
    assert f"lost worker 1 (pid {gone.pid}) before batch 4" in str(_fault(watched, 4, EOFError()))
    assert "raised at batch 4: EOFError" in str(_fault(SimpleNamespace(pids={0: os.getpid()}), 4, EOFError()))
