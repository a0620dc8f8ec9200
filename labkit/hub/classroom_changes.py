"""What a start of `labkit hub` changes in a classroom: names come and go, the rest stays unless it is given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from labkit.errors import UsageError
from labkit.hub.classroom import FILE, Classroom


@dataclass(frozen=True)
class Change:
    """A classroom as it is to be, and who is new in it or gone from it."""

    classroom: Classroom
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    def text(self) -> str:
        """A line for those added and one for those removed; nothing in a new classroom."""
        here = f"({_count(self.classroom.learners, 'learner')}, {_count(self.classroom.teachers, 'teacher')})"
        lines = [f"added: {', '.join(self.added)} {here}"] if self.added else []
        if self.removed:
            lines.append(f"removed: {', '.join(self.removed)} {here}; their files and what they handed in stay")
        return "\n".join(lines)


def kept(place: Path) -> Classroom | None:
    """The classroom that is in `place` already; None where there is none."""
    try:
        there = (place / FILE).exists()
    except OSError as error:
        raise UsageError(f"--dir {place} can't be read: {(error.strerror or str(error)).lower()}") from None
    return Classroom.load(place) if there else None


def begun(place: Path, learners: Sequence[str], teachers: Sequence[str], shared: bool, given: dict[str, Any]) -> Change:
    """A new classroom. given: host, port and the like; None stands for the default."""
    if not (learners and teachers):
        raise UsageError("a new classroom needs --learners and --teachers: names, or files with a name on each line")
    accounts = "shared" if shared else "own"
    return Change(Classroom(place, (*learners,), (*teachers,), accounts=accounts, **_said(given)))


def changed(
    room: Classroom,
    learners: Sequence[str],
    teachers: Sequence[str],
    removed: Sequence[str],
    shared: bool,
    given: dict[str, Any],
) -> Change:
    """`room` with these names added and removed; what isn't given (None) stays as it is. Raises UsageError."""
    if shared and room.accounts != "shared":
        raise UsageError(
            f"the classroom in {room.place} has an account for each learner: leave --shared out, or give a new --dir"
        )
    for name in removed:
        if name not in room.everybody:
            raise UsageError(f"--remove {name}: nobody in the classroom has that name ({room.place / FILE} lists them)")
    stay_learners = tuple(name for name in room.learners if name not in removed)
    stay_teachers = tuple(name for name in room.teachers if name not in removed)
    new_learners = tuple(name for name in learners if name not in stay_learners)
    new_teachers = tuple(name for name in teachers if name not in stay_teachers)
    there = replace(
        room, learners=(*stay_learners, *new_learners), teachers=(*stay_teachers, *new_teachers), **_said(given)
    )
    return Change(there, (*new_learners, *new_teachers), tuple(sorted({*removed} - {*there.everybody})))


def _said(given: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if value is not None}


def _count(names: Sequence[str], what: str) -> str:
    return f"{len(names)} {what}{'' if len(names) == 1 else 's'}"
