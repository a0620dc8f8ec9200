"""What `pytest --nbval-lax` says about a lab. Each test runs pytest on a small lab with a real kernel."""

from __future__ import annotations

import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent / "course"))
import labfactory
from nbval import plugin
from xdist import plugin as xdist_plugin

from labkit.pytest_plugin import cells, kernel

# A nested run in this process unloads again what it loaded; what is here already stays, and costs its time once.
LOADED = (plugin, xdist_plugin, cells, kernel)

# A check as the kernel sees it: a card with its record, then an error that starts with the exercise id.
SETUP = """
from IPython.display import display
class NotAnswered(Exception): pass
class CheckFailed(Exception): pass
def check(exercise, answer):
    right = {"demo.total": lambda: answer == 16, "demo.double_it": lambda: answer(21) == 42}[exercise]
    try:
        verdict = "not answered" if answer is ... else "passed" if right() else "failed"
    except NotImplementedError:
        verdict = "not answered"
    text = f"{exercise}: {verdict}\\nseen: {answer}\\ntry: add both"
    evidence = [{"ok": True, "why": ""}, {"ok": verdict == "passed", "why": "", "claim": "both count"}]
    record = {"exercise": exercise, "verdict": verdict, "evidence": evidence}
    display({"text/plain": text, "application/vnd.labkit.result+json": record}, raw=True)
    if verdict != "passed":
        raise (NotAnswered if verdict == "not answered" else CheckFailed)(f"{exercise}: {verdict}")
"""
ANSWERS = {"demo-total-answer": "total = sum(figures)", "demo-double-it-answer": "def double(x):\n    return 2 * x"}
NAMES = [
    "setup",
    "demo.total: given",
    "demo.total: answer",
    "demo.total: draw",
    "demo.total",
    "demo.double_it: given",
    "demo.double_it: answer",
    "demo.double_it: draw",
    "demo.double_it",
]

Make = Callable[..., Path]


@pytest.fixture
def make(pytester: pytest.Pytester) -> Make:
    """Write a lab; sources: cell id -> source; extra: code cells at its end."""

    def build(
        sources: dict[str, str] | None = None, extra: dict[str, str] | None = None, name: str = "77_demo"
    ) -> Path:
        cells = [labfactory.code(cell, source) for cell, source in (extra or {}).items()]
        raw = labfactory.lab(setup=SETUP, extra=cells)
        for cell, source in (sources or {}).items():
            labfactory.cell(raw, cell)["source"] = source
        return labfactory.write(raw, pytester.path / f"{name}.ipynb")

    return build


def lines(text: str, start: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith(start)]


# Hypothesis has nothing to say here and takes half a second to say it.
QUICKLY = ("-p", "no:hypothesispytest", "-p", "no:faulthandler")


def nbval(pytester: pytest.Pytester, *args: str, apart: bool = False) -> Any:
    """apart: in a process of its own, as a person has it; else in this one, which saves the imports."""
    pytester._monkeypatch.setenv("COLUMNS", "400")  # pytest shortens summary lines to the width of the terminal
    words = ["--nbval-lax", "-ra", "--color=no", *QUICKLY, *args]
    if apart:
        return pytester.runpytest_subprocess(*words, timeout=150)
    return pytester.runpytest_inprocess(*words)


def collected(pytester: pytest.Pytester, *args: str) -> str:
    return str(pytester.runpytest_inprocess("--nbval-lax", "--collect-only", "-q", *QUICKLY, *args).stdout.str())


def failures_of(result: Any) -> dict[str, str]:
    """Cell's name -> its line in the summary."""
    failed = (line.removeprefix("FAILED 77_demo.ipynb::") for line in lines(result.stdout.str(), "FAILED"))
    return dict(line.split(" - ", 1) for line in failed)  # type: ignore[arg-type]


def test_cells_are_named_by_exercise(pytester: pytest.Pytester, make: Make) -> None:
    make()
    assert [line.partition("::")[2] for line in lines(collected(pytester), "77_demo.ipynb::")] == NAMES


def test_shuffled_cells_come_back_in_order(pytester: pytest.Pytester, make: Make) -> None:
    make()
    make(name="78_demo")
    pytester.makepyfile("def test_one(): pass\ndef test_two(): pass")
    pytester.makeconftest("def pytest_collection_modifyitems(items): items.sort(key=lambda item: item.name[::-1])")
    out = collected(pytester, ".")
    for lab in ("77_demo", "78_demo"):
        assert [line.partition("::")[2] for line in lines(out, f"{lab}.ipynb::")] == NAMES
    assert len(lines(out, "test_shuffled")) == 2


