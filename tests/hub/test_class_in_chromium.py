"""A lesson: three learners and a teacher at their browsers, a real hub, from the log-in to the report."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path

import labdriver
import pytest

from labkit.checks.engine import context
from labkit.checks.registry import find
from labkit.course import load

pytestmark = [pytest.mark.browser, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
LAB = "01_pipeline_timeline.ipynb"


class HubNotebook(labdriver.Notebook):
    """A learner's notebook on the hub: no token in the address, the log-in counts."""

    def __init__(self, page, server: str, path: str) -> None:
        self.page, self.order = page, [cell.id for cell in load(ROOT / "notebooks" / LAB).cells]
        page.goto(f"{server}/lab/workspaces/class/tree/{path}")
        page.locator(".jp-Notebook .jp-CodeCell").first.wait_for(timeout=90_000)
        self.wait_idle()

    def answer(self, exercise: str, source: str) -> str:
        """Write an answer, run its cell and the check; the card."""
        answer = labdriver.cell_of(exercise, "answer")
        self.type(answer, source)
        self.run(answer)
        return self.run(labdriver.cell_of(exercise, "check")).inner_text()


def shot(page, name: str) -> None:
    labdriver.keep(page, f"class-{name}")


def log_in(page, room, who: str) -> None:
    page.locator("#username_input").wait_for(timeout=60_000)
    page.locator("#username_input").fill(room.names[who])
    page.locator("#password_input").fill(room.password(who))
    page.locator("#login_submit").click()


def show_all_cells(home: Path) -> None:
    """JupyterLab draws cells that are out of sight, too, so that the test finds them."""
    top = home / ".jupyter"
    place = top / "lab" / "user-settings" / "@jupyterlab" / "notebook-extension"
    place.mkdir(parents=True)
    (place / "tracker.jupyterlab-settings").write_text(json.dumps({"windowingMode": "none"}))
    owner = home.stat()
    for path in (top, *top.rglob("*")):
        os.chown(path, owner.st_uid, owner.st_gid)


def wait_for(what, seconds: float = 60.0):
    """The first true thing that `what()` gives."""
    end = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < end, what
        time.sleep(0.2)
    return found


def links_reached_by_tab(page) -> set[str]:
    """Where the Tab key leads from the top of the page to its end."""
    page.evaluate("document.activeElement.blur(); window.getSelection().removeAllRanges(); window.scrollTo(0, 0)")
    reached: set[str] = set()
    for _ in range(2 * page.locator("a[href], [tabindex='0']").count()):  # twice: a refresh may take the focus away
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.getAttribute('href') || ''"))
    return reached - {""}


def test_a_lesson(room, chromium, tmp_path):
    who = ("ada", "bob", "eve")
    for name in who:
        show_all_cells(Path("/home") / room.names[name])
    contexts = {name: chromium.new_context(viewport={"width": 1280, "height": 900}) for name in (*who, "tess")}
    pages = {name: one.new_page() for name, one in contexts.items()}
    try:
        lesson(room, pages, tmp_path)
    finally:
        for name, page in pages.items():
            shot(page, f"last-{name}")
        for one in contexts.values():
            one.close()


