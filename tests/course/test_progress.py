"""Progress as one person sees it: what is kept, what it adds up to, and what is said when it can't be kept."""

import json
import os
import sqlite3
import stat
import sys
from dataclasses import FrozenInstanceError

import pytest

from labkit.course import progress
from labkit.course.progress import ProgressError, ProgressStore, Standing
from labkit.errors import LabkitError, UsageError


def record(exercise="pipeline.waits", verdict="failed", points=0.0, learner="ada", minute=0, **more):
    return {
        "exercise": exercise, "verdict": verdict, "points": points, "max_points": 2, "evidence": [], "device": "cpu",
        "seconds": 0.01, "learner": learner, "at": f"2026-03-01T10:{minute:02d}:00+00:00", "version": "0.1.0", **more,
    }  # fmt: skip


@pytest.fixture
def store(tmp_path):
    return ProgressStore(tmp_path / "home" / "progress.sqlite")


def test_records_come_back_as_they_were_given(store):
    given = [
        record(evidence=[{"claim": "wartet 4 ms \u2013 \u7b49\u5f85", "ok": False, "seen": [1, 2.5, None]}]),
        record("pipeline.makespan", "passed", 2),
        record(learner="bob"),
    ]
    for one in given:
        store.add(one)
    assert store.records() == given
    assert store.records(learner="ada") == given[:2]
    assert store.records(exercise="pipeline.waits") == [given[0], given[2]]
    assert store.records("bob", "pipeline.makespan") == []
    assert store.take_notices() == []


def test_standings_keep_the_best_and_the_last(store):
    for minute, (verdict, points) in enumerate(
        [("not answered", 0), ("failed", 0.5), ("broken", 0), ("passed", 2), ("passed", 2), ("failed", 0)]
    ):
        store.add(record(verdict=verdict, points=points, minute=minute))
    store.add(record("start.practice", "not answered", minute=7))
    store.add(record("start.practice", "passed", 1, learner="bob"))
    assert store.standings("ada") == {
        "pipeline.waits": Standing(
            "pipeline.waits", "passed", "failed", 4, 2.0, "2026-03-01T10:03:00+00:00", "2026-03-01T10:05:00+00:00"
        ),
        "start.practice": Standing(
            "start.practice", "not answered", "not answered", 0, 0.0, None, "2026-03-01T10:07:00+00:00"
        ),
    }
    assert list(store.standings("bob")) == ["start.practice"]
    with pytest.raises(FrozenInstanceError):
        store.standings("bob")["start.practice"].points = 9


def test_looking_makes_no_file(store):
    assert store.standings("ada") == {}
    assert store.records() == []
    assert not store.path.parent.exists()


def test_nothing_but_its_own_files(store):
    store.add(record())
    store.standings("ada")
    assert sorted(os.listdir(store.path.parent)) == ["progress.sqlite", "progress.sqlite.lock"]


def test_the_journal_and_the_flush_that_the_promises_rest_on(store):
    store.add(record())
    with store._connect(create=False) as db:
        assert db.execute("PRAGMA journal_mode").fetchone() == ("delete",)
        assert db.execute("PRAGMA synchronous").fetchone() == (2,)


def test_where_it_is_kept(monkeypatch, tmp_path):
    monkeypatch.setenv("LABKIT_PROGRESS", str(tmp_path / "here.sqlite"))
    assert ProgressStore().path == tmp_path / "here.sqlite"
    monkeypatch.delenv("LABKIT_PROGRESS")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("HOME", str(tmp_path))
    assert ProgressStore().path.name == "progress.sqlite"
    assert "labkit" in ProgressStore().path.parts
    assert tmp_path in ProgressStore().path.parents


def test_a_link_is_followed_so_that_the_journal_lies_beside_the_file(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link.sqlite").symlink_to(tmp_path / "real" / "kept.sqlite")
    ProgressStore(tmp_path / "link.sqlite").add(record())
    assert (tmp_path / "link.sqlite").is_symlink()
    assert len(ProgressStore(tmp_path / "real" / "kept.sqlite").records()) == 1


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"verdict": "great"}, "record['verdict'] is 'great': it must be one of broken, not answered, failed, passed"),
        ({"points": -1}, "record['points'] is -1: it must be a number, 0 or more"),
        ({"points": float("nan")}, "record['points'] is nan: it must be a number, 0 or more"),
        ({"max_points": "2"}, "record['max_points'] is '2': it must be a number, 0 or more"),
        ({"learner": ""}, "record['learner'] is '': it must be one line of text"),
        ({"exercise": "a\nb"}, r"record['exercise'] is 'a\nb': it must be one line of text"),
        ({"at": "yesterday"}, "record['at'] is 'yesterday': it must be an ISO time"),
        (
            {"evidence": {1, 2}},
            "the record of pipeline.waits can't be written as JSON: Object of type set is not JSON serializable",
        ),
    ],
)
def test_records_that_are_mistakes(store, change, line):
    with pytest.raises(UsageError) as caught:
        store.add(record(**change))
    assert str(caught.value) == line
    assert not store.path.exists()