def test_other_notebooks_stay_as_nbval_has_them(pytester: pytest.Pytester) -> None:
    raw = labfactory.lab()
    for cell in raw["cells"]:
        cell["metadata"] = {}
    labfactory.write(raw, pytester.path / "other.ipynb")
    assert lines(collected(pytester), "other.ipynb::")[:2] == ["other.ipynb::Cell 0", "other.ipynb::Cell 1"]


def test_without_nbval_the_plugin_does_nothing(pytester: pytest.Pytester, make: Make) -> None:
    make()
    pytester.makepyfile(
        """
        import sys
        def test_nothing_heavy_is_loaded():
            assert "labkit.pytest_plugin" in sys.modules
            heavy = {"labkit.course", "labkit.pytest_plugin.cells", "torch", "matplotlib", "pandas"}
            assert not heavy & set(sys.modules)
            assert "nbval.plugin" not in sys.modules
        """
    )
    result = pytester.runpytest_subprocess("-p", "no:nbval", "--strict-markers", *QUICKLY)
    result.assert_outcomes(passed=1)


def test_cell_timeout_unless_given(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        """
        def pytest_collection_modifyitems(config):
            print("timeout", config.option.labkit_cell_timeout)
        """
    )
    assert "timeout 120.0" in collected(pytester, "-s")
    assert "timeout None" in collected(pytester, "-s", "--nbval-cell-timeout=2000")
    assert "timeout None" in collected(pytester, "-s", "--nbval-cell-timeout", "7")
    pytester.makeini("[pytest]\naddopts = --nbval-cell-timeout=9")
    assert "timeout None" in collected(pytester, "-s")


@pytest.mark.slow
def test_a_blank_lab(pytester: pytest.Pytester, make: Make) -> None:
    make({"demo-double-it-check": '# NBVAL_SKIP\n# NBVAL_RAISES_EXCEPTION\ncheck("demo.double_it", double)'})
    result = nbval(pytester, "--junitxml=out.xml", apart=True)
    result.assert_outcomes(failed=2, passed=7)
    out = result.stdout.str()
    assert lines(out, "FAILED") == [
        "FAILED 77_demo.ipynb::demo.total - not answered",
        "FAILED 77_demo.ipynb::demo.double_it - not answered",
    ]
    report = out.partition("_ demo.total in 77_demo.ipynb _")[2].partition("\n____")[0].strip(" _\n")
    assert report == "demo.total: not answered\nseen: Ellipsis\ntry: add both"
    cases = list(ET.parse(pytester.path / "out.xml").iter("testcase"))
    assert [case.get("name") for case in cases] == NAMES
    failures = {case.get("name"): case.find("failure") for case in cases if case.find("failure") is not None}
    assert {name: failure.get("message") for name, failure in failures.items()} == dict.fromkeys(
        labfactory.EXERCISES, "not answered"
    )
    assert "try: add both" in (failures["demo.total"].text or "")


