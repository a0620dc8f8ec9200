"""What was recorded survives a kill; memory is bounded; a spike's batch is there, and what it points to is named."""

from __future__ import annotations

import json
import math
import os
import random
import signal
import statistics
import subprocess
import sys

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.errors import UsageError
from labkit.records import Identity, Recorder, SpikeDetector, identify, read, reproduction

pytestmark = pytest.mark.slow  # real processes all through


@given(st.lists(st.floats(-1e6, 1e6), min_size=17, max_size=150), st.integers(16, 40))
@settings(max_examples=60)
def test_the_detector_is_the_rule_written_out(values, window):
    detector = SpikeDetector(window=window, threshold=5)
    for i, value in enumerate(values):
        found = detector.add(value)
        last = values[max(0, i - window) : i]
        expected = None
        if len(last) >= 16:
            usual = statistics.median(last)
            spread = max(1.4826 * statistics.median(abs(v - usual) for v in last), 1e-3 * abs(usual), 1e-12)
            expected = (value - usual) / spread
        if found is not None:
            assert found.score == pytest.approx(expected)
            assert found.score > 5
        elif expected is not None:
            assert expected <= 5 or value <= sorted(last)[3 * len(last) // 4]


def test_noise_raises_no_alarm_and_a_spike_does():
    draw, detector = random.Random(2), SpikeDetector()
    assert not any(detector.add(1 + 0.1 * draw.gauss(0, 1)) for _ in range(5000))
    assert detector.add(3.0).score > 8
    assert detector.add(math.nan).score == math.inf
    assert len(detector._sorted) == len(detector._values) == detector.window


def losses(steps, spikes=()):
    draw = random.Random(1)
    return {step: (9.0 if step in spikes else math.exp(-step / 60) + 0.02 * draw.random()) for step in range(1, steps)}


def test_rows_come_back_and_a_run_goes_on(tmp_path):
    with Recorder(tmp_path / "r", config={"a": {"lr": 0.1}}, seed=3, data="v1") as recorder:
        for step, loss in losses(40).items():
            recorder.step(step, loss=torch.tensor(loss), lr=0.1)
    with Recorder(tmp_path / "r", config={"a": {"lr": 0.1}}, seed=3, data="v1") as recorder:
        for step in (38, 39, 40, 41):
            recorder.step(step, loss=0.5)
    found = read(tmp_path / "r")
    assert [row["step"] for row in found.rows] == list(range(1, 42))
    assert (found.starts, found.repeated, found.torn) == ((1, 38), (38, 39), 0)
    assert found.rows[37]["loss"] == 0.5
    assert found.identities[0].config == {"a.lr": 0.1}
    assert found.reproduction().different == ()
    assert [one.sign for one in found.health().signs] == ["repeated"]
    assert list(found.frame()["step"]) == list(range(1, 42))


WRITER = """
import sys, os
from labkit.records import Recorder
with Recorder(sys.argv[1]) as recorder:
    for step in range(1, 100000):
        recorder.step(step, loss=1.0 / step)
        if step == int(sys.argv[2]):
            os.kill(os.getpid(), 9)
"""


def test_a_kill_loses_no_step_and_a_torn_line_is_left_out(tmp_path):
    folder = tmp_path / "r"
    for start in (10, 25):
        done = subprocess.run([sys.executable, "-c", WRITER, str(folder), str(start)], check=False)
        assert done.returncode == -signal.SIGKILL
        assert read(folder).rows[-1]["step"] == max(r["step"] for r in read(folder).rows)
    assert len(read(folder).rows) == 25
    whole = (folder / "steps.jsonl").read_bytes()
    for cut in range(1, 30):
        (folder / "steps.jsonl").write_bytes(whole[:-cut])
        found = read(folder)
        assert len(found.rows) >= 23
        with Recorder(folder) as recorder:
            recorder.step(26, loss=0.1)
        assert [row["step"] for row in read(folder).rows][-1] == 26
        assert len(read(folder).rows) >= len(found.rows) + 1


def run(folder, *, spikes=(), break_at=None, **more):
    with Recorder(folder, threshold=8, keep=3) as recorder:
        for step, loss in losses(80, spikes).items():
            batch = {"x": torch.ones(4, 3) * 0.1 * (step % 5), "y": torch.zeros(4)}
            if step == break_at:
                batch["x"][2, 1] = math.nan
                loss = math.nan
            extra = {name: make(step) for name, make in more.items()}
            ids = [step * 4 + i for i in range(4)] if step not in spikes else [7, step, step + 1, step + 2]
            recorder.step(step, batch=batch, ids=ids, loss=loss, **extra)
    return read(folder)


def test_the_batch_behind_a_spike_is_kept(tmp_path):
    found = run(tmp_path / "r", spikes=(40, 60))
    assert [one.step for one in found.evidence] == [40, 60]
    one = found.evidence[0]
    assert (one.metric, one.value, one.ids) == ("loss", 9.0, (7, 40, 41, 42))
    assert torch.equal(one.batch()["x"], torch.zeros(4, 3))
    assert [row["step"] for row in one.rows] == list(range(25, 41))
    assert one.rows[-2]["ids"] == [156, 157, 158, 159]
    cause = found.cause(40)
    assert (cause.cause, cause.suspects) == ("same-sample", (7,))


def test_the_batch_is_a_copy(tmp_path):
    x = torch.zeros(3)
    with Recorder(tmp_path / "r") as recorder:
        for step in range(20):
            recorder.step(step, loss=1.0, batch=x)
        recorder.step(20, loss=50.0, batch=x)
        x.fill_(9)
    assert read(tmp_path / "r").evidence[0].batch().tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("more", "options", "cause"),
    [
        ({}, {"break_at": 50}, "broken-batch"),
        ({"lr": lambda step: 0.1 if step < 48 else 0.4}, {"spikes": (50,)}, "learning-rate"),
        ({"grad_norm": lambda step: 1.0 if step < 47 else 6.0}, {"spikes": (50,)}, "gradients"),
        ({"lr": lambda step: 0.1}, {"spikes": (50,)}, "unknown"),
    ],
)
def test_causes(tmp_path, more, options, cause):
    found = run(tmp_path / "r", **options, **more)
    assert found.cause().cause == cause, found.cause().text()
    assert found.cause().next_step


