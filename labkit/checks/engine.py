"""Run one check over one answer and say how it ended."""

from __future__ import annotations

import time
import traceback
from datetime import UTC, datetime

import labkit
from labkit.checks.answer import Answer, AnswerFault
from labkit.checks.plain import Unanswered
from labkit.checks.registry import Context, Exercise, find
from labkit.checks.result import Evidence, Result, Verdict
from labkit.course import variants

OPEN = "an answer"
"""The claim of a check that found none."""


def context(exercise: Exercise, learner: str | None = None, key: bytes | None = None) -> Context:
    """The figures and the fresh-input seed of `learner` (default: the present one) for `exercise`."""
    learner = learner or variants.learner()
    seed = variants.seed(exercise.id, learner=learner, key=key)
    figures = exercise.figures.pick(seed) if exercise.figures else {}
    inputs = variants.seed(exercise.id, learner=learner, key=key, purpose="inputs")
    return Context(learner, figures, inputs)


def evaluate(id: str, answer: Answer, *, learner: str | None = None, key: bytes | None = None) -> Result:
    """Judge `answer` for exercise `id`.

    The check stops at its first failing piece of evidence. An exception of the check itself gives BROKEN, with the
    traceback as evidence; an interrupt passes through. Raises UsageError for an unknown exercise id.
    """
    exercise = find(id)
    started = time.perf_counter()
    evidence: list[Evidence] = []
    where = context(exercise, learner, key)
    try:
        for item in exercise.function(answer, where):
            evidence.append(item)
            if not item.ok:
                break
        verdict = Verdict.PASSED if evidence and evidence[-1].ok else Verdict.FAILED
        if not evidence:
            raise AssertionError("the check looked at nothing")
    except Unanswered as error:
        verdict = Verdict.NOT_ANSWERED
        evidence = [_unanswered(str(error))]
    except AnswerFault as fault:
        verdict = Verdict.FAILED
        claim = "the answer can be used" if not fault.given else "the function gives an answer"
        evidence.append(Evidence(claim, False, fault.given, fault.seen, fault.expected, next_step=fault.next_step))
    except Exception:
        verdict = Verdict.BROKEN
        evidence.append(_broken(traceback.format_exc()))
    return _result(exercise, where, verdict, evidence, time.perf_counter() - started)


def undefined_answer(id: str, name: str) -> Result:
    """The result where a check cell ran and `name`, which the answer cell defines, doesn't exist."""
    exercise = find(id)
    evidence = Evidence(
        claim=OPEN,
        ok=False,
        seen=f"`{name}` is not defined: its cell has not run in this session, stopped with an error, or is gone",
        expected="your answer, in the cell above the drawing",
        next_step="run the cells above, from the top. If the answer cell was deleted, copy it from the released lab.",
    )
    return _result(exercise, context(exercise), Verdict.NOT_ANSWERED, [evidence], 0.0)


def _result(exercise: Exercise, where: Context, verdict: Verdict, evidence: list[Evidence], seconds: float) -> Result:
    return Result(
        exercise=exercise.id,
        verdict=verdict,
        points=exercise.points if verdict is Verdict.PASSED else 0.0,
        max_points=exercise.points,
        evidence=tuple(evidence),
        device=where.asked[0] if where.asked else "",
        seconds=seconds,
        learner=where.learner,
        at=datetime.now(UTC).isoformat(timespec="milliseconds"),
        version=labkit.__version__,
    )


def _unanswered(what: str) -> Evidence:
    return Evidence(
        claim=OPEN,
        ok=False,
        seen=f"{what} is still open",
        expected="your answer, in the cell above the drawing",
        next_step="replace `...`, or the line that raises NotImplementedError; run that cell, then this one.",
    )


def _broken(trace: str) -> Evidence:
    return Evidence(
        claim="the check itself failed; your answer was not judged",
        ok=False,
        seen="\n".join(trace.strip().splitlines()[-15:]),
        expected="a verdict",
        why="this is a fault of labkit, not of your answer.",
        next_step="run the cell once more; if it happens again, report it with the text above.",
    )
