"""The cheats that do no harm, against nbgrader's autograde: `python -m benchmarks.cheats_in_nbgrader`; minutes.

Each is a submission of its own with two exercises: the attacked one, and an honest answer beside it. Prints the rows of
the table in docs/grading-trust.md. Attacks that kill, flood or write are left out: nothing would hold them back.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

from benchmarks.cheats_elsewhere import (
    HONEST,
    ROOT,
    Attack,
    assignment,
    attacked,
    blank,
    environ,
    printed,
    put_canary,
    row,
    tame,
)
from labkit.course import write_notebook


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="labkit-nbgrader-") as folder:
        course, canary = Path(folder, "course"), put_canary(Path(folder, "canary"))
        attacks = tame()
        names = []
        steps = []
        for index, attack in enumerate(attacks):
            name = assignment(attack)
            if name not in names:
                names.append(name)
                source = course / "source" / name / f"{name}.ipynb"
                source.parent.mkdir(parents=True)
                write_notebook(blank(attack), source)
                steps.append(["generate_assignment", name, "--force"])
            path = course / "submitted" / f"s{index:03}" / name / f"{name}.ipynb"
            path.parent.mkdir(parents=True)
            write_notebook(attacked(attack, canary), path)
        (course / "nbgrader_config.py").write_text((ROOT / "docs" / "nbgrader_config.py").read_text())
        steps += [["autograde", name, "--force"] for name in names]
        run(course, steps)
        report(course, attacks)


def run(course: Path, steps: list[list[str]]) -> None:
    """nbgrader's own command line, one process a step; a step that fails for some learners goes on."""
    for step in steps:
        ran = subprocess.run(
            [sys.executable, "-m", "nbgrader", *step], cwd=course, env=environ(course), capture_output=True, text=True
        )
        print(*step, ran.returncode, ran.stderr.strip()[-120:].replace("\n", " "), file=sys.stderr, flush=True)


def report(course: Path, attacks: list[Attack]) -> None:
    """A row an attack."""
    from nbgrader.api import Gradebook, MissingEntry

    print(f"nbgrader {version('nbgrader')}")
    with Gradebook(f"sqlite:///{course}/gradebook.db") as book:
        for index, attack in enumerate(attacks):
            name, learner = assignment(attack), f"s{index:03}"
            graded = course / "autograded" / learner / name / f"{name}.ipynb"
            marks: dict[str, float] = {}
            out = False
            if graded.exists():
                out = "ESCAPED" in printed(json.loads(graded.read_text()))
                with contextlib.suppress(MissingEntry):
                    marks = {g.name: g.score for g in book.find_submission_notebook(name, name, learner).grades}
            print(row(attack, gained(marks, attack.exercise), out, gained(marks, HONEST[attack.lab])))


def gained(marks: dict[str, float], exercise: str) -> float | None:
    stem = exercise.replace(".", "-").replace("_", "-")
    return next((score for name, score in marks.items() if stem in name), None)


if __name__ == "__main__":
    main()
