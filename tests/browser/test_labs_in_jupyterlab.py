"""Labs 00 and 01 in a real JupyterLab in a real Chromium: read, move, answer wrongly and rightly, see it counted."""

from __future__ import annotations

import re

import answerbook
import labdriver
import pytest

from labkit.checks.registry import exercises
from labkit.course import load

pytestmark = [pytest.mark.browser, pytest.mark.slow]

LAB01 = next(path for path in answerbook.LABS if path.name.startswith("01"))
LAB00 = next(path for path in answerbook.LABS if path.name.startswith("00"))

POINTS = sum(exercise.points for exercise in exercises() if exercise.lab == "01")

# Contrast of the text an element shows against what lies behind it (WCAG 2), worst of all its text.
CONTRAST = """root => {
  const parse = c => { const m = c.match(/[\\d.]+/g).map(Number); return m.length < 4 ? [...m, 1] : m; };
  const light = ([r, g, b]) => { const f = v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
    return 0.2126 * f(r) + 0.7152 * f(g) + 0.0722 * f(b); };
  const behind = e => { while (e) { const c = parse(getComputedStyle(e).backgroundColor); if (c[3] > 0.5) return c;
    e = e.parentElement; } return [255, 255, 255, 1]; };
  let worst = 21;
  for (const e of root.querySelectorAll('*')) {
    if (![...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim()) || !e.getClientRects().length) continue;
    if (e.closest('svg')) continue;
    const [a, b] = [light(parse(getComputedStyle(e).color)), light(behind(e))].sort((x, y) => y - x);
    worst = Math.min(worst, (a + 0.05) / (b + 0.05));
  }
  return worst;
}"""


def open_lab(page, server, path):
    return labdriver.Notebook(page, server, path.name, [cell.id for cell in load(path).cells])


@labdriver.both_themes
def test_lab_01(page, server, shot):
    lab = open_lab(page, server, LAB01)
    shot("opened")
    lab.run_all()

    # Runs top to bottom: the checks say "not answered", and the cells after them ran too.
    for exercise in load(LAB01).exercises:
        assert "Not answered yet" in lab.output(exercise.check).inner_text()
    assert f"0 of {POINTS} points" in lab.output("progress").inner_text()
    shot("blank-check", lab.cell("pipeline-makespan-check"))

    # A slider moved with the keyboard changes the drawing and the text.
    widget = lab.output("widget")
    before_text = widget.locator("[aria-live]").inner_text()
    before_drawing = widget.locator("svg[role=img]").inner_html()
    assert "122" in before_text
    widget.get_by_label("prepare").focus()
    for _ in range(4):
        page.keyboard.press("ArrowLeft")
    assert widget.locator("[aria-live]").inner_text() != before_text
    assert widget.locator("svg[role=img]").inner_html() != before_drawing
    assert "90" in widget.locator("[aria-live]").inner_text()  # 10 + 8 * 10
    shot("widget", lab.cell("widget"))
    assert labdriver.fits(widget)

    # A wrong answer, then the right one.
    lab.type("pipeline-makespan-answer", "serial = overlapped = 64")
    lab.run("pipeline-makespan-answer")
    lab.run("pipeline-makespan-draw")
    shot("drawing", lab.cell("pipeline-makespan-draw"))
    failing = lab.run("pipeline-makespan-check")
    assert "Not yet" in failing.inner_text()
    assert "Try next" in failing.inner_text()
    shot("failing-card", lab.cell("pipeline-makespan-check"))
    assert labdriver.fits(failing)
    assert failing.locator(".labkit-card").evaluate(CONTRAST) >= 4.5
    lab.type("pipeline-makespan-answer", answerbook.reference("pipeline.makespan"))
    lab.run("pipeline-makespan-answer")
    passing = lab.run("pipeline-makespan-check")
    assert "Passed" in passing.inner_text()
    shot("passing-card", lab.cell("pipeline-makespan-check"))
    assert passing.locator(".labkit-card").evaluate(CONTRAST) >= 4.5

    # A real experiment answers too.
    lab.type("pipeline-reality-answer", answerbook.reference("pipeline.reality"))
    lab.run("pipeline-reality-answer")
    lab.run("pipeline-reality-draw")
    shot("real-run", lab.cell("pipeline-reality-draw"))
    assert "Passed" in lab.run("pipeline-reality-check").inner_text()
    shot("real-check", lab.cell("pipeline-reality-check"))

    # The progress view counts both.
    progress = lab.run("progress")
    assert f"5 of {POINTS} points" in progress.inner_text()
    assert re.search(r"pipeline\.makespan.*passed", progress.inner_text(), re.IGNORECASE | re.DOTALL)
    shot("progress", lab.cell("progress"))
    assert labdriver.fits(progress)
    assert page.errors == []
    assert page.strangers == []


def test_lab_00(page, server, shot):
    lab = open_lab(page, server, LAB00)
    lab.run_all()
    shot("opened")
    assert lab.output("first-picture").locator("svg[role=img]").is_visible()
    assert "cores" in lab.output("machine").inner_text().lower()
    shot("machine", lab.cell("machine"))
    assert labdriver.fits(lab.output("machine"))
    assert "Not answered yet" in lab.output("start-practice-check").inner_text()

    # The check cell run before its answer in a new session says so, instead of a NameError.
    lab.type("start-practice-answer", "del busy")
    lab.run("start-practice-answer")
    said = lab.run("start-practice-check").inner_text()
    assert "busy is not defined" in said
    assert "Traceback" not in said
    shot("undefined", lab.cell("start-practice-check"))

    lab.type("start-practice-answer", answerbook.reference("start.practice"))
    lab.run("start-practice-answer")
    lab.run("start-practice-draw")
    assert "Passed" in lab.run("start-practice-check").inner_text()
    assert "1 of 1 point" in lab.run("progress").inner_text()
    shot("progress", lab.cell("progress"))
    assert page.errors == []
    assert page.strangers == []
