"""The board of a large class, over HTTP. Who asks is said by a header here; on a real hub: test_classroom.py."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections import Counter
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser

import pytest
from serving import served

from labkit.checks.registry import exercises
from labkit.hub import board
from labkit.hub.board_state import Board

COUNT = 300
NAMES = tuple(f"learner{number:03}" for number in range(COUNT))
CHOSEN = exercises()[:4]


def records(number: int) -> list[dict[str, object]]:
    """What learner `number` reported: each exercise passed at the second attempt, but every seventh learner's last."""
    found = []
    for index, one in enumerate(CHOSEN):
        stays = number % 7 == 0 and index == len(CHOSEN) - 1
        for attempt, good in enumerate([False, False, False] if stays else [False, True]):
            at = datetime(2026, 3, 2, 10, tzinfo=UTC) + timedelta(seconds=number + 60 * index + 10 * attempt)
            evidence = [{"claim": "<i>the figure</i> is right", "ok": good}]
            found.append({"exercise": one.id, "verdict": "passed" if good else "failed", "points": one.points * good,
                          "max_points": one.points, "device": "cpu", "evidence": evidence, "seconds": 0.1,
                          "learner": "me", "at": at.isoformat(), "version": "1"})  # fmt: skip
    return found


class Tables(HTMLParser):
    """Bodies of a page's tables: rows of texts; and all links."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tables: list[list[list[str]]] = []
        self.links: list[str] = []
        self.within = False
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        if tag == "tbody":
            self.tables.append([])
            self.within = True
        elif tag == "a":
            self.links.append(dict(attrs)["href"])
        elif self.within and tag == "tr":
            self.tables[-1].append([])
        elif self.within and tag in ("th", "td") and self.tables[-1]:
            self.tables[-1][-1].append("")

    def handle_endtag(self, tag):
        if tag == "table":
            self.within = False

    def handle_data(self, data):
        if self.within and self.tables[-1] and self.tables[-1][-1]:
            self.tables[-1][-1][-1] += data


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """A served board; requests say who they are in X-Who."""
    place = tmp_path_factory.mktemp("class")
    with served("board", board.routes(), place, NAMES, board=Board(place)) as found:
        yield found


def ask(address, path, name, body=None, **headers):
    request = urllib.request.Request(address + path, body and json.dumps(body).encode(), {"X-Who": name, **headers})
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=60) as answer:
        return answer.status, answer.read().decode(), answer.headers


@pytest.mark.slow
def test_a_class_of_300_reports_and_is_seen(address):
    for number, name in enumerate(NAMES):
        assert json.loads(ask(address, "api/results", name, records(number))[1])["new"] == len(records(number))

    _, page, _ = ask(address, "", "tess")
    seen = Tables(page)
    held_up, others, learners = seen.tables
    stuck = [name for number, name in enumerate(NAMES) if number % 7 == 0]
    assert "300 of 300 learners have begun; 0 had something checked in the last 10 minutes;" in page
    assert f'<a href="#who">{len(stuck)} are stuck</a>, {len(stuck)} of them not seen for days.' in page
    assert page.index('class="skip" href="#who"') < page.index('id="live"') < page.index('<h2 id="who"')
    assert sorted(row[0] for row in learners) == sorted(NAMES), "everybody once"
    assert sorted(row[0] for row in learners[: len(stuck)]) == stuck, "those who are stuck first"
    assert all("stuck after 3 attempts" in row[1] for row in learners[: len(stuck)])
    assert {f"/board/learner/{name}" for name in NAMES} <= set(seen.links)
    assert CHOSEN[-1].id in held_up[0][0], "what holds most people up comes first"
    assert (held_up[0][1], held_up[0][3]) == (f"{len(stuck)}", f"{COUNT - len(stuck)} of {COUNT}")
    assert [len(held_up), len(others)] == [1, len(CHOSEN) - 1], "where nobody is stuck is folded"
    assert page.index("<details") < page.index(CHOSEN[0].id) < page.index("</details>") < page.index('<h2 id="who"')
    assert "<i>the figure" not in page, "what learners sent is text"

    said = json.loads(ask(address, "api/results", "tess")[1])
    passed = Counter(row["passed"] for row in said["learners"])
    assert passed == {len(CHOSEN): COUNT - len(stuck), len(CHOSEN) - 1: len(stuck)}
    assert said["exercises"][0]["failures"] == [["<i>the figure</i> is right", len(stuck)]]


def test_an_unchanged_page_is_not_sent_again(address):
    answers = []
    for _ in range(2):  # at the turn of a minute "3 min ago" changes; not twice in a row
        _, _, headers = ask(address, "part", "tess")
        answers.append(ask(address, "part", "tess", **{"X-Shown": headers["X-Shown"]})[:2])
    assert (204, "") in answers
    ask(address, "api/results", NAMES[1], [{**records(1)[0], "seconds": 0.2}])
    assert ask(address, "part", "tess", **{"X-Shown": headers["X-Shown"]})[0] == 200


@pytest.mark.parametrize("path", ["part", "learner/learner001", "part/learner/learner001"])
def test_a_learner_sees_no_other(address, path):
    with pytest.raises(urllib.error.HTTPError, match="403"):
        ask(address, path, "learner002")
    assert "learner001" not in ask(address, "", "learner002")[1]
    assert [row["name"] for row in json.loads(ask(address, "api/results", "learner002")[1])["learners"]] == [
        "learner002"
    ]


def test_the_chosen_lab_is_said(address):
    lab = CHOSEN[0].lab
    page = ask(address, f"?lab={lab}", "tess")[1]
    assert f"<h1>Progress of the class: lab {lab}</h1>" in page
    assert f"learners have begun lab {lab};" in page
    assert f'aria-current="page">Lab {lab}</a>' in page
    assert "nav [aria-current] { font-weight: 700" in ask(address, "static/board.css", "tess")[1]
    assert "learners have begun;" in ask(address, "", "tess")[1]


@pytest.mark.parametrize(("path", "status"), [("learner/learner001", 403), ("nowhere", 404)])
def test_a_refusal_is_a_page_for_a_browser_and_json_for_a_program(address, path, status):
    with pytest.raises(urllib.error.HTTPError) as refused:
        ask(address, path, "learner002", Accept="text/html,*/*")
    assert refused.value.code == status
    page = refused.value.read().decode()
    assert page.startswith("<!DOCTYPE html>")
    assert '<a href="/board/">Your progress</a>' in page
    with pytest.raises(urllib.error.HTTPError) as refused:
        ask(address, path, "learner002")
    assert "\n" not in json.loads(refused.value.read())["error"]


def test_a_teachers_wrong_lab_is_a_page(address):
    with pytest.raises(urllib.error.HTTPError) as refused:
        ask(address, "?lab=99", "tess", Accept="text/html")
    page = refused.value.read().decode()
    assert (refused.value.code, "there is no lab &#x27;99&#x27;" in page) == (404, True)
    assert '<a href="/board/">Progress of the class</a>' in page
