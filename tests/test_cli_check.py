"""`labkit check`: answers are taken out of a notebook and run in a fresh lab, so nothing else in it can matter."""

import json
from pathlib import Path

import pytest

from labkit import cli
from labkit.cli import judge, places
from labkit.course.progress import ProgressStore
from labkit.errors import UsageError

NOTEBOOKS = Path(__file__).parent.parent / "notebooks"
RIGHT = "busy = practice.batches * practice.train\n"


@pytest.fixture(autouse=True)
def _own_places(monkeypatch, tmp_path):
    monkeypatch.setenv("LABKIT_PROGRESS", str(tmp_path / "progress.sqlite"))
    monkeypatch.setenv("LABKIT_LEARNER", "ada")
    monkeypatch.setenv("LABKIT_NOTEBOOKS", str(NOTEBOOKS))


@pytest.fixture
def hand_in(tmp_path):
    """Write lab 00 with `answer` in its answer cell; `change` may do more to the notebook."""

    def write(answer, change=lambda notebook: None, name="00_start_here.ipynb"):
        notebook = json.loads((NOTEBOOKS / "00_start_here.ipynb").read_text())
        cell(notebook, "answer")["source"] = answer
        change(notebook)
        (tmp_path / name).write_text(json.dumps(notebook))
        return tmp_path / name

    return write


def cell(notebook, role):
    return next(c for c in notebook["cells"] if c["metadata"].get("labkit", {}).get("role") == role)


@pytest.fixture
def run(capsys):
    def run(*words):
        code = cli.main([str(word) for word in words])
        seen = capsys.readouterr()
        return code, seen.out, [line for line in seen.err.splitlines() if line.startswith("labkit")]

    return run


@pytest.mark.slow
def test_a_right_answer(run, hand_in):
    code, out, said = run("check", hand_in(RIGHT))
    assert code == 0
    assert "Passed: start.practice" in out
    assert out.endswith("1 of 1 passed\n")
    assert said == ["labkit check: run here, on this machine, by whoever calls it: these verdicts are not marks"]
    assert ProgressStore().records() == [], "what is tried here doesn't count"


@pytest.mark.slow
def test_a_wrong_answer_in_a_lab_of_another_name_with_its_check_taken_out(run, hand_in):
    def cheat(notebook):
        cell(notebook, "check")["source"] = "print('passed')"

    code, out, _ = run("check", hand_in("busy = practice.batches + practice.train", cheat, "mine.ipynb"), "--json")
    report = json.loads(out)
    (record,) = report["exercises"]
    assert code == 1
    assert (report["lab"], record["exercise"], record["verdict"]) == ("00", "start.practice", "failed")
    assert any("the two figures added" in item["why"] for item in record["evidence"])


@pytest.mark.slow
def test_an_answer_with_an_error_is_named(run, hand_in):
    code, out, _ = run("check", hand_in("busy = practise.batches"))
    assert code == 1
    assert "Answer cell: NameError: name 'practise' is not defined" in out


@pytest.mark.slow
def test_an_answer_that_kills_its_kernel_is_an_answer_that_fails(run, hand_in):
    code, out, _ = run("check", hand_in("import os\nos._exit(0)"))
    assert code == 1
    assert out.startswith("✘ Failed: start.practice (0 of 1 point)\n  Answer cell: the kernel died")


@pytest.mark.slow
def test_a_deleted_answer_cell_is_one_line(run, hand_in):
    def delete(notebook):
        notebook["cells"].remove(cell(notebook, "answer"))

    code, out, said = run("check", hand_in(RIGHT, delete))
    assert code == 1
    assert "Not answered yet: start.practice" in out
    assert said[1:] == [
        "labkit check: start.practice: its answer cell (start-practice-answer) is not in 00_start_here.ipynb any more: "
        "copy that cell from a fresh copy of the lab, write your answer in it, and save"
    ]


def test_a_lab_is_known_by_its_exercises_where_its_name_was_changed(hand_in):
    assert judge.find_pristine(hand_in(RIGHT, name="copy (2).ipynb")).number == "00"


def test_where_the_labs_are(monkeypatch, tmp_path):
    assert places.course_dir() == NOTEBOOKS
    monkeypatch.delenv("LABKIT_NOTEBOOKS")
    monkeypatch.chdir(tmp_path)
    assert places.course_dir() == NOTEBOOKS, "the repository beside an editable install"
    other = tmp_path / "course" / "notebooks"
    other.mkdir(parents=True)
    monkeypatch.chdir(other)
    (other / "01_mine.ipynb").write_text('{"cells": []}')
    assert places.course_dir() == NOTEBOOKS, "notebooks of something else are not labs"
    (other / "00_start_here.ipynb").write_bytes((NOTEBOOKS / "00_start_here.ipynb").read_bytes())
    assert places.course_dir() == other


def test_the_copy_inside_an_installed_wheel(monkeypatch, tmp_path):
    inside = tmp_path / "site-packages" / "labkit" / "notebooks"
    inside.mkdir(parents=True)
    (inside / "00_start_here.ipynb").write_bytes((NOTEBOOKS / "00_start_here.ipynb").read_bytes())
    monkeypatch.delenv("LABKIT_NOTEBOOKS")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(places.labkit, "__file__", str(inside.parent / "__init__.py"))
    monkeypatch.setattr(places, "INSTALLED", inside)
    assert places.course_dir() == inside
    (inside / "00_start_here.ipynb").unlink()
    with pytest.raises(UsageError, match="no labs found: go to the labkit checkout, or set LABKIT_NOTEBOOKS"):
        places.course_dir()
