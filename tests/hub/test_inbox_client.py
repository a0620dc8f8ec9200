"""`labkit collect` and `feedback` as a teacher types them: times, deadlines, trials, names that are wrong."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest
from serving import served

from labkit.cli import main
from labkit.grading.finding import find
from labkit.grading.labs import read_course
from labkit.hub import inbox
from labkit.hub.inbox_store import Inbox

ONE, TWO = "01_pipeline_timeline.ipynb", "02_second.ipynb"


@pytest.fixture
def room(tmp_path, monkeypatch):
    """The inbox of a class, and a teacher in a directory of their own."""
    kept = Inbox(tmp_path)
    (tmp_path / "own").mkdir()
    monkeypatch.chdir(tmp_path / "own")
    monkeypatch.setenv("JUPYTERHUB_API_TOKEN", "tess")
    with served("inbox", inbox.routes(), tmp_path, ("lktada", "lktbob", "lkttess"), inbox=kept) as address:
        monkeypatch.setenv("LABKIT_INBOX", address)
        yield tmp_path


def hand_in(room, learner, name, content, hour):
    """Taken on 2 March 2026 at `hour`, UTC."""
    receipt = Inbox(room).take(learner, name, content)
    file = next(room.glob(f"inbox/{learner}/{name.removesuffix('.ipynb')}/{receipt.number:04}-*"))
    then = datetime(2026, 3, 2, hour, tzinfo=UTC).timestamp()
    os.utime(file, (then, then))


def brought(room):
    return {str(path.relative_to(room / "own")): path.read_text() for path in (room / "own").rglob("*.ipynb")}


def test_each_hand_in_has_its_time_where_the_grader_reads_it(room, capsys):
    hand_in(room, "lktada", ONE, b"{1}", 10)
    hand_in(room, "lktada", TWO, b"{2}", 12)
    assert main(["collect", "--out", "in"]) == 0
    assert f"lktada/{ONE}: hand-in 1, taken 2026-03-02T10:00:00+00:00\n" in capsys.readouterr().out
    course = read_course(Path(__file__).parents[2] / "notebooks")
    stamps = {one.path.name: (one.learner, one.timestamp) for one in find([room / "own/in"], course)}
    assert stamps == {
        ONE: ("lktada", "2026-03-02T10:00:00+00:00"),
        TWO: ("lktada", "2026-03-02T12:00:00+00:00"),
    }


def test_what_an_earlier_labkit_collected_is_not_there_twice(room):
    hand_in(room, "lktada", ONE, b"{1}", 10)
    (room / "own/in/lktada").mkdir(parents=True)
    (room / "own/in/lktada" / ONE).write_bytes(b"{1}")
    assert main(["collect", "--out", "in"]) == 0
    assert brought(room) == {f"in/lktada/01_pipeline_timeline/{ONE}": "{1}"}


def test_a_deadline_and_a_lab(room, capsys):
    hand_in(room, "lktada", ONE, b"{early}", 10)
    hand_in(room, "lktada", ONE, b"{late}", 18)
    hand_in(room, "lktbob", ONE, b"{too late}", 18)
    hand_in(room, "lktbob", TWO, b"{other}", 9)
    for number, time in enumerate(("2026-03-02T18:30+01:00", "2026-03-02 17:30", "2026-03-02T10:00:00Z")):
        assert main(["collect", "--out", f"{number}", "--until", time, "--lab", "01"]) == 0
        said = capsys.readouterr().out
        assert f"lktbob/{ONE}: left out, first handed in after {time}" in said
        assert f"1 new in {number}, of lab 01" in said
    assert {path.rpartition("/")[0] for path in brought(room)} == {f"{n}/lktada/01_pipeline_timeline" for n in range(3)}
    assert set(brought(room).values()) == {"{early}"}
    assert main(["collect", "--out", "all"]) == 0
    assert main(["collect", "--out", "all", "--until", "2026-03-02T17:00"]) == 2
    assert "was handed in after 2026-03-02T17:00: give a new --out" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["--until", "2026-03-02"], ["--until", "Monday"], ["--lab", "1"]])
def test_a_wrong_filter_is_said(room, capsys, words):
    assert main(["collect", "--out", "in", *words]) == 2
    said = capsys.readouterr().err
    assert repr(words[1]) in said
    assert said.count("\n") == 1


def test_a_teachers_trial_is_left_out(room, capsys):
    hand_in(room, "lktada", ONE, b"{1}", 10)
    hand_in(room, "tess", ONE, b"{trial}", 11)
    assert main(["collect", "--out", "in"]) == 0
    said = capsys.readouterr().out
    assert "left out: 1 hand-in of teachers" in said
    assert "1 new in in" in said
    assert list(brought(room).values()) == ["{1}"]


def test_feedback_names_who_has_none_and_gives_nothing_out(room, capsys):
    reports = room / "own/marks/learners"
    reports.mkdir(parents=True)
    for name in ("lktada", "lktbob", "lkttess"):
        (reports / f"{name}.html").write_text(name)
    for names in (["nobody"], ["lktbob", "nobody"]):
        assert main(["feedback", "marks", *names]) == 2
        said = capsys.readouterr().err
        assert "nobody has no report in marks/learners (there are: lktada, lktbob, lkttess)" in said
        assert said.count("\n") == 1
    assert Inbox(room).feedback("lktbob") == []
    assert main(["feedback", "marks", "lktbob"]) == 0
    assert capsys.readouterr().out == "1 learner has their report: lktbob\n"
    assert main(["feedback", "elsewhere", "lktbob"]) == 2
    assert "elsewhere/learners holds no report of this class" in capsys.readouterr().err


def test_feedback_says_who_handed_in_and_has_no_report(room, capsys):
    hand_in(room, "lktada", ONE, b"{1}", 10)
    hand_in(room, "lktbob", ONE, b"{2}", 10)
    (room / "own/marks/learners").mkdir(parents=True)
    (room / "own/marks/learners/lktada.html").write_text("ada")
    assert main(["feedback", "marks"]) == 0
    said = capsys.readouterr().out
    assert "1 learner has their report: lktada" in said
    assert "handed in, but without a report in marks: lktbob" in said


def test_an_earlier_report_stays_under_its_date(room):
    kept = Inbox(room)
    kept.give_feedback("lktada", "report.html", b"lab 01")
    then = datetime(2026, 3, 2, 10, tzinfo=UTC).timestamp()
    os.utime(room / "feedback/lktada/report.html", (then, then))
    kept.give_feedback("lktada", "report.html", b"lab 02")
    kept.give_feedback("lktada", "report.html", b"lab 02")
    assert kept.feedback("lktada") == ["report.html", "report-2026-03-02-100000.html"]
    assert kept.feedback_page("lktada", "report-2026-03-02-100000.html") == b"lab 01"
    assert kept.feedback_page("lktada", "report.html") == b"lab 02"
