"""Which files are submissions, and whose: folders per learner, nbgrader's tree, or single notebooks.

The rules, in this order, for each path that the grader is given:

1. A directory with a directory `submitted` in it is an nbgrader course: that directory is meant.
2. A file, or a notebook that lies directly in a given directory: if it bears a lab's name, it belongs to the learner
   that the directory is named after; `ada_01_pipeline_timeline.ipynb` belongs to ada; `ada.ipynb` too. Of several
   names behind one lab's (`01_pipeline_timeline_ada`, `01_pipeline_timeline_bob`) each is a learner's (see `naming`).
3. If a given directory holds a notebook that bears a lab's name directly, and rule 2 finds no several learners there,
   it is one learner's folder, with all that is below. Otherwise each directory in it is a learner's.

Links below a given path aren't followed; hidden directories (`.ipynb_checkpoints`) are passed over.
"""

from __future__ import annotations

import os
import re
import stat
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from labkit.course.variants import LONGEST
from labkit.errors import UsageError
from labkit.grading import naming
from labkit.grading.labs import Course

DEEPEST = 5  # directories below a learner's folder
MOST_FILES = 200  # notebooks of one learner

_STAMP = re.compile(r"\d{4}-\d\d-\d\d[ T][\d:.]{5,18}(?: ?[A-Za-z0-9:+/_-]{1,20})?")


@dataclass(frozen=True)
class Found:
    """One file that may be a submission.

    learner: whose; a name with bytes that aren't UTF-8, or control characters, has them as \\xNN.
    path: where. shown: its name for a person, without the grader's own directories.
    folder: the directory that it lies in, where that is below the learner's (nbgrader: the assignment), else "".
    timestamp: what nbgrader's timestamp.txt beside it says, else "".
    fault: why it can't be a submission, else "".
    """

    learner: str
    path: Path
    shown: str
    folder: str = ""
    timestamp: str = ""
    fault: str = ""


def find(paths: Iterable[Path], course: Course, *, learner: str | None = None) -> list[Found]:
    """Every file that may be a submission, in order of learner and name; a file that is named twice is there once.

    learner: whose all of them are, in place of the rules.
    Raises UsageError for a path that doesn't exist, holds neither a notebook nor a directory, or doesn't say whose.
    """
    found: dict[Path, Found] = {}
    given = list(paths)
    for path in given:
        if not path.exists():
            raise UsageError(f"{path} does not exist: name notebooks, or directories of submissions")
    several = {} if learner else _several(given, course)
    for path in given:
        if learner and path.is_dir():
            naming.refuse_several(path, course, learner)
        whole = path.resolve()
        here = list(_of_path(whole, path, course, learner, several=several.get(whole.parent, False)))
        if not here:
            raise UsageError(f"{path} holds no submissions: name notebooks, or a directory with a folder a learner")
        for one in here:
            found.setdefault(one.path, one)
    return sorted(found.values(), key=lambda one: (one.learner, one.shown, os.fsencode(one.path)))


def meant(path: Path) -> Path:
    """The directory of submissions: that of an nbgrader course, else `path` itself."""
    return path / "submitted" if (path / "submitted").is_dir() else path


def _several(given: Iterable[Path], course: Course) -> dict[Path, bool]:
    """Directory -> whether the files given that lie in it are several learners', by their names."""
    beside: defaultdict[Path, list[Path]] = defaultdict(list)
    for path in given:
        if not path.is_dir():
            beside[path.resolve().parent].append(path)
    return {parent: naming.several_learners(files, course, files[0].parent) for parent, files in beside.items()}


def _of_path(path: Path, given: Path, course: Course, learner: str | None, *, several: bool) -> Iterator[Found]:
    """given: the path as the person wrote it. several: whether a file's name says whose it is (see `_several`)."""
    if not path.is_dir():
        yield Found(learner or clean(_owner(path, course, several=several)), path, clean(path.name))
        return
    if learner is None:
        path = meant(path)
    entries = _entries(path)
    notebooks = [
        entry for entry in entries if entry.name.endswith(".ipynb") and not entry.is_dir(follow_symlinks=False)
    ]
    several = not learner and naming.several_learners([Path(entry.path) for entry in notebooks], course, given)
    if learner or (not several and any(_bears_name(Path(entry.name).stem, course) for entry in notebooks)):
        yield from _of_folder(path, learner or clean(path.name))
        return
    for entry in notebooks:
        whose = _owner(Path(entry.path), course, several=several)
        yield _file(Path(entry.path), clean(whose), clean(entry.name), "")
    for entry in entries:
        name, hidden = clean(entry.name), entry.name.startswith(".")
        if entry.is_dir(follow_symlinks=False) and not hidden:
            yield from _of_folder(Path(entry.path), name)
        elif entry.is_symlink() and entry not in notebooks:
            yield Found(name, Path(entry.path), name, fault="it is a link; a submission is a folder of its own")


def _bears_name(stem: str, course: Course) -> bool:
    return any(stem.startswith(lab.stem) for lab in course.labs)


def _owner(path: Path, course: Course, *, several: bool) -> str:
    """Whose a notebook is, by its own name, else by that of its directory. several: LAB_NAME is NAME's there."""
    if several and (after := naming.name_behind(path.stem, course)):
        return after
    lab = course.named(path.stem)
    before = path.stem.partition(lab.stem)[0].rstrip(" _-.") if lab else path.stem
    return before or path.resolve().parent.name or "learner"


def _of_folder(top: Path, learner: str) -> Iterator[Found]:
    """Everything in a learner's folder that is named like a notebook. A folder without one gives itself, as a fault."""
    count = 0
    for path, depth in _walk(top, 0):
        if count >= MOST_FILES:
            yield Found(learner, path, "other files", fault=f"only the first {MOST_FILES} notebooks were read")
            return
        count += 1
        shown = clean(str(path.relative_to(top)))
        yield _file(path, learner, shown, clean(path.relative_to(top).parts[0]) if depth else "")
    if not count:
        yield Found(learner, top, "its folder", fault="it holds no notebook")


def _file(path: Path, learner: str, shown: str, folder: str) -> Found:
    fault = "it is a directory, not a notebook" if path.is_dir() and not path.is_symlink() else ""
    return Found(learner, path, shown, folder, _stamp(path.parent / "timestamp.txt"), fault)


def _walk(directory: Path, depth: int) -> Iterator[tuple[Path, int]]:
    for entry in _entries(directory):
        if entry.name.endswith(".ipynb"):
            yield Path(entry.path), depth
        elif entry.is_dir(follow_symlinks=False) and depth < DEEPEST and not entry.name.startswith("."):
            yield from _walk(Path(entry.path), depth + 1)


def _entries(directory: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(directory) as entries:
            return sorted(entries, key=lambda entry: os.fsencode(entry.name))
    except OSError:  # a directory that the grader may not read: it has no notebook for us
        return []


def _stamp(path: Path) -> str:
    """nbgrader's time of submission, where the file holds one."""
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        with open(handle, "rb") as file:
            text = file.read(80).decode("ascii", "replace").strip() if stat.S_ISREG(os.fstat(handle).st_mode) else ""
    except OSError:
        return ""
    return text if _STAMP.fullmatch(text) else ""


def clean(name: str) -> str:
    """A file's name as text that every output can hold: other bytes and control characters become \\xNN."""
    text = os.fsencode(name).decode("utf-8", "backslashreplace")
    text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return text.strip()[:LONGEST] or "learner"
