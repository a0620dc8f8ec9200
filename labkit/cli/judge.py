"""`labkit check`: the answers of a notebook, laid into a fresh copy of the lab and run there."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from labkit.cli import FAULT
from labkit.cli.places import course_dir
from labkit.course import CellOutcome, Exercise, Extraction, Lab, extract, lay, load, read_notebook, run_lab
from labkit.errors import UsageError

CELL_S = 120.0  # seconds a cell may take


def judge(path: Path, wanted: Sequence[str], *, as_json: bool) -> int:
    """Run the answers and print each exercise's verdict; the exit code.

    Raises:
        UsageError: the file isn't a notebook, answers no lab of the course, or the lab lacks an exercise in `wanted`.
    """
    pristine = find_pristine(path)
    exercises = [pristine.exercise(name) for name in wanted] or list(pristine.exercises)
    answers = extract(path, pristine)
    _warn("run here, on this machine, by whoever calls it: these verdicts are not marks", *answers.notes)
    whole: dict[str, dict[str, str]] = {}
    for exercise in exercises:
        try:
            whole[exercise.id] = answers.require(exercise.id)
        except UsageError as error:
            _warn(str(error))
    with tempfile.TemporaryDirectory(prefix="labkit-check-") as place:
        # What is tried here must not count as progress.
        kept = {"LABKIT_PROGRESS": str(Path(place, "progress.sqlite"))}
        outcomes = run_lab(lay(pristine, whole), cwd=place, timeout=CELL_S, env=kept)
    records = [verdict(exercise, answers, outcomes) for exercise in exercises]
    passed = sum(record["verdict"] == "passed" for record in records)
    if as_json:
        print(json.dumps({"notebook": str(path), "lab": pristine.number, "exercises": records}))
    else:
        for record in records:
            print(as_text(record))
        print(f"{passed} of {len(records)} passed")
    return 0 if passed == len(records) else FAULT


def find_pristine(path: Path) -> Lab:
    """The lab of the course that a notebook answers: by its name, else the one whose exercises it holds most of."""
    cells = read_notebook(path)["cells"]
    labs = sorted(course_dir().glob("[0-9][0-9]_*.ipynb"))
    named = next((lab for lab in labs if lab.name == path.name), None)
    if named is not None:
        return load(named)
    held = {_exercise(cell) for cell in cells} - {""}
    best = max(map(load, labs), key=lambda lab: len(held & {exercise.id for exercise in lab.exercises}))
    if not held & {exercise.id for exercise in best.exercises}:
        raise UsageError(f"{path} holds no exercise of the course: the labs are {', '.join(lab.stem for lab in labs)}")
    return best


def _exercise(cell: Any) -> str:
    metadata = cell.get("metadata") if isinstance(cell, dict) else None
    mine = metadata.get("labkit") if isinstance(metadata, dict) else None
    name = mine.get("exercise") if isinstance(mine, dict) else None
    return name if isinstance(name, str) else ""


def verdict(exercise: Exercise, answers: Extraction, outcomes: Sequence[CellOutcome]) -> dict[str, Any]:
    """One exercise's result record; where its check cell showed none, one that says why."""
    mine = [outcome for outcome in outcomes if outcome.exercise == exercise.id]
    errors = {outcome.role: outcome.error for outcome in mine if outcome.error}
    record = next((outcome.record for outcome in mine if outcome.role == "check" and outcome.record), None)
    if record is None:
        # No card: the kernel died or the cell ran out of time, and that is the answer's doing unless it is blank.
        given = exercise.id in answers.answers
        record = {"exercise": exercise.id, "verdict": "failed" if given else "not answered", "points": 0}
        record |= {"max_points": exercise.points, "evidence": []}
    why = errors.get("answer") or (errors.get("check", "") if not record["evidence"] else "")
    return {**record, "error": why}


def as_text(record: dict[str, Any]) -> str:
    """A record as the card's text."""
    from labkit.checks.card import text
    from labkit.checks.result import Result, points_of

    if "at" in record:
        said = text(Result.from_json(record))
    else:
        symbol = {"failed": "✘", "not answered": "○"}[record["verdict"]]
        said = f"{symbol} {record['verdict'].capitalize()}: {record['exercise']} ({points_of(0, record['max_points'])})"
    return f"{said}\n  Answer cell: {record['error']}" if record["error"] else said


def _warn(*lines: str) -> None:
    for line in lines:
        print(f"labkit check: {line}", file=sys.stderr)
