"""`labkit grade` as a person calls it: the real sandbox, a small class, and what goes wrong in one line."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from labkit.cli import main

sys.path.insert(0, str(Path(__file__).parent / "grading"))
import classroom

LAB = classroom.lab("01")


def labkit(*words: object, **env: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "labkit.cli", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, env=os.environ | env)


@pytest.mark.slow
def test_a_class_is_graded(tmp_path):
    """Five learners, one of each kind: every mark is the expected one, and all outputs are there."""
    # places 0, 6, 14, 16 and 18 of twenty are right, mixed, wrong, blank and hostile
    made = [
        one
        for one in classroom.make_class(tmp_path / "all", 3, ["01"], [20])
        if int(one.learner[-3:]) in (0, 6, 14, 16, 18)
    ]
    submitted = tmp_path / "class"
    for one in made:
        (submitted / one.learner).mkdir(parents=True)
        one.path.rename(submitted / one.learner / one.path.name)
    (submitted / "broken").mkdir()
    (submitted / "broken" / f"{LAB.stem}.ipynb").write_text("{")
    key = tmp_path / "key"
    key.write_text("a key of the course\n")
    out = tmp_path / "marks"
    done = labkit("grade", submitted, "--out", out, "--key", key, "--workers", 2, "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["submissions"], told["exercises"], told["broken"]) == (6, 6 * len(LAB.exercises), [])
    records = [json.loads(line) for line in (out / "results.jsonl").read_text().splitlines()]
    marks = {(r["learner"], r["exercise"]): r["result"]["points"] > 0 for r in records}
    for one in made:
        for exercise, right in one.expected.items():
            assert marks[one.learner, exercise] == right, (one.learner, exercise, one.answers[exercise])
    assert not any(right for (learner, _), right in marks.items() if learner == "broken")
    rows = list(csv.DictReader((out / "grades.csv").open()))
    assert [row["student_id"] for row in rows] == sorted(told["learners"])
    assert (out / "class.html").exists()
    assert len(list((out / "learners").iterdir())) == 6
    assert "a key of the course" not in "".join(p.read_text() for p in out.rglob("*") if p.is_file())

    again = labkit("grade", submitted, "--out", out, "--key", key, "--resume", "--workers", 1)
    assert again.returncode == 0, again.stderr
    assert f"0 judged now, {6 * len(LAB.exercises)} kept" in again.stdout


def refused(capsys, *words: object) -> str:
    assert main(["grade", *map(str, words)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    said = err.splitlines()[-1]
    assert said.startswith("labkit grade: ")
    return said


@pytest.fixture
def submitted(tmp_path) -> Path:
    classroom.make_class(tmp_path / "class", 1, ["01"], [1])
    return tmp_path / "class"


def test_what_cannot_be_graded_is_said_in_one_line(tmp_path, submitted, capsys, monkeypatch):
    out = tmp_path / "out"
    assert "none does not exist" in refused(capsys, tmp_path / "none", "--out", out)
    assert "--workers is 0" in refused(capsys, submitted, "--out", out, "--workers", 0)
    assert "holds no labs" in refused(capsys, submitted, "--out", out, "--labs", tmp_path)
    assert "--key" in refused(capsys, submitted, "--out", out, "--key", tmp_path / "none")
    (tmp_path / "key").write_text("\n")
    assert "one line of 1 to 256 bytes" in refused(capsys, submitted, "--out", out, "--key", tmp_path / "key")
    assert "holds no earlier marks" in refused(capsys, submitted, "--out", out, "--since", tmp_path)
    assert "control character" in refused(capsys, submitted, "--out", out, "--learner", "a\nb")
    (tmp_path / "file").write_text("")
    assert "not a directory" in refused(capsys, submitted, "--out", tmp_path / "file")
    assert not out.exists() or not list(out.glob("*.csv"))


def test_the_public_key_is_told(tmp_path, capsys):
    main(["grade", str(tmp_path / "none"), "--out", str(tmp_path / "out")])
    assert "no course key is set" in capsys.readouterr().err


def test_a_gradebook_gets_the_marks(tmp_path, capsys, monkeypatch):
    """--gradebook is nbgrader's business (tests/grading/test_nbgrader_gradebook.py): here, that it is called."""
    seen = []
    blank = tmp_path / "class" / "ada" / f"{LAB.stem}.ipynb"
    blank.parent.mkdir(parents=True)
    blank.write_bytes(LAB.path.read_bytes())
    monkeypatch.setattr("labkit.grading.gradebook.write_gradebook", lambda marks, url: seen.append((len(marks), url)))
    words = ["grade", str(blank.parent.parent), "--out", str(tmp_path / "out"), "--gradebook", "sqlite:///x.db"]
    assert main(words) == 0, "a blank lab needs no process"
    assert seen == [(len(LAB.exercises), "sqlite:///x.db")]
    assert "0 passed" in capsys.readouterr().out
