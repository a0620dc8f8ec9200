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
from labkit.cli.grading import course_key
from labkit.errors import UsageError

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
    blank(tmp_path / "class")
    main(["grade", str(tmp_path / "class"), "--out", str(tmp_path / "out")])
    assert "no course key is set" in capsys.readouterr().err
    main(["grade", str(tmp_path / "none"), "--out", str(tmp_path / "out")])
    assert len(capsys.readouterr().err.splitlines()) == 1, "bad input is one line"


def blank(root: Path, learner: str = "ada", name: str = LAB.stem) -> Path:
    path = root / learner / f"{name}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(LAB.path.read_bytes())
    return path


def test_files_that_do_not_count_and_broken_ones_are_told(tmp_path, capsys):
    blank(tmp_path / "class")
    blank(tmp_path / "class", name=f"{LAB.stem}-Copy1")
    (tmp_path / "class" / "zed").mkdir()
    (tmp_path / "class" / "zed" / f"{LAB.stem}.ipynb").write_text("{")
    out = tmp_path / "out"
    assert main(["grade", str(tmp_path / "class"), "--out", str(out)]) == 0
    err = capsys.readouterr().err
    assert f'labkit grade: 1 notebook did not count: see "Unusual files" in {out}/class.html' in err
    assert f"labkit grade: zed: {LAB.stem}.ipynb can't be graded: it is not JSON" in err


def test_a_short_teachers_key_is_refused(tmp_path, submitted, capsys, monkeypatch):
    out, key = tmp_path / "out", tmp_path / "key"
    key.write_text("teacher:short\n")
    said = "begins with teacher: but has 5 characters after it: give 32 or more, or drop the word"
    assert f"--key {key} {said}" in refused(capsys, submitted, "--out", out, "--key", key)
    monkeypatch.setenv("LABKIT_COURSE_KEY", "teacher:short")
    assert f"LABKIT_COURSE_KEY {said}" in refused(capsys, submitted, "--out", out)
    key.write_text("teacher:" + "x" * 32)
    assert course_key(key).endswith(b"x")


def test_out_among_the_submissions_is_refused(tmp_path, capsys):
    blank(tmp_path / "class")
    for out in (tmp_path / "class", tmp_path / "class" / "marks"):
        assert "where the submissions are: give it" in refused(capsys, tmp_path / "class", "--out", out)
    assert not (tmp_path / "class" / "marks").exists()


def test_a_wrong_gradebook_is_told_first_and_a_late_fault_says_where_the_marks_are(tmp_path, capsys, monkeypatch):
    blank(tmp_path / "class")
    words = (tmp_path / "class", "--out", tmp_path / "out", "--gradebook", "sqlite:///x.db")

    def wrong(*_: object) -> None:
        raise UsageError("a wrong gradebook")

    monkeypatch.setattr("labkit.grading.gradebook.check_gradebook", wrong)
    assert refused(capsys, *words).endswith("a wrong gradebook")
    assert not (tmp_path / "out" / "results.jsonl").exists()
    monkeypatch.setattr("labkit.grading.gradebook.check_gradebook", lambda url: None)
    monkeypatch.setattr("labkit.grading.gradebook.write_gradebook", wrong)
    assert refused(capsys, *words).endswith(f"a wrong gradebook (the marks are in {tmp_path / 'out'})")


def test_a_gradebook_gets_the_marks(tmp_path, capsys, monkeypatch):
    """--gradebook is nbgrader's business (tests/grading/test_nbgrader_gradebook.py): here, that it is called."""
    seen = []
    monkeypatch.setattr("labkit.grading.gradebook.check_gradebook", lambda url: None)
    blank = tmp_path / "class" / "ada" / f"{LAB.stem}.ipynb"
    blank.parent.mkdir(parents=True)
    blank.write_bytes(LAB.path.read_bytes())
    monkeypatch.setattr("labkit.grading.gradebook.write_gradebook", lambda marks, url: seen.append((len(marks), url)))
    words = ["grade", str(blank.parent.parent), "--out", str(tmp_path / "out"), "--gradebook", "sqlite:///x.db"]
    assert main(words) == 0, "a blank lab needs no process"
    assert seen == [(len(LAB.exercises), "sqlite:///x.db")]
    assert "0 passed" in capsys.readouterr().out
