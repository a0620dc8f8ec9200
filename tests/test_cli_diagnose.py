"""`labkit diagnose` in a shell: exit codes, JSON, the report."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from labkit.cli import main

CODE = """
import time
from torch.utils.data import DataLoader

def make_loader():
    return DataLoader(list(range(2000)), batch_size=4, num_workers=1, persistent_workers=True)

def step(batch):
    time.sleep(0.004)

def full():
    raise RuntimeError("no such disk")

def exhausted():
    yield from range(100)
    raise RuntimeError("unable to allocate shared memory(shm) for file </torch_1>: No space left on device (28)")
"""


@pytest.fixture
def cli(tmp_path):
    (tmp_path / "job.py").write_text(CODE)

    def run(*words):
        return subprocess.run(
            [sys.executable, "-m", "labkit.cli", "diagnose", *words],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env={**os.environ, "COLUMNS": "200"},
            timeout=120,
            check=False,
        )

    return run


@pytest.mark.slow
def test_json_and_report(cli, tmp_path):
    done = cli("job:make_loader,step", "--budget", "2", "--json", "--html", "report.html")
    data = json.loads(done.stdout)
    assert data["cause"] in ("healthy", "not enough evidence"), done.stdout
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "report.html").read_text().startswith("<!doctype html>")


@pytest.mark.slow
def test_a_named_fault_is_exit_1(cli):
    done = cli("job:exhausted", "--budget", "2")
    assert done.stdout.startswith("shared memory exhausted: ")
    assert (done.returncode, done.stderr) == (1, "")


WRONG = [
    (["job:no_loader"], "job has no no_loader"),
    (["job:make_loader,no_step"], "job has no no_step"),
    (["make_loader"], "name a function as pkg.module:name"),
    (["job:make_loader,step", "--budget", "1"], "budget_s is 1: too small"),
    (["job:make_loader,step", "--budget", "long"], "'long' is not a time"),
    (["job:make_loader,step", "--step-ms", "3"], "--step-ms is 3, but there is a step 'step'"),
    (["job:make_loader", "--html", "report.txt"], "'report.txt' doesn't end in .html"),
    (["job:full"], "make_loader raised RuntimeError: no such disk"),
]


def test_in_a_shell_wrong_usage_is_one_line(cli):
    words, message = WRONG[0]
    done = cli(*words)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


@pytest.mark.parametrize(("words", "message"), WRONG)
def test_wrong_usage_is_one_line(words, message, tmp_path, monkeypatch, capsys):
    (tmp_path / "job.py").write_text(CODE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "job", raising=False)
    try:
        assert main(["diagnose", *words]) == 2
    finally:
        sys.modules.pop("job", None)
    said = capsys.readouterr()
    assert message in said.err
    assert said.err.count("\n") == 1
    assert said.out == ""
