"""Every exercise: each right answer passes, each wrong one fails with a card that names what is wrong."""

from __future__ import annotations

import answerbook
import pytest

from labkit.checks import card
from labkit.checks.registry import exercises
from labkit.checks.result import Verdict
from labkit.course import load

NUMBERS = [path.name[:2] for path in answerbook.LABS]
LEARNERS = ("ada", "ben")
# These run real processes, or wait for real threads.
REAL = {e.id for e in exercises() if e.kind in ("diagnose", "experiment")}
REAL |= {"durable.snapshot", "measure.debt", "measure.fetch_wait", "metrics.sum_count", "records.identity"}


def cases():
    """Every answer for two learners; in a quick run the first learner's, where no experiment is run.

    Where one is, wrong answers go to the two learners in turn, and all of them to both with LABKIT_FULL=1.
    """
    for number in NUMBERS:
        for place, answer in enumerate(answerbook.answers(number)):
            real = answer.exercise in REAL
            both = answer.right or not real or answerbook.FULL
            for learner in LEARNERS if both else LEARNERS[place % 2 :][:1]:
                quick = learner == LEARNERS[0] and not real
                name = f"{learner}-{answer.exercise}-{'right' if answer.right else 'wrong'}-{answer.name}"
                yield pytest.param(number, answer, learner, id=name, marks=() if quick else pytest.mark.slow)


@pytest.mark.parametrize(("number", "answer", "learner"), list(cases()))
def test_answer(number, answer, learner, monkeypatch):
    monkeypatch.setenv("LABKIT_LEARNER", learner)
    result = answerbook.judge(number, answer)
    text = card.text(result)
    if answer.right:
        assert result.verdict is Verdict.PASSED, text
        assert result.points == result.max_points
    else:
        assert result.verdict is Verdict.FAILED, text
        assert answer.card.lower() in text.lower()
        assert result.points == 0
        assert result.failure.next_step, "a failing card says one thing to try"


@pytest.mark.parametrize("number", NUMBERS)
def test_every_exercise_has_answers(number):
    found = answerbook.answers(number)
    for exercise in answerbook.lab(number).exercises:
        mine = [answer for answer in found if answer.exercise == exercise.id]
        right = [answer for answer in mine if answer.right]
        assert len(right) >= 2, f"{exercise.id}: the reference and at least one right answer of another shape"
        assert right[0].name == "reference", exercise.id
        assert len(mine) - len(right) >= 4, f"{exercise.id}: at least four wrong answers"


@pytest.mark.parametrize("number", NUMBERS)
def test_stubs_are_not_answered(number):
    for exercise in answerbook.lab(number).exercises:
        blank = answerbook.blank(number, exercise.id)
        assert blank.verdict is Verdict.NOT_ANSWERED, card.text(blank)


def test_notebooks_and_checks_agree():
    """Points, minutes, kind and title stand in the notebook for people and in the registry for the check."""
    noted = {e.id: (e.title, e.kind, e.points, e.minutes, e.lab) for p in answerbook.LABS for e in load(p).exercises}
    registered = {e.id: (e.title, e.kind, e.points, e.minutes, e.lab) for e in exercises()}
    assert noted == registered
