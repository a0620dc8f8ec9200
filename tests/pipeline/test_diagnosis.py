"""`diagnose` on real loaders: what comes back, faults, clean-up. Which cause a busy machine shows isn't asked."""

from __future__ import annotations

import json
import multiprocessing
import re
import time

import pytest
import torch
from torch.utils.data import DataLoader, Dataset

from labkit.errors import LabkitError, UsageError
from labkit.pipeline import CAUSES, Diagnosis, diagnose
from labkit.pipeline import diagnosis_bench as bench

pytestmark = pytest.mark.slow


class Numbers(Dataset):
    def __init__(self, count=4000, ms=0.0, wrong=-1):
        self.count, self.ms, self.wrong = count, ms, wrong

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        if self.ms:
            time.sleep(self.ms / 1000)
        if i == self.wrong:
            raise ValueError(f"sample {i} is broken")
        return torch.tensor([i])


def loader(**setting):
    return lambda: DataLoader(Numbers(), batch_size=8, **setting)


def step(batch):
    time.sleep(0.004)


def children():
    return {child.pid for child in multiprocessing.active_children()}


@pytest.fixture(scope="module")
def found() -> Diagnosis:
    return diagnose(loader(num_workers=2, persistent_workers=True), step, budget_s=4)


def test_a_loader_that_keeps_up(found):
    # healthy, unless the machine is so busy that the trainer really waits
    assert found.cause in ("healthy", "not enough evidence")
    assert found.advice == "" or not found.healthy
    assert found.record.workers == 2
    assert len(found.record.prepare) == len(found.record.train) >= 8
    assert found.record.cached_train >= 4
    assert found.record.batches == 500
    assert 0 < found.seconds < 40


def test_nothing_is_left_running():
    before = children()
    diagnose(loader(num_workers=1), step, budget_s=2)
    assert children() <= before


def test_views(found, tmp_path):
    assert found.text().startswith(f"{found.cause}: ")
    data = json.loads(json.dumps(found.as_dict()))
    assert data["cause"] in CAUSES
    assert set(data["ruled_out"]) | set(data["unseen"]) | set(data["second"]) <= set(CAUSES)
    picture = found.plot()
    assert found.cause in picture.alt
    assert "both" in picture.table.experiment.tolist()
    page = found.html()
    assert page.startswith("<!doctype html>")
    assert 'alt="The experiments' in page
    assert "<table>" in page
    assert "prefers-color-scheme: dark" in page
    assert not re.search(r"<script|https?://|src=\"(?!data:)", page)
    assert 'aria-label="Diagnosis' in found._repr_mimebundle_()["text/html"]
    trace = json.loads(found.to_perfetto(tmp_path / "trace.json").read_text())
    assert any(e.get("args", {}).get("name") == "DataLoader worker 1" for e in trace["traceEvents"])


def test_without_a_step_it_says_so():
    found = diagnose(loader(), budget_s=2, step_ms=2)
    assert "stand-in" in found.text()
    assert "No step was given" in found.html()
    assert found.record.mean_train >= 2


def test_a_loader_that_hides_its_workers_is_not_judged():
    def slow():
        for i in range(2000):
            time.sleep(0.004)
            yield i

    found = diagnose(slow, lambda batch: time.sleep(0.002), budget_s=2)
    assert found.cause == "not enough evidence"
    assert "can't be seen" in found.evidence or "other programs" in found.evidence
    with pytest.raises(UsageError, match="no advice to apply"):
        found.apply(slow, step)


def test_lists_and_things_that_arent_tensors():
    assert diagnose(lambda: [{"text": "a"}] * 40, step, budget_s=2).cause == "healthy"


def test_one_worker_fewer_than_needed_shows_in_the_record_and_the_advice():
    def make():
        return DataLoader(Numbers(800, ms=1.0), batch_size=8, num_workers=1, persistent_workers=True)

    found = diagnose(make, lambda batch: time.sleep(0.002), budget_s=4)
    record = found.record
    assert record.mean_prepare >= 8
    assert record.more_workers >= 2
    assert record.blocked > 0.3  # it sleeps
    applied = None
    if found.cause == "too few workers":  # on a machine that is busy with other work it may abstain
        applied = found.apply(make, lambda batch: time.sleep(0.002), budget_s=2)
        assert applied.predicted_gain > 1.2
        assert applied.batches > 8
        assert "times as fast" in applied.text()
        assert json.dumps(applied.as_dict())


ITERATOR = iter(range(1000))


@pytest.mark.parametrize(
    ("make", "setting", "message"),
    [
        (list, {}, "the loader yields no batch"),
        (lambda: iter([]), {}, "the loader yields no batch"),
        (lambda: ITERATOR, {}, "make_loader returned the same one-shot iterator twice"),
        (lambda: 5, {}, "loader is int"),
        ([1, 2], {}, "make_loader is list: give a function"),
        (lambda: [1], {"budget_s": 0.5}, "budget_s is 0.5: too small for enough batches, give at least 2 seconds"),
        (lambda: [1], {"step": 3}, "step is 3"),
        (lambda: [1], {"step": step, "step_ms": 3}, "step_ms is 3, but there is a step"),
    ],
)
def test_bad_input_is_one_line(make, setting, message):
    with pytest.raises(UsageError, match=re.escape(message)) as caught:
        diagnose(make, **setting)
    assert "\n" not in str(caught.value)


def test_a_loader_or_a_step_that_raises():
    before = children()
    broken = DataLoader(Numbers(wrong=100), batch_size=8, num_workers=2)
    with pytest.raises(LabkitError, match="batch 12, in worker 0: ValueError: sample 100 is broken"):
        diagnose(lambda: broken, step, budget_s=2)

    def fails(batch):
        raise TypeError("no gradient")

    with pytest.raises(LabkitError, match="the step raised at step 0: TypeError: no gradient"):
        diagnose(loader(num_workers=1), fails, budget_s=2)
    assert children() <= before


def test_a_full_dev_shm_is_a_verdict_not_a_crash(monkeypatch):
    words = "RuntimeError: unable to allocate shared memory(shm) for file </torch_1>: No space left on device (28)"

    def full(*_, **__):
        raise LabkitError(f"the loader raised at batch 8, in worker 0: {words}")

    monkeypatch.setattr(bench, "run", full)
    found = diagnose(loader(num_workers=1), step)
    assert found.cause == "shared memory exhausted"
    assert "No space left" in found.evidence
    assert found.found
    assert "shm" in found.advice
    assert found.plot().alt
    assert found.html()
