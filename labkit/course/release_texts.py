"""The texts of a bundle: what a learner reads first, and what an installer reads."""

from __future__ import annotations

import re
from collections.abc import Sequence

import labkit
from labkit.course.notebook import Lab

_MINUTES = re.compile(r"(\d+)\s*min")


def requirements_text(*, wheel: str = "") -> str:
    """requirements.txt: labkit at this version and the pinned set. wheel: the path of labkit's wheel in the bundle."""
    which = f"./{wheel}[labs]" if wheel else f"labkit[labs]=={labkit.__version__}"
    return f"--constraint constraints.txt\n{which}\n"


def environment_text() -> str:
    """environment.yml, for conda."""
    return (
        "# conda env create -f environment.yml && conda activate labkit && labkit lab notebooks\n"
        "name: labkit\n"
        "channels:\n"
        "  - conda-forge\n"
        "dependencies:\n"
        "  - python=3.11\n"
        "  - pip\n"
        "  - pip:\n"
        "      - --requirement requirements.txt\n"
    )


def readme_text(labs: Sequence[Lab], *, wheel: bool) -> str:
    """README.md, for learners."""
    rows = []
    for lab in labs:
        minutes = _minutes(lab)
        points = sum(exercise.points for exercise in lab.exercises)
        rows.append(f"| [{lab.title or lab.stem}](notebooks/{lab.path.name}) | {minutes} | {points} |")
    source = "" if wheel else " Your teacher says where `labkit` itself is to be had."
    return f"""# The labs

{_count(labs)} in Jupyter about training jobs: feed the trainer, count every sample once, resume where it stopped.

| lab | minutes | points |
|---|---|---|
{chr(10).join(rows)}

## On a hub

Open the first notebook in `notebooks/`. Everything is installed.

## On your own machine

Python 3.11 or newer; a CPU is enough, two cores do.{source} In this directory:

```
python3 -m venv .venv
.venv/bin/pip install --requirement requirements.txt
.venv/bin/labkit lab notebooks
```

With conda: `conda env create -f environment.yml`, `conda activate labkit`, `labkit lab notebooks`.

## How a lab works

Run its cells from the top. Each exercise has an answer cell with `...` or a function that raises
`NotImplementedError`: write there, and only there. The cell after it draws what your answer does; the check cell says
what was seen, what should hold and what to try next. Change an answer and check it as often as you like. You may add
cells of your own anywhere. Three folded hints stand in front of every answer.

Your figures are your own: another learner's numbers don't fit. `labkit progress` says what you have passed.

## When something is wrong

`labkit doctor` looks at the machine and says what to fix. `labkit update NEW.ipynb MINE.ipynb` brings a newer edition
of a lab into the notebook you have begun: your answers and your own cells stay. With a fresh copy of the same lab it
puts back cells that you deleted or copied by mistake.
"""


def _minutes(lab: Lab) -> str:
    for cell in lab.cells:
        if cell.type == "code" or cell.exercise:
            break
        if found := _MINUTES.search(cell.source):
            return found[1]
    return ""


def _count(labs: Sequence[Lab]) -> str:
    return "One lab" if len(labs) == 1 else f"{len(labs)} labs"
