"""Where the labs are."""

from __future__ import annotations

import os
from pathlib import Path

import labkit
from labkit.errors import UsageError

FIRST = "00_start_here.ipynb"
INSTALLED = Path(labkit.__file__).parent / "notebooks"
"""The labs inside an installed wheel."""


def course_dir() -> Path:
    """The directory of the labs.

    LABKIT_NOTEBOOKS; else notebooks/ in the working directory or one above it; else the repository beside an editable
    install; else the copy inside the installed package.

    Raises:
        UsageError: LABKIT_NOTEBOOKS names no directory with labs, or there are none anywhere.
    """
    if named := os.environ.get("LABKIT_NOTEBOOKS"):
        if not holds_labs(Path(named)):
            raise UsageError(f"LABKIT_NOTEBOOKS is {named!r}: no labs are there (files such as {FIRST})")
        return Path(named).resolve()
    here = Path.cwd()
    beside = Path(labkit.__file__).parent.parent / "notebooks"
    for place in (*(above / "notebooks" for above in (here, *here.parents)), beside, INSTALLED):
        if holds_labs(place):
            return place
    raise UsageError("no labs found: go to the labkit checkout, or set LABKIT_NOTEBOOKS to the directory of the labs")


def holds_labs(place: Path) -> bool:
    """Whether labs of this course are there: 00_start_here.ipynb with labkit's metadata, or another such notebook."""
    try:
        return any('"labkit"' in one.read_text("utf-8", "replace") for one in sorted(place.glob("[0-9][0-9]_*.ipynb")))
    except OSError:
        return False
