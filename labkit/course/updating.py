"""A newer lab brought into a half-answered notebook: the lab's cells from the lab, the answers from the learner.

The rules, in the order in which they apply:

- Every cell of the new lab is in the result, in the lab's order, with the lab's ids and metadata: deleted cells come
  back, copies go.
- An answer cell holds what the learner wrote there. Of several copies the one counts that the grader would take, unless
  it is still blank and another isn't. An untouched stub is replaced by the new lab's.
- Cells that the learner added stay as they are, behind the cell that they followed.
- What the learner wrote elsewhere (a second answer, a changed cell of the lab, the answer to an exercise that is gone)
  stays readable, as text below.
- Outputs stay where neither the setup nor any cell of the same exercise has changed; the learner's own cells keep
  theirs.
"""

from __future__ import annotations

import copy
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from labkit.course.exercises import Cell, is_unanswered
from labkit.course.leaks import squeezed
from labkit.course.notebook import Lab, cell_of
from labkit.course.updating_match import Matched, digest, edition_in, edition_of, is_learners, is_stub, match, names
from labkit.errors import UsageError


@dataclass(frozen=True)
class Merged:
    """A notebook brought up to date.

    notebook: the result. changes: what was done, a line each; none where nothing was.
    answers: how many answers were carried over. own: how many cells of the learner's own.
    """

    notebook: dict[str, Any]
    changes: tuple[str, ...]
    answers: int
    own: int


@dataclass
class _Work:
    """A merge under way. after: cells that follow a cell of the lab (None: the top of the notebook)."""

    lab: Lab
    raw: list[dict[str, Any]]
    cells: list[Cell]
    matched: Matched
    edition: Mapping[str, str]
    taken: set[str]
    changes: list[str] = field(default_factory=list)
    after: dict[str | None, list[dict[str, Any]]] = field(default_factory=dict)
    own: int = 0

    def add(self, anchor: str | None, cell: dict[str, Any]) -> None:
        """Put a cell behind `anchor`, under an id that nothing else has."""
        name = cell.get("id")
        if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name) or name in self.taken:
            text = f"{cell['source']}{len(self.taken)}"
            made = (hashlib.sha256(f"{text}{n}".encode()).hexdigest()[:8] for n in range(10_000))
            name = next(one for one in made if one not in self.taken)
        self.taken.add(name)
        self.after.setdefault(anchor, []).append({**cell, "id": name})


def merge(lab: Lab, notebook: Mapping[str, Any]) -> Merged:
    """Bring `lab` into a learner's notebook, as `read_notebook` gives it. Neither is changed.

    Raises:
        UsageError: the lab isn't blank, or the notebook holds none of its exercises.
    """
    _blank(lab)
    raw, cells, changes = _read(notebook)
    matched = match(lab, cells)
    parts = {cell.id: cell for cell in lab.cells if cell.exercise}
    if not any(target in parts for target in matched.targets):
        raise UsageError(f"no exercise of {lab.path.name} is in it: is this another lab?")
    work = _Work(lab, raw, cells, matched, edition_in(notebook), {cell.id for cell in lab.cells}, changes)
    answers, used = _answers(work)
    mains = {cell.id: _main(work, cell) for cell in lab.cells if cell.id not in answers}
    _leftovers(work, mains, used)
    built = lab.notebook()
    fresh: dict[str, bool] = {}
    for cell in built["cells"]:
        source = answers.get(cell["id"])
        if source is not None:
            cell["source"] = source
        place = used[cell["id"]][0] if len(used.get(cell["id"], ())) == 1 else mains.get(cell["id"])
        fresh[cell["id"]] = place is not None and cells[place].source == cell["source"]
        _say(work, cell, place, is_answer=cell["id"] in answers)
    _outputs(work, built["cells"], mains | {key: one[0] if one else None for key, one in used.items()}, fresh)
    placed = [*work.after.get(None, ())]
    for cell in built["cells"]:
        placed += [cell, *work.after.get(cell["id"], ())]
    metadata = {**built.get("metadata", {}), **_dictionary(notebook.get("metadata"))}
    metadata["labkit"] = {**_dictionary(metadata.get("labkit")), "cells": edition_of(lab)}
    minor = notebook.get("nbformat_minor")
    built |= {"cells": placed, "metadata": metadata}
    built["nbformat_minor"] = max(5, minor) if type(minor) is int and minor < 100 else 5
    kept = sum(source is not None and not is_stub(source) for source in answers.values())
    return Merged(built, tuple(work.changes), kept, work.own)


def _dictionary(value: object) -> dict[str, Any]:
    return dict(value) if isinstance(value, dict) else {}


def _blank(lab: Lab) -> None:
    for exercise in lab.exercises:
        for cell in exercise.answer:
            if not is_unanswered(lab.cell(cell).source):
                raise UsageError(f"{lab.path} is answered ({exercise.id}): name the new lab first, then your notebook")


