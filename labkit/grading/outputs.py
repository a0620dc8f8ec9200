"""Everything that a grading leaves behind, written so that a reader never sees half a file."""

from __future__ import annotations

from pathlib import Path

from labkit.grading.classpage import class_page
from labkit.grading.grade import Grading
from labkit.grading.page import file_name
from labkit.grading.report import report
from labkit.grading.tables import grades_csv, junit_xml

CSV, JUNIT, CLASS, LEARNERS = "grades.csv", "junit.xml", "class.html", "learners"


def write(grading: Grading, out: Path) -> list[str]:
    """Write grades.csv, junit.xml, class.html and a page a learner below `out`; the names, for a person."""
    _put(out / CSV, grades_csv(grading))
    _put(out / JUNIT, junit_xml(grading))
    _put(out / CLASS, class_page(grading))
    pages = out / LEARNERS
    pages.mkdir(exist_ok=True)
    names = {file_name(learner): learner for learner in grading.collected.learners}
    for old in pages.glob("*.html"):
        if old.name not in names:
            old.unlink()  # of a learner who handed in nothing this time
    for name, learner in names.items():
        _put(pages / name, report(grading, learner))
    return [CSV, JUNIT, CLASS, f"{LEARNERS}/"]


def _put(path: Path, content: str) -> None:
    new = path.with_name(f".{path.name}.new")
    new.write_text(content, encoding="utf-8", newline="")
    new.replace(path)
