"""What one learner handed in for one lab: the answers by exercise, and everything that was unusual, in words.

Of several notebooks of one learner for one lab, one counts: the one that is named exactly like the lab; of several
such, or where there is none, the one that lies least deep, and of those the last by name. Which lab a notebook is of,
its answer cells say, not its name; the name decides only where there are none.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from labkit.course import Lab, extract
from labkit.errors import UsageError
from labkit.grading.finding import Found
from labkit.grading.labs import Course
from labkit.grading.magics import as_python
from labkit.grading.reading import read

MOST_NOTES = 20


@dataclass(frozen=True)
class Submission:
    """One learner's answers to one lab.

    learner, lab (its stem), file (name for a person; "" where nothing was handed in), folder and timestamp (see Found).
    answers: exercise id -> answer cell's id -> source, as plain Python where that can be had.
    missing: exercise id -> why it has no answer at all, in words. Every exercise of the lab is in answers or here.
    reasons: exercise id -> what was unusual about its answer, in words.
    notes: what was unusual about the file.
    sha256: of the file's bytes, hexadecimal; "" where it can't be read.
    others: how many more notebooks of the same lab were handed in; they don't count.
    fault: why the file can't be read, a line that names it; "" where it can.
    """

    learner: str
    lab: str
    file: str = ""
    folder: str = ""
    timestamp: str = ""
    answers: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)
    reasons: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    sha256: str = ""
    others: int = 0
    fault: str = ""


@dataclass(frozen=True)
class Collected:
    """Everything that was handed in.

    submissions: one for each learner and lab, in order. learners: all of them, those without a usable file included.
    ungraded: learner -> what was handed in and counts for no lab, with the reason.
    """

    submissions: tuple[Submission, ...]
    learners: tuple[str, ...]
    ungraded: Mapping[str, tuple[str, ...]]

    @property
    def others(self) -> int:
        """How many notebooks don't count because another one of the same learner and lab does."""
        return sum(one.others for one in self.submissions)

    @property
    def faults(self) -> list[str]:
        """The files of a lab that can't be read and cost their learner its points, a line each."""
        return [f"{one.learner}: {one.fault}" for one in self.submissions if one.fault]


@dataclass(frozen=True)
class _File:
    found: Found
    lab: Lab
    notebook: dict[str, Any] | None  # None: can't be read, and `notes` says why
    notes: tuple[str, ...]
    sha256: str = ""


def collect(found: Iterable[Found], course: Course) -> Collected:
    """Read every file and choose what counts. No file can stop it: what can't be read is named with the reason."""
    files: defaultdict[tuple[str, str], list[_File]] = defaultdict(list)
    ungraded: defaultdict[str, list[str]] = defaultdict(list)
    learners: dict[str, None] = {}
    for one in found:
        learners[one.learner] = None
        file = _open(one, course)
        if isinstance(file, str):
            ungraded[one.learner].append(file)
        else:
            files[one.learner, file.lab.stem].append(file)
    submissions = [_choose(files[key]) for key in sorted(files)]
    return Collected(
        tuple(submissions), tuple(learners), {name: _capped(lines) for name, lines in sorted(ungraded.items())}
    )


def _open(found: Found, course: Course) -> _File | str:
    """The file as a notebook of a lab, or why it counts for none."""
    named = course.named(Path(found.shown).stem) or course.named(found.folder)
    try:
        if found.fault:
            raise UsageError(found.fault)
        reading = read(found.path)
    except UsageError as error:
        why = f"{found.shown} can't be graded: {error}"
        return _File(found, named, None, (why,)) if named else why
    held = course.held(reading.notebook)
    notes = [f"{found.shown}: {note}" for note in reading.notes]
    most = max(held.values(), default=0)
    best = [stem for stem in sorted(held) if held[stem] == most]
    if not best and named is None:
        return f"{found.shown} holds no answer cell of the labs in {course.told}, and bears no lab's name"
    stem = named.stem if named is not None and (not best or named.stem in best) else best[0]
    if named is not None and named.stem != stem:
        notes.append(f"{found.shown} is named like lab {named.stem}, but holds the answers of {stem}: graded as that")
    others = ", ".join(name for name in sorted(held) if name != stem)
    if others:
        notes.append(f"{found.shown} also holds answer cells of {others}: they don't count there")
    return _File(found, course.lab(stem), reading.notebook, tuple(notes), reading.sha256)


def _choose(files: list[_File]) -> Submission:
    readable = [file for file in files if file.notebook is not None]
    chosen = max(readable or files, key=_rank)
    notes = list(chosen.notes)
    for file in files:
        if file is not chosen and file.notebook is not None:
            notes.append(f"{file.found.shown} is of the same lab and does not count: {chosen.found.shown} does")
        elif file is not chosen:
            notes += file.notes
    return _submission(chosen, notes, len(files) - 1)


def _rank(file: _File) -> tuple[bool, int, str]:
    return (file.found.path.stem == file.lab.stem, -file.found.shown.count("/"), file.found.shown)


def _submission(file: _File, notes: list[str], others: int) -> Submission:
    found, lab = file.found, file.lab
    answers: dict[str, dict[str, str]] = {}
    missing: dict[str, str] = {}
    reasons: defaultdict[str, list[str]] = defaultdict(list)
    if file.notebook is None:
        missing = {exercise.id: file.notes[-1] for exercise in lab.exercises}
    else:
        extraction = extract(Lab(Path(found.shown), Path(found.shown).stem, "", "", (), (), file.notebook), lab)
        for note in extraction.notes:
            about = next((e.id for e in lab.exercises if any(f" {cell} " in note for cell in e.answer)), "")
            (reasons[about] if about else notes).append(note)
        for exercise in lab.exercises:
            gone = [cell for cell in exercise.answer if cell in extraction.missing]
            if len(gone) == len(exercise.answer):
                missing[exercise.id] = _gone(gone, found.shown)
                continue
            if gone:
                reasons[exercise.id].append(_gone(gone, found.shown))
            answers[exercise.id] = {}
            for cell, source in extraction.answers[exercise.id].items():
                answers[exercise.id][cell], changed = as_python(source)
                reasons[exercise.id] += changed
    return Submission(
        found.learner,
        lab.stem,
        found.shown,
        found.folder,
        found.timestamp,
        answers,
        missing,
        {name: _capped(lines) for name, lines in reasons.items() if lines},
        _capped(notes),
        file.sha256,
        others,
        "" if file.notebook else file.notes[-1],
    )


def _gone(cells: list[str], file: str) -> str:
    return (
        f"its answer cell ({', '.join(cells)}) is not in {file} as a code cell any more: "
        "copy that cell from a fresh copy of the lab, and write your answer in it"
    )


def _capped(lines: list[str]) -> tuple[str, ...]:
    """The lines, each once; a file made to say very much is cut short."""
    lines = list(dict.fromkeys(lines))
    more = len(lines) - MOST_NOTES
    return (*lines[:MOST_NOTES], f"and {more} more") if more > 0 else tuple(lines)