def _read(notebook: Mapping[str, Any]) -> tuple[list[dict[str, Any]], list[Cell], list[str]]:
    """The cells that can be read, raw and as data, and a line for each that can't."""
    raw, cells, changes = [], [], []
    for index, one in enumerate(notebook["cells"]):
        try:
            cells.append(cell_of(one, index))
        except UsageError as error:
            changes.append(f"{error}: left out")
            continue
        raw.append({**copy.deepcopy(one), "source": cells[-1].source})
    return raw, cells, changes


def _answers(work: _Work) -> tuple[dict[str, str | None], dict[str, list[int]]]:
    """For each answer cell of the lab the learner's source (None: the new stub) and the places that it came from."""
    sources: dict[str, str | None] = {}
    used: dict[str, list[int]] = {}
    for exercise in work.lab.exercises:
        for target in exercise.answer:
            runs = _runs(work, target)
            code = [run for run in runs if work.cells[run[0]].type == "code"]
            as_text = [run for run in runs if run not in code and _code_as_text(work, target, run)]
            begun = [run for run in code if not _untouched(work, target, run)]
            begun = begun or [run for run in as_text if not _untouched(work, target, run)]
            code = code or as_text
            originals = [run for run in code if any(work.cells[place].id == target for place in run)]
            chosen = (originals or code)[-1:]
            if chosen and begun and chosen[0] not in begun:
                chosen = begun[-1:]
                work.changes.append(f"answer {target}: was blank, a copy of it wasn't: the copy is the answer now")
            if len(runs) > 1:
                work.changes.append(f"answer {target}: was there {len(runs)} times, is there once")
            text = "\n".join(work.cells[place].source for place in chosen[0]) if chosen else None
            blank = text is None or chosen[0] not in begun
            sources[target], used[target] = (None if blank else text), (chosen[0] if chosen else [])
            if any(work.cells[place].type != "code" for place in used[target]):
                work.changes.append(f"answer {target}: was text, is code again")
            if len(used[target]) > 1:
                work.changes.append(f"answer {target}: was in {len(used[target])} cells, is in one")
            for run in runs:
                if run not in chosen or blank:
                    _keep_answer(work, target, exercise.check, run, sources[target])
    return sources, used


def _runs(work: _Work, target: str) -> list[list[int]]:
    """The places of an answer cell; neighbours, as a split cell leaves them, together."""
    runs: list[list[int]] = []
    for place in work.matched.of(target):
        code = work.cells[place].type == "code"
        if code and runs and runs[-1][-1] == place - 1 and work.cells[place - 1].type == "code":
            runs[-1].append(place)
        else:
            runs.append([place])
    return runs


def _code_as_text(work: _Work, target: str, run: list[int]) -> bool:
    """An answer in a cell that was turned to text by mistake (the key M in JupyterLab)."""
    return bool(names(work.cells[run[0]].source) & names(work.lab.cell(target).source))


def _untouched(work: _Work, target: str, run: list[int]) -> bool:
    """Whether nobody has written an answer there."""
    text = "\n".join(work.cells[place].source for place in run)
    given = squeezed(text) == squeezed(work.lab.cell(target).source)
    return given or work.edition.get(target) == digest(text) or is_stub(text)


def _keep_answer(work: _Work, target: str, anchor: str, run: list[int], chosen: str | None) -> None:
    """Keep what stands in an answer cell that isn't the answer, where it says anything of its own."""
    text = "\n".join(work.cells[place].source for place in run)
    said = work.lab.cell(target).source if chosen is None else chosen
    if squeezed(text) == squeezed(said) or work.edition.get(target) == digest(text):
        return
    if is_stub(text) and not _comments(text) - _comments(said):
        return
    if work.cells[run[0]].type == "code":
        _box(work, anchor, text, "This stood in another copy of the answer cell; only the one above counts.")
    else:
        work.add(anchor, _own(work.raw[run[0]]))


def _comments(source: str) -> set[str]:
    return {line.strip() for line in source.splitlines() if line.strip().startswith("#")}


def _main(work: _Work, cell: Cell) -> int | None:
    """The place of a cell of the lab that isn't an answer: of copies the one with its id, else the first."""
    places = work.matched.of(cell.id)
    return next((place for place in places if work.cells[place].id == cell.id), places[0] if places else None)


