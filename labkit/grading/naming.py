"""Whose a notebook is where its name says so, and directories that hold several learners' and only look like one's."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from labkit.errors import UsageError
from labkit.grading.labs import Course
from labkit.grading.reading import read

MOST_NAMES = 6  # that one line lists

# What stands behind a lab's name in one learner's own copies: not a person's name.
_COPY = re.compile(
    r"(?:copy|kopie|old|new|final|draft|backup|bak|try|test|attempt|version|ver|v|rev|solution|answers?|mine|my|fixed|done)"
    r"?[ _.-]*\(?\d{0,3}\)?",
    re.IGNORECASE,
)
_TAIL = re.compile(r"[ _-]*(?:-Copy\d*|\(\d+\))$")


def name_behind(stem: str, course: Course) -> str:
    """NAME of `LAB_NAME`; "" where there is none, or it only tells one copy from another (`-Copy1`, `_final`)."""
    lab = next((lab.stem for lab in course.labs if stem.startswith(lab.stem)), None)
    if lab is None or stem[len(lab) :][:1] not in ("_", "-", " ", "."):
        return ""
    name = _TAIL.sub("", stem[len(lab) :]).strip(" _-.")
    return "" if _COPY.fullmatch(name) else name


def several_learners(notebooks: Iterable[Path], course: Course, shown: Path) -> bool:
    """Whether notebooks that lie beside each other are several learners', each `LAB_NAME`.

    Raises UsageError where some are named so and another bears a lab's name without anybody's: whose that is, and
    whether the others are copies, nobody can tell. shown: their directory, for a person.
    """
    stems = [path.stem for path in notebooks if any(path.stem.startswith(lab.stem) for lab in course.labs)]
    names = _names(stems, course)
    if not any(len(found) > 1 for found in names.values()):
        return False
    unnamed = next((stem for stem in stems if not name_behind(stem, course)), None)
    if unnamed is not None:
        who = _listed({name for found in names.values() for name in found})
        raise UsageError(
            f"{shown} holds {unnamed}.ipynb beside notebooks named after {who}: give each learner a folder, or, where "
            "all are one learner's, say whose with --learner"
        )
    return True


def refuse_several(path: Path, course: Course, learner: str) -> None:
    """Raises UsageError where the directory `path`, given with --learner, holds several learners' folders or files."""
    for top in (path, path / "submitted"):
        folders: defaultdict[str, set[str]] = defaultdict(set)
        for folder in _folders(top):
            for lab in _labs_in(folder, course):
                folders[lab].add(folder.name)
        _refuse(top, "folders", {name for found in folders.values() if len(found) > 1 for name in found}, learner)
        stems = {one.stem for one in top.glob("*.ipynb")} if top.is_dir() else set()
        if not stems & {lab.stem for lab in course.labs}:
            files = _names(sorted(stems), course)
            _refuse(top, "notebooks", {name for found in files.values() if len(found) > 1 for name in found}, learner)


def _refuse(top: Path, what: str, names: set[str], learner: str) -> None:
    if not names:
        return
    one = "folder" if what == "folders" else "notebook"
    example = learner if learner in names else min(names)
    said = top / example if what == "folders" else f"{top}/*_{example}.ipynb"
    raise UsageError(
        f"{top} holds {what} of several learners ({_listed(names)}): --learner says whose ALL the files are; "
        f"for one learner name their {one}, {said}"
    )


def _names(stems: Iterable[str], course: Course) -> dict[str, set[str]]:
    """Lab's stem -> the names that stand behind it."""
    names: defaultdict[str, set[str]] = defaultdict(set)
    for stem in stems:
        if name := name_behind(stem, course):
            names[next(lab.stem for lab in course.labs if stem.startswith(lab.stem))].add(name)
    return names


def _listed(names: set[str]) -> str:
    ordered = sorted(names)
    more = f" and {len(ordered) - MOST_NAMES} more" if len(ordered) > MOST_NAMES else ""
    return ", ".join(ordered[:MOST_NAMES]) + more


def _folders(top: Path) -> Iterator[Path]:
    try:
        with os.scandir(top) as entries:
            found = [Path(one.path) for one in entries if one.is_dir(follow_symlinks=False)]
    except OSError:
        return
    yield from (folder for folder in sorted(found) if not folder.name.startswith("."))


def _labs_in(folder: Path, course: Course) -> set[str]:
    """The labs that a folder holds notebooks of: by their answer cells, else by their names."""
    labs = set()
    for directory, below, files in os.walk(folder):
        below[:] = [name for name in below if not name.startswith(".")]
        for path in (Path(directory, name) for name in files if name.endswith(".ipynb")):
            try:
                held = set(course.held(read(path).notebook))
            except UsageError:
                held = set()
            named = course.named(path.stem)
            labs |= held or ({named.stem} if named else set())
    return labs
