"""The queue: every slot busy, no task lost or doubled, whatever dies."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import classroom
import pytest

from labkit.course import lay, write_notebook
from labkit.errors import LabkitError, UsageError
from labkit.grading import crew, grade, journal, outdir
from labkit.grading.crew import Crew
from labkit.grading.marks import Mark, fingerprint

FAKE = str(Path(__file__).with_name("fake_worker.py"))
LAB = classroom.lab("01")
NOTEBOOKS = classroom.ROOT / "notebooks"


@pytest.fixture(autouse=True)
def _fake(tmp_path, monkeypatch):
    (tmp_path / "seen").mkdir()
    monkeypatch.setenv("FAKE_WORKER", str(tmp_path / "seen"))
    monkeypatch.setattr(crew, "COMMAND", (sys.executable, FAKE))
    monkeypatch.setattr(grade, "judge_digest", lambda: "judge")  # whoever edits labkit meanwhile changes nothing here


def class_of(directory: Path, answers: dict[str, str]) -> Path:
    """A class in which each learner has the same text in all answers; `right 3` is right in three."""
    for learner, text in answers.items():
        sources = {e.id: {e.answer[0]: f"# {text} {e.id}\n"} for e in LAB.exercises}
        path = directory / learner / f"{LAB.stem}.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        write_notebook(lay(LAB, sources), path)
    return directory


def run(submissions, out, **options):
    return grade.grade([submissions], out, labs=NOTEBOOKS, **{"workers": 2, "key": b"k"} | options)


def verdicts(grading):
    return {mark.key: (str(mark.result.verdict), mark.result.points) for mark in grading.marks}


def written(out: Path) -> list[dict]:
    return [json.loads(line) for line in (out / journal.NAME).read_text().splitlines()]


def test_marks_do_not_depend_on_how_many_work(tmp_path):
    submissions = class_of(tmp_path / "class", {"ada": "right", "ben": "no", "cleo": "right"})
    one, three = (run(submissions, tmp_path / f"out{n}", workers=n) for n in (1, 3))
    assert verdicts(one) == verdicts(three)
    assert [m.key for m in one.marks] == [m.key for m in three.marks]
    assert len(one.marks) == 3 * len(LAB.exercises)
    assert one.isolation == {"way": "made up", "closed": [], "open": ["all"]}
    assert {m.isolation for m in one.marks} == {"made up"}


def test_dying_and_faulty_judges_cost_one_exercise(tmp_path):
    submissions = class_of(
        tmp_path / "class",
        {"ada": "right", "ben": "die", "cleo": "die once, right", "dan": "fault", "eve": "slot lost, right"},
    )
    done = verdicts(run(submissions, tmp_path / "out"))
    by_learner = {
        learner: {v for k, v in done.items() if k[0] == learner} for learner in ("ada", "ben", "cleo", "dan", "eve")
    }
    assert by_learner["ada"] == by_learner["eve"] == by_learner["cleo"] == {("passed", 2)}
    assert by_learner["ben"] == by_learner["dan"] == {("broken", 0)}


@pytest.mark.slow
def test_a_hanging_judge_is_replaced(tmp_path, monkeypatch):
    monkeypatch.setattr(crew, "PATIENCE_S", 1.0)
    submissions = class_of(tmp_path / "class", {"ada": "right", "ben": "hang"})
    tasks = [t for t in _tasks(submissions) if t.learner == "ada" or t.exercise.id == "pipeline.makespan"]
    with Crew({"key": "", "labs": {}, "unsafe": False}, 2) as judges:
        marks = {m.key: m for batch in judges.run(tasks) for m in batch}
    assert len(marks) == len(tasks)
    broken = [m for m in marks.values() if m.result.verdict == "broken"]
    assert [m.result.learner for m in broken] == ["ben"]
    assert "2 times: no verdict within 1 s" in broken[0].result.failure.seen


def _tasks(submissions):
    course = grade.read_course(NOTEBOOKS)
    collected = grade.collect(grade.find([submissions], course), course)
    return [task for one in collected.submissions for task in grade._tasks(one, course, b"k", "judge")]


def test_where_nothing_can_start(tmp_path, monkeypatch):
    submissions = class_of(tmp_path / "class", {"ada": "right"})
    with pytest.raises(UsageError, match="can't confine"):
        run(submissions, tmp_path / "a", unsafe=True)
    monkeypatch.setattr(crew, "COMMAND", (sys.executable, "-c", "raise SystemExit('no torch here')"))
    blank = submissions / "blank" / f"{LAB.stem}.ipynb"
    blank.parent.mkdir()
    blank.write_bytes(LAB.path.read_bytes())
    for _ in range(2):  # the first leaves nothing that the second would take for marks
        with pytest.raises(LabkitError, match="could not start: exit status 1: no torch here"):
            run(submissions, tmp_path / "b")


def test_resume_keeps_what_is_the_same_and_nothing_else(tmp_path):
    submissions = class_of(tmp_path / "class", {"ada": "right", "ben": "no", "cleo": "fault"})
    out = tmp_path / "out"
    first = run(submissions, out)
    with pytest.raises(UsageError, match="holds marks already"):
        run(submissions, out)
    again = run(submissions, out, resume=True)
    n = len(LAB.exercises)
    assert (again.judged, again.kept) == (n, 2 * n), "broken marks are tried again, the others stand"
    assert again.isolation == first.isolation

    class_of(submissions, {"ben": "now right"})
    changed = run(submissions, out, resume=True)
    assert (changed.judged, changed.kept) == (2 * n, n)
    assert {v for k, v in verdicts(changed).items() if k[0] == "ben"} == {("passed", 2)}
    assert len(written(out)) == 3 * n, "no mark is there twice"

    with pytest.raises(UsageError, match="made with another course key: give the first one, or another --out"):
        run(submissions, out, key=b"other", resume=True)
    noted = json.loads((out / outdir.RUN).read_text())
    assert noted["key"] == outdir.fingerprint(b"k")
    (out / outdir.RUN).write_text(json.dumps({"isolation": noted["isolation"]}))  # of a labkit that noted no key
    assert run(submissions, out, key=b"other", resume=True).kept == 0


def test_since_takes_marks_of_an_earlier_run(tmp_path):
    submissions = class_of(tmp_path / "class", {"ada": "right", "ben": "no"})
    run(submissions, tmp_path / "monday")
    class_of(submissions, {"ben": "right"})
    n = len(LAB.exercises)
    tuesday = run(submissions, tmp_path / "tuesday", since=tmp_path / "monday")
    assert (tuesday.judged, tuesday.kept) == (n, n)
    assert verdicts(tuesday) == verdicts(run(submissions, tmp_path / "fresh"))
    wednesday = run(submissions, tmp_path / "wednesday", since=tmp_path / "tuesday" / journal.NAME)
    assert (wednesday.judged, wednesday.isolation) == (0, tuesday.isolation), "told, though no answer was run"
    assert json.loads((tmp_path / "wednesday" / outdir.RUN).read_text())["isolation"] == tuesday.isolation
    assert any(line.startswith("isolation: made up") for line in grade.lines(wednesday))
    same = run(submissions, tmp_path / "tuesday", since=tmp_path / "tuesday" / journal.NAME)
    assert same.kept == 2 * n


def test_marks_made_unsafe_do_not_count_where_answers_are_confined(tmp_path):
    submissions = class_of(tmp_path / "class", {"ada": "right"})
    out = tmp_path / "out"
    run(submissions, out)
    path = out / journal.NAME
    path.write_text(path.read_text().replace("made up", "none"))
    assert run(submissions, out, resume=True).kept == 0


def test_a_torn_line_is_judged_again(tmp_path):
    submissions = class_of(tmp_path / "class", {"ada": "right"})
    out = tmp_path / "out"
    whole = verdicts(run(submissions, out))
    path = out / journal.NAME
    raw = path.read_bytes()
    rng = random.Random(7)
    for cut in [0, 1, len(raw) - 1, *(rng.randrange(len(raw)) for _ in range(6))]:
        path.write_bytes(raw[:cut])
        done = run(submissions, out, resume=True)
        assert verdicts(done) == whole
        assert done.kept == raw[:cut].count(b"\n")
        assert path.read_bytes().count(b"\n") == len(whole)
    path.write_bytes(raw.replace(b'"verdict"', b'"verdic\xff"', 1))  # damaged in the middle
    assert verdicts(run(submissions, out, resume=True)) == whole


def test_one_grader_at_a_time(tmp_path):
    with journal.Journal(tmp_path), pytest.raises(UsageError, match="another grading is at work"):
        journal.Journal(tmp_path)


def test_a_mark_counts_only_when_it_is_on_the_disk(tmp_path, monkeypatch):
    submissions = class_of(tmp_path / "class", {"ada": "right"})
    marks = run(submissions, tmp_path / "out").marks
    with journal.Journal(tmp_path) as book:
        synced = []

        def fsync(handle):
            synced.append((tmp_path / journal.NAME).read_bytes().count(b"\n"))
            assert not book.marks, "not before"

        monkeypatch.setattr(journal.os, "fsync", fsync)
        book.add(marks)
        assert synced == [len(marks)], "all lines were written, then synced"
        assert len(book.marks) == len(marks)


SCRIPT = """
import sys
from pathlib import Path
from labkit.grading import crew, grade
crew.COMMAND = (sys.executable, {fake!r})
grade.judge_digest = lambda: "judge"
grade.grade([Path({submissions!r})], Path({out!r}), labs=Path({labs!r}), key=b"k", workers=2, resume=True)
"""


@pytest.mark.slow
def test_killed_at_twenty_random_moments(tmp_path, monkeypatch):
    """SIGKILL and --resume, twenty times: at the end every mark is there once, and the same as without."""
    rng = random.Random(20)
    submissions = class_of(tmp_path / "class", {f"learner-{i:02}": rng.choice(("right", "no")) for i in range(14)})
    calm = verdicts(run(submissions, tmp_path / "calm"))
    out = tmp_path / "out"
    script = SCRIPT.format(fake=FAKE, submissions=str(submissions), out=str(out), labs=str(NOTEBOOKS))
    env = os.environ | {"FAKE_WORKER_S": "0.05"}
    path, before = out / journal.NAME, 0
    for _ in range(20):
        process = subprocess.Popen([sys.executable, "-c", script], env=env)
        _wait_for_more_lines(path, before, process)
        time.sleep(rng.uniform(0, 0.15))
        process.kill()
        process.wait()
        now = _lines(path)
        assert now >= before, "a mark on the disk is never lost"
        before = now
        if now > 0.7 * len(calm):  # nearly done: begin anew, so that kills hit every part
            path.unlink()
            before = 0
    resumed = run(submissions, out, resume=True)
    assert verdicts(resumed) == calm
    assert len(written(out)) == len(calm)
    assert len({(r["learner"], r["exercise"]) for r in written(out)}) == len(calm)


def _lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def _wait_for_more_lines(path: Path, before: int, process: subprocess.Popen) -> None:
    end = time.monotonic() + 20
    while _lines(path) <= before and process.poll() is None and time.monotonic() < end:
        time.sleep(0.01)


def test_a_mark_survives_the_way_to_the_disk_and_back(tmp_path):
    submissions = class_of(tmp_path / "class", {"ada": "right"})
    for mark in run(submissions, tmp_path / "out").marks:
        assert Mark.from_json(json.loads(json.dumps(mark.to_json()))) == mark
    for bad in ({}, [], 7, None, {"lab": 3}, mark.to_json() | {"reasons": [3]}):
        with pytest.raises(UsageError):
            Mark.from_json(bad)


def test_everything_a_mark_depends_on_is_in_its_fingerprint():
    base = {"lab": "a", "judge": "b", "key": b"k"}
    prints = {
        fingerprint("ada", "x", {"c": "1"}, **base),
        fingerprint("ben", "x", {"c": "1"}, **base),
        fingerprint("ada", "y", {"c": "1"}, **base),
        fingerprint("ada", "x", {"c": "2"}, **base),
        *(
            fingerprint("ada", "x", {"c": "1"}, **base | {name: value})
            for name, value in (("lab", "z"), ("judge", "z"), ("key", b"z"))
        ),
    }
    assert len(prints) == 7
