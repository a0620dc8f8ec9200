"""The one record of a check: what was asked, seen and expected. Cards, text, JSON and progress are views of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from typing import Any

from labkit.errors import LabkitError, UsageError


def points_of(earned: float, most: float) -> str:
    """`0 of 1 point`, `2.5 of 4 points`."""
    return f"{earned:g} of {most:g} point{'' if most == 1 else 's'}"


class Verdict(StrEnum):
    """How a check ended. BROKEN is the check's own fault and is never blamed on the learner."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_ANSWERED = "not answered"
    BROKEN = "broken"


@dataclass(frozen=True)
class Evidence:
    """One thing a check looked at.

    Attributes:
        claim: what should hold, as a sentence.
        ok: whether it held.
        given: the smallest input that shows it (empty where there is no input).
        seen: what the answer gave.
        expected: what was expected to hold; an invariant or a relation, never the solution.
        why: what the difference means; the mistake by name where it is recognised.
        next_step: one thing to try.
    """

    claim: str
    ok: bool
    given: str = ""
    seen: str = ""
    expected: str = ""
    why: str = ""
    next_step: str = ""


@dataclass(frozen=True)
class Result:
    """What a check found.

    Attributes:
        exercise: exercise id, e.g. "pipeline.makespan".
        verdict: how it ended.
        points: points earned, all or none.
        max_points: points the exercise is worth.
        evidence: what was looked at, in order; the last item of a failed check is the failure.
        device: "cpu" or "cuda": where the experiments of the check ran; "" where it ran none that could choose.
        seconds: how long the check took, wall clock.
        learner: whose figures the check used.
        at: when, UTC, ISO 8601.
        version: labkit version that judged.
    """

    exercise: str
    verdict: Verdict
    points: float
    max_points: float
    evidence: tuple[Evidence, ...]
    device: str
    seconds: float
    learner: str
    at: str
    version: str

    @property
    def failure(self) -> Evidence | None:
        """The evidence that decided against the answer, if any."""
        return next((item for item in reversed(self.evidence) if not item.ok), None)

    def to_json(self) -> dict[str, Any]:
        """The record as plain JSON values."""
        return asdict(self) | {"verdict": str(self.verdict), "evidence": [asdict(item) for item in self.evidence]}

    @staticmethod
    def from_json(record: Mapping[str, Any]) -> Result:
        """The record back from `to_json`. Raises UsageError where a field is missing or the verdict unknown."""
        try:
            evidence = tuple(Evidence(**item) for item in record["evidence"])
            values = {field.name: record[field.name] for field in fields(Result)}
            return Result(**values | {"evidence": evidence, "verdict": Verdict(record["verdict"])})
        except (KeyError, TypeError, ValueError) as error:
            raise UsageError(f"not a result record ({error}): it must come from Result.to_json()") from None


class CheckError(LabkitError):
    """A check that did not pass. `result` holds the record."""

    def __init__(self, result: Result) -> None:
        self.result = result
        failure = result.failure
        about = f": {failure.seen if result.verdict is Verdict.NOT_ANSWERED else failure.claim}" if failure else ""
        super().__init__(f"{result.exercise}: {result.verdict}{about}")


class CheckFailed(CheckError):
    """The answer is wrong; the card says what was seen, what should hold and what to try."""


class NotAnswered(CheckError):
    """The answer cell still holds `...` or its stub."""


class CheckBroken(CheckError):
    """The check itself failed. The answer was not judged."""
