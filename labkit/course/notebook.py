"""A notebook file as data: read with limits, written the same way every time.

Nothing here runs or renders a notebook. A file from a learner may hold anything, so reading checks it before use and
says in one line what is wrong with it.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from labkit.course.exercises import Cell, Exercise, parse_exercises
from labkit.errors import UsageError

MAX_BYTES = 20_000_000  # a lab is under 100 kB; one full of pictures a few MB

_NUMBER = re.compile(r"(\d\d)_")
_TITLE = re.compile(r"^# +(\S.*?)\s*$", re.MULTILINE)


@dataclass(frozen=True)
class Lab:
    """One lab: the pristine notebook and the exercises in it.

    path: the file it was read from. stem: its name without .ipynb.
    number: "01", from the file's name; "" where that doesn't start with two digits and a _.
    title: text of the first `# ` heading, "" where there is none.
    cells, exercises: in the order of the notebook.
    """

    path: Path
    stem: str
    number: str
    title: str
    cells: tuple[Cell, ...]
    exercises: tuple[Exercise, ...]
    _notebook: dict[str, Any] = field(repr=False, compare=False)

    def notebook(self) -> dict[str, Any]:
        """The whole notebook as a fresh dictionary, every source one string; changing it never changes the lab."""
        return copy.deepcopy(self._notebook)

    def cell(self, cell_id: str) -> Cell:
        """The cell with this id; UsageError where there is none."""
        for cell in self.cells:
            if cell.id == cell_id:
                return cell
        raise UsageError(f"{self.path.name} has no cell {cell_id!r}")

    def exercise(self, exercise_id: str) -> Exercise:
        """The exercise with this id; UsageError, naming those there are, where there is none."""
        for exercise in self.exercises:
            if exercise.id == exercise_id:
                return exercise
        known = ", ".join(exercise.id for exercise in self.exercises) or "none"
        raise UsageError(f"{self.path.name} has no exercise {exercise_id!r}: it has {known}")

    def role(self, role: str) -> tuple[Cell, ...]:
        """Every cell of the lab with this role, for instance "setup"."""
        return tuple(cell for cell in self.cells if cell.role == role)


def load(path: str | Path) -> Lab:
    """Read a lab. UsageError, one line naming the file, where it isn't a notebook or its exercises aren't whole."""
    path = Path(path)
    notebook = read_notebook(path)
    cells = cells_of(notebook, where=path.name)
    number = _NUMBER.match(path.name)
    lab = number[1] if number else ""
    titles = (_TITLE.search(cell.source) for cell in cells if cell.type == "markdown")
    title = next((match[1] for match in titles if match), "")
    exercises = parse_exercises(cells, lab=lab, where=path.name)
    return Lab(path, path.stem, lab, title, cells, exercises, notebook)


def read_notebook(path: str | Path) -> dict[str, Any]:
    """Read an .ipynb file as a dictionary of nbformat 4, each cell's source joined to one string with \\n line ends.

    Checked: a regular file, at most MAX_BYTES, UTF-8, JSON, nested within Python's limit, nbformat 4, a list of cells.
    The cells themselves are checked by `cells_of`. Raises UsageError, one line naming the file and what is wrong.
    """
    path = Path(path)
    name = str(path)
    try:
        if path.is_dir():
            raise UsageError(f"{name} is a directory: name an .ipynb file in it")
        if not path.exists():
            raise UsageError(f"{name} does not exist: check the path")
        if not path.is_file():  # a pipe or a device could deliver bytes for ever
            raise UsageError(f"{name} is not an ordinary file: name an .ipynb file")
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{name} can't be read: {error.strerror or error}") from None
    if len(raw) > MAX_BYTES:
        size = f"over {MAX_BYTES // 1_000_000} MB"
        raise UsageError(f"{name} is {size}: clear its outputs (Edit > Clear Outputs of All Cells) and save it again")
    return _parse(raw, name)


def _parse(raw: bytes, name: str) -> dict[str, Any]:
    again = "save it again from JupyterLab"
    try:
        notebook = json.loads(raw.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise UsageError(f"{name} is not UTF-8 (byte {error.start}): {again}") from None
    except RecursionError:
        raise UsageError(f"{name} is nested too deep for a notebook: {again}") from None
    except json.JSONDecodeError as error:
        raise UsageError(f"{name} is not JSON (line {error.lineno}: {error.msg}), so not a notebook: {again}") from None
    except ValueError as error:  # an integer with thousands of digits
        raise UsageError(f"{name} can't be read as JSON ({error}): {again}") from None
    if not isinstance(notebook, dict) or "nbformat" not in notebook:
        raise UsageError(f"{name} is JSON but not a notebook (no nbformat): {again}")
    version = notebook["nbformat"]
    if type(version) is not int or version != 4:
        age = "older" if type(version) is int and version < 4 else "other"
        raise UsageError(f"{name} has nbformat {version!r}, {age} than 4: open it in JupyterLab and save it again")
    if not isinstance(notebook.get("cells"), list):
        raise UsageError(f"{name} is not a notebook (it has no list of cells): {again}")
    for cell in notebook["cells"]:
        if isinstance(cell, dict) and _is_source(cell.get("source")):
            cell["source"] = _joined(cell["source"])
    return notebook


def _is_source(source: object) -> bool:
    return isinstance(source, str) or (isinstance(source, list) and all(isinstance(line, str) for line in source))


def _joined(source: str | list[str]) -> str:
    text = source if isinstance(source, str) else "".join(source)
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    # JSON may hold half of a surrogate pair, which no file can; it becomes "?"
    return text.encode("utf-8", "replace").decode("utf-8")


def cell_of(raw: object, index: int) -> Cell:
    """One raw cell, checked. UsageError (without the file's name) where it isn't a cell; index: its place, from 0."""
    place = f"cell {index + 1}"
    if not isinstance(raw, dict):
        raise UsageError(f"{place} is not a cell but {type(raw).__name__}")
    if not isinstance(raw.get("cell_type"), str) or not _is_source(raw.get("source")):
        raise UsageError(f"{place} is not a cell: it needs a cell_type and a source of text")
    metadata = raw.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    mine = metadata.get("labkit")
    mine = mine if isinstance(mine, dict) else {}
    return Cell(
        id=_text(raw.get("id")),
        type=raw["cell_type"],
        source=_joined(raw["source"]),
        role=_text(mine.get("role")),
        exercise=_text(mine.get("exercise")),
        metadata=metadata,
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def cells_of(notebook: Mapping[str, Any], *, where: str) -> tuple[Cell, ...]:
    """The cells of a notebook read by `read_notebook`. UsageError names the notebook and a malformed cell's place."""
    try:
        return tuple(cell_of(raw, index) for index, raw in enumerate(notebook["cells"]))
    except UsageError as error:
        raise UsageError(f"{where}: {error}") from None


def dumps(notebook: Mapping[str, Any]) -> str:
    """A notebook's text as nbformat writes it: indent 1, sorted keys, sources as lists of lines, newline at the end."""
    cells = [{**cell, "source": cell["source"].splitlines(True)} for cell in notebook["cells"]]
    text = json.dumps({**notebook, "cells": cells}, ensure_ascii=False, indent=1, sort_keys=True)
    return text + "\n"


def write_notebook(notebook: Mapping[str, Any], path: str | Path) -> None:
    """Write a notebook read by `read_notebook`; the same notebook always gives the same bytes."""
    Path(path).write_text(dumps(notebook), encoding="utf-8", newline="\n")
