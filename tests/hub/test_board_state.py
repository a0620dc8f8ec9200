"""The board keeps every record once, as its sender's, and reads the same after a restart."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.checks.registry import exercises
from labkit.errors import UsageError
from labkit.hub import board_pages, board_view
from labkit.hub.board_state import LARGEST, Board, Standing

NOW = datetime(2026, 3, 2, 10, 0, tzinfo=UTC)


def record(exercise="pipeline.makespan", verdict="failed", minute=0, claim="two numbers", learner="ada"):
    evidence = [{"claim": "is a number", "ok": True}, {"claim": claim, "ok": verdict == "passed"}]
    at = (NOW + timedelta(minutes=minute)).isoformat()
    return {
        "exercise": exercise, "verdict": verdict, "points": 2.0 * (verdict == "passed"), "max_points": 2.0,
        "evidence": evidence, "device": "cpu", "seconds": 0.1, "learner": learner, "at": at, "version": "1",
    }  # fmt: skip


def test_a_record_counts_once_however_often_it_is_sent(tmp_path):
    board = Board(tmp_path)
    sent = [record(minute=1), record(minute=2), record(minute=1)]
    assert board.take("ada", sent) == 2
    assert board.take("ada", sent) == 0
    assert Board(tmp_path).take("ada", sent) == 0, "a restart remembers"
    assert Board(tmp_path).people() == board.people()
    assert board.people()["ada"]["pipeline.makespan"].attempts == 2


def test_whose_it_is_comes_from_the_hub(tmp_path):
    board = Board(tmp_path)
    board.take("bob", [record(learner="ada", verdict="passed")])
    assert list(board.people()) == ["bob"]


def test_a_clock_that_is_ahead_puts_nothing_into_the_future(tmp_path):
    board = Board(tmp_path)
    board.take("ada", [{**record(), "at": "2999-01-01T00:00:00+00:00"}])
    assert board.people()["ada"]["pipeline.makespan"].at <= datetime.now(UTC)


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (3, "not a result record"),
        ({}, "not a result record"),
        ({**record(), "verdict": "won"}, "verdict"),
        ({**record(), "points": float("nan")}, "points"),
        ({**record(), "at": "noon"}, "at"),
        ({**record(), "evidence": [{"claim": "x" * LARGEST}]}, "more than"),
    ],
)
def test_what_is_no_record_is_refused_in_one_line(tmp_path, bad, why):
    board = Board(tmp_path)
    with pytest.raises(UsageError, match=why) as refused:
        board.take("ada", [record(minute=5), bad])
    assert "\n" not in str(refused.value)
    assert board.people()["ada"]["pipeline.makespan"].attempts == 1, "the good one before it is kept"


def test_many_kernels_at_once_lose_nothing(tmp_path):
    board = Board(tmp_path)
    names = [f"learner{n}" for n in range(6)]
    threads = [threading.Thread(target=board.take, args=(name, [record(minute=m) for m in range(5)])) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {name: one["pipeline.makespan"].attempts for name, one in Board(tmp_path).people().items()} == dict.fromkeys(
        names, 5
    )


def standing(attempts, passed, minute=0, claim="two numbers"):
    return Standing(attempts, passed, "" if passed else claim, NOW + timedelta(minutes=minute))


def test_who_is_stuck_comes_first_and_who_has_not_begun_last():
    known = {
        "ada": {"pipeline.makespan": standing(2, False)},
        "bob": {"pipeline.makespan": standing(1, True), "pipeline.waits": standing(4, False, 5)},
    }
    rows = board_view.people(["zoe", "ada", "bob"], known, exercises(), NOW + timedelta(minutes=8))
    assert [row.name for row in rows] == ["bob", "ada", "zoe"]
    assert (rows[0].stuck, rows[0].exercise, rows[0].minutes, rows[0].passed) == (4, "pipeline.waits", 3, 1)
    assert rows[1].stuck == 0
    assert rows[2].minutes is None


def test_among_the_stuck_who_was_active_last_comes_first():
    known = {
        "eve": {"pipeline.makespan": standing(9, False, -7 * 24 * 60)},
        "now": {"pipeline.makespan": standing(3, False)},
        "ada": {"pipeline.makespan": standing(1, True, 1)},
    }
    rows = board_view.people([*known], known, exercises(), NOW + timedelta(minutes=8))
    assert [row.name for row in rows] == ["now", "eve", "ada"]
    body = board_pages.class_body(["01"], "", rows, board_view.exercise_rows(known, exercises()), "/b/", 60)
    assert "2 are stuck</a>, 1 of them not seen for days." in body
    assert "after 9 attempts: two numbers; not seen for days" in body
    assert "after 3 attempts: two numbers</td>" in body


def test_where_nobody_is_stuck_all_is_folded():
    known = {"ada": {"pipeline.makespan": standing(1, True)}}
    rows = board_view.people(["ada"], known, exercises(), NOW)
    body = board_pages.class_body(["01"], "", rows, board_view.exercise_rows(known, exercises()), "/b/", 60)
    assert "<p>Nobody is stuck.</p>" in body
    assert "1 exercise where nobody is stuck</summary>" in body


def test_what_holds_people_up():
    known = {
        "a": {"pipeline.makespan": standing(5, False)},
        "b": {"pipeline.makespan": standing(3, False, claim="overlapped")},
        "c": {"pipeline.makespan": standing(1, True), "pipeline.waits": standing(1, True)},
        "d": {"pipeline.makespan": standing(0, False, claim="")},
    }
    first, second = board_view.exercise_rows(known, exercises())
    assert (first.exercise, first.tried, first.passed, first.stuck, first.attempts) == ("pipeline.makespan", 3, 1, 2, 3)
    assert dict(first.failures) == {"two numbers": 1, "overlapped": 1}
    assert (second.exercise, second.stuck) == ("pipeline.waits", 0)


@given(st.text(min_size=1, max_size=40), st.text(max_size=40))
def test_pages_say_anything_and_run_nothing(name, claim):
    rows = board_view.people([name], {name: {"pipeline.waits": standing(5, False, claim=claim)}}, exercises(), NOW)
    body = board_pages.class_body(["01"], "", rows, [], "/services/board/", 60)
    page = board_pages.shell(name, "/services/board/", name, [body])
    import html.parser

    class Tags(html.parser.HTMLParser):
        def __init__(self):
            super().__init__()
            self.found = set()

        def handle_starttag(self, tag, attrs):
            self.found.add((tag, *sorted(key for key, _ in attrs)))

    tags = Tags()
    tags.feed(page)
    assert {tag[0] for tag in tags.found if tag[0] in ("img", "iframe", "style", "form", "svg", "object")} == set()
    assert sum(tag[0] == "script" for tag in tags.found) == 1
    assert not any(key.startswith("on") for tag in tags.found for key in tag[1:])


def test_three_hundred_learners_are_one_page(tmp_path):
    names = [f"learner{n:03d}" for n in range(300)]
    known = {name: {one.id: standing(n % 6, n % 3 == 0, n) for n, one in enumerate(exercises())} for name in names}
    rows = board_view.people(names, known, exercises(), NOW + timedelta(hours=2))
    body = board_pages.class_body(["01"], "", rows, board_view.exercise_rows(known, exercises()), "/b/", 60)
    assert body.count("<tr>") >= 300
    assert len(body) < 400_000
