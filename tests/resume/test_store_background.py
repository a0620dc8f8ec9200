"""Saves in the background, and more than one process at once."""

from __future__ import annotations

import subprocess
import sys
import threading

import numpy as np
import pytest
import torch

from labkit.resume.checkpoint_error import CheckpointError
from labkit.resume.store import Store
from labkit.resume.store_files import Files


def test_async_saves_what_was_there_at_the_call(tmp_path, monkeypatch):
    """Training goes on while the save is held up; what is saved is the state of the call."""
    go = threading.Event()
    real = Files.write
    monkeypatch.setattr(Files, "write", lambda self, *a: (go.wait(30), real(self, *a))[1])
    store = Store(tmp_path / "s")
    model = {"w": torch.zeros(1000), "a": np.zeros(10), "list": [1], "nested": {"k": torch.ones(2)}}
    pending = store.async_save(model, 1)
    model["w"] += 1
    model["a"] += 1
    model["list"].append(2)
    model["nested"]["k"] *= 5
    assert not pending.done
    go.set()
    assert pending.result().step == 1
    state = Store(tmp_path / "s").load().state
    assert state["w"].sum() == 0
    assert state["a"].sum() == 0
    assert state["list"] == [1]
    assert state["nested"]["k"].tolist() == [1, 1]


def test_async_saves_one_after_the_other_with_the_same_memory(tmp_path):
    store = Store(tmp_path / "s", keep=10)
    weight = torch.zeros(50_000)
    for step in range(1, 9):
        weight += 1
        store.async_save({"w": weight}, step)
    store.wait()
    for entry in store.verify().entries:
        assert not entry.fault
    assert (store.load().state["w"] == 8).all()
    assert len(store.verify().entries) == 8
    for path in (tmp_path / "s" / "data").iterdir():
        step = int(path.name.split("-")[1])
        raw = next(path.glob("*.safetensors")).read_bytes()
        assert (np.frombuffer(raw[-200_000:], np.float32) == step).all()


@pytest.mark.filterwarnings("ignore:in the background")
def test_a_failed_async_save_is_told(tmp_path, monkeypatch):
    store = Store(tmp_path / "s")
    store.save({"step": 1}, 1)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Files, "fsync", full)
    pending = store.async_save({"step": 2}, 2)
    with pytest.raises(CheckpointError, match="step 2 can't be saved"):
        pending.result()
    store.async_save({"step": 3}, 3).join()
    monkeypatch.undo()
    with pytest.raises(CheckpointError, match="step 3 can't be saved"):
        store.save({"step": 4}, 4)
    assert store.save({"step": 4}, 4).step == 4  # told once, then on
    monkeypatch.setattr(Files, "fsync", full)
    with pytest.warns(RuntimeWarning, match="in the background: step 5 can't be saved"):
        store.async_save({"step": 5}, 5).join()
    assert store.load().step == 4


def test_a_process_that_ends_finishes_its_save(tmp_path):
    code = f"from labkit.resume import Store\nStore({str(tmp_path / 's')!r}).async_save({{'x': list(range(9999))}}, 7)"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert Store(tmp_path / "s").load().step == 7


SAVER = """
import sys
from labkit.resume import Store
store = Store(sys.argv[1], keep=int(sys.argv[3]))
for n in range(12):
    saved = store.save({"who": sys.argv[2], "n": n}, n)
    print(saved.sequence, flush=True)
"""


def test_two_processes_saving_at_once(tmp_path):
    place = tmp_path / "s"
    runs = [
        subprocess.Popen([sys.executable, "-c", SAVER, str(place), who, "40"], stdout=subprocess.PIPE, text=True)
        for who in "ab"
    ]
    said = [int(line) for run in runs for line in run.communicate()[0].split()]
    assert [run.returncode for run in runs] == [0, 0]
    assert sorted(said) == list(range(1, 25))  # no two saves took the same place
    report = Store(place).verify()
    assert report.ok
    assert len(report.entries) == 24
    assert report.unfinished == 0


def test_two_processes_and_a_reader_with_little_kept(tmp_path):
    place = tmp_path / "s"
    runs = [subprocess.Popen([sys.executable, "-c", SAVER, str(place), who, "1"], stdout=-3) for who in "ab"]
    seen = 0
    while any(run.poll() is None for run in runs):
        found = Store(place).load()
        if found is not None:
            assert found.state["n"] == found.step
            seen += 1
    assert [run.wait() for run in runs] == [0, 0]
    assert seen
    Store(place, keep=1).save({"n": 0}, 0)
    report = Store(place).verify()
    assert (len(report.entries), report.unfinished, report.ok) == (1, 0, True)
