"""The CI recipes do what they say: their own command lines, run on a repository as a learner pushes it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import answerbook
import pytest
import yaml

from labkit.cli import main
from labkit.course import lay, load, write_notebook

CI = Path(__file__).parents[1] / "docs" / "ci"
INSTALL = re.compile(r"pip install\b")


def jobs(name: str) -> dict[str, list[str]]:
    """The command lines of each job, as they stand in the file, without installs."""
    recipe: dict[str, Any] = yaml.safe_load((CI / name).read_text(encoding="utf-8"))
    if "jobs" in recipe:
        found = {job: [step["run"] for step in body["steps"] if "run" in step] for job, body in recipe["jobs"].items()}
    else:
        before = recipe["default"]["before_script"]
        found = {job: [*before, *body["script"]] for job, body in recipe.items() if "script" in body}
    for lines in found.values():
        assert INSTALL.search(lines[0]), "each job installs first"
    return {job: [line for line in lines if not INSTALL.search(line)] for job, lines in found.items()}


def test_both_recipes_run_the_same_lines():
    github, gitlab = jobs("github-actions.yml"), jobs("gitlab-ci.yml")
    assert github == gitlab
    assert list(github) == ["check", "grade"]
    assert github["check"] == ["pytest --nbval-lax notebooks/ --junitxml=nbval.xml"]
    for name in ("github-actions.yml", "gitlab-ci.yml"):
        assert "LABKIT_LEARNER" in (CI / name).read_text() and "COURSE" in (CI / name).read_text()  # noqa: PT018


@pytest.fixture
def pushed(tmp_path, monkeypatch):
    """A learner's clone of the released course, and a function that runs one of the recipe's lines in it."""
    monkeypatch.chdir(tmp_path)
    course = tmp_path / "released"
    assert main(["release", "00", "--out", str(course)]) == 0
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org"]
    for words in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "-m", "The labs"]):
        subprocess.run([*git, *words], cwd=course, check=True)
    mine = tmp_path / "mine"
    subprocess.run(["git", "clone", "--quiet", str(course), str(mine)], check=True)
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("LABKIT_", "PYTEST_"))},
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "LABKIT_LEARNER": "ada",
        "COURSE": course.as_uri(),
    }

    def run(line: str) -> subprocess.CompletedProcess[str]:
        shell = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", line]  # as GitHub's runner calls it
        return subprocess.run(shell, cwd=mine, env=environment, capture_output=True, text=True, timeout=200)

    return mine, run


def verdicts(place: Path) -> dict[str, str]:
    lines = (place / "marks" / "results.jsonl").read_text(encoding="utf-8").splitlines()
    return {record["exercise"]: record["result"]["verdict"] for record in map(json.loads, lines)}


@pytest.mark.slow
def test_the_lines_grade_a_wrong_and_a_solved_repository(pushed):
    mine, run = pushed
    lines = jobs("gitlab-ci.yml")
    notebook = mine / "notebooks" / "00_start_here.ipynb"
    lab = load(notebook)
    (exercise,) = lab.exercises
    every = answerbook.answers("00")
    wrong = next(one for one in every if not one.right)
    right = next(one for one in every if one.right)

    def cases(file: str) -> dict[str, bool]:
        found = ET.parse(mine / file).iter("testcase")
        return {case.get("name"): case.find("failure") is None for case in found}

    clone, grade = lines["grade"]
    assert run(clone).returncode == 0
    for sources, code, verdict in ((wrong.sources, 1, "failed"), (right.sources, 0, "passed")):
        write_notebook(lay(lab, {exercise.id: sources}), notebook)
        (check,) = lines["check"]
        done = run(check)
        assert done.returncode == code, done.stdout[-3000:]
        assert cases("nbval.xml")[exercise.id] is (verdict == "passed"), "the exercise is a test of its own"
        done = run(f"rm -rf marks && {grade}")
        assert done.returncode == 0, done.stderr
        assert verdicts(mine) == {exercise.id: verdict}
    assert (mine / "marks" / "learners" / "ada.html").exists()
    assert list(ET.parse(mine / "marks" / "junit.xml").iter("testcase"))

    # A learner who edits what judges, in the repository: nbval believes it, the grade doesn't.
    cheat = lay(lab, {exercise.id: wrong.sources})
    for cell in cheat["cells"]:
        if cell["metadata"].get("labkit", {}).get("role") == "check":
            cell["source"] = "pass"
            cell["metadata"] = {}
    write_notebook(cheat, notebook)
    assert run(f"rm -rf marks && {grade}").returncode == 0
    assert verdicts(mine) == {exercise.id: "failed"}
