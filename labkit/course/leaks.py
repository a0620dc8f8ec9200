"""Whether text holds an answer: the right ones beside the tests, statement by statement.

A released lab is blank, so no statement of a right answer may stand anywhere in it: not in a cell, a hint, an output.
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
class Statement:
    """One statement of a right answer that the lab's stub doesn't hold.

    exercise: its id. answer: the answer's name. text: the statement as written.
    """

    exercise: str
    answer: str
    text: str


def statements(lab: Lab, answers: Path) -> list[Statement]:
    """What must not be given away of a lab.

    answers: the directory with a directory of answer files a lab, tests/answers. Imports and what the stub holds are
    no secret. UsageError where an answer file can't be read.
    """
    known = {exercise.id for exercise in lab.exercises}
    found = []
    for file in sorted((answers / lab.number).glob("*.py")):
        for answer in read_answer_file(file):
            if answer.right and answer.exercise in known:
                for cell, source in answer.sources.items():
                    stub = squeezed(lab.cell(cell).source)
                    parts = (part for part in _parts(source) if squeezed(part) not in stub)
                    found += [Statement(answer.exercise, answer.name, part) for part in parts]
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


def leaks(files: Mapping[str, bytes], secret: list[Statement]) -> list[str]:
    """Where the files hold a statement of an answer, a line each. Files that aren't text are not looked into.

    files: path -> content; a notebook's strings are looked through one by one, as they read, not as JSON writes them.
    """
    found = []
    for name, content in sorted(files.items()):
        try:
            text = content.decode()
            texts = list(_strings(json.loads(text))) if name.endswith(".ipynb") else [text]
        except ValueError:
            continue
        squeezed_texts = [squeezed(one) for one in texts]
        for statement in secret:
            if any(squeezed(statement.text) in one for one in squeezed_texts):
                shown = " ".join(statement.text.split())[:60]
                found.append(f"{name} holds {shown!r}, of the answer {statement.answer!r} to {statement.exercise}")
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
