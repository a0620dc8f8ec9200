"""The cheats that do no harm, against nbgrader's autograde: `python -m benchmarks.cheats_in_nbgrader`; minutes.

Each is a submission of its own with two exercises: the attacked one, and an honest answer beside it. Prints the rows of
the table in docs/grading-trust.md. Attacks that kill, flood or write are left out: nothing would hold them back.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "grading"))

from arena import notebook, reference  # noqa: E402
from cheats import experiment_attacks, judge_attacks, outside_attacks, process_attacks  # noqa: E402
from cheats.attack import Attack  # noqa: E402

from labkit.course import load, write_notebook  # noqa: E402

HONEST = {"01": "pipeline.waits", "05": "metrics.mean_of_means", "07": "resume.target"}
READ_ONLY = re.compile(
    "registry|checks' |reference answers|gc$|frames|course key|environments|gradebook and|abstract|judge's machine"
)
ENDS = re.compile("sys.exit|os._exit|SIGKILL to itself|segmentation|os.abort")
TOO_LARGE = re.compile("deep|holds itself|200 MB|ten million|writes what|torch$|poisoned")


def tame() -> list[Attack]:
    """Attacks that a machine without a sandbox survives."""
    kept = [a for a in judge_attacks.ATTACKS if not TOO_LARGE.search(a.name)] + experiment_attacks.ATTACKS
    kept += [a for a in outside_attacks.ATTACKS if a.chapter == "secrets" and READ_ONLY.search(a.name)]
    return kept + [a for a in process_attacks.ATTACKS if ENDS.search(a.name)]


def small(number: str, exercises: dict[str, str]) -> dict:
    """The lab with its setup and these exercises alone; answers by exercise."""
    lab = load(notebook(number))
    made = lab.notebook()
    kept = []
    for cell in made["cells"]:
        mine = cell["metadata"].get("labkit", {})
        if mine.get("role") == "setup" or mine.get("exercise") in exercises:
            kept.append(cell)
            code = exercises.get(mine.get("exercise"), "") if mine.get("role") == "answer" else ""
            if code and cell["id"] == lab.exercise(mine["exercise"]).answer[0]:
                cell["source"] = code
            if mine.get("role") == "draw":
                kept.pop()
    return made | {"cells": kept}


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="labkit-nbgrader-") as folder:
        course, canary = Path(folder, "course"), Path(folder, "canary")
        (canary / "other").mkdir(parents=True)
        (canary / "gradebook.json").write_text('{"ben": 100}')
        (canary / "other" / "submission.ipynb").write_text('{"answer": 42}')
        attacks = tame()
        names = {}
        steps = []
        for index, attack in enumerate(attacks):
            honest = HONEST[attack.lab]
            name = f"a{attack.lab}_{attack.exercise.replace('.', '_')}"
            if name not in names:
                names[name] = (attack, honest)
                source = course / "source" / name / f"{name}.ipynb"
                source.parent.mkdir(parents=True)
                write_notebook(small(attack.lab, {attack.exercise: "", honest: ""}), source)
                steps.append(["generate_assignment", name, "--force"])
            code = attack.code.replace("@CANARY@", str(canary)).replace("@PORT@", "9").replace("@SHM@", "labkit-x")
            code = code.replace("@JUDGE@", str(os.getpid())).replace("@ABSTRACT@", "labkit-x")
            answers = {attack.exercise: code, honest: reference(honest, attack.lab)}
            path = course / "submitted" / f"s{index:03}" / name / f"{name}.ipynb"
            path.parent.mkdir(parents=True)
            write_notebook(small(attack.lab, answers), path)
        (course / "nbgrader_config.py").write_text((ROOT / "docs" / "nbgrader_config.py").read_text())
        steps += [["autograde", name, "--force"] for name in names]
        run(course, steps)
        report(course, attacks)


def run(course: Path, steps: list[list[str]]) -> None:
    """nbgrader's own command line, one process a step; a step that fails for some learners goes on."""
    environ = {**os.environ, "LABKIT_LEARNER": "ada", "LABKIT_COURSE_KEY": "key-of-this-class-81736"}
    environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), environ["PATH"]])  # it calls alembic
    environ["LABKIT_PROGRESS"] = str(course / "progress.sqlite")
    for step in steps:
        ran = subprocess.run(
            [sys.executable, "-m", "nbgrader", *step], cwd=course, env=environ, capture_output=True, text=True
        )
        print(*step, ran.returncode, ran.stderr.strip()[-120:].replace("\n", " "), file=sys.stderr, flush=True)


def report(course: Path, attacks: list[Attack]) -> None:
    """A row an attack: whether it gained a mark, got what it wanted, and what became of the honest answer."""
    from nbgrader.api import Gradebook, MissingEntry

    print(f"nbgrader {version('nbgrader')}")
    with Gradebook(f"sqlite:///{course}/gradebook.db") as book:
        for index, attack in enumerate(attacks):
            name, learner = f"a{attack.lab}_{attack.exercise.replace('.', '_')}", f"s{index:03}"
            graded = course / "autograded" / learner / name / f"{name}.ipynb"
            try:
                marks = {g.name: g.score for g in book.find_submission_notebook(name, name, learner).grades}
            except MissingEntry:
                marks = {}
            out = "yes" if graded.exists() and escaped(graded) else "no"
            mine = gained(marks, attack.exercise)
            honest = gained(marks, HONEST[attack.lab])
            if not graded.exists():
                mine = honest = "no mark at all"
            print(f"| {attack.chapter} | {attack.name} | {mine} | {out} | {honest} |")


def gained(marks: dict[str, float], exercise: str) -> str:
    stem = exercise.replace(".", "-").replace("_", "-")
    score = next((score for name, score in marks.items() if stem in name), None)
    return "no mark at all" if score is None else "full mark" if score else "no mark"


def escaped(path: Path) -> bool:
    cells = json.loads(path.read_text())["cells"]
    return any("ESCAPED" in "".join(o.get("text", "")) for cell in cells for o in cell.get("outputs", []))


if __name__ == "__main__":
    main()
