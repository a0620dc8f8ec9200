"""The cheats that do no harm, against otter-grader: `python -m benchmarks.cheats_in_otter`; up to an hour.

otter-grader is none of labkit's requirements: run this with the interpreter of another virtual environment, made by
`pip install -e '.[labs,grade]' otter-grader==7.0.0 -c constraints.txt`.

Each cheat is a submission of its own, as benchmarks/cheats_in_nbgrader.py makes them: the notebook with the attacked
exercise and an honest answer beside it, graded by `otter run`, without a container. Otter's cell `grader.check(...)` is
where the lab has its check. An exercise has one test file, which runs the lab's check on the learner's names; it is
written in both of otter's formats:

imports     a function under @test_case: it takes the learner's names and imports check and the tools itself
doctests    `>>> check(...)`, the format that `otter assign` makes unless told otherwise: the learner's namespace

A doctest swallows what a cheat prints while it runs: whether a secret was got shows under `imports`. Controls come
first: all answers right, then all wrong. Prints the rows of the table in docs/grading-trust.md, which shows `imports`.
"""

from __future__ import annotations

import ast
import builtins
import pickle
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

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
    small,
    tame,
)
from labkit.course import write_notebook
from labkit.course.answers import read_answer_file

FORMATS = ("imports", "doctests")
LONGEST_S = 300  # otter gives a submission no limit of its own
ESCAPED = re.compile(r"^\s*ESCAPED", re.MULTILINE)  # printed, not quoted in an error's text

IMPORTS = """\
OK_FORMAT = False

{setup}
from otter.test_files import test_case

name = {name!r}


@test_case(points={points})
def the_lab_says_so({names}):
    {check}
"""
DOCTESTS = """\
OK_FORMAT = True

test = {{
    "name": {name!r},
    "points": {points},
    "suites": [{{"cases": [{{"code": {code!r}, "hidden": False}}]}}],
}}
"""


@dataclass
class Graded:
    """What otter made of a submission.

    scores: by question; one without a mark isn't in it. said: all that otter and the notebook printed.
    """

    scores: dict[str, float] = field(default_factory=dict)
    said: str = ""


def main() -> None:
    formats = sys.argv[1:] or FORMATS
    print(f"otter-grader {version('otter-grader')}")
    with tempfile.TemporaryDirectory(prefix="labkit-otter-") as name:
        folder = Path(name)
        canary = put_canary(folder / "canary")
        attacks = tame()
        for form in formats:
            graders = {}
            for attack in attacks:
                if assignment(attack) not in graders:
                    graders[assignment(attack)] = autograder(blank(attack), form, folder / form / assignment(attack))
                    control(attack, graders[assignment(attack)], form)
            for attack in attacks:
                graded = grade(attacked(attack, canary), graders[assignment(attack)])
                scores, out = graded.scores, bool(ESCAPED.search(graded.said))
                mine, honest = (scores.get(question(exercise)) for exercise in (attack.exercise, HONEST[attack.lab]))
                print(form, row(attack, mine, out, honest), flush=True)


def autograder(lab: dict[str, Any], form: str, folder: Path) -> Path:
    """The autograder.zip of a notebook, made by `otter generate` from a test file an exercise."""
    (folder / "tests").mkdir(parents=True)
    for name, text in test_files(lab, form):
        (folder / "tests" / f"{name}.py").write_text(text)
    otter(folder, "generate", "--tests-dir", "tests", "--output-path", "autograder.zip").check_returncode()
    return folder / "autograder.zip"


def test_files(lab: dict[str, Any], form: str) -> Iterator[tuple[str, str]]:
    """The test file of each check cell, as a teacher would write it."""
    setup = of_role(lab, "setup")[0]["source"]
    for cell in of_role(lab, "check"):
        name, points, check = question(exercise_of(cell)), cell["metadata"]["nbgrader"]["points"], cell["source"]
        if form == "imports":
            names, code = ", ".join(free_names(check, setup)), check.replace("\n", "\n    ")
            yield name, IMPORTS.format(name=name, points=points, setup=setup, names=names, check=code)
        else:
            code = f">>> {check}".replace("\n", "\n... ")
            yield name, DOCTESTS.format(name=name, points=points, code=code)


