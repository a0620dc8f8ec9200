"""Reading and writing notebooks: every damaged file gets one line that names it, and writing is nbformat's form."""

from __future__ import annotations

import json
from pathlib import Path

import labfactory
import nbformat
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.course import load, notebook, read_notebook, write_notebook
from labkit.errors import UsageError


@pytest.fixture
def lab_path(tmp_path: Path) -> Path:
    return labfactory.write(labfactory.lab(), tmp_path / "77_demo.ipynb")


def test_load_lists_cells_and_exercises(lab_path: Path) -> None:
    lab = load(lab_path)
    assert (lab.stem, lab.number, lab.title) == ("77_demo", "77", "Lab 77: a demonstration")
    assert [exercise.id for exercise in lab.exercises] == list(labfactory.EXERCISES)
    total = lab.exercise("demo.total")
    assert (total.kind, total.points, total.minutes, total.lab) == ("predict", 2, 5, "77")
    assert total.given == ("demo-total-given",)
    assert total.answer == ("demo-total-answer",)
    assert (total.header, total.hints, total.check) == ("demo-total-header", "demo-total-hints", "demo-total-check")
    assert lab.cell(total.check).source == 'check("demo.total", total)'
    assert [cell.id for cell in lab.role("setup")] == ["setup"]


def test_unknown_exercise_and_cell_are_named(lab_path: Path) -> None:
    lab = load(lab_path)
    with pytest.raises(UsageError, match=r"no exercise 'demo.nothing': it has demo.total, demo.double_it"):
        lab.exercise("demo.nothing")
    with pytest.raises(UsageError, match=r"no cell 'nothing'"):
        lab.cell("nothing")


def test_the_lab_cannot_be_changed_through_its_notebook(lab_path: Path) -> None:
    lab = load(lab_path)
    labfactory.cell(lab.notebook(), "setup")["source"] = "changed"
    assert labfactory.cell(lab.notebook(), "setup")["source"] == labfactory.SETUP


DAMAGED = {
    "not JSON": (b"hello", r"is not JSON \(line 1: Expecting value\)"),
    "cut off": (json.dumps(labfactory.lab()).encode()[:-40], "is not JSON"),
    "empty": (b"", "is not JSON"),
    "a list": (b"[]", "is JSON but not a notebook"),
    "another object": (b'{"a": 1}', "is JSON but not a notebook"),
    "nbformat 3": (b'{"nbformat": 3, "worksheets": []}', "has nbformat 3, older than 4"),
    "nbformat 5": (b'{"nbformat": 5, "cells": []}', "has nbformat 5, other than 4"),
    "nbformat text": (b'{"nbformat": "4", "cells": []}', "has nbformat '4'"),
    "nbformat true": (b'{"nbformat": true, "cells": []}', "has nbformat True"),
    "no cells": (b'{"nbformat": 4}', "has no list of cells"),
    "cells an object": (b'{"nbformat": 4, "cells": {}}', "has no list of cells"),
    "Latin-1": ('{"nbformat": 4, "cells": ["é"]}'.encode("latin-1"), "is not UTF-8"),
    "too deep": (b'{"nbformat": 4, "cells": ' + b"[" * 200_000 + b"]" * 200_000 + b"}", "nested too deep"),
    "huge integer": (b'{"nbformat": 4, "cells": [' + b"9" * 10_000 + b"]}", "can't be read as JSON"),
    "cell a number": (b'{"nbformat": 4, "cells": [1]}', "cell 1 is not a cell but int"),
    "cell without source": (b'{"nbformat": 4, "cells": [{"cell_type": "code"}]}', "cell 1 is not a cell"),
    "source a number": (b'{"nbformat": 4, "cells": [{"cell_type": "code", "source": 3}]}', "cell 1 is not a cell"),
    "source of numbers": (b'{"nbformat": 4, "cells": [{"cell_type": "code", "source": [3]}]}', "cell 1 is not a cell"),
}


@pytest.mark.parametrize("damage", DAMAGED)
def test_a_damaged_file_gets_one_line_that_names_it(damage: str, tmp_path: Path) -> None:
    content, message = DAMAGED[damage]
    path = tmp_path / "01_damaged.ipynb"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=message) as caught:
        load(path)
    assert "01_damaged.ipynb" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_missing_file_directory_and_device(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"gone\.ipynb does not exist"):
        load(tmp_path / "gone.ipynb")
    with pytest.raises(UsageError, match="is a directory"):
        load(tmp_path)
    with pytest.raises(UsageError, match="does not exist"):
        load("a\0b.ipynb")
    with pytest.raises(UsageError, match="not an ordinary file"):
        load("/dev/zero")


