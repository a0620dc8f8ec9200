"""The released labs in the real nbgrader, from generate_assignment to the feedback that a learner fetches."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import answerbook
import pytest

from labkit.cli import main
from labkit.course import lay, load, write_notebook

ROOT = Path(__file__).parents[2]
LAB = "01_pipeline_timeline"
STEPS = Path(__file__).with_name("nbgrader_steps.py")


class Classroom:
    """A course directory, an exchange and three learners' homes, all for one test."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.course = place / "course"
        self.exchange = place / "exchange"
        self.course.mkdir()
        self.exchange.mkdir()
        self.exchange.chmod(0o1777)  # whatever the umask
        shutil.copy(ROOT / "docs" / "nbgrader_config.py", self.course)
        self.steps: list[dict[str, Any]] = []

    def teacher(self, *words: str, learner: str = "") -> None:
        """A step of the teacher; `learner`: whose figures the kernel draws."""
        self._add(self.course, words, {"LABKIT_LEARNER": learner or "teacher"})

    def home(self, learner: str) -> Path:
        return self.place / learner

    def learner(self, name: str, *words: str) -> None:
        self.home(name).mkdir(exist_ok=True)
        self._add(self.home(name), (*words, "--course=labs", f"--student={name}"), {"LABKIT_LEARNER": name})

    def _add(self, cwd: Path, words: tuple[str, ...], env: dict[str, str]) -> None:
        env = {**env, "LABKIT_PROGRESS": str(self.place / "progress.sqlite"), "JUPYTER_DATA_DIR": str(cwd / ".jupyter")}
        self.steps.append({"cwd": str(cwd), "env": env, "words": [*words, f"--Exchange.root={self.exchange}"]})

    def go(self) -> str:
        """Run the steps that were added; what nbgrader said."""
        private = {"JUPYTER_CONFIG_DIR": str(self.place / "no-config")}
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # nbgrader calls alembic by its name
        done = subprocess.run(
            [sys.executable, str(STEPS)], input=json.dumps(self.steps), env={**os.environ, **private, "PATH": path},
            capture_output=True, text=True, timeout=240,
        )  # fmt: skip
        self.steps.clear()
        assert done.returncode == 0, done.stderr[-4000:]
        return done.stderr


def answered(learner: str) -> dict[str, dict[str, str]]:
    """What each of the three writes into the lab."""
    every = answerbook.answers("01")
    if learner == "right":
        return {one.exercise: one.sources for one in every if one.name == "reference"}
    if learner == "wrong":
        mistakes = [one for one in every if not one.right]
        return {one.exercise: one.sources for one in reversed(mistakes)}  # of each exercise the first
    return {}


@pytest.mark.slow
def test_generate_release_fetch_submit_collect_autograde_feedback(tmp_path):
    bundle = tmp_path / "bundle"
    assert main(["release", "01", "--out", str(bundle)]) == 0
    room = Classroom(tmp_path)
    shutil.copytree(bundle / "notebooks", room.course / "source" / "lab01")
    room.teacher("generate_assignment", "lab01")
    room.teacher("release_assignment", "lab01")
    for name in ("right", "wrong", "blank"):
        room.learner(name, "fetch_assignment", "lab01")
    room.go()

    released = load(ROOT / "notebooks" / f"{LAB}.ipynb")
    for name in ("right", "wrong", "blank"):
        mine = room.home(name) / "lab01" / f"{LAB}.ipynb"
        fetched = load(mine)
        assert [(cell.id, cell.source) for cell in fetched.cells] == [(c.id, c.source) for c in released.cells], (
            "what learners fetch are our cells, stubs and ids included"
        )
        write_notebook(lay(fetched, answered(name)), mine)
        room.learner(name, "submit", "lab01")
    room.teacher("collect", "lab01")
    for name in ("right", "wrong", "blank"):
        room.teacher("autograde", "lab01", f"--student={name}", learner=name)
    room.teacher("generate_feedback", "lab01")
    room.teacher("release_feedback", "lab01")
    for name in ("right", "wrong", "blank"):
        room.learner(name, "fetch_feedback", "lab01")
    said = room.go()
    assert "Cell output is" not in said, "no check's output is taken for partial credit"

    from nbgrader.api import Gradebook

    with Gradebook(f"sqlite:///{room.course / 'gradebook.db'}", "labs") as book:
        marks = {name: book.find_submission("lab01", name).score for name in ("right", "wrong", "blank")}
        top = book.find_assignment("lab01").max_score
        of_right = {g.name: g.auto_score for g in book.find_submission_notebook(LAB, "lab01", "right").grades}
    points = {exercise.check: exercise.points for exercise in released.exercises}
    assert top == sum(points.values())
    assert of_right == points
    assert marks == {"right": top, "wrong": 0, "blank": 0}

    pages = {name: page(room.home(name)) for name in ("right", "wrong", "blank")}
    assert len(re.findall(r"\bPassed\b", pages["right"])) >= len(points)
    for one in answerbook.answers("01"):
        if not one.right and answered("wrong")[one.exercise] == one.sources:
            assert one.card.lower() in pages["wrong"].lower(), "the card says what went wrong"
    assert pages["blank"].count("Not answered yet") >= len(points)


def page(home: Path) -> str:
    """The one feedback page that a learner has fetched."""
    (found,) = (home / "lab01" / "feedback").rglob("*.html")
    return found.read_text(encoding="utf-8")
