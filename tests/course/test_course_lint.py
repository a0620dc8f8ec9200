"""Each authoring rule finds the notebook that breaks it, and a good lab has no findings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import labfactory
import pytest

from labkit.course import lint
from labkit.course.lint import RULES
from labkit.errors import UsageError

Notebook = dict[str, Any]


def source(cell_id: str, text: str) -> Callable[[Notebook], None]:
    return lambda raw: labfactory.cell(raw, cell_id).update(source=text)


def metadata(cell_id: str, key: str, **changes: Any) -> Callable[[Notebook], None]:
    return lambda raw: labfactory.cell(raw, cell_id)["metadata"][key].update(changes)


def without(cell_id: str) -> Callable[[Notebook], None]:
    return lambda raw: raw["cells"].remove(labfactory.cell(raw, cell_id))


def add(cell: Notebook) -> Callable[[Notebook], None]:
    return lambda raw: raw["cells"].append(cell)


def swap(first: str, second: str) -> Callable[[Notebook], None]:
    def change(raw: Notebook) -> None:
        a, b = (raw["cells"].index(labfactory.cell(raw, name)) for name in (first, second))
        raw["cells"][a], raw["cells"][b] = raw["cells"][b], raw["cells"][a]

    return change


def note(text: str) -> Callable[[Notebook], None]:
    return add(labfactory.markdown("a-note", text))


def script(text: str) -> Callable[[Notebook], None]:
    return add(labfactory.code("a-script", text))


HINTS = "<details><summary>Hint 1</summary>\n\nOne.\n\n</details>"
# (rule, what breaks it, the change, part of the message)
BREAKS: list[tuple[str, str, Callable[[Notebook], None], str]] = [
    ("cell_ids", "no id", lambda raw: labfactory.cell(raw, "between").pop("id"), "has no id"),
    ("cell_ids", "same id twice", add(labfactory.markdown("between", "Again.")), "a second cell with this id"),
    (
        "cell_ids",
        "JupyterLab's id",
        lambda raw: labfactory.cell(raw, "between").update(id="8d3e9e2c"),
        "not a stable id",
    ),
    (
        "cell_ids",
        "a UUID",
        lambda raw: labfactory.cell(raw, "between").update(id="8d3e9e2c-1a2b-4c3d-9e8f-001122334455"),
        "not a stable id",
    ),
    (
        "cell_ids",
        "another id in an exercise",
        lambda raw: labfactory.cell(raw, "demo-double-it-draw").update(id="drawing"),
        "should be demo-double-it-draw",
    ),
    ("roles", "unknown role", metadata("setup", "labkit", role="intro"), "unknown role 'intro'"),
    (
        "roles",
        "no exercise",
        lambda raw: labfactory.cell(raw, "demo-total-draw")["metadata"]["labkit"].pop("exercise"),
        "name",
    ),
    (
        "roles",
        "wrong type",
        lambda raw: labfactory.cell(raw, "demo-total-given").update(cell_type="raw"),
        "is a code cell",
    ),
    ("setup", "none", without("setup"), "0 setup cells"),
    ("setup", "two", add(labfactory.code("setup-2", "x = 1", labkit={"role": "setup"})), "2 setup cells"),
    ("setup", "late", lambda raw: raw["cells"].append(raw["cells"].pop(1)), "after the first exercise"),
    ("header", "no line", source("demo-total-header", "### Title"), "no header line"),
    (
        "header",
        "no heading",
        source("demo-total-header", "`demo.total` · predict · 2 points · 5 min"),
        "no `### ` heading",
    ),
    ("header", "kind", source("demo-total-header", "### T\n\n`demo.total` · guess · 2 points · 5 min"), "kind 'guess'"),
    (
        "header",
        "other id",
        source("demo-total-header", "### T\n\n`demo.sum` · predict · 2 points · 5 min"),
        "says demo.sum",
    ),
    *[
        ("parts", f"no {role}", without(f"demo-total-{role}"), f"has no {role} cell")
        for role in ("header", "hints", "answer", "draw", "check")
    ],
    (
        "parts",
        "two checks",
        lambda raw: raw["cells"].append(labfactory.cell(raw, "demo-total-check")),
        "has 2 check cells",
    ),
    ("parts", "check before answer", swap("demo-total-answer", "demo-total-check"), "write header, hints"),
    ("parts", "drawing before answer", swap("demo-total-answer", "demo-total-draw"), "write header, hints"),
    ("parts", "hints after answer", swap("demo-total-answer", "demo-total-hints"), "write header, hints"),
    ("hints", "one hint", source("demo-total-hints", HINTS), "three folded hints"),
    ("hints", "open hints", source("demo-total-hints", "Hint 1. Hint 2. Hint 3."), "three folded hints"),
    (
        "hints",
        "an empty hint",
        source("demo-total-hints", "\n".join(HINTS.replace("1", n).replace("One.", "") for n in "123")),
        "hint 2 is empty",
    ),
    (
        "check_call",
        "another exercise's id",
        source("demo-total-check", 'check("demo.double_it", total)'),
        '"demo.total"',
    ),
    ("check_call", "no call", source("demo-total-check", "total"), "must call check"),
    (
        "check_call",
        "no tag",
        lambda raw: labfactory.cell(raw, "demo-total-check")["metadata"].pop("tags"),
        "raises-exception",
    ),
    ("unanswered", "a solution", source("demo-total-answer", "total = sum(figures)"), "does it hold a solution"),
    (
        "unanswered",
        "a solved function",
        source("demo-double-it-answer", "def double(x):\n    return 2 * x"),
        "solution",
    ),
    ("unanswered", "an ellipsis as an index", source("demo-total-answer", "total = figures[...]"), "solution"),
    (
        "nbgrader",
        "no metadata",
        lambda raw: labfactory.cell(raw, "demo-total-answer")["metadata"].pop("nbgrader"),
        "no nbgrader",
    ),
    ("nbgrader", "points", metadata("demo-total-check", "nbgrader", points=3), "nbgrader points is 3, should be 2"),
    ("nbgrader", "grade_id", metadata("demo-total-check", "nbgrader", grade_id="x"), "nbgrader grade_id is 'x'"),
    ("nbgrader", "solution", metadata("demo-total-answer", "nbgrader", solution=False), "nbgrader solution is False"),
    (
        "nbgrader",
        "an extra key",
        metadata("demo-total-answer", "nbgrader", points=2),
        "nbgrader points is 2, should be None",
    ),
    (
        "nbgrader",
        "on another cell",
        lambda raw: labfactory.cell(raw, "setup")["metadata"].update(nbgrader={}),
        "neither",
    ),
    (
        "outputs",
        "an output",
        lambda raw: labfactory.cell(raw, "setup").update(
            outputs=[{"output_type": "stream", "name": "stdout", "text": "x"}]
        ),
        "has outputs",
    ),
    ("outputs", "a count", lambda raw: labfactory.cell(raw, "setup").update(execution_count=3), "execution count 3"),
    ("kernel", "another kernel", lambda raw: raw["metadata"]["kernelspec"].update(name="venv"), "kernelspec is 'venv'"),
    ("kernel", "no kernel", lambda raw: raw.update(metadata={}), "kernelspec is None"),
    ("alt_text", "markdown image", note("![](line.png)"), "image line.png has no alt text"),
    ("alt_text", "img", note('<img src="line.png" width="3">'), "has no alt text"),
    ("alt_text", "img with an empty alt", note('<img src="line.png" alt=" ">'), "has no alt text"),
    ("short_code", "ten lines", script("\n".join(f"x = {n}" for n in range(10))), "10 lines of code: keep it under 10"),
    ("pictures", "pyplot", script("import matplotlib.pyplot as plt"), "pyplot: show a labkit Picture"),
    ("pictures", "show", script("plt.show()"), "plt.show: show"),
    ("offline", "image", note("![a line](https://example.org/line.png)"), "loads https://example.org/line.png"),
    ("offline", "script", note('<script src="//example.org/a.js"></script>'), "loads //example.org/a.js"),
    (
        "offline",
        "script from code",
        script("HTML('<script src=\"http://example.org/a.js\">')"),
        "loads http://example.org/a.js",
    ),
    ("plain_python", "magic", source("demo-total-given", "%time figures = [1]"), "is an IPython command"),
    ("plain_python", "shell", source("demo-total-given", "figures = !ls"), "is an IPython command"),
    ("plain_python", "syntax", source("demo-total-given", "figures = ["), "not plain Python"),
    ("opening", "no title", source("opening", "You will be able to add. 15 minutes. It needs a CPU."), "`# ` title"),
    ("opening", "no aim", source("opening", "# Lab\n\n15 minutes. It needs a CPU."), "able to"),
    (
        "opening",
        "no minutes",
        source("opening", "# Lab\n\nYou will be able to add. It needs a CPU."),
        "how long it takes",
    ),
    ("opening", "no needs", source("opening", "# Lab\n\nYou will be able to add. 15 minutes."), "what it needs"),
    (
        "minutes",
        "too little",
        source("opening", "# Lab\n\nAble to add. 9 minutes. It needs a CPU."),
        "take 10 min together",
    ),
]


@pytest.mark.parametrize(
    ("rule", "what", "change", "message"), BREAKS, ids=[f"{rule}: {what}" for rule, what, *_ in BREAKS]
)
def test_rule_finds_what_breaks_it(
    rule: str, what: str, change: Callable[[Notebook], None], message: str, tmp_path: Path
) -> None:
    raw = labfactory.lab()
    change(raw)
    path = labfactory.write(raw, tmp_path / "77_demo.ipynb")
    found = [finding.message for finding in lint(path) if finding.rule == rule]
    assert any(message in text for text in found), found


def test_every_rule_is_broken_by_a_test() -> None:
    assert {rule for rule, *_ in BREAKS} == {rule.__name__ for rule in RULES}


def test_a_good_lab_has_no_findings(tmp_path: Path) -> None:
    raw = labfactory.lab(
        extra=[
            labfactory.markdown(
                "links", 'A [link](https://example.org), ![two bars](bars.png), <img src="bars.png" alt="two bars">.'
            ),
            labfactory.code("nine-lines", "\n\n".join(f"x = {n}" for n in range(9))),
        ]
    )
    assert lint(labfactory.write(raw, tmp_path / "77_demo.ipynb")) == []


@pytest.mark.parametrize(
    "stub",
    [
        "total = ...",
        "serial, overlapped = ..., ...",
        "total: int = ...",
        "answers = {'a': ..., 'b': ...}",
        "def f(x):\n    ...",
        "def f(x):\n    raise NotImplementedError('about three lines')",
        "def f(x):\n    raise NotImplementedError",
        "total = ...  # your value\nif:",
    ],
)
def test_stubs_are_seen_as_unanswered(stub: str, tmp_path: Path) -> None:
    raw = labfactory.lab()
    labfactory.cell(raw, "demo-total-answer")["source"] = stub
    path = labfactory.write(raw, tmp_path / "77_demo.ipynb")
    assert [finding for finding in lint(path) if finding.rule == "unanswered"] == []


def test_a_finding_reads_as_one_line(tmp_path: Path) -> None:
    raw = labfactory.lab()
    labfactory.cell(raw, "setup")["execution_count"] = 4
    path = labfactory.write(raw, tmp_path / "77_demo.ipynb")
    assert [str(finding) for finding in lint(path)] == [f"{path} [setup]: has execution count 4 (outputs)"]


def test_lint_of_a_file_that_is_no_notebook(tmp_path: Path) -> None:
    path = tmp_path / "77_demo.ipynb"
    path.write_text("hello")
    with pytest.raises(UsageError, match="is not JSON"):
        lint(path)
