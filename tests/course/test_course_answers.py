"""Answers out of any notebook, into the pristine one, and from the answer files."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import labfactory
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.course import Lab, extract, lay, load, read_answer_file, write_notebook
from labkit.errors import UsageError

ANSWER = "demo-total-answer"


@pytest.fixture
def pristine(tmp_path: Path) -> Lab:
    return load(labfactory.write(labfactory.lab(), tmp_path / "77_demo.ipynb"))


def submitted(raw: dict[str, Any], pristine: Lab) -> Any:
    return extract(labfactory.write(raw, pristine.path.parent / "learner" / "77_demo.ipynb"), pristine)


def copy_of(raw: dict[str, Any], cell_id: str, new_id: str, source: str) -> dict[str, Any]:
    """What JupyterLab's copy and paste makes: same metadata, new id."""
    return {**copy.deepcopy(labfactory.cell(raw, cell_id)), "id": new_id, "source": source}


def test_answers_are_taken_by_exercise(pristine: Lab) -> None:
    raw = labfactory.lab()
    labfactory.cell(raw, ANSWER)["source"] = "total = 16"
    found = submitted(raw, pristine)
    assert found.answers["demo.total"] == {ANSWER: "total = 16"}
    assert found.require("demo.total") == {ANSWER: "total = 16"}
    assert (found.missing, found.notes) == ((), ())


def test_only_answer_cells_count(pristine: Lab) -> None:
    raw = labfactory.lab()
    for cell in raw["cells"]:
        if cell["id"] != ANSWER and cell["cell_type"] == "code":
            cell["source"] = "raise SystemExit"
            cell["metadata"]["tags"] = ["nbval-skip"]
    labfactory.cell(raw, ANSWER)["source"] = "total = 16"
    laid = lay(pristine, {"demo.total": submitted(raw, pristine).require("demo.total")})
    for cell, original in zip(laid["cells"], pristine.notebook()["cells"], strict=True):
        assert cell == {**original, "source": "total = 16"} if cell["id"] == ANSWER else cell == original


@pytest.mark.parametrize("keep", ["labkit", "nbgrader", "id"])
def test_each_way_to_know_an_answer_cell_is_enough(keep: str, pristine: Lab) -> None:
    raw = labfactory.lab()
    cell = labfactory.cell(raw, ANSWER)
    cell["source"] = "total = 16"
    cell["metadata"] = {key: value for key, value in cell["metadata"].items() if key == keep}
    if keep != "id":
        cell["id"] = "8d3e9e2c"
    assert submitted(raw, pristine).answers["demo.total"] == {ANSWER: "total = 16"}


def test_moved_cell_still_counts(pristine: Lab) -> None:
    raw = labfactory.lab()
    cell = labfactory.cell(raw, ANSWER)
    cell["source"] = "total = 16"
    raw["cells"].remove(cell)
    raw["cells"].append(cell)
    assert submitted(raw, pristine).answers["demo.total"] == {ANSWER: "total = 16"}


def test_of_copies_the_original_cell_id_counts(pristine: Lab) -> None:
    raw = labfactory.lab()
    labfactory.cell(raw, ANSWER)["source"] = "total = 16"
    raw["cells"].insert(0, copy_of(raw, ANSWER, "first", "total = 1"))
    raw["cells"].append(copy_of(raw, ANSWER, "last", "total = 2"))
    found = submitted(raw, pristine)
    assert found.answers["demo.total"] == {ANSWER: "total = 16"}
    assert found.notes == (f"answer cell {ANSWER} is there 3 times; the one with the original cell id counts",)


def test_of_copies_without_the_original_the_last_counts(pristine: Lab) -> None:
    raw = labfactory.lab()
    copies = [copy_of(raw, ANSWER, f"copy-{n}", f"total = {n}") for n in (1, 2)]
    raw["cells"].remove(labfactory.cell(raw, ANSWER))
    raw["cells"].insert(0, copies[0])
    raw["cells"].append(copies[1])
    found = submitted(raw, pristine)
    assert found.answers["demo.total"] == {ANSWER: "total = 2"}
    assert found.notes == (f"answer cell {ANSWER} is there 2 times; the last one counts",)