def lesson(room, pages, tmp_path):
    ada, bob, eve, tess = (pages[name] for name in ("ada", "bob", "eve", "tess"))

    # The teacher opens the board; no server starts for that.
    tess.goto(f"{room.url}/services/board/")
    shot(tess, "login")
    log_in(tess, room, "tess")
    tess.locator("#summary", has_text="0 of 3 learners have begun").wait_for(timeout=60_000)
    tess.evaluate("window.loadedOnce = true")

    # Three learners log in at once; the course is pulled and its first lab opens.
    for name in ("ada", "bob", "eve"):
        pages[name].goto(room.url)
        log_in(pages[name], room, name)
    for page in (ada, bob, eve):
        page.locator(".jp-Notebook .jp-CodeCell").first.wait_for(timeout=180_000)
        assert "/lab/tree/labkit-course/notebooks/00_start_here.ipynb" in page.url
    assert ada.get_by_text("Would you like to get notified").count() == 0
    shot(ada, "lab-00")

    # Ada answers her own figures rightly, Bob answers wrongly, three times.
    mine = context(find("pipeline.makespan"), learner=room.names["ada"], key=room.key.encode()).figures
    n, prepare, train = mine["batches"], mine["prepare"], mine["train"]
    right = f"serial = {n * (prepare + train)}\noverlapped = {prepare + (n - 1) * max(prepare, train) + train}"
    path = f"labkit-course/notebooks/{LAB}"
    labs = {name: HubNotebook(pages[name], f"{room.url}/user/{room.names[name]}", path) for name in ("ada", "bob")}
    for lab in labs.values():
        lab.run("setup")
    assert f"learner {room.names['ada']}" in labs["ada"].run("pipeline-makespan-given").inner_text()
    assert "Passed" in labs["ada"].answer("pipeline.makespan", right)
    shot(ada, "lab-01")
    for wrong in ("serial = overlapped = 64", "serial, overlapped = 1, 2", "serial, overlapped = 2, 1"):
        assert "Not yet" in labs["bob"].answer("pipeline.makespan", wrong)

    # The board changes by itself, and says in words who passed and who is stuck.
    tess.locator("#summary", has_text="2 of 3 learners have begun").wait_for(timeout=60_000)
    row = tess.locator("tr", has_text=room.names["bob"])
    row.get_by_text("stuck after 3 attempts").wait_for(timeout=60_000)
    assert tess.locator("tr", has_text=room.names["ada"]).locator("td.number").first.inner_text() == "1"
    assert "1 of 2" in tess.locator("tr", has_text="pipeline.makespan").first.inner_text()
    assert tess.evaluate("window.loadedOnce"), "without loading the page again"
    there = set(tess.locator("a").evaluate_all("links => links.map(link => link.getAttribute('href'))"))
    assert len(there) > 4
    assert links_reached_by_tab(tess) == there, "every link by keyboard"
    for scheme in ("light", "dark"):
        tess.emulate_media(color_scheme=scheme)
        shot(tess, f"board-{scheme}")

    # Eve looks where she may not.
    assert eve.goto(f"{room.url}/services/board/learner/{room.names['ada']}").status == 403

    # Both hand in from a cell of their own.
    for name, lab in labs.items():
        lab.run("progress")  # the last cell: Jupyter adds an empty one below
        wait_for(lambda lab=lab: lab.page.locator(".jp-Notebook .jp-Cell").count() > len(lab.order))
        lab.order.append("mine")
        lab.save(Path("/home") / room.names[name] / path)
        lab.type("mine", f"!labkit submit {LAB}")
        assert "hand-in 1" in lab.run("mine").inner_text()
        shot(lab.page, f"submitted-{name}")

    # The teacher collects, grades and gives the reports back.
    person = room.person("tess")
    collected, marks, key = tmp_path / "in", tmp_path / "marks", tmp_path / "course.key"
    key.write_text(room.key)
    assert "2 new" in person.labkit("collect", f"--out={collected}").stdout
    graded = person.labkit("grade", collected, f"--out={marks}", f"--key={key}")
    assert graded.returncode == 0, graded.stderr
    given = person.labkit("feedback", marks)
    assert "2 learners have their report" in given.stdout, given.stderr

    # Ada reads hers.
    ada.goto(f"{room.url}/services/inbox/")
    shot(ada, "hand-ins")
    ada.get_by_role("link", name="report.html").click()
    ada.get_by_text("pipeline.makespan").first.wait_for(timeout=30_000)
    assert "passed" in ada.locator("main").inner_text().lower()
    ada.emulate_media(color_scheme="light")
    shot(ada, "report")
    shutil.rmtree(collected)
