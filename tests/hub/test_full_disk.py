"""A classroom on a disk that is really full: a small file system of its own, and what is said on it."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "grading"))
import nobody

ROOT = Path(__file__).parents[2]

FILL = """
import sys
from pathlib import Path
from labkit.errors import LabkitError
from labkit.hub.board_state import Board
from labkit.hub.inbox_store import Inbox

place = Path(sys.argv[1])
board, inbox = Board(place), Inbox(place)
record = {"exercise": "pipeline.makespan", "verdict": "failed", "points": 0.0, "max_points": 2.0, "device": "cpu",
          "evidence": [{"claim": "x" * 2000, "ok": False}], "seconds": 0.1, "at": "2026-03-02T10:00:00+00:00",
          "version": "1"}
reports = hand_ins = 0


def hand_in():
    global hand_ins
    inbox.take("ada", "00_start_here.ipynb", b"{%d}" % hand_ins + b" " * 200_000)
    hand_ins += 1


hand_in()
try:
    while True:
        board.take("ada", [{**record, "seconds": float(reports)}])
        reports += 1
except LabkitError as error:
    print("board:", error)
try:
    while True:
        hand_in()
except LabkitError as error:
    print("inbox:", error)
print(reports, Board(place).people()["ada"]["pipeline.makespan"].attempts)
print(hand_ins, len(Inbox(place).of("ada")))
"""


def on_a_small_disk(place: Path, mib: int, words: list[str], **env: str) -> subprocess.CompletedProcess[str]:
    """The command, on a machine whose `place` is a file system of `mib` MiB."""
    if os.geteuid() or (why := nobody.possible()):
        pytest.skip("a file system of its own needs root" if os.geteuid() else why)
    place.mkdir()
    inside = f"mount -t tmpfs -o size={mib}m tmpfs {shlex.quote(str(place))} && exec {shlex.join(words)}"
    line = ["unshare", "--mount", "--propagation", "private", "sh", "-ec", inside]
    env = {**os.environ, "PYTHONPATH": str(ROOT), **env}
    return subprocess.run(line, env=env, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)


def test_a_hub_does_not_start(tmp_path):
    words = [sys.executable, "-m", "labkit.cli", "hub", f"--dir={tmp_path / 'class'}", "--shared", "--port=1"]
    words += ["--learner=ada", "--teacher=tess"]
    done = on_a_small_disk(tmp_path / "class", 8, words, CONFIGPROXY_CMD="true")
    assert done.returncode == 2, done.stderr
    assert "MiB are free at" in done.stderr
    assert "give another --dir" in done.stderr
    assert done.stderr.count("\n") == 1, done.stderr


def test_what_was_acknowledged_stays_and_the_rest_is_refused_in_one_line(tmp_path):
    done = on_a_small_disk(tmp_path / "class", 3, [sys.executable, "-c", FILL, str(tmp_path / "class")])
    assert done.returncode == 0, done.stderr
    board, inbox, reports, hand_ins = done.stdout.splitlines()
    assert board.startswith("board: ")
    assert "full" in board
    assert inbox.startswith("inbox: ")
    assert "no space left" in inbox.lower()
    for counts in (reports, hand_ins):
        acknowledged, kept = map(int, counts.split())
        assert acknowledged == kept > 0
