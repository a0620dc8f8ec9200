"""Which cell of a learner's notebook is which cell of a lab, when ids, metadata and order may all have suffered.

JupyterLab gives a pasted cell a new id and keeps its metadata; other editors rewrite every id, or drop metadata. So a
cell is known, in this order, by its metadata, its id, its text, and an answer by the names that it defines.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from labkit.course.answers import answer_target
from labkit.course.exercises import Cell
from labkit.course.leaks import squeezed
from labkit.course.notebook import Lab
from labkit.course.tidy import random_id

_READABLE = re.compile(r"[a-z0-9]+(?:[-_][a-z0-9]+)*")  # as labs name their cells

Edition = Mapping[str, str]  # cell id -> digest of its source, of every cell that a lab gave out


def edition_of(lab: Lab) -> dict[str, str]:
    """What a lab gives out, to be kept in the notebook: later it tells the lab's cells from the learner's."""
    return {cell.id: digest(cell.source) for cell in lab.cells}


def edition_in(notebook: Mapping[str, Any]) -> Edition:
    """The edition that a learner's notebook says it came from; {} where it says nothing (older bundles)."""
    metadata = notebook.get("metadata")
    mine = metadata.get("labkit") if isinstance(metadata, dict) else None
    cells = mine.get("cells") if isinstance(mine, dict) else None
    if not isinstance(cells, dict):
        return {}
    return {key: value for key, value in cells.items() if isinstance(value, str)}


def digest(source: str) -> str:
    """Short digest of a cell's text."""
    return hashlib.sha256(source.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Matched:
    """What each cell of the learner's notebook is.

    targets: for each cell, in order, the id of the lab's cell that it is or copies; None where it is none of them.
    """

    targets: tuple[str | None, ...]

    def of(self, target: str) -> list[int]:
        """The places of the cells that are this one, or copies of it."""
        return [place for place, found in enumerate(self.targets) if found == target]


def match(lab: Lab, cells: Sequence[Cell]) -> Matched:
    """Find each cell of a learner's notebook in the lab."""
    expected = {exercise.id: exercise.answer for exercise in lab.exercises}
    answers = [cell.id for cell in lab.cells if any(cell.id in ids for ids in expected.values())]
    others = {cell.id: cell for cell in lab.cells if cell.id not in answers}
    targets = [_answer(cell, expected) or _by_id(cell, others) for cell in cells]
    for find in (_by_part, _by_text):
        for place, cell in enumerate(cells):
            if targets[place] is None:
                targets[place] = find(cell, others, targets)
    for target in answers:
        found = None if target in targets else _by_names(cells, targets, names(lab.cell(target).source))
        if found is not None:
            targets[found] = target
    return Matched(tuple(targets))


def _answer(cell: Cell, expected: Mapping[str, tuple[str, ...]]) -> str | None:
    """The answer cell that this is. Its metadata goes before its id, which an editor may have copied."""
    if cell.role and (cell.role != "answer" or cell.exercise not in expected):
        return None
    return answer_target(cell, expected)


def _by_id(cell: Cell, others: Mapping[str, Cell]) -> str | None:
    named = others.get(cell.id)
    if named is None or (cell.role and (cell.role, cell.exercise) != (named.role, named.exercise)):
        return None
    return named.id


def _by_part(cell: Cell, others: Mapping[str, Cell], targets: Sequence[str | None]) -> str | None:
    """The cell with this part in the lab: of several one with the same text, else one not found so far, else any."""
    if not cell.role or cell.role == "answer":
        return None
    places = [one for one in others.values() if (one.role, one.exercise) == (cell.role, cell.exercise)]
    places.sort(key=lambda one: (squeezed(one.source) != squeezed(cell.source), one.id in targets))
    return places[0].id if places else None


def _by_text(cell: Cell, others: Mapping[str, Cell], targets: Sequence[str | None]) -> str | None:
    """A cell of the lab with the same text that wasn't found so far."""
    text = squeezed(cell.source)
    if cell.role or not text:
        return None
    free = (one.id for one in others.values() if one.type == cell.type and squeezed(one.source) == text)
    return next((one for one in free if one not in targets), None)


def _by_names(cells: Sequence[Cell], targets: Sequence[str | None], wanted: set[str]) -> int | None:
    """The last cell without a role that defines all these names."""
    found = None
    for place, cell in enumerate(cells):
        if targets[place] is None and cell.type == "code" and not cell.role and wanted and wanted <= names(cell.source):
            found = place
    return found


def names(source: str) -> set[str]:
    """Names that the code binds at its top level; none where it isn't Python."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    found: set[str] = set()
    for node in tree.body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                found.add(node.name)
            case ast.Assign(targets=targets):
                found |= {one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)}
            case ast.AnnAssign(target=ast.Name(id=name)):
                found.add(name)
    return found


def is_stub(source: str) -> bool:
    """Whether an answer cell holds nothing but placeholders: nobody has begun."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return all(_placeholder(node) for node in tree.body)


def _placeholder(node: ast.stmt) -> bool:
    match node:
        case ast.Pass():
            return True
        case ast.Expr(value=ast.Constant(value=value)):
            return value is Ellipsis
        case ast.FunctionDef(body=body) | ast.AsyncFunctionDef(body=body) | ast.ClassDef(body=body):
            return all(_placeholder(one) for one in (body[1:] if ast.get_docstring(node) is not None else body))
        case ast.Raise(exc=ast.Name(id="NotImplementedError") | ast.Call(func=ast.Name(id="NotImplementedError"))):
            return True
        case ast.Assign(value=value) | ast.AnnAssign(value=ast.expr() as value):
            return _open(value)
    return False


def _open(value: ast.expr) -> bool:
    """`...`, or a tuple, list or dictionary of nothing else: one part filled in is begun."""
    match value:
        case ast.Constant():
            return value.value is Ellipsis
        case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Dict(values=parts):
            return bool(parts) and all(_open(part) for part in parts)
    return False


def is_learners(cell: Cell, edition: Edition) -> bool:
    """Whether a cell that the lab no longer has is one the learner added.

    edition: what the learner's lab gave out. Where that isn't known ({}), a cell goes by its id, which every editor
    makes up for new cells; code that isn't marked as the lab's is the learner's whatever its id.
    """
    if edition:
        return cell.id not in edition
    return not _READABLE.fullmatch(cell.id) or random_id(cell.id) or (cell.type == "code" and not cell.role)
