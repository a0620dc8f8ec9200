"""Answers judged across the pipe get the verdict that they get in a learner's kernel."""

from __future__ import annotations

import sys

import answerbook
import pytest
from arena import KEY

from labkit.checks.answer import LocalAnswer
from labkit.checks.engine import evaluate
from labkit.checks.registry import exercises
from labkit.course.run import run_exercise
from labkit.grading.confine import Limits, Program, Slots
from labkit.grading.judging import judge

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="the confinement is Linux's")]
NUMBERS = [path.name[:2] for path in answerbook.LABS]


@pytest.fixture(scope="module")
def slots():
    with Slots(1) as made:
        yield made


def chosen(number: str):
    """The reference of every exercise; in lab 01 its first wrong answer too."""
    for exercise in answerbook.lab(number).exercises:
        mine = [answer for answer in answerbook.answers(number) if answer.exercise == exercise.id]
        yield next(answer for answer in mine if answer.right)
        if number == "01":
            yield next(answer for answer in mine if not answer.right)


@pytest.mark.parametrize("number", NUMBERS)
def test_right_stays_right_and_wrong_wrong(number, slots):
    for answer in chosen(number):
        program = Program(answerbook.lab(number).path, answer.exercise, answer.sources, "ada")
        result = judge(program, slots, KEY, Limits(seconds=60))
        assert (result.verdict == "passed") is answer.right, (answer.exercise, answer.name, result.evidence[-1])
        assert result.verdict != "broken"


@pytest.mark.parametrize("exercise", [e.id for e in exercises() if e.lab == "01" and e.kind in ("predict", "build")])
def test_the_evidence_is_the_kernels_own(exercise, slots, monkeypatch):
    """Word for word, for a wrong answer: only times may differ."""
    monkeypatch.setenv("LABKIT_COURSE_KEY", KEY.decode())
    answer = next(a for a in answerbook.answers("01") if a.exercise == exercise and not a.right)
    lab = answerbook.lab("01")
    here = run_exercise(lab, exercise, answer.sources, check=lambda id, value: evaluate(id, LocalAnswer(value)))
    there = judge(Program(lab.path, exercise, answer.sources, "ada"), slots, KEY)
    assert there.evidence == here.evidence
