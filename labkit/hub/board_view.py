"""The board as plain data: who is where, and what holds people up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import median

from labkit.checks.registry import Exercise
from labkit.hub.board_state import Person

STUCK = 3
"""Failed attempts at the exercise a learner is at, none passed: worth a visit."""

AWAY = 48 * 60
"""Minutes since the latest check from which somebody is away rather than at work."""


@dataclass(frozen=True)
class PersonRow:
    """One learner.

    Attributes:
        name: the account.
        lab, exercise: where the latest check was; "" before the first.
        minutes: since then; None before the first. Many: stuck without asking, or away.
        passed, points: exercises passed and their points, in the labs looked at.
        stuck: failed attempts at that exercise where there are STUCK or more and none passed, else 0.
        claim: what its latest failed check looked at.
    """

    name: str
    lab: str
    exercise: str
    minutes: int | None
    passed: int
    points: float
    stuck: int
    claim: str


@dataclass(frozen=True)
class ExerciseRow:
    """One exercise.

    Attributes:
        exercise, title: its id and heading.
        tried, passed: learners who had an answer checked, and who passed.
        stuck: learners with STUCK or more attempts and no pass. Many: explain it to all.
        attempts: median number of attempts of those who tried.
        failures: what the latest failed checks looked at, with how many learners; commonest first.
    """

    exercise: str
    title: str
    tried: int
    passed: int
    stuck: int
    attempts: float
    failures: tuple[tuple[str, int], ...]


def people(
    names: Sequence[str], known: Mapping[str, Person], exercises: Sequence[Exercise], now: datetime
) -> list[PersonRow]:
    """A row for each learner: those who are stuck first, and in both parts who was active last; not begun last."""
    rows = [_row(name, known.get(name, {}), {one.id: one for one in exercises}, now) for name in names]
    return sorted(rows, key=lambda row: (not row.stuck, row.minutes is None, row.minutes or 0, row.name))


def _row(name: str, person: Person, wanted: Mapping[str, Exercise], now: datetime) -> PersonRow:
    here = [(id, one) for id, one in person.items() if id in wanted]
    last, standing = max(here, key=lambda pair: pair[1].at, default=("", None))
    passed = [wanted[id] for id, one in here if one.passed]
    stuck = standing.attempts if standing and standing.attempts >= STUCK and not standing.passed else 0
    return PersonRow(
        name=name,
        lab=wanted[last].lab if last else "",
        exercise=last,
        minutes=max(0, int((now - standing.at).total_seconds() // 60)) if standing else None,
        passed=len(passed),
        points=sum(one.points for one in passed),
        stuck=stuck,
        claim=standing.claim if standing else "",
    )


def exercise_rows(known: Mapping[str, Person], exercises: Sequence[Exercise]) -> list[ExerciseRow]:
    """A row for each exercise that somebody tried, those that hold most people up first."""
    rows = []
    for one in exercises:
        found = [person[one.id] for person in known.values() if one.id in person]
        tried = [standing for standing in found if standing.attempts]
        if not tried:
            continue
        open_ = [standing for standing in tried if not standing.passed]
        failures = Counter(standing.claim for standing in open_ if standing.claim)
        rows.append(
            ExerciseRow(
                exercise=one.id,
                title=one.title,
                tried=len(tried),
                passed=len(tried) - len(open_),
                stuck=sum(standing.attempts >= STUCK for standing in open_),
                attempts=median(standing.attempts for standing in tried),
                failures=tuple(failures.most_common(3)),
            )
        )
    return sorted(rows, key=lambda row: (-row.stuck, row.passed - row.tried, row.exercise))