def test_two_cells_with_the_original_id_the_last_counts(pristine: Lab) -> None:
    raw = labfactory.lab()
    raw["cells"].insert(0, copy_of(raw, ANSWER, "copy", "total = 3"))
    raw["cells"].append(copy_of(raw, ANSWER, ANSWER, "total = 9"))
    assert submitted(raw, pristine).answers["demo.total"] == {ANSWER: "total = 9"}


def test_a_split_cell_counts_whole(pristine: Lab) -> None:
    """JupyterLab's split leaves two neighbours with the same metadata; which of them keeps the id is its own affair."""
    for first, second in ((ANSWER, "new"), ("new", ANSWER), ("one", "two")):
        raw = labfactory.lab()
        place = raw["cells"].index(labfactory.cell(raw, ANSWER))
        halves = [copy_of(raw, ANSWER, first, "half = 8"), copy_of(raw, ANSWER, second, "total = 2 * half")]
        raw["cells"][place : place + 1] = halves
        found = submitted(raw, pristine)
        assert found.answers["demo.total"] == {ANSWER: "half = 8\ntotal = 2 * half"}
        assert "they count together" in found.notes[0]


def test_a_deleted_answer_is_named_with_the_way_out(pristine: Lab) -> None:
    raw = labfactory.lab()
    raw["cells"].remove(labfactory.cell(raw, ANSWER))
    found = submitted(raw, pristine)
    assert found.missing == (ANSWER,)
    assert "demo.total" not in found.answers
    assert found.require("demo.double_it")
    with pytest.raises(
        UsageError, match=r"demo\.total: its answer cell \(demo-total-answer\).*77_demo\.ipynb.*copy"
    ) as caught:
        found.require("demo.total")
    assert "\n" not in str(caught.value)
    with pytest.raises(UsageError, match=r"no exercise 'demo\.nothing': this lab has demo\.total"):
        found.require("demo.nothing")


def test_an_answer_turned_to_markdown_is_missing_and_said(pristine: Lab) -> None:
    raw = labfactory.lab()
    labfactory.cell(raw, ANSWER).update(cell_type="markdown")
    found = submitted(raw, pristine)
    assert found.missing == (ANSWER,)
    assert found.notes == (f"answer cell {ANSWER} is a markdown cell here; only a code cell counts",)


def test_a_malformed_cell_costs_nothing_else(pristine: Lab) -> None:
    raw = labfactory.lab()
    raw["cells"].insert(0, 7)
    raw["cells"].insert(0, {"cell_type": "code", "source": None, "id": [], "metadata": 3})
    raw["cells"].insert(0, {"cell_type": "code", "source": "", "id": [], "metadata": {"labkit": 3, "nbgrader": []}})
    found = submitted(raw, pristine)
    assert set(found.answers) == set(labfactory.EXERCISES)
    assert found.notes == (
        "cell 2 is not a cell: it needs a cell_type and a source of text; it is left out",
        "cell 3 is not a cell but int; it is left out",
    )


def test_source_as_lines_and_windows_line_ends(pristine: Lab) -> None:
    raw = labfactory.lab()
    labfactory.cell(raw, ANSWER)["source"] = ["a = 1\r\n", "total = a\r\n", "# end"]
    assert submitted(raw, pristine).answers["demo.total"] == {ANSWER: "a = 1\ntotal = a\n# end"}


def test_several_answer_cells(tmp_path: Path) -> None:
    raw = labfactory.lab()
    second = copy_of(raw, ANSWER, "demo-total-answer-2", "extra = ...")
    second["metadata"]["nbgrader"]["grade_id"] = "demo-total-answer-2"
    raw["cells"].insert(raw["cells"].index(labfactory.cell(raw, ANSWER)) + 1, second)
    pristine = load(labfactory.write(raw, tmp_path / "77_demo.ipynb"))
    assert pristine.exercise("demo.total").answer == (ANSWER, "demo-total-answer-2")
    changed = copy.deepcopy(raw)
    labfactory.cell(changed, "demo-total-answer-2").update(source="extra = 2", id="pasted")
    found = submitted(changed, pristine)
    assert found.answers["demo.total"] == {ANSWER: "total = ...", "demo-total-answer-2": "extra = 2"}
    changed["cells"].remove(labfactory.cell(changed, "pasted"))
    assert submitted(changed, pristine).missing == ("demo-total-answer-2",)