def with_otter(lab: dict[str, Any]) -> dict[str, Any]:
    """The notebook with otter's check cells in place of the lab's, as `otter assign` lays them out."""
    for cell in of_role(lab, "check"):
        cell["source"] = f'grader.check("{question(exercise_of(cell))}")'
    setup = of_role(lab, "setup")[0]
    setup["source"] = f"import otter\n\ngrader = otter.Notebook()\n\n{setup['source']}"
    return lab


def of_role(lab: dict[str, Any], role: str) -> list[dict[str, Any]]:
    return [cell for cell in lab["cells"] if cell["metadata"]["labkit"]["role"] == role]


def exercise_of(cell: dict[str, Any]) -> str:
    return str(cell["metadata"]["labkit"]["exercise"])


def question(exercise: str) -> str:
    """otter's name for an exercise, also that of its test file."""
    return exercise.replace(".", "_")


def free_names(check: str, setup: str) -> list[str]:
    """The names in a check cell that neither the setup cell nor Python has: the learner's, and the exercise's own."""
    imported = [node for node in ast.walk(ast.parse(setup)) if isinstance(node, ast.alias)]
    known = {(node.asname or node.name).split(".")[0] for node in imported} | set(dir(builtins))
    used = [node.id for node in ast.walk(ast.parse(check)) if isinstance(node, ast.Name)]
    return [name for name in dict.fromkeys(used) if name not in known]


def control(attack: Attack, grader: Path, form: str) -> None:
    """Right answers get full marks and wrong ones none; stops where they don't."""
    exercises = (attack.exercise, HONEST[attack.lab])
    for right in (True, False):
        answers = {}
        for exercise in exercises:
            file = ROOT / "tests" / "answers" / attack.lab / f"{question(exercise)}.py"
            answer = next(answer for answer in read_answer_file(file) if answer.right is right)
            answers[exercise] = next(iter(answer.sources.values()))
        lab = small(attack.lab, answers)
        graded = grade(lab, grader)
        points = {question(exercise_of(cell)): cell["metadata"]["nbgrader"]["points"] for cell in of_role(lab, "check")}
        held = graded.scores == {name: most * right for name, most in points.items()}
        print("control,", form, "right:" if right else "wrong:", graded.scores, "held" if held else "NOT HELD")
        if not held:
            raise SystemExit(graded.said)


def grade(submission: dict[str, Any], grader: Path) -> Graded:
    """One submission, by `otter run`."""
    with tempfile.TemporaryDirectory(dir=grader.parent) as name:
        folder = Path(name)
        write_notebook(with_otter(submission), folder / "lab.ipynb")
        try:
            ran = otter(folder, "run", "--autograder", str(grader), "--pickle-results", "lab.ipynb")
        except subprocess.TimeoutExpired as error:
            return Graded(said=str(error))
        said = ran.stdout + ran.stderr
        if ran.returncode or not (folder / "results.pkl").exists():
            return Graded(said=said)
        # A pickle from the learner's process; otter has loaded it already. Tame attacks put nothing into it.
        results = pickle.loads((folder / "results.pkl").read_bytes())
        scores = {test: float(file.score) for test, file in results.results.items()}
        messages = [str(case.message) for file in results.results.values() for case in file.test_case_results]
        return Graded(scores, "\n".join([said, printed(results.notebook), *messages]))


def otter(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    """otter's own command line, in `folder`."""
    command = [sys.executable, "-m", "otter", *args]
    kept = environ(folder)
    return subprocess.run(command, cwd=folder, env=kept, capture_output=True, text=True, timeout=LONGEST_S)


if __name__ == "__main__":
    main()
