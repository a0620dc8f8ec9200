"""The labs as people and CI run them: blank and answered, under nbval, and what their outputs look like."""

from __future__ import annotations

import base64
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import answerbook
import nbformat
import pytest
from nbclient import NotebookClient

from labkit.course import lay, lint, load, write_notebook

pytestmark = pytest.mark.slow


def nbval(directory: Path, tmp_path: Path) -> tuple[int, dict[str, ET.Element]]:
    """Exit status and the JUnit cases of `pytest --nbval-lax DIRECTORY`, by name."""
    report = tmp_path / "junit.xml"
    command = [sys.executable, "-m", "pytest", "--nbval-lax", str(directory), f"--junitxml={report}", "-q",
               "-p", "no:cacheprovider", "-c", os.devnull, f"--rootdir={directory}"]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=500)
    assert report.exists(), done.stdout + done.stderr
    cases = list(ET.parse(report).iter("testcase"))
    exercises = {e.id for path in answerbook.LABS for e in load(path).exercises}
    names = [c.get("name") if c.get("name") in exercises else f"{c.get('classname')}::{c.get('name')}" for c in cases]
    assert len(set(names)) == len(names)
    return done.returncode, dict(zip(names, cases, strict=True))


def answered(path: Path) -> dict:
    """The lab with its reference answers laid in."""
    pristine = load(path)
    sources = {a.exercise: a.sources for a in answerbook.answers(pristine.number) if a.name == "reference"}
    return lay(pristine, sources)


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    """Every lab, answered and run, with its outputs."""
    run = {}
    for path in answerbook.LABS:
        node = nbformat.from_dict(answered(path))
        folder = tmp_path_factory.mktemp(path.stem)
        os.environ.update(LABKIT_PROGRESS=str(folder / "progress.sqlite"), LABKIT_LEARNER="ada")
        run[path.stem] = NotebookClient(
            node, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
        ).execute()
    return run


@pytest.mark.parametrize("path", answerbook.LABS, ids=lambda p: p.stem)
def test_notebooks_follow_the_rules(path):
    assert lint(path) == []


def test_blank_labs_run_to_the_end_and_name_what_is_open(tmp_path):
    blank = tmp_path / "labs"
    blank.mkdir()
    for path in answerbook.LABS:
        write_notebook(lay(load(path), {}), blank / path.name)
    status, cases = nbval(blank, tmp_path)
    assert status == 1
    ids = {exercise.id for path in answerbook.LABS for exercise in load(path).exercises}
    failed = {name for name, case in cases.items() if case.find("failure") is not None}
    assert failed == ids, "exactly the check cells fail, named by their exercise"
    for id in ids:
        said = cases[id].find("failure").text
        assert id in said
        assert "Not answered yet" in said
    assert not [name for name, case in cases.items() if case.find("error") is not None]


def test_answered_labs_are_green(tmp_path):
    solved = tmp_path / "labs"
    solved.mkdir()
    for path in answerbook.LABS:
        write_notebook(answered(path), solved / path.name)
    status, cases = nbval(solved, tmp_path)
    bad = {n: c.find("failure").text for n, c in cases.items() if c.find("failure") is not None}
    assert not bad, "\n".join(f"{name}: {text}" for name, text in bad.items())
    assert status == 0


def test_every_picture_has_a_text_twin(outputs):
    """No bare image: pictures come as HTML with alt text, and every HTML output has a plain one beside it."""
    images = 0
    for stem, node in outputs.items():
        for cell in node.cells:
            for output in cell.get("outputs", []):
                data = output.get("data", {})
                assert not [kind for kind in data if kind.startswith("image/")], (stem, cell.id)
                html = data.get("text/html", "")
                for tag in re.findall(r"<img\b[^>]*>", html):
                    images += 1
                    alt = re.search(r'alt="([^"]+)"', tag)
                    assert alt, (stem, cell.id)
                    assert len(alt[1]) > 20
                if html or "application/vnd.jupyter.widget-view+json" in data:
                    plain = data.get("text/plain", "")
                    assert len(plain) > 20, (stem, cell.id)
                    assert not re.match(r"<[\w.]+ object at", plain), (stem, cell.id)
    assert images >= 10


def test_nothing_is_loaded_from_elsewhere(outputs):
    """Works offline: no output points to another host for an image, a script or a style."""
    for stem, node in outputs.items():
        for cell in node.cells:
            for output in cell.get("outputs", []):
                html = output.get("data", {}).get("text/html", "")
                assert not re.search(r"(src|href)=[\"']https?:", html), (stem, cell.id)


def test_pictures_are_not_empty(outputs):
    """A PNG of one colour compresses to almost nothing."""
    for stem, node in outputs.items():
        for cell in node.cells:
            for output in cell.get("outputs", []):
                for png in re.findall(r"base64,([A-Za-z0-9+/=]+)", output.get("data", {}).get("text/html", "")):
                    assert len(base64.b64decode(png)) > 5_000, (stem, cell.id)
