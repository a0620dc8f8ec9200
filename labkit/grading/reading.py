"""One file of a submission, read as data and cut down to what a mark may depend on.

A submission may hold anything. What comes out of here is a short list of cells, each with an id, a type, a source and
the two names that find an answer: nothing deep, nothing long, nothing that isn't text.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labkit.course.notebook import MAX_BYTES
from labkit.errors import UsageError

MAX_CELLS = 2_000
MAX_SOURCE = 200_000  # characters of one cell; an answer is a few hundred

_AGAIN = "save it again from JupyterLab and hand it in anew"


@dataclass(frozen=True)
class Reading:
    """The cells of a notebook, cut down, as a notebook of nbformat 4.

    notes: what was unusual about the file. sha256: of its bytes, hexadecimal.
    """

    notebook: dict[str, Any]
    notes: tuple[str, ...]
    sha256: str = ""


def read(path: Path) -> Reading:
    """Read a submitted notebook. It is never followed as a link, and never run or rendered.

    Raises UsageError, one line without the path, where nothing of it can be used: a link, a directory or a device, a
    file that can't be opened, is over 20 MB, isn't JSON, is nested too deep, or has no list of cells.
    """
    return parse(_bytes(path))


def _bytes(path: Path) -> bytes:
    try:
        # Without O_NONBLOCK a pipe named like a notebook would be waited for; with O_NOFOLLOW a link is an error.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        with open(handle, "rb") as file:
            found = os.fstat(handle)
            if stat.S_ISDIR(found.st_mode):
                raise UsageError("it is a directory, not a notebook")
            if not stat.S_ISREG(found.st_mode):
                raise UsageError("it is not an ordinary file")
            raw = b"" if found.st_size > MAX_BYTES else file.read(MAX_BYTES + 1)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EMLINK):
            raise UsageError("it is a link; a submission is a file of its own") from None
        if error.errno == errno.EISDIR:
            raise UsageError("it is a directory, not a notebook") from None
        raise UsageError(f"it can't be read: {(error.strerror or str(error)).lower()}") from None
    if found.st_size > MAX_BYTES or len(raw) > MAX_BYTES:
        size = f"it is over {MAX_BYTES // 1_000_000} MB"
        raise UsageError(f"{size}: clear its outputs (Edit > Clear Outputs of All Cells) and hand it in anew")
    return raw


def parse(raw: bytes) -> Reading:
    """The same for the bytes of a file."""
    notes: list[str] = []
    if not raw.strip():
        raise UsageError(f"it is empty: {_AGAIN}")
    try:
        notebook = json.loads(_text(raw, notes))
    except (RecursionError, MemoryError):
        raise UsageError(f"it is nested too deep for a notebook: {_AGAIN}") from None
    except json.JSONDecodeError as error:
        raise UsageError(f"it is not JSON (line {error.lineno}: {error.msg}), so not a notebook: {_AGAIN}") from None
    except ValueError as error:  # an integer with thousands of digits
        raise UsageError(f"it can't be read as JSON ({error}): {_AGAIN}") from None
    if not isinstance(notebook, dict):
        raise UsageError(f"it is JSON but not a notebook: {_AGAIN}")
    if notebook.get("nbformat") != 4:
        notes.append(f"its nbformat is {_shown(notebook.get('nbformat'))}, not 4: read as far as it goes")
    cells = [_cut(cell) for cell in _cells(notebook)[:MAX_CELLS]]
    if len(_cells(notebook)) > MAX_CELLS:
        notes.append(f"only its first {MAX_CELLS:,} cells were read, of {len(_cells(notebook)):,}")
    cut = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    return Reading(cut, tuple(notes), hashlib.sha256(raw).hexdigest())


def _text(raw: bytes, notes: list[str]) -> str:
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        notes.append("it is UTF-16; notebooks are UTF-8")
        return raw.decode("utf-16", "replace")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        notes.append(f"it is not UTF-8 (byte {error.start}): what can't be read became \N{REPLACEMENT CHARACTER}")
        return raw.decode("utf-8-sig", "replace")


def _cells(notebook: Mapping[str, Any]) -> list[Any]:
    """The cells; those of nbformat 3 stand in worksheets."""
    cells = notebook.get("cells")
    if isinstance(cells, list):
        return cells
    sheets = notebook.get("worksheets")
    if not isinstance(sheets, list):
        raise UsageError(f"it has no list of cells, so it is not a notebook: {_AGAIN}")
    listed = [sheet["cells"] for sheet in sheets if isinstance(sheet, dict) and isinstance(sheet.get("cells"), list)]
    return [cell for cells in listed for cell in cells]


def _cut(cell: Any) -> dict[str, Any]:
    """A cell with only what finds an answer, and the answer. One that can't be used has None for its source."""
    if not isinstance(cell, dict):
        return {"cell_type": "", "source": None}
    mine, theirs = (_part(cell.get("metadata"), name) for name in ("labkit", "nbgrader"))
    metadata: dict[str, Any] = {}
    if mine:
        metadata["labkit"] = {"role": _name(mine.get("role")), "exercise": _name(mine.get("exercise"))}
    if theirs:
        metadata["nbgrader"] = {"grade_id": _name(theirs.get("grade_id"))}
    source = cell.get("source", cell.get("input"))  # nbformat 3 calls a code cell's source its input
    lines: list[Any] = source if isinstance(source, list) else [source]
    fits = all(isinstance(line, str) for line in lines) and sum(map(len, lines)) <= MAX_SOURCE
    return {
        "cell_type": _name(cell.get("cell_type")),
        "id": _name(cell.get("id")),
        "metadata": metadata,
        "source": "".join(lines) if fits else None,
    }


def _part(metadata: Any, name: str) -> dict[str, Any]:
    part = metadata.get(name) if isinstance(metadata, dict) else None
    return part if isinstance(part, dict) else {}


def _name(value: Any) -> str:
    return value if isinstance(value, str) and len(value) <= 200 else ""


def _shown(value: Any) -> str:
    """A value that should have been a small number."""
    return repr(value)[:20] if isinstance(value, int | float | str | None) else type(value).__name__
