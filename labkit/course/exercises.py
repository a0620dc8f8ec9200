"""What the cells of a lab say: each cell's role, and the exercises they form.

A cell says its part in `metadata.labkit`: `{"role": "answer", "exercise": "pipeline.makespan"}`. The header cell of an
exercise carries the rest in its text: a `### ` heading, then the line
`` `pipeline.makespan` · predict · 2 points · 5 min ``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from labkit.errors import UsageError

KINDS = ("predict", "build", "diagnose", "experiment", "explain")
EXERCISE_ROLES = ("header", "hints", "given", "answer", "draw", "check")
ROLES = ("setup", *EXERCISE_ROLES)

_EXERCISE_ID = re.compile(r"[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*")
# The line that starts with an exercise id in backticks is a header line, or means to be one.
_HEADER_START = re.compile(r"^`[a-z0-9_]+\.[a-z0-9_]+`\s*·.*$", re.MULTILINE)
_HEADER_LINE = re.compile(
    r"`(?P<id>[a-z0-9_]+\.[a-z0-9_]+)`\s*·\s*(?P<kind>\w+)\s*·\s*(?P<points>\d+) points?\s*·\s*(?P<minutes>\d+) min"
)
_HEADING = re.compile(r"^### +(?P<title>\S.*?)\s*$", re.MULTILINE)
HEADER_FORM = "`topic.name` · predict · 2 points · 5 min"


@dataclass(frozen=True)
class Cell:
    """One cell of a notebook, as data.

    id: stable id, unique in the notebook; "" where the file has none (notebooks older than nbformat 4.5).
    type: "code", "markdown" or "raw".
    source: the text, lines ended by \\n.
    role: what `metadata.labkit.role` says, "" where it says nothing.
    exercise: the exercise that `metadata.labkit.exercise` names, "" where it names none.
    metadata: the cell's whole metadata, as read.
    """

    id: str
    type: str
    source: str
    role: str
    exercise: str
    metadata: dict[str, Any]


@dataclass(frozen=True)
class Header:
    """What an exercise's header cell says: id, title, kind, points (whole) and minutes (whole)."""

    exercise: str
    title: str
    kind: str
    points: int
    minutes: int


@dataclass(frozen=True)
class Exercise:
    """One exercise of a lab. The cells are named by their ids, in the order of the notebook.

    id: "pipeline.makespan".
    lab: number of the lab, "01"; "" where the file's name doesn't start with one.
    title: text of the heading.
    kind: one of KINDS.
    points: marks for a right answer.
    minutes: time a learner should need.
    header, hints, check: one cell each.
    given, answer, draw: code the answer may use; what the learner writes; the drawing of what it does.
    """

    id: str
    lab: str
    title: str
    kind: str
    points: int
    minutes: int
    header: str
    hints: str
    given: tuple[str, ...]
    answer: tuple[str, ...]
    draw: tuple[str, ...]
    check: str


def cell_id(exercise: str, role: str, number: int = 1) -> str:
    """The id that a cell of an exercise carries: `pipeline-makespan-answer`, a second one `pipeline-makespan-answer-2`.

    Every . and _ of the exercise's id becomes -.
    """
    stem = exercise.replace(".", "-").replace("_", "-")
    return f"{stem}-{role}" if number == 1 else f"{stem}-{role}-{number}"


def is_unanswered(source: str) -> bool:
    """Whether a code cell still waits for its answer: `name = ...`, a body of `...` or `raise NotImplementedError`."""
    try:
        tree = ast.parse(source)
    except SyntaxError:  # unfinished, or an IPython magic: go by the text
        return "NotImplementedError" in source or re.search(r"(^|[=(,\[\s])\.\.\.\s*($|[),\]#])", source) is not None
    return any(_waits(node) for node in ast.walk(tree))


def _waits(node: ast.AST) -> bool:
    match node:
        case ast.Raise(exc=ast.Name(id="NotImplementedError") | ast.Call(func=ast.Name(id="NotImplementedError"))):
            return True
        case ast.Assign(value=value) | ast.AnnAssign(value=ast.expr() as value) | ast.Expr(value=value):
            return _ellipsis(value)
    return False


