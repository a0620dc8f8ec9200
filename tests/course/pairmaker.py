"""Pairs for tests of `labkit update`: a new lab, and a learner's notebook made from an older one and then mistreated.

Every cell of the learner's notebook carries what it really is in TRUTH, a key that is taken out before anything under
test sees it: so a test knows the answer without asking the code that looks for it.
"""

from __future__ import annotations

import copy
import random
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import labfactory

from labkit.course import load
from labkit.course.updating_match import edition_of

Cell = dict[str, Any]
Notebook = dict[str, Any]
TRUTH = "truth"
TOPICS = ("total", "double_it", "share", "peak")


@dataclass
class Pair:
    """new, old: labs. mine: the learner's notebook. truth: what each of its cells is, in order.

    lines: what the learner wrote, a line each, all different. own: the learner's own cells, by their text.
    """

    new: Notebook
    mine: Notebook
    truth: list[dict[str, Any]]
    lines: list[str]
    own: list[str]


def edition(rng: random.Random) -> Notebook:
    """One edition of a lab: the same topics, each time a little different."""
    cells = [labfactory.markdown("opening", f"# Lab 77: a demonstration\n\nWords {rng.randint(1, 3)}. 30 min.")]
    cells.append(labfactory.code("setup", f"import math\noffset = {rng.randint(0, 2)}", labkit={"role": "setup"}))
    topics = [topic for topic in TOPICS if topic in TOPICS[:2] or rng.random() < 0.7]
    if rng.random() < 0.2:
        rng.shuffle(topics)
    for topic in topics:
        name = f"{topic}_seen"
        stubs = [f"{name} = ...", f"{name} = ...  # a number, in ms", f"{name}, rest = ..., ..."]
        if topic == "double_it":
            stubs = [f"def {name}({x}):\n    raise NotImplementedError" for x in ("x", "value")]
        cells += labfactory.exercise_cells(
            f"demo.{topic}",
            given=f"figures_{topic} = [6, {rng.randint(1, 3)}]",
            answer=rng.choice(stubs),
            draw=f"drawn_{topic} = {rng.randint(0, 1)}",
            check=f'check("demo.{topic}", {name})',
        )
        if rng.random() < 0.7:
            cells.append(
                labfactory.markdown(f"after-{topic.replace('_', '-')}", f"Words after it, {rng.randint(1, 3)}.")
            )
        if rng.random() < 0.3:
            cells.append(labfactory.code(f"look-{topic.replace('_', '-')}", f"look_{topic} = {rng.randint(1, 3)}"))
    return {**labfactory.lab(), "cells": cells}


def pair(seed: int, place: Path) -> Pair:
    """One pair. place: a directory for the old lab's file."""
    rng = random.Random(seed)
    old, new = edition(rng), edition(rng)
    mine = copy.deepcopy(old)
    for cell in mine["cells"]:
        part = cell["metadata"].get("labkit", {})
        cell[TRUTH] = {"role": part.get("role", ""), "exercise": part.get("exercise", ""), "text": False}
    maker = _Learner(rng, mine, {cell["id"] for cell in old["cells"]})
    maker.answers()
    for step in rng.sample(maker.steps, rng.randint(0, 5)):
        step()
    if rng.random() < 0.4:
        maker.without_metadata()
    if rng.random() < 0.5:
        path = labfactory.write(old, place / "77_old.ipynb")
        mine["metadata"]["labkit"] = {"cells": edition_of(load(path))}
    truth = [cell.pop(TRUTH) | {"source": cell["source"], "id": cell.get("id")} for cell in mine["cells"]]
    return Pair(new, mine, truth, maker.lines, [one["source"] for one in truth if one["role"] == "own"])


