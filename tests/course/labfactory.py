"""Small labs for tests: notebooks built cell by cell, by the authoring rules, with nothing of a real lab in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

EXERCISES = ("demo.total", "demo.double_it")


def markdown(cell: str, source: str, **metadata: Any) -> dict[str, Any]:
    return {"cell_type": "markdown", "id": cell, "metadata": metadata, "source": source}


def code(cell: str, source: str, **metadata: Any) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "execution_count": None,
        "id": cell,
        "metadata": metadata,
        "outputs": [],
        "source": source,
    }


def exercise_cells(
    exercise: str, *, answer: str, check: str, given: str = "figures = [6, 10]", draw: str = "answer_seen = True"
) -> list[dict[str, Any]]:
    stem = exercise.replace(".", "-").replace("_", "-")

    def part(role: str, **more: Any) -> dict[str, Any]:
        return {"labkit": {"role": role, "exercise": exercise}, **more}

    def nbgrader(role: str, **more: Any) -> dict[str, Any]:
        grade = role == "check"
        return {
            "schema_version": 3,
            "grade": grade,
            "solution": not grade,
            "locked": grade,
            "task": False,
            "grade_id": f"{stem}-{role}",
            **more,
        }

    hints = "\n".join(
        f"<details><summary>Hint {n}</summary>\n\nThink about step {n}.\n\n</details>\n" for n in (1, 2, 3)
    )
    return [
        markdown(
            f"{stem}-header",
            f"### A question about {exercise}\n\n`{exercise}` · predict · 2 points · 5 min\n\nWhat comes out?",
            **part("header"),
        ),
        markdown(f"{stem}-hints", hints, **part("hints")),
        code(f"{stem}-given", given, **part("given")),
        code(f"{stem}-answer", answer, **part("answer", nbgrader=nbgrader("answer"))),
        code(f"{stem}-draw", draw, **part("draw")),
        code(
            f"{stem}-check",
            check,
            **part("check", nbgrader=nbgrader("check", points=2), tags=["raises-exception"]),
        ),
    ]


SETUP = "offset = 0"


def lab(*, setup: str = SETUP, extra: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    """A lab with two exercises: one value, one function."""
    opening = (
        "# Lab 77: a demonstration\n\n"
        "You will be able to add and to double. About 15 minutes. It needs a CPU and nothing else."
    )
    cells = [
        markdown("opening", opening),
        code("setup", setup, labkit={"role": "setup"}),
        *exercise_cells("demo.total", answer="total = ...", check='check("demo.total", total)'),
        markdown("between", "A sentence between two exercises."),
        *exercise_cells(
            "demo.double_it",
            given="number = 21",
            answer="def double(x):\n    raise NotImplementedError",
            check='check("demo.double_it", double)',
        ),
        *(extra or []),
    ]
    return {
        "cells": cells,
        "metadata": {
            "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def cell(notebook: dict[str, Any], cell_id: str) -> dict[str, Any]:
    """The cell with this id, to be changed in place."""
    return next(item for item in notebook["cells"] if item.get("id") == cell_id)


def write(notebook: Any, path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(notebook), encoding="utf-8")
    return path