def test_an_unusual_batch_and_a_restart(tmp_path):
    for first, last in ((1, 40), (41, 60)):
        with Recorder(tmp_path / "r") as recorder:
            for step in range(first, last + 1):
                big = step == 30
                if first == 41:
                    for detector in recorder._watch.values():
                        while len(detector._values) < 16:
                            detector.add(1.0)
                loss = 30.0 if big or step == 42 else 1.0
                recorder.step(step, loss=loss, batch=torch.full((2,), 500.0 if big else 1.0))
    found = read(tmp_path / "r")
    assert found.cause(30).cause == "unusual-batch"
    assert found.cause(42).cause == "restart"
    with pytest.raises(UsageError, match="no evidence of step 5: kept are 30, 42"):
        found.cause(5)


def test_evidence_is_bounded_and_the_largest_stay(tmp_path):
    with Recorder(tmp_path / "r", keep=2) as recorder:
        for step in range(200):
            recorder.step(step, loss=50.0 + step if step in (50, 90, 130, 170) else 1.0 + step % 3, batch=torch.ones(2))
    assert [one.step for one in read(tmp_path / "r").evidence] == [130, 170]


def test_memory_is_bounded(tmp_path):
    with Recorder(tmp_path / "r") as recorder:
        for step in range(3000):
            recorder.step(step, loss=1.0 / (step + 1), batch=[step], ids=[step])
        detector = recorder._watch["loss"]
        assert (len(recorder._rows), len(detector._values), len(detector._sorted)) == (16, 64, 64)


