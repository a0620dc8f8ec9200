"""Marks into nbgrader's gradebook, through nbgrader's own API: its formgrader, feedback and CSV then show them.

The automatic score is labkit's; what a person gave by hand stays and goes first, as in nbgrader's own autograde.
Writing the same marks again changes nothing.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labkit.checks.result import Result, Verdict
from labkit.course import cell_id
from labkit.errors import LabkitError, UsageError
from labkit.grading.marks import Mark

COURSE = "labs"  # of a gradebook that has none yet


@dataclass(frozen=True)
class Written:
    """What a gradebook got.

    marks: how many it holds of those given, all of them. changed: how many of these it didn't hold before.
    assignments: the names of the assignments they are in.
    """

    marks: int
    changed: int
    assignments: tuple[str, ...]


def write_gradebook(marks: Iterable[Mark], url: str) -> Written:
    """Write marks into the gradebook at `url`, such as "sqlite:///gradebook.db".

    A lab's marks go into the assignment that has a notebook of its name; where none has, into a new one called like the
    lab. Learners and submissions that aren't there are added. An exercise whose check broke is left for a person
    ("needs manual grade").

    Raises:
        UsageError: nbgrader isn't installed, the URL can't be read, two assignments have the lab, or the gradebook's
            lab has other exercises or points; nothing was written then.
        LabkitError: the database can't be opened or written.
    """
    every = list(marks)
    with _gradebook(url) as book:
        homes = {lab: _assignment(book, lab) for lab in dict.fromkeys(mark.lab for mark in every)}
        for mark in every:
            _fits(book, mark, homes[mark.lab])
        for lab, home in homes.items():
            if home is None:
                homes[lab] = _create(book, lab, [mark.result for mark in every if mark.lab == lab])
        changed = sum(_write(book, mark, homes[mark.lab] or "") for mark in every)
        book.db.commit()
    return Written(len(every), changed, tuple(sorted({home for home in homes.values() if home})))


def check_gradebook(url: str) -> None:
    """Open the gradebook at `url` and close it again; raises what `write_gradebook` would. A new one is made."""
    with _gradebook(url):
        pass


@contextmanager
def _gradebook(url: str) -> Iterator[Any]:
    try:
        from nbgrader.api import Gradebook, InvalidEntry
        from sqlalchemy.engine import create_engine
        from sqlalchemy.exc import ArgumentError, DatabaseError, SAWarning
    except ImportError:
        raise UsageError("nbgrader is not installed here: pip install 'labkit[hub]'") from None
    shown = url.split("@")[-1]  # without a password
    try:
        create_engine(url).dispose()
    except (ArgumentError, ImportError, ValueError):
        raise UsageError(f"gradebook {shown!r}: write a database URL such as sqlite:///gradebook.db") from None
    path = os.environ.get("PATH", "")
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), path])  # nbgrader runs alembic by its name
    try:
        with warnings.catch_warnings(), Gradebook(url, "") as book:
            warnings.simplefilter("ignore", SAWarning)  # of nbgrader's own way to add a submission
            yield book
    except InvalidEntry as error:
        raise LabkitError(f"gradebook {shown} takes no marks: {_first(error)}") from None
    except DatabaseError as error:
        raise LabkitError(f"gradebook {shown} can't be used: {_first(error.orig or error)}") from None
    finally:
        os.environ["PATH"] = path


def _first(error: object) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def _assignment(book: Any, lab: str) -> str | None:
    """The name of the assignment that has this lab; None where none has."""
    found = [one.name for one in book.assignments if lab in [notebook.name for notebook in one.notebooks]]
    if len(found) > 1:
        raise UsageError(f"{lab} is in the assignments {', '.join(sorted(found))}: keep it in one of them")
    if not found and lab in [one.name for one in book.assignments]:
        raise UsageError(f"the gradebook's assignment {lab} has no notebook {lab}: rename the assignment")
    return found[0] if found else None


def _fits(book: Any, mark: Mark, home: str | None) -> None:
    """The gradebook's lab has this exercise, with these points."""
    if home is None:
        return
    cells = {cell.name: cell.max_score for cell in book.find_notebook(mark.lab, home).grade_cells}
    name, points = cell_id(mark.result.exercise, "check"), mark.result.max_points
    if name not in cells:
        raise UsageError(f"{home} has no cell {name}: run nbgrader generate_assignment {home} on the present lab")
    if cells[name] != points:
        raise UsageError(
            f"{home}: {mark.result.exercise} has {cells[name]:g} points in the gradebook and {points:g} in the lab: "
            f"run nbgrader generate_assignment {home} on the present lab"
        )


def _create(book: Any, lab: str, results: list[Result]) -> str:
    """A new assignment of the lab's name with the exercises that there are marks of."""
    from nbgrader.api import Course

    courses = [course.id for course in book.db.query(Course)]
    course = courses[0] if len(courses) == 1 else COURSE
    book.check_course(course)
    book.add_assignment(lab, course_id=course)
    book.add_notebook(lab, lab)
    for result in {result.exercise: result for result in results}.values():
        check, answer = cell_id(result.exercise, "check"), cell_id(result.exercise, "answer")
        book.add_grade_cell(check, lab, lab, max_score=result.max_points, cell_type="code")
        book.add_solution_cell(answer, lab, lab)
    return lab


def _write(book: Any, mark: Mark, home: str) -> bool:
    """One mark; whether it changed anything."""
    from nbgrader.api import MissingEntry

    result = mark.result
    try:
        grade = _grade(book, mark, home)
    except MissingEntry:
        book.update_or_create_student(result.learner)
        book.update_or_create_submission(home, result.learner)
        try:
            grade = _grade(book, mark, home)
        except MissingEntry:
            raise UsageError(
                f"{home}: the submission of {result.learner} has no cell for {result.exercise}: it was collected from "
                f"an older lab; remove it with nbgrader's API or formgrader, then write the marks again"
            ) from None
    score = None if result.verdict is Verdict.BROKEN else result.points
    changed = grade.auto_score != score or (score is None and not grade.needs_manual_grade)
    if changed:
        grade.auto_score = score
        grade.needs_manual_grade = score is None or grade.manual_score is not None
    try:
        comment = book.find_comment(cell_id(result.exercise, "answer"), mark.lab, home, result.learner)
    except MissingEntry:
        return changed
    said = _comment(result)
    if comment.auto_comment != said:
        comment.auto_comment = said
        return True
    return changed


def _grade(book: Any, mark: Mark, home: str) -> Any:
    return book.find_grade(cell_id(mark.result.exercise, "check"), mark.lab, home, mark.result.learner)


def _comment(result: Result) -> str | None:
    """What the learner reads beside the answer in nbgrader's feedback; None for a right answer."""
    if result.verdict is Verdict.PASSED:
        return None
    if result.verdict is Verdict.NOT_ANSWERED or result.failure is None:
        return "No response." if result.verdict is Verdict.NOT_ANSWERED else str(result.verdict).capitalize()
    failure = result.failure
    parts = [failure.claim, failure.why, failure.next_step and f"Try next: {failure.next_step}"]
    return f"{str(result.verdict).capitalize()}: {'. '.join(part.rstrip('.') for part in parts if part)}."
