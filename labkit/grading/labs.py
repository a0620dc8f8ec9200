"""The labs of a course, as the grader knows them: the pristine notebooks, and which of them a submission answers."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import labkit
from labkit.course import Lab, load
from labkit.errors import UsageError


@dataclass(frozen=True)
class Course:
    """The pristine labs of a directory, in order. digests: of each lab's file, by its stem."""

    labs: tuple[Lab, ...]
    digests: Mapping[str, str]

    @property
    def told(self) -> str:
        """Where the labs lie, without the directories above, and their numbers: `bundle/notebooks (01, 05)`."""
        where = "/".join(self.labs[0].path.parent.parts[-2:])
        return f"{where} ({', '.join(lab.stem.partition('_')[0] for lab in self.labs)})"

    @cached_property
    def _owner(self) -> dict[str, str]:
        """The lab's stem for everything that names one of its answers: exercise ids and answer cells' ids."""
        owner: dict[str, str] = {}
        for lab in self.labs:
            for exercise in lab.exercises:
                owner |= dict.fromkeys((exercise.id, *exercise.answer), lab.stem)
        return owner

    def lab(self, stem: str) -> Lab:
        """The lab with this stem."""
        return next(lab for lab in self.labs if lab.stem == stem)

    def named(self, text: str) -> Lab | None:
        """The lab whose stem stands in a file's or a folder's name, as in `ada_01_pipeline_timeline (1)`."""
        return next((lab for lab in self.labs if lab.stem in text), None)

    def held(self, notebook: Mapping[str, Any]) -> Counter[str]:
        """How many cells of each lab's answers a notebook (as `reading.read` gives it) holds, by the lab's stem."""
        return Counter(filter(None, map(self._lab_of, notebook["cells"])))

    def _lab_of(self, cell: Mapping[str, Any]) -> str:
        metadata = cell.get("metadata") or {}
        mine = metadata.get("labkit") or {}
        exercise = mine.get("exercise") if mine.get("role") == "answer" else ""
        names = (exercise, (metadata.get("nbgrader") or {}).get("grade_id"), cell.get("id"))
        return next((self._owner[name] for name in names if name in self._owner), "")


def read_course(directory: Path) -> Course:
    """The labs of `directory`: its notebooks with exercises, whatever their names.

    Raises UsageError where it holds none, or one can't be read as a lab.
    """
    labs = [lab for path in sorted(directory.glob("*.ipynb")) if (lab := load(path)).exercises]
    if not labs:
        raise UsageError(f"{directory} holds no labs: name the directory of the released notebooks with --labs")
    twice = _twice([exercise.id for lab in labs for exercise in lab.exercises])
    if twice:
        raise UsageError(f"{directory}: exercise {twice} is in two labs: each exercise belongs to one")
    return Course(tuple(labs), {lab.stem: hashlib.sha256(lab.path.read_bytes()).hexdigest() for lab in labs})


def _twice(names: Sequence[str]) -> str:
    return next((name for name, count in Counter(names).items() if count > 1), "")


def judge_digest() -> str:
    """What judges: labkit's version and the content of its modules, so that a changed check is never taken for the old.

    An installed labkit changes with its version; a checkout changes without it.
    """
    package = Path(labkit.__file__).parent
    total = hashlib.sha256(labkit.__version__.encode())
    for path in sorted(package.rglob("*.py")):
        total.update(str(path.relative_to(package)).encode())
        total.update(hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()