@pytest.mark.parametrize(
    ("rows", "signs"),
    [
        ([{"loss": 1 / s} for s in range(1, 60)], []),
        ([{"loss": 1.0 + s % 2} for s in range(60)], ["not-learning"]),
        ([{"loss": 1 / s, "seconds": 0.01 if s < 40 else 0.02} for s in range(1, 61)], ["slower"]),
        ([{"loss": 1 / s, "seconds": 0.01, "wait": 0.004} for s in range(1, 61)], ["waiting"]),
        ([{"loss": 1 / s if s < 50 else math.inf} for s in range(1, 60)], ["not-finite"]),
        ([{"loss": 1 / s, "step": s + (20 if s > 30 else 0)} for s in range(1, 60)], ["gap"]),
    ],
)
def test_signs(rows, signs):
    from labkit.records.healthiness import judge

    numbered = [{"step": i, **row} for i, row in enumerate(rows)]
    found = judge(numbered, 1, [])
    assert [one.sign for one in found.signs] == signs, found.text()
    assert judge(numbered[:2], 1, []).healthy
    assert "not-learning" in judge(numbered[:2], 1, []).not_judged


def test_what_differs_between_two_runs_is_named(tmp_path):
    file = tmp_path / "data.bin"
    file.write_bytes(b"one")
    a = identify(config={"opt": {"lr": 0.1}, "layers": [1, 2]}, data=file, seed=1)
    assert reproduction(a, identify(config={"opt": {"lr": 0.1}, "layers": [1, 2]}, data=file, seed=1)).same
    file.write_bytes(b"two")
    b = identify(config={"opt": {"lr": 0.2}, "layers": [1, 2]}, data=file, seed=1)
    names = [name for name, _, _ in reproduction(a, b).different]
    assert names == ["config.opt.lr", "data"]
    assert a.digest != b.digest
    assert reproduction(Identity(), Identity()).unknown == ("data", "seed", "code", "config")
    assert not reproduction(Identity(), Identity()).same
    again = Identity(**json.loads(json.dumps(a.as_dict())))
    assert not reproduction(a, again).different


def test_wrong_values_are_named(tmp_path):
    with Recorder(tmp_path / "r") as recorder, pytest.raises(UsageError, match="loss is 'high'"):
        recorder.step(1, loss="high")
    with pytest.raises(UsageError, match=r"holds no steps\.jsonl"):
        read(tmp_path)
    (tmp_path / "file").write_text("x")
    with pytest.raises(UsageError, match="can't hold a record"):
        Recorder(tmp_path / "file")
    with pytest.raises(UsageError, match="config is a list"):
        Recorder(tmp_path / "s", config=[1])
    with pytest.raises(UsageError, match="threshold is 0"):
        Recorder(tmp_path / "t", threshold=0)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cant_be_written(tmp_path):
    (tmp_path / "r").mkdir(mode=0o500)
    with pytest.raises(UsageError, match="can't hold a record"):
        Recorder(tmp_path / "r")


def test_of_a_slice_only_the_slice_is_kept(tmp_path):
    whole = torch.zeros(1_000_000)
    with Recorder(tmp_path / "r") as recorder:
        for step in range(20):
            recorder.step(step, loss=1.0)
        recorder.step(20, loss=50.0, batch=whole[:4])
    assert (read(tmp_path / "r").evidence[0].folder / "batch.pt").stat().st_size < 10_000


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_figures_on_a_gpu_arrive_a_step_later(tmp_path):
    with Recorder(tmp_path / "r") as recorder:
        for step in range(30):
            found = recorder.step(step, loss=torch.tensor(90.0 if step == 28 else 1.0, device="cuda"), lr=0.1)
            assert (found is not None) == (step == 29)
    rows = read(tmp_path / "r").rows
    assert [row["loss"] for row in rows] == [1.0] * 28 + [90.0, 1.0]
