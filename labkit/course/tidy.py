"""After editing a lab in JupyterLab: outputs gone, ids and metadata written from what the cells say.

So an exercise is six ordinary cells: a heading with its header line, folded hints, code the answer may use, the stub, a
drawing, the check. `tidy` recognises each, and writes the rest.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labkit.course.exercises import Header, cell_id, has_header_line, is_unanswered, parse_header
from labkit.course.notebook import cells_of, dumps, read_notebook, write_notebook
from labkit.errors import UsageError

KERNELSPEC = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
RAISES = "raises-exception"  # JupyterLab's Run All goes on past a cell with this tag

_CHECK = re.compile(r"\bcheck\(\s*[\"']([\w.]+)[\"']")
_VARIANT = re.compile(r"\bvariant\(\s*[\"']([\w.]+)[\"']")
_IMPORT = re.compile(r"^(?:import|from)\s", re.MULTILINE)
_SLUG = re.compile(r"[a-z0-9]+(?:[-_][a-z0-9]+)*")
# the ids that nbformat (8 hex digits) and JupyterLab (a UUID) make up
_RANDOM = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{8}")
_EDITOR_KEYS = ("ExecuteTime", "collapsed", "execution", "scrolled", "trusted")


@dataclass(frozen=True)
class Part:
    """What a cell is: role and exercise ("" where none), points (of a check cell, else 0)."""

    role: str = ""
    exercise: str = ""
    points: int = 0


def tidy(path: str | Path) -> list[str]:
    """Tidy a lab's file in place; the changes made, a line each. Where it is tidy already, it stays untouched.

    Raises UsageError where the file isn't a notebook or a header line can't be read.
    """
    notebook = read_notebook(path)
    tidied, changes = tidy_notebook(notebook, where=Path(path).name)
    if Path(path).read_bytes() != dumps(tidied).encode():
        write_notebook(tidied, path)
        return changes or ["written in the standard form"]
    return []


def tidy_notebook(notebook: Mapping[str, Any], *, where: str) -> tuple[dict[str, Any], list[str]]:
    """A tidied copy of a notebook, and the changes made, a line each. where: its name, for errors."""
    parts = recognise(notebook, where=where)
    new = copy.deepcopy(dict(notebook))
    ids = _ids(new, parts)
    changes: list[str] = []
    for raw, part, name in zip(new["cells"], parts, ids, strict=True):
        before = copy.deepcopy(raw)
        raw["id"] = name
        _clear_outputs(raw)
        raw["metadata"] = _metadata(raw.get("metadata") or {}, part, name)
        changed = [key for key in raw if raw[key] != before.get(key)]
        if changed:
            was = f" (was {before['id']})" if "id" in changed and before.get("id") else ""
            changes.append(f"cell {name}{was}: {', '.join(changed)}")
    metadata = {"kernelspec": dict(KERNELSPEC), "language_info": {"name": "python"}}  # versions differ by machine
    if new.get("metadata") != metadata:
        new["metadata"] = metadata
        changes.append("notebook: metadata")
    if new.get("nbformat_minor") != 5:
        new["nbformat_minor"] = 5
        changes.append("notebook: nbformat 4.5")
    return new, changes


def recognise(notebook: Mapping[str, Any], *, where: str) -> list[Part]:
    """What each cell is, by its text and its place.

    A markdown cell with a header line opens an exercise; the cell that calls its check closes it. Between them: folded
    <details> are the hints, `variant("id")` is given code, a stub is the answer. Other code keeps the role it has in
    this exercise; without one it is given before the answer and drawing after it. The first code cell with an import
    before any exercise is the setup.
    """
    header: Header | None = None
    answered = False
    parts: list[Part] = []
    for cell in cells_of(notebook, where=where):
        role = ""
        if cell.type == "markdown" and has_header_line(cell.source):
            try:
                header = parse_header(cell.source)
            except UsageError as error:
                raise UsageError(f"{where}: cell {cell.id}: {error}") from None
            role, answered = "header", False
        elif header is None:
            opening = not any(part.role for part in parts)
            if cell.type == "code" and opening and _IMPORT.search(cell.source):
                role = "setup"
        elif cell.type == "markdown":
            role = "hints" if "<details" in cell.source else ""
        elif cell.type == "code":
            kept = cell.role if cell.exercise == header.exercise else ""
            role = _code_role(cell.source, header.exercise, kept, answered)
            answered = answered or role == "answer"
        exercise = header.exercise if header and role else ""
        parts.append(Part(role, exercise, header.points if header and role == "check" else 0))
        if role == "check":
            header = None
    return parts


def _code_role(source: str, exercise: str, kept: str, answered: bool) -> str:
    called = _CHECK.search(source)
    if called and called[1] == exercise:
        return "check"
    drawn = _VARIANT.search(source)
    if is_unanswered(source):
        return "answer"
    if drawn and drawn[1] == exercise and not answered:
        return "given"
    if kept in ("given", "answer", "draw"):
        return kept
    return "draw" if answered else "given"


def _ids(notebook: Mapping[str, Any], parts: list[Part]) -> list[str]:
    """An id for each cell: by exercise and role; for other cells the id they have, or one from their first words."""
    counts: dict[tuple[str, str], int] = {}
    names: list[str] = []
    for part in parts:
        name = part.role
        if part.exercise:
            key = (part.exercise, part.role)
            counts[key] = counts.get(key, 0) + 1
            name = cell_id(part.exercise, part.role, counts[key])
        names.append(name)
    taken = {name for name in names if name}
    for index, raw in enumerate(notebook["cells"]):
        if names[index]:
            continue
        name = str(raw.get("id", ""))
        if not _SLUG.fullmatch(name) or random_id(name) or name in taken:
            name = _free(_first_words(raw["source"]), taken)
        names[index] = name
        taken.add(name)
    return names


def _first_words(source: str) -> str:
    words = re.findall(r"[a-z0-9]+", re.sub(r"<[^>]*>", " ", source.lower()))
    return "-".join(words[:5])[:56] or "cell"


def _free(stem: str, taken: set[str]) -> str:
    if stem not in taken:
        return stem
    return next(name for number in range(2, 10_000) if (name := f"{stem}-{number}") not in taken)


def _clear_outputs(raw: dict[str, Any]) -> None:
    if raw["cell_type"] == "code":
        raw["outputs"] = []
        raw["execution_count"] = None
    else:
        raw.pop("outputs", None)
        raw.pop("execution_count", None)


def _metadata(old: Mapping[str, Any], part: Part, name: str) -> dict[str, Any]:
    new = {key: value for key, value in old.items() if key not in (*_EDITOR_KEYS, "labkit", "nbgrader")}
    tags = [tag for tag in new.pop("tags", []) if tag != RAISES or not part.exercise]
    if part.role == "check":
        tags.append(RAISES)
    if tags:
        new["tags"] = tags
    if part.role:
        new["labkit"] = {"role": part.role, **({"exercise": part.exercise} if part.exercise else {})}
    if part.role in ("answer", "check"):
        new["nbgrader"] = nbgrader_metadata(part.role, name, part.points)
    return new


def nbgrader_metadata(role: str, name: str, points: int) -> dict[str, Any]:
    """The metadata that nbgrader reads on an answer or a check cell; points: those of a check cell's exercise."""
    check = role == "check"
    metadata = {
        "schema_version": 3,
        "grade": check,
        "solution": not check,
        "locked": check,
        "task": False,
        "grade_id": name,
    }
    return {**metadata, "points": points} if check else metadata


def random_id(name: str) -> bool:
    """Whether an id is one that nbformat or JupyterLab made up."""
    return _RANDOM.fullmatch(name) is not None