def _ellipsis(value: ast.expr) -> bool:
    """`...`, or a tuple, list or dictionary with a `...` in it."""
    match value:
        case ast.Constant():
            return value.value is Ellipsis
        case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Dict(values=parts):
            return any(_ellipsis(part) for part in parts)
    return False


def has_header_line(source: str) -> bool:
    """Whether a markdown cell holds a line that means to be an exercise's header line."""
    return _HEADER_START.search(source) is not None


def parse_header(source: str) -> Header:
    """Read a header cell. UsageError (one line, without the place) where heading or header line can't be read."""
    heading = _HEADING.search(source)
    if heading is None:
        raise UsageError("no `### ` heading: an exercise's header starts with one")
    line = _HEADER_START.search(source)
    if line is None:
        raise UsageError(f"no header line below the heading: write one like {HEADER_FORM}")
    text = line.group().strip()
    match = _HEADER_LINE.fullmatch(text)
    if match is None:
        raise UsageError(f"header line {text!r} can't be read: write one like {HEADER_FORM}")
    if not _EXERCISE_ID.fullmatch(match["id"]):
        raise UsageError(f"exercise id {match['id']!r}: write topic.name in small letters, digits and _")
    if match["kind"] not in KINDS:
        raise UsageError(f"kind {match['kind']!r} of {match['id']}: choose one of {', '.join(KINDS)}")
    points, minutes = int(match["points"]), int(match["minutes"])
    if points < 1 or minutes < 1:
        raise UsageError(f"header line {text!r}: points and minutes must be at least 1")
    return Header(match["id"], heading["title"], match["kind"], points, minutes)


def parse_exercises(cells: Sequence[Cell], *, lab: str, where: str) -> tuple[Exercise, ...]:
    """The exercises of a lab, in the order of their headers.

    lab: number of the lab, "01". where: name of the notebook, for errors.
    Raises UsageError, one line naming the notebook and the exercise or cell, where they don't form whole exercises.
    """
    groups: dict[str, list[Cell]] = {}
    for cell in cells:
        if cell.role and cell.role not in ROLES:
            raise UsageError(f"{where}: cell {cell.id}: role {cell.role!r}: choose one of {', '.join(ROLES)}")
        if cell.role in EXERCISE_ROLES:
            if not cell.exercise:
                raise UsageError(f"{where}: cell {cell.id}: a cell with role {cell.role!r} must name its exercise")
            groups.setdefault(cell.exercise, []).append(cell)
    return tuple(_exercise(name, group, lab, where) for name, group in groups.items())


def _exercise(name: str, cells: list[Cell], lab: str, where: str) -> Exercise:
    one = {role: _only(name, role, cells, where) for role in ("header", "hints", "check")}
    header_cell = next(cell for cell in cells if cell.id == one["header"] and cell.role == "header")
    try:
        header = parse_header(header_cell.source)
    except UsageError as error:
        raise UsageError(f"{where}: cell {header_cell.id}: {error}") from None
    if header.exercise != name:
        raise UsageError(f"{where}: cell {header_cell.id}: its header line says {header.exercise}, its metadata {name}")
    answer = _ids("answer", cells)
    if not answer:
        raise UsageError(f"{where}: exercise {name} has no answer cell")
    return Exercise(
        id=name,
        lab=lab,
        title=header.title,
        kind=header.kind,
        points=header.points,
        minutes=header.minutes,
        header=one["header"],
        hints=one["hints"],
        given=_ids("given", cells),
        answer=answer,
        draw=_ids("draw", cells),
        check=one["check"],
    )


def _ids(role: str, cells: Iterable[Cell]) -> tuple[str, ...]:
    return tuple(cell.id for cell in cells if cell.role == role)


def _only(name: str, role: str, cells: list[Cell], where: str) -> str:
    found = _ids(role, cells)
    if len(found) != 1:
        count = f"{len(found)} {role} cells" if found else f"no {role} cell"
        raise UsageError(f"{where}: exercise {name} has {count}: it needs exactly one")
    return found[0]
