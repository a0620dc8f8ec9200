"""Acceptance checks: `check("pipeline.makespan", answer)` in a notebook, one module of checks a lab.

In a lab:

    check(id, answer)   judge an answer, show a card, keep the result
    variant(id)         your own numbers for an exercise
    progress()          what you have done so far
"""

from __future__ import annotations

from typing import Any

from labkit.checks import card, notebook
from labkit.checks.answer import LocalAnswer
from labkit.checks.engine import evaluate
from labkit.checks.registry import broken, exercises
from labkit.checks.result import CheckBroken, CheckFailed, NotAnswered, Result, Verdict
from labkit.checks.standing import Progress, view
from labkit.checks.variants import variant
from labkit.course import reporting
from labkit.course.progress import ProgressStore
from labkit.course.variants import learner
from labkit.errors import LabkitError

__all__ = ["CheckBroken", "CheckFailed", "NotAnswered", "check", "evaluate", "progress", "variant"]

_RAISES = {
    Verdict.FAILED: CheckFailed,
    Verdict.NOT_ANSWERED: NotAnswered,
    Verdict.BROKEN: CheckBroken,
}


def check(id: str, answer: Any) -> None:
    """Judge `answer` for exercise `id`: show a card, keep the result in the progress file.

    Raises CheckFailed, NotAnswered or CheckBroken where the check did not pass, so that a notebook run without a
    person turns red; UsageError for an unknown id. A progress file that can't be written is said on the card and
    stops nothing.
    """
    show(evaluate(id, LocalAnswer(answer)))


def show(result: Result) -> None:
    """Keep a result, display it, and raise unless it passed."""
    notebook.display(card.bundle(result, _keep(result)))
    if result.verdict in _RAISES:
        raise _RAISES[result.verdict](result)


def _keep(result: Result) -> list[str]:
    """Keep the result; what to tell the person about it. Nothing that goes wrong here stops the lab."""
    try:
        store = ProgressStore()
        store.add(result.to_json())
        reporting.report(store)
        return store.take_notices()
    except LabkitError as error:
        return [f"this result was not kept: {error}"]


def progress() -> Progress:
    """What the present learner has done: a table to look at, with points and what comes next."""
    facts = [(e.lab, e.id, e.title, e.points, e.minutes) for e in exercises()]
    store = ProgressStore()
    standings = store.standings(learner())
    for notice in [*store.take_notices(), *broken()]:
        print(f"Note: {notice}")
    return view(facts, standings)


notebook.explain_undefined_answers(show)
