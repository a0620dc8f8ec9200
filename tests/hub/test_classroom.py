"""A class on a real hub, without browsers: rights, hand-ins, reports, restarts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import nobody
import psutil
import pytest

ROOT = Path(__file__).parents[2]
LAB = "00_start_here.ipynb"

pytestmark = pytest.mark.slow


def record(minute=0, verdict="failed"):
    return {
        "exercise": "pipeline.makespan", "verdict": verdict, "points": 0.0, "max_points": 2.0, "device": "cpu",
        "evidence": [{"claim": "two numbers", "ok": verdict == "passed"}], "seconds": 0.1, "learner": "somebody",
        "at": f"2026-03-02T10:{minute:02d}:00+00:00", "version": "1",
    }  # fmt: skip


@pytest.fixture(scope="module")
def people(room):
    return {who: room.person(who) for who in ("ada", "bob", "eve", "tess")}


def test_nobody_else_comes_in(room, people):
    import urllib.error

    with pytest.raises(urllib.error.HTTPError, match="403"):
        people["ada"].get("/hub/login", b"username=root&password=root&_xsrf=x")
    status, _ = people["ada"].ask("board/api/results", token="0" * 32)
    assert status == 403


def test_each_sees_their_own_and_the_teacher_all(room, people):
    ada, bob, tess = people["ada"], people["bob"], people["tess"]
    assert ada.ask("board/api/results", "POST", json.dumps([record(1), record(2)]).encode())[0] == 200
    mine = json.loads(ada.ask("board/api/results")[1])
    assert [row["name"] for row in mine["learners"]] == [ada.name]
    everybody = json.loads(tess.ask("board/api/results")[1])
    assert {row["name"] for row in everybody["learners"]} == {people[who].name for who in ("ada", "bob", "eve")}
    assert everybody["exercises"][0]["exercise"] == "pipeline.makespan"
    assert json.loads(bob.ask("board/api/results")[1])["learners"][0]["exercise"] == "", "not ada's"


def test_another_learner_is_refused_and_it_is_logged(room, people, tmp_path):
    ada, eve = people["ada"], people["eve"]
    assert ada.labkit("submit", ROOT / "notebooks" / LAB).returncode == 0
    home = Path(f"/home/{ada.name}")
    assert home.stat().st_mode & 0o077 == 0, "nobody else opens a learner's home"
    refused = [
        ("GET", f"board/learner/{ada.name}", None),
        ("GET", "board/part", None),
        ("GET", f"inbox/api/hand-ins/{ada.name}/{LAB}/1", None),
        ("GET", f"inbox/feedback/{ada.name}/report.html", None),
        ("PUT", f"inbox/api/feedback/{ada.name}/report.html", b"<p>full marks"),
    ]
    for method, path, body in refused:
        status, said = eve.ask(path, method, body)
        assert status == 403, path
        assert "\n" not in json.loads(said)["error"]
        assert f"refused {method} /services/{path}" in room.log.read_text(), "it is logged"
    assert eve.ask("board/api/results", "POST", json.dumps([{**record(3), "learner": ada.name}]).encode())[0] == 200
    before = json.loads(ada.ask("board/api/results")[1])["learners"][0]
    assert before["stuck"] == 0, "what eve posts as ada's is eve's"


def test_hand_in_collect_and_report(room, people, tmp_path):
    ada, bob, tess = people["ada"], people["bob"], people["tess"]
    first = ada.labkit("submit", ROOT / "notebooks" / LAB)
    assert "hand-in 1" in first.stdout
    assert bob.labkit("submit", ROOT / "notebooks" / "01_pipeline_timeline.ipynb").returncode == 0
    collected = tess.labkit("collect", f"--out={tmp_path / 'in'}")
    assert "2 new" in collected.stdout
    assert (tmp_path / "in" / ada.name / LAB.removesuffix(".ipynb") / LAB).read_bytes() == (
        ROOT / "notebooks" / LAB
    ).read_bytes()
    assert "0 new" in tess.labkit("collect", f"--out={tmp_path / 'in'}").stdout
    pages = tmp_path / "marks" / "learners"
    pages.mkdir(parents=True)
    (pages / f"{ada.name}.html").write_text("<p>well done</p>")
    assert ada.name in tess.labkit("feedback", tmp_path / "marks").stdout
    assert ada.ask(f"inbox/feedback/{ada.name}/report.html") == (200, "<p>well done</p>")
    assert "report.html" in ada.get("/services/inbox/")


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["submit", "no.ipynb"], "no.ipynb can't be read"),
        (["submit", "README.md"], "is no lab's notebook"),
        (["feedback", "README.md"], "holds no report of this class"),
    ],
)
def test_mistakes_are_one_line(people, words, why):
    done = people["tess"].labkit(*words)
    assert done.returncode == 2
    assert why in done.stderr
    assert done.stderr.count("\n") == 1


def test_an_expired_token_is_said(people):
    done = people["ada"].labkit("submit", f"notebooks/{LAB}", token=people["ada"].new_token(seconds=1) + "0")
    assert done.returncode == 2
    assert "doesn't know this server's token any more" in done.stderr


def test_a_restart_in_mid_class_loses_no_record(room, people):
    """The hub killed without warning, services with it; everything acknowledged is there afterwards."""
    ada = people["ada"]
    ada.ask("board/api/results", "POST", json.dumps([record(minute) for minute in range(10, 20)]).encode())
    before = json.loads(people["tess"].ask("board/api/results")[1])["exercises"]
    hand_ins = people["tess"].ask("inbox/api/hand-ins")
    for child in psutil.Process(room.process.pid).children(recursive=True):
        child.kill()
    room.process.wait(60)
    room.start()
    tess = room.person("tess")
    assert json.loads(tess.ask("board/api/results")[1])["exercises"] == before
    assert tess.ask("inbox/api/hand-ins") == hand_ins
    again = room.person("ada").ask(
        "board/api/results", "POST", json.dumps([record(minute) for minute in range(10, 20)]).encode()
    )
    assert json.loads(again[1])["new"] == 0, "and what is sent again counts once"


def start_again(room, *words, **env):
    line = [sys.executable, "-m", "labkit.cli", "hub", f"--dir={room.place}", *words]
    line = line if "PATH" in env else nobody.command(line, drop=False)
    return subprocess.run(line, env={**os.environ, **env}, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize(
    ("words", "env", "why"),
    [
        ([], {}, "in use"),
        (["--port=0"], {}, "port is 0"),
        ([], {"LABKIT_COURSE_KEY": "another"}, "not the course key that the classroom"),
        ([], {"CONFIGPROXY_CMD": "/no/such/proxy"}, "no program"),
        ([], {"CONFIGPROXY_CMD": "", "PATH": "/nowhere"}, "npm"),
    ],
)
def test_what_is_missing_is_said_in_one_line(room, words, env, why):
    port = [] if words else [f"--port={room.port}" if why == "in use" else "--port=1"]
    done = start_again(room, *port, *words, **env)
    assert done.returncode == 2, done.stderr
    assert why in done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
