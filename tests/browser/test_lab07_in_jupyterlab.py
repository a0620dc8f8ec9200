"""Lab 07 in a real JupyterLab in a real Chromium: the lesson's digits, a wrong and a right snapshot, a killed run."""

from __future__ import annotations

import answerbook
import labdriver
import pytest

from labkit.course import load

pytestmark = [pytest.mark.browser, pytest.mark.slow]

LAB07 = next(path for path in answerbook.LABS if path.name.startswith("07"))

COLD = """
def capture(line):
    return {"w": line.w, "b": line.b, "step": line.step, "position": line.position, "order": list(line.order),
            "rng": line.rng.getstate()}


def restore(line, snapshot):
    for name in ("w", "b", "step", "position", "order"):
        setattr(line, name, snapshot[name])
    version, numbers, spare = snapshot["rng"]
    line.rng.setstate((version, tuple(numbers), spare))
""".strip()


def test_lab_07(page, server, shot):
    lab = labdriver.Notebook(page, server, LAB07.name, [cell.id for cell in load(LAB07).cells])
    lab.run_all()
    shot("opened")

    # Runs top to bottom; the checks say "not answered". Every digit of the lesson is there.
    for exercise in load(LAB07).exercises:
        assert "Not answered yet" in lab.output(exercise.check).inner_text()
    assert "w 3.0000640810916352  b 1.9999645194506697  MSE 6.71266e-09" in lab.output("line").inner_text()
    stop = lab.output("stop").inner_text()
    assert "w 3.355728215324278  b 2.2900000514725942  MSE 0.252164  cursor 12" in stop
    assert "same state at every step: True" in stop
    faults = lab.output("faults").inner_text()
    for digits in ("3.0003224529", "3.0001015363", "3.0000768451", "1.523e-07", "1.934e-08", "1.573e-08"):
        assert digits in faults
    assert "they part" not in labdriver.alt(lab.output("line"))
    assert "rngState after step 20" in labdriver.alt(lab.output("first-rng"))
    assert labdriver.fits(lab.output("first-rng"))
    shot("two-trajectories", lab.cell("first-rng"))

    # A snapshot without momentum is drawn as it is, and its card names what was lost.
    lab.type("resume-capture-answer", COLD)
    lab.run("resume-capture-answer")
    assert "Differs: parameters from 20, optimizer from 20" in labdriver.alt(lab.run("resume-capture-draw"))
    shot("wrong-drawing", lab.cell("resume-capture-draw"))
    failing = lab.run("resume-capture-check")
    assert "Not yet" in failing.inner_text()
    assert "lost its momentum" in failing.inner_text()
    assert labdriver.fits(failing)
    shot("failing-card", lab.cell("resume-capture-check"))

    # The right one.
    lab.type("resume-capture-answer", answerbook.reference("resume.capture"))
    lab.run("resume-capture-answer")
    assert "Differs: nothing" in labdriver.alt(lab.run("resume-capture-draw"))
    assert "Passed" in lab.run("resume-capture-check").inner_text()
    shot("passing-card", lab.cell("resume-capture-check"))

    # A run that was really killed, and resumed in a real process.
    lab.run("resume-continue-given")
    lab.type("resume-continue-answer", answerbook.reference("resume.continue"))
    lab.run("resume-continue-answer")
    assert "The run was killed after step" in labdriver.alt(lab.run("resume-continue-draw"))
    shot("killed-run", lab.cell("resume-continue-draw"))
    assert "Passed" in lab.run("resume-continue-check").inner_text()

    assert "first difference: rngState after step 20" in lab.output("deliverable").inner_text()
    progress = lab.run("progress")
    assert "5 of 19 points" in progress.inner_text()
    shot("progress", lab.cell("progress"))
    assert page.errors == []
    assert page.strangers == []
