"""One answer judged: it runs in a slot, the check runs here."""

from __future__ import annotations

import dataclasses
from functools import lru_cache

from labkit.checks.engine import context, evaluate
from labkit.checks.registry import Context, find
from labkit.checks.result import Evidence, Result, Verdict
from labkit.errors import LabkitError
from labkit.grading.confine.limits import LimitHit, Limits, Program, Usage
from labkit.grading.confine.slots import Slot, Slots

NEXT_STEPS = {
    "time": "run it on a small input in your own kernel and see what it waits for.",
    "cpu": "run it on a small input in your own kernel and see what it repeats.",
    "memory": "build less at once: what is the largest list or array it holds?",
    "processes": "start fewer processes, and end those that were started.",
    "output": "print less.",
    "size": "return only what was asked for.",
    "wire": "return the answer; write into no descriptor that you didn't open.",
    "tampering": "leave labkit's own functions as they are, and give the answer itself.",
    "death": "restart the kernel and run all cells from the top: does it survive?",
}


def judge(program: Program, slots: Slots | Slot, key: bytes, limits: Limits | None = None) -> Result:
    """Run an answer in a free slot and judge it here; see `judge_and_measure`."""
    return judge_and_measure(program, slots, key, limits)[0]


def judge_and_measure(
    program: Program, slots: Slots | Slot, key: bytes, limits: Limits | None = None
) -> tuple[Result, Usage]:
    """Run an answer in a free slot and judge it here; the result, and what the answer used.

    key: the course key, from which figures and hidden inputs are drawn. It stays in this process.
    An answer that hit a limit, died or lied to the grader has failed, whatever the check made of it before.
    Raises UsageError where the lab has no such exercise or answer cell; LabkitError where the slot's server ended.
    """
    exercise = find(program.exercise)
    figures = _context(program.exercise, program.learner, key).figures
    units = exercise.figures.units if exercise.figures else {}
    program = dataclasses.replace(program, figures=figures, units=units)
    with slots.answer(program, limits) as answer:
        result = evaluate(program.exercise, answer, learner=program.learner, key=key)
        hit = answer.hit
    if hit is not None and hit.what == "lost":  # no fault of the answer's that we know of: no verdict either
        raise LabkitError(f"{program.exercise}: {hit.text}")
    return (result if hit is None else stopped(result, hit)), answer.usage


@lru_cache(maxsize=4096)
def _context(exercise: str, learner: str, key: bytes) -> Context:
    return context(find(exercise), learner, key)


def stopped(result: Result, hit: LimitHit) -> Result:
    """The result of an answer that a limit or its own death ended: failed, with the reason."""
    kept = tuple(item for item in result.evidence if item.ok)
    last = Evidence(
        claim="the answer stays within its limits and lives until it is judged",
        ok=False,
        seen=hit.text,
        expected="an answer to every question of the grader",
        next_step=NEXT_STEPS[hit.what],
    )
    return dataclasses.replace(result, verdict=Verdict.FAILED, points=0.0, evidence=(*kept, last))
