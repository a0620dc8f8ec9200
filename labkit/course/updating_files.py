"""`labkit update` on the disk: a dated copy first, then the notebook, replaced whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from labkit.atomic_file import sync_directory, write_all
from labkit.course.notebook import Lab, cells_of, dumps, load, read_notebook
from labkit.course.updating import merge
from labkit.errors import LabkitError, UsageError

COPIES = "before-update"  # beside the notebook; the learner sees it in the file browser


@dataclass(frozen=True)
class Updated:
    """What happened to one notebook.

    path: the learner's notebook. lab: the new lab's stem.
    copy: where the notebook as it was is kept; None where nothing changed, or the notebook is new.
    changes: a line each. answers, own: how many answers and own cells it holds.
    """

    path: Path
    lab: str
    copy: Path | None
    changes: tuple[str, ...]
    answers: int
    own: int

    def to_json(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {
            "notebook": str(self.path),
            "lab": self.lab,
            "copy": self.copy and str(self.copy),
            "changes": list(self.changes),
            "answers": self.answers,
            "own_cells": self.own,
        }


def update(lab: Lab, mine: Path, *, write: bool = True, now: datetime | None = None) -> Updated:
    """Bring a lab into a learner's notebook.

    write: False only looks. now: the time in the copy's name, the present unless given.

    Raises:
        UsageError: the file isn't a notebook of this lab, or somebody wrote to it meanwhile.
        LabkitError: it can't be written (disk full, no permission). The notebook is whole, as it was.
    """
    path = Path(os.path.realpath(mine))
    if path == Path(os.path.realpath(lab.path)):
        raise UsageError(f"{mine} is the new lab itself: name the new lab first, then your notebook")
    read_notebook(path)  # it is a notebook, of a size to be read whole
    before = path.read_bytes()
    notebook = read_notebook(path)  # after `before`: a change in between is seen below
    try:
        merged = merge(lab, notebook)
    except UsageError as error:
        raise UsageError(f"{mine}: {error}") from None
    if merged.notebook == notebook:
        return Updated(mine, lab.stem, None, (), merged.answers, merged.own)
    content = dumps(merged.notebook).encode()
    changes = merged.changes or ("from now on the notebook notes which cells are the lab's",)
    place = _free(path, now or datetime.now())
    if write:
        try:
            place.parent.mkdir(exist_ok=True)
            _put(place, before, like=path)
            if path.read_bytes() != before:
                raise UsageError(f"{mine} was saved meanwhile: close it in JupyterLab, then run this again")
            _put(path, content, like=path)
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            raise LabkitError(f"{mine} can't be updated: {why}; it is as it was") from None
    return Updated(mine, lab.stem, place, changes, merged.answers, merged.own)


def add(lab: Lab, directory: Path) -> Updated:
    """Put a lab that the learner doesn't have into their directory."""
    path = directory / lab.path.name
    try:
        _put(path, lab.path.read_bytes(), like=lab.path)
    except OSError as error:
        raise LabkitError(f"{path} can't be written: {(error.strerror or str(error)).lower()}") from None
    return Updated(path, lab.stem, None, ("a new lab",), 0, 0)


def labs_in(bundle: Path) -> list[Lab]:
    """The labs of a bundle or of a directory of notebooks. UsageError where there are none."""
    for place in (bundle / "notebooks", bundle):
        if found := sorted(place.glob("[0-9][0-9]_*.ipynb")):
            return [load(path) for path in found]
    raise UsageError(f"{bundle} holds no labs: name a new lab, or the directory of a released bundle")


def lab_for(mine: Path, labs: Sequence[Lab]) -> Lab:
    """The lab that a notebook answers: of its name, else the one whose exercises it holds most of."""
    named = next((lab for lab in labs if lab.path.name == mine.name), None)
    if named is not None:
        return named
    held = {cell.exercise for cell in cells_of(read_notebook(mine), where=str(mine))}
    best = max(labs, key=lambda lab: len(held & {exercise.id for exercise in lab.exercises}))
    if not held & {exercise.id for exercise in best.exercises}:
        raise UsageError(f"{mine} holds no exercise of these labs: {', '.join(lab.stem for lab in labs)}")
    return best


def _free(path: Path, now: datetime) -> Path:
    """Where the notebook as it was goes: a name with the date and time that nothing has yet."""
    stem = f"{path.stem}.{now:%Y-%m-%d-%H%M%S}"
    tries = (f"{stem}{'' if number == 1 else f'-{number}'}.ipynb" for number in range(1, 10_000))
    return next(place for name in tries if not (place := path.parent / COPIES / name).exists())


def _put(path: Path, content: bytes, *, like: Path) -> None:
    """Write a file whole: beside it first, then renamed. It gets the owner and the mode of `like`."""
    state = like.stat()
    temporary = path.parent / f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}.tmp"
    try:
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            write_all(handle, content)
            if hasattr(os, "fchown") and os.geteuid() == 0:  # a hub's root must not take a learner's file over
                os.fchown(handle, state.st_uid, state.st_gid)
            os.chmod(temporary, state.st_mode & 0o777)
            os.fsync(handle)
        finally:
            os.close(handle)
        temporary.replace(path)
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
    sync_directory(path.parent)
