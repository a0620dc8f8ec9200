"""Whose a notebook is: names behind a lab's, and --learner where several learners' files lie."""

from __future__ import annotations

from pathlib import Path

import classroom
import pytest

from labkit.errors import UsageError
from labkit.grading.finding import find
from labkit.grading.labs import read_course
from labkit.grading.naming import name_behind
from labkit.grading.submission import collect

LAB = classroom.lab("01")


@pytest.fixture(scope="module")
def course():
    return read_course(classroom.ROOT / "notebooks")


def put(root: Path, *names: str) -> Path:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(LAB.path.read_bytes())
    return root


def named(*behind: str) -> list[str]:
    return [f"{LAB.stem}{name}.ipynb" for name in behind]


def whose(course, *paths, **options) -> list[tuple[str, int]]:
    return [(s.learner, s.others) for s in collect(find(paths, course, **options), course).submissions]


def test_a_name_behind_the_labs_is_a_learners(course, tmp_path):
    flat = put(tmp_path / "flat", *named("_ada", "_bob", "_cleo", "_cleo-Copy1"))
    assert whose(course, flat) == [("ada", 0), ("bob", 0), ("cleo", 1)]
    assert whose(course, *sorted(flat.iterdir())) == [("ada", 0), ("bob", 0), ("cleo", 1)], "a shell's *.ipynb"


@pytest.mark.parametrize("names", [("", "-Copy1", "_old"), ("", "_ada"), ("_final", "_draft"), ("_v1", "_v2", " (3)")])
def test_copies_are_one_learners(course, tmp_path, names):
    assert whose(course, put(tmp_path / "dan", *named(*names))) == [("dan", len(names) - 1)]


def test_names_beside_the_lab_itself_are_refused(course, tmp_path):
    flat = put(tmp_path / "flat", *named("", "_ada", "_bob"))
    with pytest.raises(UsageError, match=f"{LAB.stem}.ipynb beside notebooks named after ada, bob: give each learner"):
        find([flat], course)
    assert whose(course, flat, learner="ada") == [("ada", 2)], "the one named exactly like the lab counts"


def test_the_name_behind(course):
    told = {name: name_behind(f"{LAB.stem}{name}", course) for name in ("", "_ada", "-Ada B", "_1234567", "s", "_2")}
    assert told == {"": "", "_ada": "ada", "-Ada B": "Ada B", "_1234567": "1234567", "s": "", "_2": ""}


def test_learner_is_no_filter(course, tmp_path, monkeypatch):
    put(tmp_path / "submitted", *(f"{name}/{LAB.stem}.ipynb" for name in ("ada", "bob", "cleo")), "dan/homework.ipynb")
    monkeypatch.chdir(tmp_path)
    said = (
        "submitted holds folders of several learners (ada, bob, cleo, dan): --learner says whose ALL the files are; "
        "for one learner name their folder, submitted/ada"
    )
    with pytest.raises(UsageError) as refused:
        find([Path("submitted")], course, learner="ada")
    assert str(refused.value) == said
    with pytest.raises(UsageError, match="submitted holds folders of several learners"):
        find([Path()], course, learner="ada")
    assert whose(course, Path("submitted/ada"), learner="eve") == [("eve", 0)]
    flat = put(tmp_path / "flat", *named("_ada", "_bob"))
    with pytest.raises(UsageError, match=r"holds notebooks of several learners \(ada, bob\)"):
        find([flat], course, learner="ada")


def test_one_learners_repository_is_read_as_theirs(course, tmp_path):
    five = classroom.lab("05")
    put(tmp_path, f"labs/{LAB.stem}.ipynb", f"labs/old/{LAB.stem}.ipynb", f".trash/{LAB.stem}.ipynb")
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "five.ipynb").write_bytes(five.path.read_bytes())
    assert whose(course, tmp_path, learner="ada") == [("ada", 1), ("ada", 0)]
