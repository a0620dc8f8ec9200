"""grades.csv and junit.xml."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Sequence
from xml.etree import ElementTree

from labkit.checks.result import Verdict
from labkit.grading import wording
from labkit.grading.grade import Grading
from labkit.grading.marks import Mark

COLUMNS = (
    "assignment",
    "duedate",
    "timestamp",
    "student_id",
    "last_name",
    "first_name",
    "email",
    "raw_score",
    "late_submission_penalty",
    "score",
    "max_score",
)
"""The columns of `nbgrader export`. What a grader can't know (names, due dates) stays empty; there is no penalty."""

MORE = ("self_assessed", "not_judged")
"""Of the score: points that rest on the learner's own word. Of the maximum: points that the grader failed to judge."""


def grades_csv(grading: Grading) -> str:
    """One row for each lab that somebody handed in and each learner; a learner who didn't has zeros.

    After nbgrader's columns come MORE, then one column an exercise, empty in the rows of other labs.
    """
    labs = _labs(grading)
    exercises = [exercise.id for lab in labs for exercise in grading.course.lab(lab).exercises]
    by_row: dict[tuple[str, str], list[Mark]] = {}
    for mark in grading.marks:
        by_row.setdefault((mark.lab, mark.result.learner), []).append(mark)
    stamps = {(one.lab, one.learner): one.timestamp for one in grading.collected.submissions}
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*COLUMNS, *MORE, *exercises])
    for lab in labs:
        name = assignment(grading, lab)
        most = float(sum(exercise.points for exercise in grading.course.lab(lab).exercises))
        for learner in sorted(grading.collected.learners):
            found = by_row.get((lab, learner), [])
            score = float(sum(mark.result.points for mark in found))
            given = {mark.result.exercise: float(mark.result.points) for mark in found}
            own = {exercise.id for exercise in grading.course.lab(lab).exercises}
            each = [given.get(exercise, 0.0) if exercise in own else "" for exercise in exercises]
            known = [cell(name), "", stamps.get((lab, learner), ""), cell(learner), "", "", ""]
            told = sum(mark.result.points for mark in found if mark.self_assessed)
            broken = sum(mark.result.max_points for mark in found if mark.result.verdict is Verdict.BROKEN)
            writer.writerow([*known, score, 0.0, score, most, float(told), float(broken), *each])
    return text.getvalue()


def assignment(grading: Grading, lab: str) -> str:
    """nbgrader's name for a lab: the folder that most of its submissions lie in; else the lab's own name."""
    folders = Counter(one.folder for one in grading.collected.submissions if one.lab == lab and one.folder)
    return max(sorted(folders), key=lambda name: folders[name], default=lab)


def _labs(grading: Grading) -> list[str]:
    handed_in = {one.lab for one in grading.collected.submissions}
    return [lab.stem for lab in grading.course.labs if lab.stem in handed_in]


def cell(text: str) -> str:
    """Text that no spreadsheet takes for a formula, on one line."""
    line = re.sub(r"[\r\n]", " ", text)
    return f"'{line}" if text.startswith(("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")) else line


# What XML 1.0 can't hold, whatever it is written as.
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_xml(grading: Grading) -> str:
    """One suite a submission, one case an exercise, named by its id; what a learner may read, and no more."""
    root = ElementTree.Element("testsuites", name="labkit grade")
    by_suite: dict[tuple[str, str], list[Mark]] = {}
    for mark in grading.marks:
        by_suite.setdefault((mark.lab, mark.result.learner), []).append(mark)
    for (lab, learner), marks in by_suite.items():
        suite = ElementTree.SubElement(root, "testsuite", {"name": xml_text(f"{lab}: {learner}"), **_counts(marks)})
        for mark in marks:
            name = {"classname": xml_text(f"{lab}.{learner}"), "name": mark.result.exercise}
            case = ElementTree.SubElement(suite, "testcase", name | {"time": f"{mark.result.seconds:.3f}"})
            if mark.result.verdict is not Verdict.PASSED:
                kind = "error" if mark.result.verdict is Verdict.BROKEN else "failure"
                said = wording.rows(mark)
                about = {"type": str(mark.result.verdict), "message": xml_text(f"{mark.title}: {said[0][1]}")}
                ElementTree.SubElement(case, kind, about).text = xml_text(wording.plain(mark))
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _counts(marks: Sequence[Mark]) -> dict[str, str]:
    verdicts = Counter(mark.result.verdict for mark in marks)
    return {
        "tests": str(len(marks)),
        "failures": str(verdicts[Verdict.FAILED] + verdicts[Verdict.NOT_ANSWERED]),
        "errors": str(verdicts[Verdict.BROKEN]),
        "time": f"{sum(mark.result.seconds for mark in marks):.3f}",
    }


def xml_text(text: str) -> str:
    """Text that XML can hold."""
    return _NO_XML.sub("\N{REPLACEMENT CHARACTER}", text)
