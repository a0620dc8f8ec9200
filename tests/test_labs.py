"""The labs as people and CI run them: blank and answered, under nbval, and what their outputs look like."""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import answerbook
import pytest

from labkit.course import lay, lint, load, write_notebook

each_lab = pytest.mark.parametrize("path", answerbook.LABS, ids=lambda p: p.stem)


def nbval(notebook: Mapping[str, Any], path: Path, tmp_path: Path) -> tuple[int, dict[str, ET.Element], list[dict]]:
    """`pytest --nbval-lax` on a notebook: exit status, JUnit cases by name, and what the cells displayed."""
    labs = tmp_path / "labs"
    labs.mkdir()
    write_notebook(notebook, labs / path.name)
    report, kept = tmp_path / "junit.xml", tmp_path / "outputs.jsonl"
    command = [sys.executable, "-m", "pytest", "--nbval-lax", str(labs), f"--junitxml={report}", "-q",
               "-p", "no:cacheprovider", "-p", "keep_outputs", "-c", os.devnull, f"--rootdir={labs}"]  # fmt: skip
    env = os.environ | {"KEEP_OUTPUTS": str(kept), "PYTHONPATH": str(Path(answerbook.__file__).parent)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=500, env=env)
    assert report.exists(), done.stdout + done.stderr
    cases = {case.get("name"): case for case in ET.parse(report).iter("testcase")}
    shown = [json.loads(line) for line in kept.read_text(encoding="utf-8").splitlines()]
    return done.returncode, cases, shown


def failures(cases: Mapping[str, ET.Element]) -> dict[str, str]:
    found = {name: case.find("failure") for name, case in cases.items()}
    return {name: element.text or "" for name, element in found.items() if element is not None}


@each_lab
def test_the_notebook_follows_the_rules(path):
    assert lint(path) == []


@pytest.mark.slow
@each_lab
def test_blank_it_runs_to_the_end_and_names_what_is_open(path, tmp_path):
    lab = load(path)
    status, cases, _ = nbval(lay(lab, {}), path, tmp_path)
    assert status == 1
    said = failures(cases)
    assert set(said) == {exercise.id for exercise in lab.exercises}, "exactly the check cells fail, by exercise"
    for id, text in said.items():
        assert id in text
        assert "Not answered yet" in text
    assert not [name for name, case in cases.items() if case.find("error") is not None]
    assert cases["progress"].find("failure") is None, "the last cell ran too"


@pytest.mark.slow
@each_lab
def test_answered_it_is_green_and_every_picture_has_a_text_twin(path, tmp_path):
    lab = load(path)
    sources = {a.exercise: a.sources for a in answerbook.answers(lab.number) if a.name == "reference"}
    status, cases, shown = nbval(lay(lab, sources), path, tmp_path)
    assert failures(cases) == {}
    assert status == 0
    pictures = 0
    for cell in shown:
        for output in cell["outputs"]:
            pictures += readable(cell["cell"], output.get("data", {}))
    assert pictures >= 1


def readable(cell: str, data: Mapping[str, Any]) -> int:
    """Hold one output to the rules; how many pictures it has."""
    assert not [kind for kind in data if kind.startswith("image/")], f"{cell}: a bare image, without alt text"
    html, plain = data.get("text/html", ""), data.get("text/plain", "")
    assert not re.search(r"(src|href)=[\"']https?:", html), f"{cell}: loads something from elsewhere"
    tags = re.findall(r"<img\b[^>]*>", html)
    for tag in tags:
        alt = re.search(r'alt="([^"]+)"', tag)
        assert alt, f"{cell}: a picture without alt text"
        assert len(alt[1]) > 20, f"{cell}: alt text that says nothing: {alt[1]}"
    for png in re.findall(r"base64,([A-Za-z0-9+/=]+)", html):
        assert len(base64.b64decode(png)) > 5_000, f"{cell}: an empty picture"
    if html or "application/vnd.jupyter.widget-view+json" in data:
        assert len(plain) > 10, f"{cell}: HTML without a text twin"
        assert not re.match(r"<[\w.]+ object at", plain), f"{cell}: HTML without a text twin"
    return len(tags)
