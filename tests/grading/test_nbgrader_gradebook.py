"""Marks in nbgrader's own gradebook: written once, written twice, beside a person's marks."""

from __future__ import annotations

import os
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from labkit.checks.result import Evidence, Result, Verdict
from labkit.course import load
from labkit.errors import LabkitError, UsageError
from labkit.grading.gradebook import Written, write_gradebook
from labkit.grading.marks import Mark

pytest.importorskip("nbgrader")
from nbgrader.api import Gradebook

LAB = load(Path(__file__).parents[2] / "notebooks" / "01_pipeline_timeline.ipynb")
WHY = Evidence("overlapping is never slower", False, why="the two changed places", next_step="draw it.")


def mark(learner: str, number: int, verdict: Verdict = Verdict.PASSED, **changes: Any) -> Mark:
    """A mark of the lab's exercise of this number."""
    exercise = LAB.exercises[number]
    points = exercise.points if verdict is Verdict.PASSED else 0
    evidence = () if verdict is Verdict.PASSED else (WHY,)
    values = {"max_points": float(exercise.points), **changes}
    result = Result(exercise.id, verdict, points, values["max_points"], evidence, "cpu", 0.1, learner, "2026", "0.1.0")
    return Mark(LAB.stem, exercise.title, exercise.kind, result, "f" * 64)


def marks() -> list[Mark]:
    """Three learners: right, wrong in all but the first, and one whose second check broke."""
    count = range(len(LAB.exercises))
    return [
        *(mark("ada", n) for n in count),
        *(mark("bob", n, Verdict.FAILED if n else Verdict.PASSED) for n in count),
        *(mark("eve", n, Verdict.BROKEN if n == 1 else Verdict.NOT_ANSWERED) for n in count),
    ]


@pytest.fixture
def url(tmp_path):
    return f"sqlite:///{tmp_path / 'gradebook.db'}"


def dump(url: str) -> list[str]:
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as database:
        return list(database.iterdump())


def nbgraders_own(url: str, name: str = "lab01") -> None:
    """The assignment as generate_assignment leaves it."""
    with pytest.MonkeyPatch.context() as patch:  # nbgrader calls alembic by its name
        patch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
        book = Gradebook(url, "class-of-26")
    with book:
        book.add_assignment(name)
        book.add_notebook(LAB.stem, name)
        for exercise in LAB.exercises:
            book.add_grade_cell(exercise.check, LAB.stem, name, max_score=exercise.points, cell_type="code")
            book.add_solution_cell(exercise.answer[0], LAB.stem, name)


@pytest.mark.slow
def test_a_new_gradebook_gets_the_lab_its_learners_and_their_marks_once(url):
    count = len(LAB.exercises)
    assert write_gradebook(marks(), url) == Written(3 * count, 3 * count, (LAB.stem,))
    first = dump(url)
    assert write_gradebook(marks(), url) == Written(3 * count, 0, (LAB.stem,))
    assert dump(url) == first, "a second run changes nothing"

    with Gradebook(url) as book:
        assert [course.id for course in [book.find_assignment(LAB.stem).course]] == ["labs"]
        top = book.find_assignment(LAB.stem).max_score
        scores = {student.id: (student.score, student.max_score) for student in book.students}
        assert top == sum(exercise.points for exercise in LAB.exercises)
        assert scores == {"ada": (top, top), "bob": (LAB.exercises[0].points, top), "eve": (0, top)}
        for_a_person = {g.name for g in book.find_submission_notebook(LAB.stem, LAB.stem, "eve").grades
                        if g.needs_manual_grade}  # fmt: skip
        assert for_a_person == {LAB.exercises[1].check}, "a broken check judged nothing"
        said = {
            learner: book.find_comment(LAB.exercises[2].answer[0], LAB.stem, LAB.stem, learner).auto_comment
            for learner in scores
        }
    assert said["ada"] is None
    assert said["bob"] == "Failed: overlapping is never slower. the two changed places. Try next: draw it."
    assert said["eve"] == "No response."


@pytest.mark.slow
def test_marks_go_into_nbgraders_own_assignment_and_a_persons_mark_goes_first(url):
    nbgraders_own(url)
    assert write_gradebook(marks(), url).assignments == ("lab01",)
    name = LAB.exercises[3].check
    with Gradebook(url, "class-of-26") as book:
        grade = book.find_grade(name, LAB.stem, "lab01", "bob")
        grade.manual_score, grade.needs_manual_grade = 1.0, False
        book.db.commit()
        before = book.find_submission("lab01", "bob").score
    assert write_gradebook(marks(), url).changed == 0
    better = [mark("bob", 3)]
    assert write_gradebook(better, url).changed == 1
    with Gradebook(url, "class-of-26") as book:
        grade = book.find_grade(name, LAB.stem, "lab01", "bob")
        assert (grade.auto_score, grade.manual_score) == (LAB.exercises[3].points, 1.0)
        assert grade.needs_manual_grade, "what the person saw has changed"
        assert book.find_submission("lab01", "bob").score == before
        assert [one.name for one in book.assignments] == ["lab01"]


@pytest.mark.slow
def test_where_lab_and_gradebook_disagree_nothing_is_written(url):
    nbgraders_own(url)
    before = dump(url)
    with pytest.raises(UsageError, match="2 points in the gradebook and 5 in the lab: run"):
        write_gradebook([mark("ada", 1), mark("ada", 0, max_points=5.0)], url)
    other = mark("ada", 0)
    other = Mark(other.lab, "", "", Result(**{**other.result.__dict__, "exercise": "pipeline.new"}), "")
    with pytest.raises(UsageError, match="lab01 has no cell pipeline-new-check"):
        write_gradebook([mark("ada", 1), other], url)
    assert dump(url) == before
    nbgraders_own(url, "again")
    with pytest.raises(UsageError, match="is in the assignments again, lab01"):
        write_gradebook(marks(), url)


def test_what_can_not_be_used_is_said_in_one_line(tmp_path):
    for wrong in ("gradebook.db", "nosuch:///x", "", "postgresql://me:secret@host:port/x"):
        with pytest.raises(UsageError, match=r"write a database URL such as sqlite:///gradebook\.db") as caught:
            write_gradebook(marks(), wrong)
        assert "secret" not in str(caught.value)
    with pytest.raises(LabkitError, match="unable to open database file"):
        write_gradebook(marks(), f"sqlite:///{tmp_path}/nowhere/gradebook.db")
    text = tmp_path / "text.db"
    text.write_text("not a database, and long enough to be read as one" * 100)
    with pytest.raises(LabkitError, match="file is not a database"):
        write_gradebook(marks(), f"sqlite:///{text}")
