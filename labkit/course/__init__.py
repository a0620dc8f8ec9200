"""A notebook as data: load a lab, list its exercises, take answers out, lay answers in, check how it is written."""

from __future__ import annotations

from labkit.course.answers import Answer, Extraction, extract, lay, read_answer_file
from labkit.course.exercises import Cell, Exercise, cell_id
from labkit.course.notebook import Lab, dumps, load, read_notebook, write_notebook

__all__ = [
    "Answer",
    "Cell",
    "Exercise",
    "Extraction",
    "Lab",
    "cell_id",
    "dumps",
    "extract",
    "lay",
    "load",
    "read_answer_file",
    "read_notebook",
    "write_notebook",
]
