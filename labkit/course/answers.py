"""Answers: taken out of any notebook, laid into the pristine one, and the right and wrong ones beside the tests.

A submission is data. Only the source of its answer cells counts; its other cells, its tags and its outputs don't.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from labkit.course.exercises import Cell, cell_id
from labkit.course.notebook import Lab, cell_of, read_notebook
from labkit.errors import UsageError

Sources = Mapping[str, str]  # answer cell's id -> what the learner wrote there


@dataclass(frozen=True)
class Extraction:
    """What a notebook answers.

    name: the notebook's name.
    answers: exercise id -> answer cell's id -> source. An exercise with none of its answer cells left isn't in it.
    missing: ids of the answer cells that the notebook no longer has.
    notes: what was unusual, in plain words: copies, a cell turned to markdown, a cell that can't be read.
    """

    name: str
    answers: dict[str, dict[str, str]]
    missing: tuple[str, ...]
    notes: tuple[str, ...]
    _cells: dict[str, tuple[str, ...]]  # exercise id -> its answer cells in the pristine lab

    def require(self, exercise_id: str) -> dict[str, str]:
        """The sources that answer one exercise. UsageError where the lab lacks it, or an answer cell was deleted."""
        if exercise_id not in self._cells:
            raise UsageError(f"no exercise {exercise_id!r}: this lab has {', '.join(self._cells) or 'none'}")
        gone = [cell for cell in self._cells[exercise_id] if cell in self.missing]
        if gone:
            raise UsageError(
                f"{exercise_id}: its answer cell ({', '.join(gone)}) is not in {self.name} any more: "
                "copy that cell from a fresh copy of the lab, write your answer in it, and save"
            )
        return self.answers[exercise_id]


def extract(source: str | Path | Lab, pristine: Lab) -> Extraction:
    """Take the answers out of a notebook (a path, or a lab already loaded), by the cells of the pristine lab.

    An answer cell is known by `metadata.labkit` (role answer, and its exercise), else by nbgrader's grade_id, else by
    its id. Neighbouring cells of one answer, as a split cell leaves them, count together, in their order. Of several
    copies the one with the original cell id counts (the last such, should there be two); where that one is gone, the
    last copy. Only code cells count. UsageError where the file can't be read as a notebook.
    """
    name = source.path.name if isinstance(source, Lab) else Path(source).name
    notebook = source.notebook() if isinstance(source, Lab) else read_notebook(source)
    expected = {exercise.id: exercise.answer for exercise in pristine.exercises}
    found: dict[str, list[Cell]] = {}
    notes: list[str] = []
    before = None
    for index, raw in enumerate(notebook["cells"]):
        try:
            cell = cell_of(raw, index)
        except UsageError as error:
            notes.append(f"{error}; it is left out")
            continue
        target = answer_target(cell, expected)
        joins, before = target is not None and target == before, target
        if target is None:
            continue
        if cell.type != "code":
            notes.append(f"answer cell {target} is a {cell.type} cell here; only a code cell counts")
            continue
        copies = found.setdefault(target, [])
        if joins and copies:
            first = copies.pop()
            id = target if target in (first.id, cell.id) else cell.id
            cell = replace(cell, id=id, source=f"{first.source}\n{cell.source}")
            notes.append(f"answer cell {target} is in two cells, one after the other; they count together")
        copies.append(cell)
    chosen = {target: _choose(target, cells, notes) for target, cells in found.items()}
    answers = {
        exercise: {cell: chosen[cell] for cell in cells if cell in chosen}
        for exercise, cells in expected.items()
        if any(cell in chosen for cell in cells)
    }
    missing = tuple(cell for cells in expected.values() for cell in cells if cell not in chosen)
    return Extraction(name, answers, missing, tuple(notes), expected)


def answer_target(cell: Cell, expected: Mapping[str, tuple[str, ...]]) -> str | None:
    """The id of the pristine answer cell that this cell is, or None."""
    nbgrader = cell.metadata.get("nbgrader")
    grade_id = nbgrader.get("grade_id") if isinstance(nbgrader, dict) else None
    names = [name for name in (grade_id, cell.id) if isinstance(name, str)]
    if cell.role == "answer" and cell.exercise in expected:
        candidates = expected[cell.exercise]
        if len(candidates) == 1:
            return candidates[0]
        named = next((name for name in names if name in candidates), None)
        if named:
            return named
    every = {cell for cells in expected.values() for cell in cells}
    return next((name for name in names if name in every), None)


def _choose(target: str, cells: list[Cell], notes: list[str]) -> str:
    originals = [cell for cell in cells if cell.id == target]
    if len(cells) > 1:
        which = "the one with the original cell id" if len(originals) == 1 else "the last one"
        notes.append(f"answer cell {target} is there {len(cells)} times; {which} counts")
    return (originals or cells)[-1].source


def lay(pristine: Lab, answers: Mapping[str, Sources]) -> dict[str, Any]:
    """The pristine lab with answers in its answer cells, as a notebook dictionary; the lab itself stays as it is.

    answers: exercise id -> answer cell's id -> source; exercises that aren't named keep their stubs.
    UsageError for an exercise or an answer cell that the lab doesn't have.
    """
    sources: dict[str, str] = {}
    for exercise_id, cells in answers.items():
        exercise = pristine.exercise(exercise_id)
        for name, text in cells.items():
            if name not in exercise.answer:
                raise UsageError(f"{exercise_id} has no answer cell {name!r}: it has {', '.join(exercise.answer)}")
            sources[name] = text
    notebook = pristine.notebook()
    for cell in notebook["cells"]:
        if cell.get("id") in sources:
            cell["source"] = sources[cell["id"]].replace("\r\n", "\n")
    return notebook


@dataclass(frozen=True)
class Answer:
    """One answer from a file in tests/answers.

    exercise: its id. right: whether the check must pass it. name: what kind of answer it is, in a few words.
    card: for a wrong answer, text that the failing card must contain (compare without case); None for a right one.
    sources: answer cell's id -> code.
    """

    exercise: str
    right: bool
    name: str
    card: str | None
    sources: dict[str, str]


_BLOCK = re.compile(r"# %% (?P<verdict>right|wrong): (?P<name>\S.*?)(?: -> card: (?P<card>\S.*?))?\s*")
_CELL = re.compile(r"# %% cell: (?P<id>[A-Za-z0-9_-]+)\s*")


def read_answer_file(path: str | Path) -> list[Answer]:
    '''Read the right and wrong answers to one exercise: ordinary Python in percent format.

        """pipeline.makespan"""
        # %% right: reference
        serial, overlapped = 64, 46
        # %% wrong: adds the fill twice -> card: first wait
        serial, overlapped = 64, 52

    The docstring's first line is the exercise id. A block's code goes into the exercise's first answer cell; the line
    `# %% cell: <cell id>` sends what follows to another. Raises UsageError naming the file and the line.
    '''
    path = Path(path)
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} can't be read: {error}") from None
    starts = [number for number, line in enumerate(lines) if line.startswith("# %%")]
    exercise = _docstring_id(path, lines[: starts[0]] if starts else lines)
    if not starts:
        raise UsageError(f"{path}: no answers: start each with `# %% right: name` or `# %% wrong: name -> card: text`")
    answers: list[Answer] = []
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        code = "\n".join(lines[start + 1 : end]).strip("\n") + "\n"
        where = f"{path}:{start + 1}"
        if not code.strip():
            raise UsageError(f"{where}: no code below {lines[start]!r}")
        another = _CELL.fullmatch(lines[start])
        if another is None:
            answers.append(_block(where, lines[start], exercise, code))
        elif not answers:
            raise UsageError(f"{where}: `# %% cell:` belongs below a right or a wrong answer")
        elif another["id"] in answers[-1].sources:
            raise UsageError(f"{where}: cell {another['id']} is there twice in {answers[-1].name!r}")
        else:
            answers[-1].sources[another["id"]] = code
    names = [answer.name for answer in answers]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise UsageError(f"{path}: two answers are called {twice!r}: give each its own name")
    return answers


def _docstring_id(path: Path, head: list[str]) -> str:
    try:
        docstring = ast.get_docstring(ast.parse("\n".join(head)))
    except SyntaxError as error:
        raise UsageError(
            f"{path}:{error.lineno}: {error.msg}: only a docstring stands above the first answer"
        ) from None
    if not docstring:
        raise UsageError(f"{path}:1: no exercise id: start the file with a docstring that holds it")
    return docstring.splitlines()[0].strip()


def _block(where: str, line: str, exercise: str, code: str) -> Answer:
    match = _BLOCK.fullmatch(line)
    if match is None:
        raise UsageError(
            f"{where}: {line!r}: write `# %% right: name`, `# %% wrong: name -> card: text` or `# %% cell: id`"
        )
    right = match["verdict"] == "right"
    if right and match["card"]:
        raise UsageError(f"{where}: a right answer has no failing card: leave `-> card:` out")
    if not right and not match["card"]:
        raise UsageError(
            f"{where}: say what the failing card must contain: `# %% wrong: {match['name']} -> card: text`"
        )
    return Answer(exercise, right, match["name"], match["card"], {cell_id(exercise, "answer"): code})