def test_size_limit(lab_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    size = lab_path.stat().st_size
    monkeypatch.setattr(notebook, "MAX_BYTES", size)
    load(lab_path)
    monkeypatch.setattr(notebook, "MAX_BYTES", size - 1)
    with pytest.raises(UsageError, match=r"77_demo\.ipynb is over .* MB: clear its outputs"):
        load(lab_path)


def test_a_byte_order_mark_and_lone_surrogates_are_read(tmp_path: Path) -> None:
    raw = labfactory.lab()
    labfactory.cell(raw, "setup")["source"] = "x = '\ud800'"
    path = tmp_path / "77_demo.ipynb"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(raw).encode())
    assert load(path).cell("setup").source == "x = '?'"


def test_written_as_nbformat_writes_it(lab_path: Path, tmp_path: Path) -> None:
    raw = labfactory.lab()
    labfactory.cell(raw, "setup")["source"] = "a = 'é'\nb = 2\n\n"
    labfactory.write(raw, lab_path)
    ours, theirs = tmp_path / "ours.ipynb", tmp_path / "theirs.ipynb"
    write_notebook(read_notebook(lab_path), ours)
    nbformat.write(nbformat.read(lab_path, as_version=4), theirs)
    assert ours.read_bytes() == theirs.read_bytes()
    nbformat.validate(nbformat.read(ours, as_version=4))


@given(source=st.text(st.characters(exclude_categories=["Cs"])))
def test_any_source_survives_writing_and_reading(source: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    raw = labfactory.lab()
    labfactory.cell(raw, "setup")["source"] = source
    path = tmp_path_factory.mktemp("survives") / "77_demo.ipynb"
    write_notebook(raw, path)
    first = path.read_bytes()
    again = read_notebook(path)
    assert labfactory.cell(again, "setup")["source"] == source.replace("\r\n", "\n").replace("\r", "\n")
    write_notebook(again, path)
    if "\r" not in source:
        assert path.read_bytes() == first


BROKEN_EXERCISES = {
    "two headers": (lambda raw: raw["cells"].append(labfactory.cell(raw, "demo-total-header")), "2 header cells"),
    "no check": (
        lambda raw: raw["cells"].remove(labfactory.cell(raw, "demo-total-check")),
        "demo.total has no check cell",
    ),
    "no answer": (
        lambda raw: raw["cells"].remove(labfactory.cell(raw, "demo-total-answer")),
        "demo.total has no answer cell",
    ),
    "unknown role": (
        lambda raw: labfactory.cell(raw, "setup")["metadata"]["labkit"].update(role="intro"),
        "cell setup: role 'intro': choose one of",
    ),
    "no exercise": (
        lambda raw: labfactory.cell(raw, "demo-total-given")["metadata"]["labkit"].pop("exercise"),
        "cell demo-total-given: a cell with role 'given' must name its exercise",
    ),
    "header of another": (
        lambda raw: labfactory.cell(raw, "demo-total-header").update(
            source="### T\n\n`demo.other` · build · 1 point · 5 min"
        ),
        "says demo.other, its metadata demo.total",
    ),
    "kind": (
        lambda raw: labfactory.cell(raw, "demo-total-header").update(
            source="### T\n\n`demo.total` · guess · 1 point · 5 min"
        ),
        "kind 'guess' of demo.total: choose one of predict",
    ),
    "points": (
        lambda raw: labfactory.cell(raw, "demo-total-header").update(
            source="### T\n\n`demo.total` · build · 0 points · 5 min"
        ),
        "points and minutes must be at least 1",
    ),
    "no line": (
        lambda raw: labfactory.cell(raw, "demo-total-header").update(source="### T\n\nNothing."),
        "no header line below the heading",
    ),
    "unreadable line": (
        lambda raw: labfactory.cell(raw, "demo-total-header").update(source="### T\n\n`demo.total` · build · 5 min"),
        "header line '`demo.total` · build · 5 min' can't be read",
    ),
    "no heading": (
        lambda raw: labfactory.cell(raw, "demo-total-header").update(source="`demo.total` · build · 1 point · 5 min"),
        "no `### ` heading",
    ),
}


@pytest.mark.parametrize("damage", BROKEN_EXERCISES)
def test_exercises_that_are_not_whole_are_named(damage: str, tmp_path: Path) -> None:
    change, message = BROKEN_EXERCISES[damage]
    raw = labfactory.lab()
    change(raw)
    with pytest.raises(UsageError) as caught:
        load(labfactory.write(raw, tmp_path / "77_demo.ipynb"))
    assert message in str(caught.value)
    assert str(caught.value).startswith("77_demo.ipynb: ")
    assert "\n" not in str(caught.value)
