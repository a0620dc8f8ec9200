"""The board of a large class as a teacher sees it: on a wide screen, on a phone, by keyboard."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import labdriver
import pytest
from serving import served

from labkit.checks.registry import exercises
from labkit.hub import board
from labkit.hub.board_state import Board

pytestmark = [pytest.mark.browser, pytest.mark.slow]

NAMES = tuple(f"learner{number:03}" for number in range(60))
CLAIM = "the trainer waits for as long as the worker needs more than it has"


@pytest.fixture(scope="module")
def class_page(chromium, tmp_path_factory):
    """A new page of a class: every tenth is stuck, half of them for a week; 25 exercises were tried."""
    place = tmp_path_factory.mktemp("class")
    known = Board(place)
    for number, name in enumerate(NAMES[:-5]):
        ago = timedelta(days=7) if number % 20 == 0 else timedelta(minutes=8 + number)
        chosen = exercises()[3:4] if number % 10 == 0 else exercises()[:25]
        sent = [
            {"exercise": one.id, "verdict": "failed" if number % 10 == 0 else "passed", "points": 0.0,
             "max_points": one.points, "device": "cpu", "evidence": [{"claim": CLAIM, "ok": number % 10 != 0}],
             "seconds": 0.1 * attempt, "learner": name, "at": (datetime.now(UTC) - ago).isoformat(), "version": "1"}
            for one in chosen for attempt in range(4)
        ]  # fmt: skip
        known.take(name, sent)
    with served("board", board.routes(), place, NAMES, board=known) as address:

        def opened(width: int, path: str = "", who: str = "tess", height: int = 900):
            page = chromium.new_page(viewport={"width": width, "height": height}, extra_http_headers={"X-Who": who})
            page.goto(address + path)
            return page

        yield opened


@pytest.mark.parametrize("width", [1400, 500])
def test_who_is_stuck_is_in_sight(class_page, width):
    page = class_page(width)
    labdriver.keep(page, f"board-{width}")
    first = page.locator("td", has_text="stuck after 4 attempts").first
    assert first.bounding_box()["y"] < 1100, "not below 25 exercises"
    box, screen = first.bounding_box(), page.viewport_size
    assert box["x"] + box["width"] <= screen["width"], "State is not cut off"
    fails = page.locator("td.words", has_text=CLAIM).first.bounding_box()
    assert fails["x"] + fails["width"] <= screen["width"], "nor Fails at"
    for caption in page.locator(".caption").all():
        if caption.is_visible():
            assert labdriver.fits(caption)
            assert caption.bounding_box()["width"] <= screen["width"]
    assert not page.locator(".scroll .caption, caption").count(), "captions don't scroll away"
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for words in ("8 min ago", "not begun", "7 days ago"):
        cell = page.locator("td.when", has_text=words).first
        lines = cell.evaluate("e => { const r = document.createRange(); r.selectNodeContents(e);"
                              " return r.getClientRects().length }")  # fmt: skip
        assert lines == 1, f"{words} wraps"
    page.locator("#who").scroll_into_view_if_needed()
    page.locator("a[href='#who']").last.click()
    page.wait_for_timeout(200)
    labdriver.keep(page, f"board-{width}-who")
    page.close()


def test_by_keyboard_the_learners_are_one_link_away(class_page):
    page = class_page(1400)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to learners"
    assert page.locator(".skip").bounding_box()["x"] >= 0, "in sight while it has the focus"
    labdriver.keep(page, "board-skip")
    page.keyboard.press("Enter")
    for _ in range(2):  # the table's box, then the first name
        page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.getAttribute('href')").startswith("/board/learner/")
    page.close()


def test_what_is_unfolded_stays_so_when_the_board_changes(class_page):
    page = class_page(1400)
    page.locator("summary").focus()
    page.keyboard.press("Enter")
    table = page.locator("details .scroll")
    table.wait_for()
    page.evaluate("document.querySelector('#who').textContent = 'old'")
    page.evaluate("shown = ''")
    page.locator("#who", has_text="Who is where").wait_for(timeout=20_000)
    assert table.is_visible()
    assert page.evaluate("document.activeElement.id") == "others-name", "and the focus is where it was"
    page.close()


def test_the_chosen_lab_is_seen(class_page):
    lab = exercises()[0].lab
    page = class_page(1400, f"?lab={lab}")
    style = "e => { const s = getComputedStyle(e); return [s.fontWeight, s.textDecorationLine] }"
    assert page.locator("nav [aria-current]").evaluate(style) == ["700", "none"]
    assert page.locator("nav a:not([aria-current])").first.evaluate(style) == ["400", "underline"]
    labdriver.keep(page, "board-lab")
    page.close()


def test_a_refusal_is_a_page(class_page):
    page = class_page(500, "learner/learner001", "learner002")
    page.get_by_role("link", name="Your progress").click()
    page.locator("h1", has_text="Your progress").wait_for()
    page.close()