def test_lay_refuses_what_the_lab_lacks(pristine: Lab) -> None:
    with pytest.raises(UsageError, match=r"no exercise 'demo\.nothing'"):
        lay(pristine, {"demo.nothing": {ANSWER: "x"}})
    with pytest.raises(
        UsageError, match=r"demo\.total has no answer cell 'demo-total-check': it has demo-total-answer"
    ):
        lay(pristine, {"demo.total": {"demo-total-check": "x"}})


@given(
    sources=st.fixed_dictionaries(
        {name: st.text(st.characters(exclude_categories=["Cs"])) for name in labfactory.EXERCISES}
    )
)
def test_what_is_laid_is_what_comes_out(sources: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("laid")
    pristine = load(labfactory.write(labfactory.lab(), folder / "77_demo.ipynb"))
    before = json.dumps(pristine.notebook())
    answers = {name: {pristine.exercise(name).answer[0]: text} for name, text in sources.items()}
    write_notebook(lay(pristine, answers), folder / "laid.ipynb")
    plain = {
        name: {cell: text.replace("\r\n", "\n").replace("\r", "\n") for cell, text in cells.items()}
        for name, cells in answers.items()
    }
    assert extract(folder / "laid.ipynb", pristine).answers == plain
    assert extract(pristine, pristine).missing == ()
    assert json.dumps(pristine.notebook()) == before


FILE = '''"""demo.total

Why these answers.
"""

# %% right: reference
total = sum(figures)

# %% right: by hand
total = 0
for figure in figures:
    total += figure
# %% cell: demo-total-answer-2
extra = 1

# %% wrong: takes the larger -> card: both
total = max(figures)
'''


def test_answer_file(tmp_path: Path) -> None:
    path = tmp_path / "total.py"
    path.write_text(FILE, encoding="utf-8")
    reference, other, wrong = read_answer_file(path)
    assert (reference.exercise, reference.right, reference.name, reference.card) == (
        "demo.total",
        True,
        "reference",
        None,
    )
    assert reference.sources == {ANSWER: "total = sum(figures)\n"}
    assert other.sources == {
        ANSWER: "total = 0\nfor figure in figures:\n    total += figure\n",
        "demo-total-answer-2": "extra = 1\n",
    }
    assert (wrong.right, wrong.name, wrong.card) == (False, "takes the larger", "both")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("x = 1\n# %% right: a\nx = 1\n", "total.py:1: no exercise id"),
        ('"""demo.total', r"total.py:1: .*only a docstring stands above"),
        ('"""demo.total"""\nx = 1\n', "no answers"),
        ('"""demo.total"""\n# %% right\nx = 1\n', "total.py:2: '# %% right': write"),
        ('"""demo.total"""\n# %% right: a\n\n', "total.py:2: no code below"),
        ('"""demo.total"""\n# %% right: a -> card: b\nx = 1\n', "total.py:2: a right answer has no failing card"),
        ('"""demo.total"""\n\n# %% wrong: a\nx = 1\n', "total.py:3: say what the failing card must contain"),
        ('"""demo.total"""\n# %% cell: b\nx = 1\n', "total.py:2: `# %% cell:` belongs below"),
        ('"""demo.total"""\n# %% right: a\nx = 1\n# %% right: a\nx = 2\n', "two answers are called 'a'"),
        (
            '"""demo.total"""\n# %% right: a\nx = 1\n# %% cell: demo-total-answer\nx = 2\n',
            "total.py:4: cell demo-total-answer is",
        ),
    ],
)
def test_answer_file_errors_name_file_and_line(content: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "total.py"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(UsageError, match=message) as caught:
        read_answer_file(path)
    assert "\n" not in str(caught.value)


def test_answer_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"gone\.py can't be read"):
        read_answer_file(tmp_path / "gone.py")
