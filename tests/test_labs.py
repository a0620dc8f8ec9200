"""The labs as people and CI run them: blank and answered, under nbval, and what their outputs look like."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import answerbook
import pytest

from labkit.course import lay, lint, load, write_notebook

each_lab = pytest.mark.parametrize("path", answerbook.LABS, ids=lambda p: p.stem)


class Kept:
    """A pytest plugin for the nested run: what each cell displayed, and the reports of those that failed."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.failures: dict[str, str] = {}
        self.shown: list[tuple[str, list[Mapping[str, Any]]]] = []

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        self.names = [item.name for item in items]

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.failures[report.nodeid.partition("::")[2]] = report.longreprtext

    def pytest_runtest_teardown(self, item: Any) -> None:
        self.shown.append((item.cell.get("id"), [dict(one) for one in item.test_outputs or []]))


def nbval(notebook: Mapping[str, Any], path: Path, tmp_path: Path) -> tuple[int, Kept]:
    """`pytest --nbval-lax` on a notebook, as a person has it, but in this process: exit status, and what was seen."""
    labs = tmp_path / "labs"
    labs.mkdir()
    write_notebook(notebook, labs / path.name)
    kept = Kept()
    words = ["--nbval-lax", str(labs), "-q", "-p", "no:cacheprovider", "-p", "no:faulthandler"]
    status = pytest.main([*words, "-p", "no:hypothesispytest", "-c", os.devnull, f"--rootdir={labs}"], plugins=[kept])
    return int(status), kept


@each_lab
def test_the_notebook_follows_the_rules(path):
    assert lint(path) == []


@pytest.mark.slow
@each_lab
def test_blank_it_runs_to_the_end_and_names_what_is_open(path, tmp_path):
    lab = load(path)
    status, kept = nbval(lay(lab, {}), path, tmp_path)
    assert status == 1
    said = kept.failures
    assert set(said) == {exercise.id for exercise in lab.exercises}, "exactly the check cells fail, by exercise"
    for id, text in said.items():
        assert id in text
        assert "Not answered yet" in text
    assert kept.names[-1] == kept.shown[-1][0] == "progress", "the last cell ran too"


@pytest.mark.slow
@each_lab
def test_answered_it_is_green_and_every_picture_has_a_text_twin(path, tmp_path):
    lab = load(path)
    sources = {a.exercise: a.sources for a in answerbook.answers(lab.number) if a.name == "reference"}
    status, kept = nbval(lay(lab, sources), path, tmp_path)
    assert kept.failures == {}
    assert status == 0
    pictures, checks = 0, {exercise.check for exercise in lab.exercises}
    for cell, outputs in kept.shown:
        noise = [
            output for output in outputs if output.get("name") == "stderr" or output["output_type"] == "execute_result"
        ]
        assert cell not in checks or not noise, "nbgrader gives such a check cell no points, or odd ones"
        for output in outputs:
            pictures += readable(cell, output.get("data", {}))
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
