"""What tests/answers holds, laid into the labs and judged in this process."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Any

from labkit.checks.answer import LocalAnswer
from labkit.checks.engine import evaluate
from labkit.checks.registry import find
from labkit.checks.result import Result
from labkit.course import load
from labkit.course.answers import Answer, read_answer_file
from labkit.course.notebook import Lab
from labkit.course.run import run_exercise

ROOT = Path(__file__).parents[2]
FULL = os.environ.get("LABKIT_FULL", "0") not in ("", "0")
LABS = sorted((ROOT / "notebooks").glob("*.ipynb"))


@cache
def lab(number: str) -> Lab:
    return load(next(path for path in LABS if path.name.startswith(number)))


def answers(number: str) -> list[Answer]:
    """Every answer of a lab, in the order of the files."""
    files = sorted((ROOT / "tests" / "answers" / number).glob("*.py"))
    return [answer for file in files for answer in read_answer_file(file)]


def reference(exercise: str) -> str:
    """The code of an exercise's first right answer."""
    chosen = lab(find(exercise).lab)
    found = next(a for a in answers(chosen.number) if a.exercise == exercise and a.name == "reference")
    return next(iter(found.sources.values()))


def judge(number: str, answer: Answer) -> Result:
    """Run setup, given, answer and check cells for the present learner and return what the check found."""

    def check(id: str, value: Any) -> Result:
        return evaluate(id, LocalAnswer(value))

    return run_exercise(lab(number), answer.exercise, answer.sources, check=check)


def blank(number: str, exercise: str) -> Result:
    """What the check says of the untouched stub."""
    return judge(number, Answer(exercise, False, "blank", None, {}))