@pytest.mark.slow
def test_an_answered_lab_keeps_the_learners_progress(
    pytester: pytest.Pytester, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LABKIT_PROGRESS", raising=False)
    monkeypatch.delenv("LABKIT_LEARNER", raising=False)
    probe = (
        "import os\nopen('seen.txt', 'w').write(os.environ['LABKIT_PROGRESS'] + '\\n' + os.environ['LABKIT_LEARNER'])"
    )
    make(ANSWERS, {"probe": probe})
    nbval(pytester, apart=True).assert_outcomes(passed=10)
    progress, learner = (pytester.path / "seen.txt").read_text().splitlines()
    assert "labkit-nbval-" in progress
    assert not Path(progress).parent.exists()
    assert learner == "nbval"
    monkeypatch.setenv("LABKIT_PROGRESS", "mine.sqlite")
    monkeypatch.setenv("LABKIT_LEARNER", "ada")
    nbval(pytester).assert_outcomes(passed=10)
    assert (pytester.path / "seen.txt").read_text().splitlines() == ["mine.sqlite", "ada"]


@pytest.mark.slow
@pytest.mark.parametrize("dist", ["load", "loadgroup", "loadfile"])
def test_two_labs_on_two_workers(pytester: pytest.Pytester, make: Make, dist: str) -> None:
    make()
    make(ANSWERS, name="78_demo")
    pytester.makepyfile("import pytest\n@pytest.mark.parametrize('n', range(3))\ndef test_other(n): pass")
    result = nbval(pytester, "-n", "2", "--dist", dist, "--junitxml=out.xml", ".", apart=True)
    result.assert_outcomes(failed=2, passed=19)
    assert sorted(lines(result.stdout.str(), "FAILED")) == [
        "FAILED 77_demo.ipynb::demo.double_it - not answered",
        "FAILED 77_demo.ipynb::demo.total - not answered",
    ]
    names = [str(case.get("name")) for case in ET.parse(pytester.path / "out.xml").iter("testcase")]
    assert sorted(names) == sorted([*NAMES * 2, *(f"test_other[{n}]" for n in range(3))])


@pytest.mark.slow
def test_a_dead_kernel_ends_the_lab_at_once(pytester: pytest.Pytester, make: Make) -> None:
    make({"demo-total-answer": "import os\nos._exit(3)"})
    started = time.monotonic()
    result = nbval(pytester, "--nbval-cell-timeout=600")
    took = time.monotonic() - started
    result.assert_outcomes(passed=2, failed=7)
    reason = "the kernel died in cell demo.total: answer (its process ended with exit status 3)"
    failed = lines(result.stdout.str(), "FAILED")
    assert failed[0] == f"FAILED 77_demo.ipynb::demo.total: answer - {reason}"
    assert [line.partition(" - ")[2] for line in failed[1:]] == [f"not run: {reason}"] * len(NAMES[3:])
    assert took < 100, "waited for the cell's timeout"


@pytest.mark.slow
def test_odd_ends_of_a_cell(pytester: pytest.Pytester, make: Make) -> None:
    make(
        {**ANSWERS, "demo-double-it-check": 'check("demo.total", 16)'},
        {
            "wrong": 'check("demo.total", 17)',
            "unknown-magic": "%no_such_magic\nraise ValueError('hidden')",
            "sys-exit": "import sys\nsys.exit()",
            "deep": "def down(n):\n    return down(n - 1) if n else 1 / 0\ndown(30)",
            "endless": "import time\nwhile True:\n    time.sleep(0.01)",
            "after": "print('still here')",
            "quits": "exit()",
            "late": "import time\ntime.sleep(60)",
            "later": "x = 1",
        },
    )
    result = nbval(pytester, "--nbval-cell-timeout=3")
    failed = failures_of(result)
    assert failed["unknown-magic"].startswith("UsageError: Line magic function `%no_such_magic` not found")
    assert failed["demo.double_it"] == 'no check ran: this cell must call check("demo.double_it", ...)'
    assert failed["wrong"] == "failed: both count"
    assert failed["sys-exit"].startswith("SystemExit")
    assert failed["deep"] == "ZeroDivisionError: division by zero"
    assert "Timeout of 3 seconds exceeded" in failed["endless"]
    assert "after" not in failed
    assert "its process ended by itself: did a cell call exit()?" in failed["later"]
    deep = result.stdout.str().partition("_ deep in 77_demo.ipynb _")[2].partition("\n____")[0]
    assert "1 / 0" in deep
    assert len(deep.splitlines()) < 20


@pytest.mark.slow
def test_a_cell_that_cannot_be_stopped(pytester: pytest.Pytester, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("labkit.pytest_plugin.kernel.GIVE_UP", 1.0)
    stubborn = """
import time
end = time.monotonic() + 60
while time.monotonic() < end:
    try:
        while time.monotonic() < end:
            print('x', flush=True)
            time.sleep(0.01)
    except KeyboardInterrupt:
        pass
"""
    make(ANSWERS, {"stubborn": stubborn, "later": "x = 1"})
    result = nbval(pytester, "--nbval-cell-timeout=2")
    failed = failures_of(result)
    assert "Timeout of 2 seconds" in failed["stubborn"]
    assert failed["later"] == "not run: the kernel was stopped in cell stubborn"


def test_the_import_is_light() -> None:
    heavy = "{'torch', 'nbval', 'nbformat', 'pandas', 'IPython', 'xdist'}"
    code = f"import sys, labkit.pytest_plugin; print({heavy} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
