"""One exercise in this process, and a whole lab in a real kernel."""

from __future__ import annotations

import os
import pickle
import sys
import traceback
from pathlib import Path
from typing import Any

import labfactory
import pytest

from labkit.course import Lab, lay, load, run_exercise, run_lab
from labkit.errors import LabkitError, UsageError

SETUP = """
def check(exercise, answer):
    raise RuntimeError("the real check must not run")
"""


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    raw = labfactory.lab(setup=SETUP, extra=[labfactory.code("trap", "raise RuntimeError('must not run')")])
    labfactory.cell(raw, "demo-total-draw")["source"] = "raise RuntimeError('must not run')"
    return load(labfactory.write(raw, tmp_path / "77_demo.ipynb"))


def run(lab: Lab, source: str, check: Any = lambda exercise, answer: (exercise, answer)) -> Any:
    return run_exercise(lab, "demo.total", {"demo-total-answer": source}, check=check)


def test_only_setup_given_answer_and_check_run(lab: Lab) -> None:
    assert run(lab, "total = sum(figures)") == ("demo.total", 16)


def test_each_run_starts_afresh(lab: Lab) -> None:
    run(lab, "left_behind = 1\ntotal = 1")
    with pytest.raises(NameError, match="left_behind"):
        run(lab, "total = left_behind")


def test_an_answer_that_is_not_given_keeps_its_stub(lab: Lab) -> None:
    assert run_exercise(lab, "demo.total", {}, check=lambda exercise, answer: answer) is ...


def test_the_answer_may_not_replace_check(lab: Lab) -> None:
    assert run(lab, "check = lambda *_: 'forged'\ntotal = 5") == ("demo.total", 5)


def test_what_check_raises_comes_out(lab: Lab) -> None:
    def check(exercise: str, answer: Any) -> None:
        raise ValueError("from the check")

    with pytest.raises(ValueError, match="from the check"):
        run(lab, "total = 1", check)


def test_a_traceback_shows_the_answers_lines(lab: Lab) -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        run(lab, "a = 0\ntotal = 1 / a  # my line")
    text = "".join(traceback.format_exception(caught.value))
    assert 'File "<demo.total answer>", line 2' in text
    assert "\n    total = 1 / a  # my line\n" in text


def test_a_function_lives_in_main_as_in_a_kernel(lab: Lab) -> None:
    before = sys.modules["__main__"]
    found = run(lab, "class Mine:\n    pass\ntotal = Mine()", lambda _, answer: pickle.loads(pickle.dumps(answer)))
    assert type(found).__module__ == "__main__"
    with pytest.raises(KeyboardInterrupt):
        run(lab, "raise KeyboardInterrupt")
    assert sys.modules["__main__"] is before


@pytest.mark.parametrize("line", ["%time total = 1", "total = !ls", "!ls", "sum?", "%%time\ntotal = 1", "total = %who"])
def test_ipython_commands_are_named(line: str, lab: Lab) -> None:
    with pytest.raises(
        UsageError, match=r"demo\.total answer: line 2, .* is an IPython command: write plain Python there"
    ):
        run(lab, f"# first\n{line}")


def test_other_code_that_is_not_python(lab: Lab) -> None:
    with pytest.raises(SyntaxError, match="never closed"):
        run(lab, "total = (")
    with pytest.raises(SyntaxError, match="null bytes"):
        run(lab, "total = '\0'")


def test_display_is_there_as_in_a_kernel(lab: Lab) -> None:
    assert run(lab, "total = 3\ndisplay(total, metadata={})") == ("demo.total", 3)


def test_unknown_exercise_and_cell(lab: Lab) -> None:
    with pytest.raises(UsageError, match=r"no exercise 'demo\.nothing'"):
        run_exercise(lab, "demo.nothing", {}, check=print)
    with pytest.raises(UsageError, match=r"demo\.total has no answer cell 'setup'"):
        run_exercise(lab, "demo.total", {"setup": ""}, check=print)


def test_a_check_cell_that_never_checks(tmp_path: Path) -> None:
    raw = labfactory.lab(setup=SETUP)
    labfactory.cell(raw, "demo-total-check")["source"] = "total"
    silent = load(labfactory.write(raw, tmp_path / "77_demo.ipynb"))
    with pytest.raises(LabkitError, match=r"demo\.total: its check cell never called check"):
        run(silent, "total = 1")


KERNEL_SETUP = """
import os
from IPython.display import display
def check(exercise, answer):
    record = {"exercise": exercise, "verdict": "passed" if answer == 16 else "failed"}
    display({"text/plain": f"{exercise}: seen {answer}", "application/vnd.labkit.result+json": record}, raw=True)
    if answer != 16:
        raise ValueError(f"{exercise}: not 16")
"""


@pytest.mark.slow
def test_a_lab_in_a_kernel(tmp_path: Path) -> None:
    raw = labfactory.lab(
        setup=KERNEL_SETUP,
        extra=[
            labfactory.code("where", "print(os.getcwd(), os.environ['LABKIT_TEST'], os.environ['PATH'])"),
            labfactory.code("hang", "import time\ntime.sleep(600)"),
            labfactory.code("after", "print('alive')"),
            labfactory.code("magic", "%no_such_magic\nraise ValueError('hidden')"),
            labfactory.code("dies", "os._exit(3)"),
            labfactory.code("never", "print('never')"),
        ],
    )
    lab = load(labfactory.write(raw, tmp_path / "77_demo.ipynb"))
    notebook = lay(lab, {"demo.total": {"demo-total-answer": "total = sum(figures)"}})
    outcomes = run_lab(notebook, cwd=tmp_path, timeout=5, env={"LABKIT_TEST": "yes"})
    by_id = {outcome.cell: outcome for outcome in outcomes}
    assert [outcome.cell for outcome in outcomes] == [c["id"] for c in raw["cells"] if c["cell_type"] == "code"]
    total, double = by_id["demo-total-check"], by_id["demo-double-it-check"]
    assert total.record == {"exercise": "demo.total", "verdict": "passed"}
    assert (total.role, total.exercise, total.error, total.text) == ("check", "demo.total", "", "demo.total: seen 16")
    assert double.record is not None
    assert (double.record["verdict"], double.error) == ("failed", "ValueError: demo.double_it: not 16")
    assert by_id["where"].text.split() == [str(tmp_path), "yes", os.environ["PATH"]]
    assert by_id["hang"].error == "took longer than 5 s"
    assert by_id["after"].text.strip() == "alive"
    assert by_id["magic"].error.startswith("UsageError: Line magic function `%no_such_magic` not found")
    assert by_id["dies"].error == "the kernel died in this cell"
    assert by_id["never"].error == "the kernel died in cell dies"
    assert labfactory.cell(notebook, "demo-total-check")["outputs"] == []