class _Learner:
    """What people and editors do to a notebook."""

    def __init__(self, rng: random.Random, notebook: Notebook, given: set[str]) -> None:
        self.rng, self.cells, self.given = rng, notebook["cells"], given
        self.lines: list[str] = []
        self.steps: list[Callable[[], None]] = [
            self.add_own, self.add_own, self.delete, self.delete_exercise, self.copy, self.copy, self.same_id_twice,
            self.move, self.split, self.to_text, self.other_ids, self.no_ids, self.run,
        ]  # fmt: skip

    def line(self) -> str:
        """A line that nobody else writes."""
        self.lines.append(f"# thought {len(self.lines)} of {self.rng.randrange(10**9)}")
        return self.lines[-1]

    def id(self) -> str:
        """An id as JupyterLab, nbformat or Colab make it up."""
        made = uuid.UUID(int=self.rng.getrandbits(128), version=4)
        return self.rng.choice([str(made), made.hex[:8], f"bC{made.hex[:9]}H"])

    def pick(self, role: str = "") -> Cell | None:
        found = [cell for cell in self.cells if not role or cell[TRUTH]["role"] == role]
        return self.rng.choice(found) if found else None

    def place(self, cell: Cell) -> int:
        """Where this very cell is; another may look the same."""
        return next(number for number, one in enumerate(self.cells) if one is cell)

    def answers(self) -> None:
        for cell in self.cells:
            if cell[TRUTH]["role"] == "answer" and self.rng.random() < 0.7:
                self.answer(cell)

    def answer(self, cell: Cell) -> None:
        topic = cell[TRUTH]["exercise"].removeprefix("demo.")
        number = self.rng.randrange(100)
        if topic == "double_it":
            cell["source"] = f"def {topic}_seen(x):\n    {self.line()}\n    return {number} * x"
        else:
            cell["source"] = f"{self.line()}\n{topic}_seen, rest = {number}, 0\n{self.line()}"
        cell[TRUTH]["begun"] = True

    def add_own(self) -> None:
        source = f"{self.line()}\nmine = {self.rng.randrange(100)}"
        new = self.rng.choice([labfactory.code, labfactory.markdown])(self.id(), source)
        if "outputs" in new:
            new["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "seen\n"}]
        new[TRUTH] = {"role": "own", "exercise": "", "text": False}
        self.cells.insert(self.rng.randint(0, len(self.cells)), new)

    def delete(self) -> None:
        cell = self.pick()
        if cell and not cell[TRUTH].get("begun") and cell[TRUTH]["role"] != "own":
            del self.cells[self.place(cell)]

    def delete_exercise(self) -> None:
        cell = self.pick("header")
        gone = [c for c in self.cells if cell and c[TRUTH]["exercise"] == cell[TRUTH]["exercise"]]
        if not any(c[TRUTH].get("begun") for c in gone):
            self.cells[:] = [c for c in self.cells if not any(c is one for one in gone)]

    def copy(self, id: str = "") -> None:
        cell = self.pick("answer" if self.rng.random() < 0.7 else "")
        if cell and cell[TRUTH]["role"] not in ("", "own") and cell["metadata"]:
            new = copy.deepcopy(cell)
            new["id"] = id or self.id()
            if new[TRUTH]["role"] == "answer" and self.rng.random() < 0.7:
                self.answer(new)
            self.cells.insert(self.place(cell) + self.rng.randint(0, 4), new)
            if new[TRUTH].get("begun") and new["source"] == cell["source"]:
                new[TRUTH]["same"] = True

    def same_id_twice(self) -> None:
        cell = self.pick("answer")
        if cell and cell.get("id"):
            self.copy(cell["id"])

    def move(self) -> None:
        cell = self.pick()
        if cell:
            del self.cells[self.place(cell)]
            self.cells.insert(self.rng.randint(0, len(self.cells)), cell)

    def split(self) -> None:
        cell = self.pick("answer")
        if cell and cell[TRUTH].get("begun") and cell["cell_type"] == "code" and "\n" in cell["source"]:
            head, tail = cell["source"].split("\n", 1)
            new = copy.deepcopy(cell)
            cell["source"], new["source"], new["id"] = head, tail, self.id()
            self.cells.insert(self.place(cell) + 1, new)

    def to_text(self) -> None:
        cell = self.pick("answer")
        if cell and cell["cell_type"] == "code":
            cell["cell_type"] = "markdown"
            del cell["outputs"], cell["execution_count"]
            cell[TRUTH]["text"] = True

    def other_ids(self) -> None:
        for cell in self.cells:
            cell["id"] = self.id()

    def no_ids(self) -> None:
        for cell in self.cells:
            cell.pop("id", None)

    def without_metadata(self) -> None:
        cell = self.pick()
        part = cell[TRUTH] if cell else {}
        stem = str(part.get("exercise")).replace(".", "-").replace("_", "-")
        if cell and cell.get("id") == f"{stem}-{part['role']}":  # with another id nothing says what it is
            cell["metadata"] = {}

    def run(self) -> None:
        for number, cell in enumerate(self.cells):
            if cell["cell_type"] == "code":
                cell["execution_count"] = number
                cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": f"{cell['source'][:9]}\n"}]
