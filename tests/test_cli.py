"""The command line: what each command prints, and one line with exit code 2 for every mistake."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import labkit
from labkit import cli
from labkit.course.progress import ProgressStore

ROOT = Path(__file__).parent.parent
LABKIT = [sys.executable, "-m", "labkit.cli"]


@pytest.fixture(autouse=True)
def _own_progress(monkeypatch, tmp_path):
    monkeypatch.setenv("LABKIT_PROGRESS", str(tmp_path / "progress.sqlite"))
    monkeypatch.setenv("LABKIT_LEARNER", "ada")
    monkeypatch.setenv("LABKIT_NOTEBOOKS", str(ROOT / "notebooks"))


@pytest.fixture
def run(capsys):
    """Run a command in this process: exit code, stdout, stderr."""

    def run(*words):
        code = cli.main(words)
        seen = capsys.readouterr()
        return code, seen.out, seen.err

    return run


LINE = ("timeline", "--prepare", "6", "--train", "10", "--batches", "4")


def test_the_worked_example(run):
    code, out, err = run(*LINE)
    assert (code, err) == (0, "")
    assert "serial      64\noverlapped  46\nwaits       6, 0, 0, 0\n" in out
    assert "fill        6 " in out
    assert "stall       0 " in out


def test_its_slow_twin(run):
    _, out, _ = run("timeline", "--prepare", "14", "--train", "10", "--batches", "4")
    assert "serial      96\noverlapped  66\nwaits       14, 4, 4, 4\n" in out
    assert "stall       12 " in out


def test_the_drawn_lanes(run):
    _, out, _ = run("timeline", "--prepare", "6,6", "--train", "12,12", "--depth", "0")
    assert [line[11:] for line in out.splitlines() if "|" in line] == [
        "0" * 14 + "1" * 15 + "x" * 14 + " " * 29 + "|",
        "." * 14 + "0" * 29 + "1" * 29 + "|",
    ]
    _, out, _ = run("timeline", "--prepare", "6", "--train", "1", "--batches", "4", "--workers", "2")
    assert "worker 0  |0" in out
    assert "worker 1  |1" in out


def test_a_long_line_is_not_drawn_and_its_waits_are_cut(run):
    _, out, _ = run("timeline", "--prepare", "1", "--train", "1", "--batches", "1000")
    assert "|" not in out
    assert len(out) < 400


def test_timeline_as_json(run):
    data = json.loads(run(*LINE, "--depth", "2", "--json")[1])
    assert (data["serial"], data["makespan"], data["fill"], data["stall"], data["depth"]) == (64, 46, 6, 0, 2)
    assert data["train_end"] == [16, 26, 36, 46]
    assert data["waits"] == [6, 0, 0, 0]


def test_prefetch_factor_is_a_depth(run):
    one = json.loads(run(*LINE, "--workers", "2", "--prefetch-factor", "3", "--json")[1])
    assert one["depth"] == 4


def test_timeline_writes_a_drawing_and_a_trace(run, tmp_path):
    code, _, _ = run(*LINE, "--png", str(tmp_path / "line.png"), "--perfetto", str(tmp_path / "line.json"))
    assert code == 0
    assert (tmp_path / "line.png").read_bytes().startswith(b"\x89PNG")
    assert json.loads((tmp_path / "line.json").read_text())["traceEvents"]


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("timeline --prepare -6 --train 10 --batches 4", "labkit timeline: prepare is -6.0: times must be 0 or more"),
        ("timeline --prepare nan --train 10 --batches 4",
         "labkit timeline: prepare is nan: times must be finite numbers"),
        ("timeline --prepare 6,-2 --train 10", "labkit timeline: prepare[1] is -2.0: times must be 0 or more"),
        ("timeline --prepare 6 --train 10 --batches 0",
         "labkit timeline: batches is 0: give a whole number, 1 or more"),
        ("timeline --prepare 6 --train 10", "labkit timeline: batches is missing: give batches=4, say, "
         "or a sequence of times for prepare or train"),
        ("timeline --prepare 6 --train 10 --batches 4 --depth -1",
         "labkit timeline: depth is -1: give a whole number, 0 or more"),
        ("timeline --prepare 6 --train 10 --batches 4 --workers 0",
         "labkit timeline: workers is 0: give a whole number, 1 or more"),
        ("timeline --prepare 6 --train 10 --batches 4 --depth 1 --prefetch-factor 2",
         "labkit timeline: depth is 1 and prefetch_factor is 2: give one of the two"),
        ("timeline --prepare 1,2 --train 1,2,3",
         "labkit timeline: prepare has 2 times and train has 3: give one of each for every batch"),
        ("timeline --prepare six --train 10 --batches 4",
         "labkit timeline: prepare is 'six': give a number, or numbers with commas such as 6,6,14"),
        ("timeline --prepare 6,,6 --train 10",
         "labkit timeline: prepare[1] is '': give a number, or numbers with commas such as 6,6,14"),
        ("timeline --prepare 6 --train 10 --batches four",
         "labkit timeline: invalid value for '--batches': 'four' is not a whole number: see labkit timeline --help"),
        ("timeline --prepare 6 --train 10 --batches 99999999999",
         "labkit timeline: batches is 99999999999: at most 1000000 here; labkit.pipeline.simulate takes more"),
        ("timeline --prepare 1e308 --train 1e308 --batches 4 --json",
         "labkit timeline: the numbers are too large to compute with: give smaller ones"),
        ("timeline --prepare 6 --train 10 --batches 4 --png line.jpg",
         "labkit timeline: invalid value for '--png': 'line.jpg' doesn't end in .png: "),
        ("timeline --prepare 6 --train 10 --batches 4 --png no/such/place/line.png",
         "labkit timeline: invalid value for '--png': there is no directory no/such/place: "),
        ("timeline --train 10", "labkit timeline: missing option '--prepare': see labkit timeline --help"),
        ("timeline --prepare", "labkit timeline: option '--prepare' requires an argument: see labkit timeline --help"),
        ("timelin --prepare 6", "labkit: no command 'timelin': did you mean timeline?"),
        ("xyzzy", "labkit: no command 'xyzzy': the commands are audit-metric, "),
        ("lab --port 0", "labkit lab: port is 0: give a number from 1 to 65535"),
        ("lab --port http",
         "labkit lab: invalid value for '--port': 'http' is not a whole number: see labkit lab --help"),
        ("check missing.ipynb", "labkit check: missing.ipynb does not exist: check the path"),
        ("lint missing.ipynb", "labkit lint: missing.ipynb does not exist: check the path"),
        ("lint empty", "labkit lint: empty holds no notebooks: name .ipynb files, or a directory of them"),
        ("lint", "labkit lint: missing argument 'paths': see labkit lint --help"),
        ("check notes.ipynb", "labkit check: notes.ipynb is not JSON (line 1: Expecting value), so not a notebook: "
         "save it again from JupyterLab"),
        ("check other.ipynb", "labkit check: other.ipynb holds no exercise of the course: the labs are "),
        ("check 00_start_here.ipynb --exercise start.practise",
         "labkit check: 00_start_here.ipynb has no exercise 'start.practise': it has start.practice"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_line_and_exit_2(run, tmp_path, monkeypatch, words, line):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "notes.ipynb").write_text("dear diary")
    (tmp_path / "other.ipynb").write_text('{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": []}')
    (tmp_path / "00_start_here.ipynb").write_bytes((ROOT / "notebooks" / "00_start_here.ipynb").read_bytes())
    code, out, err = run(*words.split())
    assert (code, out) == (2, "")
    assert err.startswith(line)
    assert err.count("\n") == 1
    if not line.endswith(" "):
        assert err == line + "\n"


def test_an_unknown_option_is_one_line(run):
    code, out, err = run("timeline", "--prepair", "6")
    assert (code, out) == (2, "")
    assert err.startswith("labkit timeline: no such option: --prepair")
    assert "--prepare" in err
    assert err.count("\n") == 1


def test_a_progress_path_that_is_no_progress_file(run, monkeypatch):
    monkeypatch.setenv("LABKIT_PROGRESS", "thesis.txt")
    code, _, err = run("progress")
    assert (code, err) == (
        2, "labkit progress: progress is kept in a file that ends in .sqlite, not 'thesis.txt' (LABKIT_PROGRESS)\n",
    )  # fmt: skip


def test_labs_that_are_not_where_the_environment_says(run, monkeypatch, tmp_path):
    monkeypatch.setenv("LABKIT_NOTEBOOKS", str(tmp_path))
    code, _, err = run("check", str(ROOT / "notebooks" / "00_start_here.ipynb"))
    assert (code, err.count("\n")) == (2, 1)
    assert "no labs are there (files such as 00_start_here.ipynb)" in err


def kept(exercise, verdict, points):
    return {
        "exercise": exercise, "verdict": verdict, "points": points, "max_points": 2, "learner": "ada",
        "at": "2026-03-01T10:00:00+00:00",
    }  # fmt: skip


def test_progress_counts_what_was_kept(run, tmp_path):
    ProgressStore().add(kept("start.practice", "passed", 1))
    code, out, err = run("progress")
    assert (code, err) == (0, "")
    assert "✔ start.practice" in out
    data = json.loads(run("progress", "--json")[1])
    assert (data["passed"], data["points"]) == (1, 1)
    assert data["next"] == "pipeline.makespan"


def test_progress_says_what_was_damaged(run, tmp_path):
    (tmp_path / "progress.sqlite").write_text("no database")
    code, out, err = run("progress", "--json")
    assert (code, json.loads(out)["passed"]) == (0, 0)
    assert err.startswith("labkit progress: ")
    assert " was damaged: it is now progress.damaged-" in err


def test_doctor(run):
    code, out, _ = run("doctor", "--json")
    report = json.loads(out)
    assert code == (0 if report["ready"] else 1)
    assert run("doctor")[1].startswith(report["summary"])


def test_doctor_exits_1_where_something_is_missing(run, monkeypatch):
    from labkit import doctor

    monkeypatch.setattr(doctor, "_version", lambda name: None)
    code, out, _ = run("doctor")
    assert code == 1
    assert "✘ missing  torch" in out


def test_lint_finds_and_fixes(run, tmp_path):
    lab = tmp_path / "00_start_here.ipynb"
    notebook = json.loads((ROOT / "notebooks" / "00_start_here.ipynb").read_text())
    code = next(cell for cell in notebook["cells"] if cell["cell_type"] == "code")
    code["execution_count"] = 7
    lab.write_text(json.dumps(notebook))
    exit_code, out, _ = run("lint", str(tmp_path))
    assert exit_code == 1
    assert str(lab) in out
    exit_code, out, err = run("lint", str(lab), "--fix")
    assert (exit_code, out) == (0, "")
    assert str(lab) in err
    assert run("lint", str(tmp_path)) == (0, "", "")


def test_without_a_command_the_help_is_shown(run):
    code, out, err = run()
    assert (code, err) == (0, "")
    assert out == run("--help")[1]
    for name in ("lab", "doctor", "timeline", "progress", "lint", "check"):
        assert f"\n  {name} " in out


def test_help_of_every_command_is_plain_and_narrow(run):
    for name in ("lab", "doctor", "timeline", "progress", "lint", "check"):
        code, out, err = run(name, "--help")
        assert (code, err) == (0, "")
        assert out.isascii()
        assert max(map(len, out.splitlines())) <= 100


def test_ctrl_c_is_quiet(run, monkeypatch):
    from labkit import pipeline

    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(pipeline, "simulate", interrupted)
    assert run(*LINE) == (130, "", "")


def started(words, **options):
    return subprocess.run([*LABKIT, *words], capture_output=True, text=True, **options)


def test_exit_codes_reach_the_shell():
    done = started(["--version"])
    assert (done.returncode, done.stdout, done.stderr) == (0, f"labkit {labkit.__version__}\n", "")
    done = started(["timeline", "--prepare", "-6", "--train", "10", "--batches", "4"])
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "labkit timeline: prepare is -6.0: times must be 0 or more\n"


def test_version_and_help_load_nothing_heavy():
    code = "import sys\nfrom labkit.cli import main\nfor word in ('--version', '--help'): main([word])\n"
    code += "print([name for name in ('torch', 'numpy', 'pandas', 'matplotlib', 'rich') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("[]\n")


def test_a_reader_that_has_gone_is_no_noise():
    words = ["timeline", "--prepare", "6", "--train", "10", "--batches", "100000", "--json"]
    inlet, outlet = os.pipe()
    os.close(inlet)
    done = subprocess.run([*LABKIT, *words], stdout=outlet, stderr=subprocess.PIPE, text=True)
    os.close(outlet)
    assert (done.returncode, done.stderr) == (141, "")


def test_a_terminal_without_the_symbols():
    done = started(["progress"], env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert (done.returncode, done.stderr) == (0, "")
    assert "? start.practice" in done.stdout
