"""Whether text holds an answer: the right ones beside the tests, statement by statement.

A released lab is blank, so all statements of a right answer may not stand in it together, in cells, hints or outputs.
A hint may well show one of three.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labkit.course.answers import read_answer_file
from labkit.course.notebook import Lab


@dataclass(frozen=True)
class Secret:
    """A right answer, as far as the lab's stub doesn't hold it.

    exercise: its id. answer: the answer's name. statements: as written, without imports.
    """

    exercise: str
    answer: str
    statements: tuple[str, ...]


def secrets(lab: Lab, answers: Path) -> list[Secret]:
    """What must not be given away of a lab.

    answers: the directory with a directory of answer files a lab, tests/answers. UsageError where one can't be read.
    """
    known = {exercise.id for exercise in lab.exercises}
    found = []
    for file in sorted((answers / lab.number).glob("*.py")):
        for answer in read_answer_file(file):
            if answer.right and answer.exercise in known:
                for cell, source in answer.sources.items():
                    stub = squeezed(lab.cell(cell).source)
                    parts = tuple(part for part in _parts(source) if squeezed(part) not in stub)
                    found += [Secret(answer.exercise, answer.name, parts)] if parts else []
    return found


def _parts(source: str) -> Iterator[str]:
    try:
        tree = ast.parse(source)
    except SyntaxError:
        yield source
        return
    for node in tree.body:
        if not isinstance(node, ast.Import | ast.ImportFrom):
            yield ast.get_source_segment(source, node) or ""


def leaks(files: Mapping[str, bytes], secret: list[Secret]) -> list[str]:
    """Where a file holds a whole answer, a line each. Files that aren't text are not looked into.

    files: path -> content; a notebook's strings are looked through one by one, as they read, not as JSON writes them.
    """
    found = []
    for name, content in sorted(files.items()):
        try:
            text = content.decode()
            texts = list(_strings(json.loads(text))) if name.endswith(".ipynb") else [text]
        except ValueError:
            continue
        held = "\0".join(map(squeezed, texts))
        for one in secret:
            if all(squeezed(statement) in held for statement in one.statements):
                shown = " ".join(one.statements[-1].split())[:60]
                found.append(f"{name} holds {shown!r}, of the answer {one.answer!r} to {one.exercise}")
    return found


def _strings(value: Any) -> Iterator[str]:
    """Every text in a JSON value; a list of lines, as notebooks keep text, is one text."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list) and value and all(isinstance(one, str) for one in value):
        yield "".join(value)
    elif isinstance(value, list | dict):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _strings(one)


def squeezed(text: str) -> str:
    """Text without white space, so that another layout is still the same statement."""
    return re.sub(r"\s+", "", text)
