"""A mark: the result record of one exercise of one learner, and what it was made from."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import labkit
from labkit.checks.result import Evidence, Result, Verdict
from labkit.course import Exercise
from labkit.errors import UsageError

Key = tuple[str, str, str]
"""Learner, lab (its stem), exercise: there is one mark for each."""


@dataclass(frozen=True)
class Task:
    """One exercise of one learner, to be judged.

    learner, lab (its stem), exercise (as the lab has it).
    sources: answer cell's id -> code; {} where there is no answer.
    reasons: what was unusual about the answer, in words.
    fingerprint: hex digest of everything that the mark depends on (see `fingerprint`).
    """

    learner: str
    lab: str
    exercise: Exercise
    sources: Mapping[str, str]
    reasons: tuple[str, ...]
    fingerprint: str

    @property
    def key(self) -> Key:
        """See `Key`."""
        return (self.learner, self.lab, self.exercise.id)


@dataclass(frozen=True)
class Mark:
    """One line of results.jsonl.

    lab: stem of the lab. title, kind: the exercise's, as the lab has them. result: the check's record.
    fingerprint: of what was judged; the same answer, lab, labkit, learner and course key give the same.
    isolation: how the answer was kept apart: a way of `confine.IsolationReport`, "none" where nothing did, "" where no
        code ran (no answer, or the released stub).
    reasons: what was unusual about the answer, in words.
    """

    lab: str
    title: str
    kind: str
    result: Result
    fingerprint: str
    isolation: str = ""
    reasons: tuple[str, ...] = field(default=())

    @property
    def key(self) -> Key:
        """See `Key`."""
        return (self.result.learner, self.lab, self.result.exercise)

    @property
    def self_assessed(self) -> bool:
        """Whether its points rest on the learner's own word: kind "explain"."""
        return self.kind == "explain"

    def to_json(self) -> dict[str, Any]:
        """The mark as plain JSON values."""
        return {
            "learner": self.result.learner,
            "lab": self.lab,
            "exercise": self.result.exercise,
            "title": self.title,
            "kind": self.kind,
            "fingerprint": self.fingerprint,
            "isolation": self.isolation,
            "reasons": list(self.reasons),
            "result": self.result.to_json(),
        }

    @staticmethod
    def from_json(record: Any) -> Mark:
        """The mark back from `to_json`. Raises UsageError where it isn't one."""
        try:
            texts = [record[name] for name in ("lab", "title", "kind", "fingerprint", "isolation")]
            if not all(isinstance(text, str) for text in (*texts, *record["reasons"])):
                raise TypeError("a name that isn't text")
            return Mark(
                record["lab"],
                record["title"],
                record["kind"],
                Result.from_json(record["result"]),
                record["fingerprint"],
                record["isolation"],
                tuple(record["reasons"]),
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise UsageError(f"not a mark ({error}): it must come from Mark.to_json()") from None


def fingerprint(learner: str, exercise: str, sources: Mapping[str, str], *, lab: str, judge: str, key: bytes) -> str:
    """Digest of all that a mark depends on: whose answer to what, its code, the lab's and the judge's digest, the key.

    The key can't be had back from it.
    """
    known = hmac.new(key, b"labkit grade", hashlib.sha256).hexdigest()
    parts = [learner, exercise, sorted(sources.items()), lab, judge, known]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def mark(task: Task, result: Result, isolation: str) -> Mark:
    """The mark that `result` is for `task`."""
    exercise = task.exercise
    return Mark(task.lab, exercise.title, exercise.kind, result, task.fingerprint, isolation, task.reasons)


def unanswered(task: Task, seen: str) -> Mark:
    """The mark where there is nothing to run. seen: why, in words."""
    evidence = Evidence(
        claim="an answer",
        ok=False,
        seen=seen,
        expected="your answer, in the cell above the drawing",
        next_step="Write your answer in this exercise's answer cell, run the lab from the top and save it.",
    )
    return mark(task, _result(task, Verdict.NOT_ANSWERED, evidence), "")


def unjudged(task: Task, why: str) -> Mark:
    """The mark where the grader itself failed. why: in words."""
    evidence = Evidence(
        claim="the check itself failed; the answer was not judged",
        ok=False,
        seen=why,
        expected="a verdict",
        why="this is a fault of the grader, not of the answer.",
        next_step="grade it again with --resume: marks that could not be made are tried anew.",
    )
    return mark(task, _result(task, Verdict.BROKEN, evidence), "")


def _result(task: Task, verdict: Verdict, evidence: Evidence) -> Result:
    at = datetime.now(UTC).isoformat(timespec="milliseconds")
    points = float(task.exercise.points)
    return Result(task.exercise.id, verdict, 0.0, points, (evidence,), "cpu", 0.0, task.learner, at, labkit.__version__)
