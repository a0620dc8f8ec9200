"""A hand-in without a hub: the released bundle, three learners in JupyterLab, the grader, their reports in Chromium."""

from __future__ import annotations

import csv
import shutil
import subprocess
import sys
from pathlib import Path

import answerbook
import labdriver
import pytest

pytestmark = [pytest.mark.browser, pytest.mark.slow]

LAB = answerbook.lab("01")
KEY = "three-learners"
RIGHT = {exercise.id: answerbook.reference(exercise.id) for exercise in LAB.exercises}


def wrong(exercise: str) -> str:
    """The first answer of the book that runs and is wrong."""
    found = next(a for a in answerbook.answers("01") if a.exercise == exercise and not a.right)
    return next(iter(found.sources.values()))


def hostile(mark: Path) -> dict[str, str]:
    """Answers that are after the mark, not the exercise; two are honest."""
    return RIGHT | {
        "pipeline.makespan": "import labkit.checks\n"
        "check = labkit.check = labkit.checks.check = lambda *a, **k: print('Passed: 2 of 2 points')\n"
        "serial = overlapped = 1",
        "pipeline.waits": f"open({str(mark)!r}, 'w').write('eve was here')\nwaits = []",
        "pipeline.recurrence": "import glob\n"
        "def train_times(prepare, train, depth):\n"
        "    for path in glob.glob('/proc/*/environ'):\n"
        "        try:\n"
        "            found = open(path, 'rb').read()\n"
        "        except OSError:\n"
        "            continue\n"
        "        if b'three-learners' in found:\n"
        "            raise RuntimeError('the key is ' + found.decode())\n"
        "    return [(0, 0)] * len(prepare)",
        "pipeline.hopeless": "class Yes(dict):\n"
        "    def __eq__(self, other): return True\n"
        "    def get(self, *a): return True\n"
        "helps = Yes()",
    }


def work(chromium, place: Path, who: str, answers: dict[str, str]) -> Path:
    """A learner's evening: open the lab, answer everything by typing, run all, save. The notebook's path."""
    home = place / "home" / who
    home.mkdir(parents=True)
    labs = place / who / "notebooks"
    context = chromium.new_context(viewport={"width": 1280, "height": 1000})
    page = context.new_page()
    with labdriver.lab_server(labs, home, LABKIT_LEARNER=who, LABKIT_COURSE_KEY=KEY) as server:
        lab = labdriver.Notebook(page, server, LAB.path.name, [cell.id for cell in LAB.cells])
        for exercise, source in answers.items():
            lab.type(labdriver.cell_of(exercise, "answer"), source)
        if who == "eve":
            lab.type(labdriver.cell_of("pipeline.depth", "check"), "print('Passed: 3 of 3 points')")
            lab.type(labdriver.cell_of("pipeline.depth", "answer"), "def least_depth(prepare, train):\n    return 1")
        lab.run_all()
        for exercise in LAB.exercises:
            said = lab.output(exercise.check).inner_text()
            if who == "ada":
                assert "Passed" in said, exercise.id
            if who == "bob":
                assert "Not yet" in said, exercise.id
        labdriver.keep(lab.cell("progress"), f"three-{who}-lab")
        lab.save(labs / LAB.path.name)
        server.end_kernels()
    context.close()
    return labs / LAB.path.name


def labkit(*words: object) -> str:
    command = [sys.executable, "-m", "labkit.cli", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_three_learners(chromium, tmp_path):
    labkit("release", "01", "--out", tmp_path / "bundle")
    mark = tmp_path / "outside"
    answers = {"ada": RIGHT, "bob": {one: wrong(one) for one in RIGHT}, "eve": hostile(mark)}
    for who, laid in answers.items():
        shutil.copytree(tmp_path / "bundle", tmp_path / who)
        done = work(chromium, tmp_path, who, laid)
        handed_in = tmp_path / "submitted" / who / LAB.stem / done.name
        handed_in.parent.mkdir(parents=True)
        shutil.copy(done, handed_in)
    assert mark.read_text() == "eve was here", "in her own JupyterLab she may"
    mark.unlink()

    (tmp_path / "course.key").write_text(KEY)
    labkit("grade", tmp_path, "--out", tmp_path / "marks", "--key", tmp_path / "course.key")
    assert not mark.exists()
    with (tmp_path / "marks" / "grades.csv").open(newline="") as file:
        marks = {row["student_id"]: row for row in csv.DictReader(file)}
    most = sum(exercise.points for exercise in LAB.exercises)
    assert float(marks["ada"]["score"]) == most
    assert float(marks["bob"]["score"]) == 0
    passed = {one for one in RIGHT if float(marks["eve"][one])}
    assert passed == {"pipeline.steady_state", "pipeline.reality"}

    page = chromium.new_page(viewport={"width": 1100, "height": 900})
    said = {}
    for who in answers:
        page.goto((tmp_path / "marks" / "learners" / f"{who}.html").as_uri())
        said[who] = page.locator("main").inner_text()
        labdriver.keep(page, f"three-{who}-report")
        assert f"{float(marks[who]['score']):g} of {most} points" in said[who]
        assert labdriver.fits(page.locator("html"))
        assert KEY not in page.content()
    page.close()
    assert said["ada"].count("✔ Passed") == 2 * len(RIGHT), "in the table and on the card"
    assert "did the two change places?" in said["bob"], "the mistake by its name"
    assert said["bob"].count("Try next") == len(RIGHT)
    assert "No such file or directory" in said["eve"]
