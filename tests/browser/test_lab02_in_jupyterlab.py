"""Lab 02 in a real JupyterLab in a real Chromium: sliders on a real loader, wrong and right, the exported trace."""

from __future__ import annotations

import re

import answerbook
import labdriver
import pytest

from labkit.course import load

pytestmark = [pytest.mark.browser, pytest.mark.slow]

LAB02 = next(path for path in answerbook.LABS if path.name.startswith("02"))

WRONG = """
def measure(loader, step, synchronise, clock):
    pairs, asked = [], clock()
    for batch in loader:
        got = clock()
        step(batch)
        done = clock()
        pairs.append((1000 * (got - asked), 1000 * (done - got)))
        asked = done
    return pairs
""".strip()


def test_lab_02(page, server, shot):
    lab = labdriver.Notebook(page, server, LAB02.name, [cell.id for cell in load(LAB02).cells])
    lab.run_all()
    shot("opened")

    # Runs top to bottom; every check says "not answered".
    for exercise in load(LAB02).exercises:
        assert "Not answered yet" in lab.output(exercise.check).inner_text()
    assert "1 worker" in labdriver.alt(lab.output("pass-picture"))
    assert "Skipped: no CUDA device" in lab.output("overlap").inner_text() or "ms" in lab.output("overlap").inner_text()
    for cell in ("pass-picture", "control", "sliders", "deliverable", "verdict"):
        assert labdriver.fits(lab.output(cell)), cell
        shot(cell, lab.cell(cell))

    # A slider, moved by keyboard, runs a real loader and lays its pass over the prediction.
    sliders = lab.output("sliders")
    assert "1 worker, prefetch_factor 2" in labdriver.alt(sliders)
    status = sliders.locator("[role=status]")
    assert status.inner_text().startswith("Run 1:")
    handle = sliders.locator(".noUi-handle").first
    handle.focus()
    page.keyboard.press("ArrowRight")
    sliders.locator("[role=status]", has_text=re.compile(r"^Run 2:")).wait_for(timeout=30_000)
    lab.wait_idle()
    assert "2 workers, prefetch_factor 2" in labdriver.alt(sliders)
    assert "predicted" in status.inner_text()
    sliders.locator("summary").first.click()
    assert sliders.locator("table").first.is_visible()
    shot("sliders-moved", lab.cell("sliders"))

    # A wrong stopwatch is drawn as it is, and its card says what it forgot.
    lab.type("measure-fetch-wait-answer", WRONG)
    lab.run("measure-fetch-wait-answer")
    assert "12 pairs" in labdriver.alt(lab.run("measure-fetch-wait-draw"))
    shot("wrong-drawing", lab.cell("measure-fetch-wait-draw"))
    failing = lab.run("measure-fetch-wait-check")
    assert "Not yet" in failing.inner_text()
    assert "synchronise was called 0 times" in failing.inner_text()
    assert labdriver.fits(failing)
    shot("failing-card", lab.cell("measure-fetch-wait-check"))

    # The right one, and two more exercises, one of them on a real loader.
    for exercise in ("measure.fetch_wait", "measure.cached_control", "measure.fix"):
        name = exercise.replace(".", "-").replace("_", "-")
        lab.type(f"{name}-answer", answerbook.reference(exercise))
        lab.run(f"{name}-answer")
        labdriver.alt(lab.run(f"{name}-draw"))
        shot(f"{name}-drawing", lab.cell(f"{name}-draw"))
        card = lab.run(f"{name}-check")
        assert "Passed" in card.inner_text(), card.inner_text()
        assert labdriver.fits(card)
        shot(f"{name}-card", lab.cell(f"{name}-check"))

    # The deliverable is there, with the worker's process in it.
    trace = page.request.get(f"{server.url}/files/my_timeline.json?token={server.token}").json()
    names = {event["args"]["name"] for event in trace["traceEvents"] if event["name"] == "process_name"}
    assert {"trainer", "DataLoader worker 0"} <= names

    assert "9 of 19 points" in lab.run("progress").inner_text()
    shot("progress", lab.cell("progress"))
    assert page.errors == []
    assert page.strangers == []
