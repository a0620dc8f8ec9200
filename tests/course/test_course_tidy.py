"""After tidy, a lab written as ordinary cells passes lint; a second tidy changes nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import labfactory
import nbformat
import pytest

from labkit.course import lint, load, read_notebook, tidy
from labkit.errors import UsageError


def plain(raw: dict[str, Any]) -> dict[str, Any]:
    """The lab as an author leaves it: no metadata, random ids, outputs, another kernel."""
    for index, cell in enumerate(raw["cells"]):
        cell["id"] = f"{index:08x}"
        cell["metadata"] = {"collapsed": True, "execution": {"iopub.status.busy": "2026"}, "trusted": True}
        if cell["cell_type"] == "code":
            cell["execution_count"] = index
            cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "x"}]
    raw["metadata"]["kernelspec"]["name"] = "my-env"
    raw["metadata"]["language_info"]["version"] = "3.12.1"
    return raw


def test_ordinary_cells_become_a_lab(tmp_path: Path) -> None:
    raw = plain(labfactory.lab(setup="import math"))
    path = labfactory.write(raw, tmp_path / "77_demo.ipynb")
    assert lint(path) != []
    changes = tidy(path)
    assert lint(path) == []
    assert "cell demo-total-check (was 00000007): id, execution_count, metadata, outputs" in changes or any(
        change.startswith("cell demo-total-check (was 00000007)") for change in changes
    )
    assert [exercise.id for exercise in load(path).exercises] == list(labfactory.EXERCISES)
    expected = labfactory.lab(setup="import math")
    tidied = read_notebook(path)
    assert [cell["metadata"] for cell in tidied["cells"]] == [cell["metadata"] for cell in expected["cells"]]
    ids = [cell["id"] for cell in tidied["cells"]]
    assert ids[0] == "lab-77-a-demonstration-you"
    assert ids[8] == "a-sentence-between-two-exercises"
    assert ids[1:8] == [cell["id"] for cell in expected["cells"][1:8]]
    nbformat.validate(nbformat.read(path, as_version=4))


def test_tidy_twice_changes_nothing_more(tmp_path: Path) -> None:
    path = labfactory.write(plain(labfactory.lab(setup="import math")), tmp_path / "77_demo.ipynb")
    tidy(path)
    first = path.read_bytes()
    stamp = path.stat().st_mtime_ns
    assert tidy(path) == []
    assert path.read_bytes() == first
    assert path.stat().st_mtime_ns == stamp


def test_tidy_keeps_a_tidy_lab(tmp_path: Path) -> None:
    path = labfactory.write(labfactory.lab(setup="import math"), tmp_path / "77_demo.ipynb")
    assert tidy(path) == ["written in the standard form"]
    assert read_notebook(path) == labfactory.lab(setup="import math")


def test_a_pasted_exercise_gets_its_own_ids_and_metadata(tmp_path: Path) -> None:
    """JupyterLab's paste keeps the metadata of the copied cells: it names the old exercise."""
    raw = labfactory.lab(setup="import math")
    for number, cell in enumerate(labfactory.lab()["cells"][2:8]):
        cell["id"] = f"{number:08x}"
        cell["source"] = cell["source"].replace("demo.total", "demo.mean")
        if number == 2:  # its given code was a drawing in the old exercise
            cell["metadata"] = labfactory.cell(raw, "demo-total-draw")["metadata"]
        raw["cells"].append(cell)
    path = labfactory.write(raw, tmp_path / "77_demo.ipynb")
    tidy(path)
    assert lint(path) == []
    assert load(path).exercise("demo.mean").answer == ("demo-mean-answer",)
    assert load(path).exercise("demo.mean").given == ("demo-mean-given",)


def test_two_answers_and_code_around_them(tmp_path: Path) -> None:
    raw = labfactory.lab(setup="import math")
    at = raw["cells"].index(labfactory.cell(raw, "demo-total-answer"))
    raw["cells"][at:at] = [labfactory.code("00000001", "more = 3"), labfactory.code("00000002", "extra = ...")]
    check = raw["cells"].index(labfactory.cell(raw, "demo-total-check"))
    raw["cells"].insert(check, labfactory.code("00000003", "a_second_drawing = 1"))
    path = labfactory.write(raw, tmp_path / "77_demo.ipynb")
    tidy(path)
    exercise = load(path).exercise("demo.total")
    assert exercise.given == ("demo-total-given", "demo-total-given-2")
    assert exercise.answer == ("demo-total-answer", "demo-total-answer-2")
    assert exercise.draw == ("demo-total-draw", "demo-total-draw-2")
    assert lint(path) == []


def test_an_answered_cell_keeps_its_role(tmp_path: Path) -> None:
    raw = labfactory.lab(setup="import math")
    labfactory.cell(raw, "demo-total-answer")["source"] = "total = 16"
    path = labfactory.write(raw, tmp_path / "77_demo.ipynb")
    tidy(path)
    assert load(path).exercise("demo.total").answer == ("demo-total-answer",)
    assert [finding.rule for finding in lint(path)] == ["unanswered"]


def test_stale_metadata_outside_an_exercise_goes(tmp_path: Path) -> None:
    raw = labfactory.lab(setup="import math")
    note = labfactory.cell(raw, "between")
    note["metadata"] = {"labkit": {"role": "given", "exercise": "demo.total"}, "nbgrader": {}, "tags": ["keep"]}
    note["id"] = "demo-total-check"
    path = labfactory.write(raw, tmp_path / "77_demo.ipynb")
    tidy(path)
    tidied = next(cell for cell in read_notebook(path)["cells"] if cell["source"].startswith("A sentence"))
    assert (tidied["id"], tidied["metadata"]) == ("a-sentence-between-two-exercises", {"tags": ["keep"]})
    assert lint(path) == []


def test_a_header_line_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    raw = labfactory.lab()
    labfactory.cell(raw, "demo-total-header")["source"] = "### T\n\n`demo.total` · guess · 2 points · 5 min"
    path = labfactory.write(raw, tmp_path / "77_demo.ipynb")
    before = path.read_bytes()
    with pytest.raises(UsageError, match=r"77_demo\.ipynb: cell demo-total-header: kind 'guess'"):
        tidy(path)
    assert path.read_bytes() == before