def _leftovers(work: _Work, mains: Mapping[str, int | None], used: Mapping[str, Sequence[int]]) -> None:
    """Everything in the learner's notebook that isn't a cell of the new lab goes where it stood, or goes."""
    anchor: str | None = None
    joined = {place for places in used.values() for place in places}
    for place, cell in enumerate(work.cells):
        target = work.matched.targets[place]
        if place in joined or (target is not None and mains.get(target) == place):
            anchor = target
            _edited(work, place, target or "")
        elif target in used:
            continue  # a copy of an answer: dealt with
        elif target is not None:
            _copy(work, place, anchor, target, mains)
        elif cell.role == "answer":
            said = not is_stub(cell.source) or _comments(cell.source)
            if said and work.edition.get(cell.id) != digest(cell.source):
                _box(work, anchor, cell.source, f"Your earlier answer to `{cell.exercise}`:")
                work.changes.append(f"{cell.exercise}: no longer in the lab; your answer stays as text")
        elif is_learners(cell, work.edition):
            work.add(anchor, _own(work.raw[place]))
            work.own += 1
        elif work.edition.get(cell.id, digest(cell.source)) != digest(cell.source):
            _kept_text(work, place, anchor)
        else:
            work.changes.append(f"cell {cell.id}: no longer in the lab")


def _edited(work: _Work, place: int, target: str) -> None:
    """A cell of the lab that the learner has changed: their text stays below the lab's."""
    cell, new = work.cells[place], work.lab.cell(target)
    known = work.edition.get(target)
    if new.role == "answer" or known is None or cell.id != target:
        return
    if digest(cell.source) != known and squeezed(cell.source) != squeezed(new.source):
        _kept_text(work, place, target)


def _kept_text(work: _Work, place: int, anchor: str | None) -> None:
    cell = work.cells[place]
    work.changes.append(f"cell {cell.id}: is the lab's again; what you had changed stays below it")
    if cell.type == "code":
        _box(work, anchor, cell.source, "You had changed a cell of the lab here:")
    else:
        work.add(anchor, {**_own(work.raw[place]), "id": ""})


def _copy(work: _Work, place: int, anchor: str | None, target: str, mains: Mapping[str, int | None]) -> None:
    """A second copy of a cell of the lab goes; where the learner has changed it, it is a cell of their own."""
    main = mains[target]
    known = {squeezed(work.lab.cell(target).source)}
    if main is not None:
        known.add(squeezed(work.cells[main].source))
    cell = work.cells[place]
    if squeezed(cell.source) in known or work.edition.get(target) == digest(cell.source):
        work.changes.append(f"cell {target}: a copy of it is gone")
    else:
        work.add(anchor, _own(work.raw[place]))
        work.own += 1


def _own(raw: Mapping[str, Any]) -> dict[str, Any]:
    """A cell of the learner's own: without what marks it as a part of the lab."""
    metadata = {
        key: value for key, value in _dictionary(raw.get("metadata")).items() if key not in ("labkit", "nbgrader")
    }
    for key in ("editable", "deletable"):
        metadata.pop(key, None)
    own = {**raw, "metadata": metadata}
    if raw["cell_type"] == "code":
        own["outputs"] = raw["outputs"] if isinstance(raw.get("outputs"), list) else []
        own.setdefault("execution_count", None)
    return own


def _box(work: _Work, anchor: str | None, code: str, words: str) -> None:
    """Code as text: readable, and nothing runs it."""
    longest = max((len(found) for found in re.findall(r"`+", code)), default=0)
    fence = "`" * max(3, longest + 1)
    source = f"{words}\n\n{fence}python\n{code.rstrip(chr(10))}\n{fence}"
    work.add(anchor, {"cell_type": "markdown", "metadata": {}, "source": source})


def _say(work: _Work, cell: Mapping[str, Any], place: int | None, *, is_answer: bool) -> None:
    if place is None:
        came = "added" if not work.edition else "is back" if cell["id"] in work.edition else "is new"
        work.changes.append(f"cell {cell['id']}: {came}")
    elif not is_answer and work.cells[place].source != cell["source"]:
        work.changes.append(f"cell {cell['id']}: the lab's text")
    elif work.cells[place].id != cell["id"]:
        work.changes.append(f"cell {cell['id']}: has its id again")


def _outputs(
    work: _Work, cells: Sequence[dict[str, Any]], places: Mapping[str, int | None], fresh: Mapping[str, bool]
) -> None:
    """Outputs by the rule of this module."""
    exercise = {cell.id: cell.exercise for cell in work.lab.cells}
    ready = all(fresh[cell.id] for cell in work.lab.cells if cell.role == "setup")
    stale = {exercise[name] for name, same in fresh.items() if not same and exercise[name]}
    for cell in cells:
        place = places.get(cell["id"])
        if cell["cell_type"] != "code" or place is None or not ready or not fresh[cell["id"]]:
            continue
        if exercise[cell["id"]] in stale or not isinstance(work.raw[place].get("outputs"), list):
            continue
        cell["outputs"] = work.raw[place]["outputs"]
        cell["execution_count"] = work.raw[place].get("execution_count")
