"""plan, audit-sharding, audit-metric, bench-scaling and compare-scaling, on a module as a person would write one."""

from __future__ import annotations

import json

import numpy as np
import pytest

from labkit import cli

JOB = """
import torch
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

data = TensorDataset(torch.arange(24))
not_a_function = 3


def make_loader(rank, ranks):
    return DataLoader(data, batch_size=3, sampler=DistributedSampler(data, ranks, rank, shuffle=True))


def set_epoch(loader, epoch):
    loader.sampler.set_epoch(epoch)


def accuracy(predictions, targets):
    return float((predictions == targets).mean())


def make_step(rank, ranks):
    a = torch.ones(8, 8)
    return lambda: a @ a
"""


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    (tmp_path / "job_of_mine.py").write_text(JOB)
    (tmp_path / "leaves.py").write_text("import sys\n\nsys.exit(3)\n")
    monkeypatch.chdir(tmp_path)

    def run(*words):
        code = cli.main(words)
        seen = capsys.readouterr()
        return code, seen.out, seen.err

    return run


PLAN = ("plan", "--samples", "21", "--batch-size", "3", "--ranks", "2")


def test_plan(run, tmp_path):
    code, out, err = run(*PLAN, "--png", "plan.png")
    assert (code, err) == (0, "")
    assert "3 samples handed out again (0, 1, 2)" in out
    assert "rank 1: [3 4 5] [9 10 11] [15 16 17] [0* 1* 2*]" in out
    assert (tmp_path / "plan.png").read_bytes().startswith(b"\x89PNG")
    code, out, _ = run(*PLAN, "--json")
    assert json.loads(out)["duplicates"] == [0, 1, 2]


def test_plan_with_unequal_steps_is_a_fault(run):
    code, out, _ = run(*PLAN, "--no-even-batches")
    assert code == 1
    assert "hangs" in out


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ((*PLAN[:-1], "0"), "labkit plan: ranks is 0"),
        ((*PLAN, "--rule", "mine"), "labkit plan: --rule is 'mine': give accelerate, torch or dispatch"),
        ((*PLAN, "--rule", "torch", "--split-batches"), "labkit plan: --rule torch has no --split-batches"),
        ((*PLAN, "--split-batches"), "labkit plan: batch_size is 3"),
        (("audit-sharding", "job_of_mine"), "labkit audit-sharding: make_loader is 'job_of_mine': name a function as"),
        (("audit-sharding", "no_such:f"), "labkit audit-sharding: make_loader 'no_such:f' can't be imported"),
        (("audit-sharding", "job_of_mine:nothing"), "labkit audit-sharding: make_loader 'job_of_mine:nothing': job"),
        (("audit-sharding", "none.py:f"), "labkit audit-sharding: there is no file none.py"),
        (("audit-sharding", "job_of_mine:not_a_function"), "labkit audit-sharding: make_loader is a int"),
        (("audit-metric", "job_of_mine:accuracy", "--data", "none.npz"), "labkit audit-metric: none.npz can't be used"),
        (
            ("bench-scaling", "job_of_mine:make_step", "--batch-size", "2", "--ranks", "2"),
            "labkit bench-scaling: ranks",
        ),
        (("compare-scaling", "a.json", "b.json"), "labkit compare-scaling: a.json"),
        ((*PLAN, "--png", "x.jpg"), "labkit plan: invalid value for '--png': 'x.jpg' doesn't end in .png"),
        ((*PLAN, "--png", "no/x.png"), "labkit plan: invalid value for '--png': there is no directory no"),
        (
            ("plan", "--samples", "99999999999", "--batch-size", "2", "--ranks", "2"),
            "labkit plan: samples is 99999999999",
        ),
        (
            ("audit-sharding", "leaves.py:f"),
            "labkit audit-sharding: make_loader 'leaves.py:f' can't be imported: System",
        ),
        (
            ("audit-metric", "job_of_mine:accuracy", "--data", "job_of_mine:not_a_function"),
            "labkit audit-metric: --data job_of_mine:not_a_function is 3: give a function",
        ),
        (
            ("bench-scaling", "job_of_mine:make_step", "--batch-size", "2", "--ranks", "1,x"),
            "labkit bench-scaling: --ranks is '1,x'",
        ),
        (
            ("bench-scaling", "job_of_mine:make_step", "--batch-size", "2", "--out", "job_of_mine.py"),
            "labkit bench-scaling: --out job_of_mine.py is a file",
        ),
    ],
)
def test_mistakes_are_one_line(run, words, line):
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert err.startswith(line)
    assert err.count("\n") == 1


@pytest.mark.slow
def test_audit_sharding(run):
    code, out, err = run("audit-sharding", "job_of_mine:make_loader", "--ranks", "2")
    assert (code, err) == (1, "")
    assert "same-order" in out
    code, out, _ = run(
        "audit-sharding",
        "job_of_mine.py:make_loader",
        "--ranks",
        "2",
        "--on-epoch",
        "job_of_mine.py:set_epoch",
        "--json",
    )
    assert code == 0
    assert json.loads(out)["findings"] == []


@pytest.mark.slow
def test_audit_metric(run, tmp_path):
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "made.npz", predictions=rng.integers(0, 2, 50), targets=rng.integers(0, 2, 50))
    words = ("audit-metric", "job_of_mine:accuracy", "--data", "made.npz", "--ranks", "2")
    code, out, _ = run(*words, "--batch-size", "4")
    assert code == 1
    assert "mean of means" in out
    code, out, _ = run(*words, "--reduction", "gather", "--json")
    assert json.loads(out)["findings"] == [] or code == 1


def test_a_poisoned_file_runs_nothing(run, tmp_path):
    np.savez(tmp_path / "bad.npz", predictions=np.array([object()], dtype=object), targets=np.zeros(1))
    code, _, err = run("audit-metric", "job_of_mine:accuracy", "--data", "bad.npz")
    assert code == 2
    assert "give an .npz of plain numbers" in err


@pytest.mark.slow
def test_bench_and_compare(run, tmp_path):
    words = (
        "bench-scaling",
        "job_of_mine:make_step",
        "--batch-size",
        "2",
        "--ranks",
        "1,2",
        "--data",
        "job_of_mine.py",
    )
    code, out, _ = run(*words, "--out", "reports")
    assert code == 0
    assert "2 ranks: " in out
    assert run(*words, "--out", "again")[0] == 0
    assert run("compare-scaling", "reports/ranks-1.json", "again/ranks-1.json")[0] == 0
    code, out, _ = run("compare-scaling", "reports/ranks-1.json", "reports/ranks-2.json")
    assert code == 1
    assert out.startswith("not comparable: ranks")
