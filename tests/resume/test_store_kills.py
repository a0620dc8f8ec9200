"""Kills at random moments of saves, sync and async: nothing wrong is loaded, nothing that was promised is lost."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from labkit.resume.store import Store

WRITERS = Path(__file__).parent / "killed_writers.py"


@pytest.mark.slow
@pytest.mark.parametrize("how", ["sync", "async"])
def test_kills(how, tmp_path, amount):
    kills = amount(40, full=150)
    words = [sys.executable, str(WRITERS), str(tmp_path / "s"), str(kills), how, "11"]
    run = subprocess.run(words, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    found = ast.literal_eval(run.stdout)
    assert found.get("wrong", 0) == 0
    assert found.get("lost", 0) == 0
    assert found.get("kept", 0) + found.get("newer", 0) + found.get("nothing yet", 0) == kills
    assert found["saves"] > kills // 3  # every other writer was left alone until its first save was promised
    # The next save removes whatever the killed ones left.
    store = Store(tmp_path / "s", keep=2)
    store.save({"n": 0}, 0)
    report = store.verify()
    assert report.ok
    assert (len(report.entries), report.unfinished) == (2, 0)