def test_a_path_that_is_surely_not_a_progress_file_is_refused(tmp_path):
    thesis = tmp_path / "thesis.txt"
    thesis.write_text("chapter one")
    with pytest.raises(UsageError, match=r"progress is kept in a file that ends in \.sqlite, not '.*thesis\.txt'"):
        ProgressStore(thesis)
    assert thesis.read_text() == "chapter one"


def said(action):
    """The one line that `action` fails with."""
    with pytest.raises(ProgressError) as caught:
        action()
    assert isinstance(caught.value, LabkitError)
    line = str(caught.value)
    assert "\n" not in line
    assert len(line) < 400
    return line


def test_a_directory_in_the_way(tmp_path):
    (tmp_path / "progress.sqlite").mkdir()
    store = ProgressStore(tmp_path / "progress.sqlite")
    for action in (lambda: store.add(record()), lambda: store.standings("ada"), store.records):
        assert "is a directory: progress needs a file there (LABKIT_PROGRESS)" in said(action)


def test_a_file_in_place_of_its_directory(tmp_path):
    (tmp_path / "home").write_text("")
    assert "can't be used" in said(lambda: ProgressStore(tmp_path / "home" / "progress.sqlite").add(record()))


def as_somebody_without_rights(action):
    """What `action` returns where permissions count: root passes them all, so as root a child becomes nobody first."""
    if os.getuid() != 0:
        return action()
    inlet, outlet = os.pipe()
    if child := os.fork():
        os.close(outlet)
        with os.fdopen(inlet) as pipe:
            answer = pipe.read()
        assert os.waitpid(child, 0)[1] == 0, "the child failed"
        return json.loads(answer)
    try:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
        os.write(outlet, json.dumps(action()).encode())
        os._exit(0)
    finally:
        os._exit(1)


@pytest.fixture
def locked_home(tmp_path, store):
    """A store with one record, reachable for anyone, in a directory and a file that only their owner may change."""
    store.add(record(verdict="passed", points=2))
    for parent in [tmp_path, *list(tmp_path.parents)[:3]]:
        if parent.stat().st_uid == os.getuid():
            parent.chmod(parent.stat().st_mode | stat.S_IXOTH | stat.S_IROTH)
    store.path.chmod(0o444)
    (store.path.parent / "progress.sqlite.lock").chmod(0o444)
    store.path.parent.chmod(0o555)
    yield store
    store.path.parent.chmod(0o755)


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX permissions")
def test_without_the_right_to_write_it_says_so_and_still_reads(locked_home):
    def attempt():
        try:
            locked_home.add(record())
        except ProgressError as error:
            return [str(error), len(locked_home.records()), locked_home.standings("ada")["pipeline.waits"].best]

    line, kept, best = as_somebody_without_rights(attempt)
    assert "can't be used (permission denied): make it writable, or set LABKIT_PROGRESS to a .sqlite file" in line
    assert "\n" not in line
    assert (kept, best) == (1, "passed")


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX permissions")
def test_a_read_only_file_in_a_writable_directory(locked_home):
    locked_home.path.parent.chmod(0o777)
    (locked_home.path.parent / "progress.sqlite.lock").chmod(0o666)

    def attempt():
        try:
            locked_home.add(record())
        except ProgressError as error:
            return [str(error), len(locked_home.records())]

    line, kept = as_somebody_without_rights(attempt)
    assert "can't be used (attempt to write a readonly database): make it writable" in line
    assert kept == 1


def test_a_file_from_a_newer_labkit_is_left_alone(store):
    store.add(record())
    with sqlite3.connect(store.path) as db:
        db.execute("PRAGMA user_version = 2")
    db.close()
    before = store.path.read_bytes()
    for action in (lambda: store.add(record()), lambda: ProgressStore(store.path).standings("ada")):
        assert "was written by a newer labkit (format 2, this one reads 1): upgrade labkit" in said(action)
    assert store.path.read_bytes() == before
    assert len(os.listdir(store.path.parent)) == 2


def test_a_database_of_another_program_is_left_alone(store):
    store.path.parent.mkdir()
    with sqlite3.connect(store.path) as db:
        db.execute("CREATE TABLE bookmarks (url TEXT)")
    db.close()
    before = store.path.read_bytes()
    assert "belongs to another program: set LABKIT_PROGRESS to another .sqlite file" in said(
        lambda: store.add(record())
    )
    assert store.path.read_bytes() == before


def test_a_file_that_somebody_keeps_locked(store, monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE_S", 0.1)
    store.add(record())
    other = sqlite3.connect(store.path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    assert "has been kept busy for 0 s by another program: try again" in said(lambda: store.add(record()))
    other.execute("ROLLBACK")
    other.close()
    store.add(record())
    assert len(store.records()) == 2
