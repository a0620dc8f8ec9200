"""The board of a large class, over HTTP. Who asks is said by a header here; on a real hub: test_classroom.py."""

from __future__ import annotations

import json
import threading
import urllib.error
import urllib.request
from collections import Counter
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from pathlib import Path

import pytest
from tornado.httpserver import HTTPServer
from tornado.ioloop import IOLoop
from tornado.netutil import bind_sockets
from tornado.web import Application

from labkit.checks.registry import exercises
from labkit.hub import board, service
from labkit.hub.board_state import Board
from labkit.hub.classroom import Classroom

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
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        if tag == "tbody":
            self.tables.append([])
        elif tag == "a":
            self.links.append(dict(attrs)["href"])
        elif self.tables and tag == "tr":
            self.tables[-1].append([])
        elif self.tables and tag in ("th", "td") and self.tables[-1]:
            self.tables[-1][-1].append("")

    def handle_data(self, data):
        if self.tables and self.tables[-1] and self.tables[-1][-1]:
            self.tables[-1][-1][-1] += data


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """A served board; requests say who they are in X-Who."""

    def who(handler):
        name = handler.request.headers["X-Who"]
        return {"name": name, "scopes": ["custom:board:teach"] if name == "tess" else []}

    place = tmp_path_factory.mktemp("class")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(service.Handler, "get_current_user", who)
        classroom = Classroom(Path(place), NAMES, ("tess",))
        rules = [("/board/" + rule[0], *rule[1:]) for rule in board.routes()]
        (listening,) = bind_sockets(0, "127.0.0.1")
        running, loops = threading.Event(), []

        def run():
            async def begin():
                app = Application(rules, classroom=classroom, prefix="/board/", board=Board(place), cookie_secret="x")
                HTTPServer(app).add_socket(listening)
                running.set()

            loop = IOLoop(make_current=False)
            loops.append(loop)
            loop.add_callback(begin)
            loop.start()
            loop.close(all_fds=True)

        thread = threading.Thread(target=run)
        thread.start()
        running.wait(10)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/board/"
        loops[0].add_callback(loops[0].stop)
        thread.join(10)


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
    held_up, learners = seen.tables
    stuck = [name for number, name in enumerate(NAMES) if number % 7 == 0]
    assert f"300 of 300 learners have begun; 0 had something checked in the last 10 minutes; {len(stuck)} are" in page
    assert sorted(row[0] for row in learners) == sorted(NAMES), "everybody once"
    assert sorted(row[0] for row in learners[: len(stuck)]) == stuck, "those who are stuck first"
    assert all("stuck after 3 attempts" in row[5] for row in learners[: len(stuck)])
    assert {f"/board/learner/{name}" for name in NAMES} <= set(seen.links)
    assert CHOSEN[-1].id in held_up[0][0], "what holds most people up comes first"
    assert held_up[0][1:3] == [f"{COUNT - len(stuck)} of {COUNT}", f"{len(stuck)}"]
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
