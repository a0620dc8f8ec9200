"""A notebook as data: load a lab, list its exercises, take answers out, lay answers in, check how it is written."""

from __future__ import annotations

from labkit.course.answers import Answer, Extraction, extract, lay, read_answer_file
from labkit.course.exercises import Cell, Exercise, cell_id
from labkit.course.lint import Finding, lint
from labkit.course.notebook import Lab, dumps, load, read_notebook, write_notebook
from labkit.course.run import RESULT_MIME, CellOutcome, run_exercise, run_lab
from labkit.course.tidy import tidy

__all__ = [
    "RESULT_MIME",
    "Answer",
    "Cell",
    "CellOutcome",
    "Exercise",
    "Extraction",
    "Finding",
    "Lab",
    "cell_id",
    "dumps",
    "extract",
    "lay",
    "lint",
    "load",
    "read_answer_file",
    "read_notebook",
    "run_exercise",
    "run_lab",
    "tidy",
    "write_notebook",
]
