"""A classroom that goes on: a terminal of a learner's server, a start with --dir alone, people who come and go."""

from __future__ import annotations

import json
import re
import sqlite3
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

websocket = pytest.importorskip("websocket", reason="websocket-client comes with jupyter_server")


def call(person, path: str, method: str = "GET") -> tuple[int, str]:
    """The hub's or a server's API, with the person's token."""
    headers = {"Authorization": f"token {person.token}"}
    request = urllib.request.Request(f"{person.room.url}{path}", headers=headers, method=method)
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=60) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def in_terminal(person, line: str) -> str:
    """What a line typed in a new terminal of the person's own server shows, up to its exit code."""
    assert call(person, f"/hub/api/users/{person.name}/server", "POST")[0] in (201, 202)
    own, deadline = f"/user/{person.name}", time.monotonic() + 120
    while call(person, f"{own}/api/status")[0] != 200:
        assert time.monotonic() < deadline, person.room.log.read_text()[-3000:]
        time.sleep(0.3)
    name = json.loads(call(person, f"{own}/api/terminals", "POST")[1])["name"]
    address = f"ws://127.0.0.1:{person.room.port}{own}/terminals/websocket/{name}"
    header = [f"Authorization: token {person.token}"]
    terminal = websocket.create_connection(address, timeout=60, header=header, http_no_proxy=["127.0.0.1"])
    try:
        terminal.send(json.dumps(["stdin", f"{line}; echo code=$?\r"]))
        shown = ""
        while not re.search(r"code=\d", shown):
            kind, *said = json.loads(terminal.recv())
            shown += said[0] if kind == "stdout" else ""
        return shown
    finally:
        terminal.close()


@pytest.mark.parametrize("who", ["ada", "tess"])
def test_labkit_is_found_in_a_terminal(room, who):
    shown = in_terminal(room.person(who), "labkit submit --help")
    assert "code=0" in shown, shown
    assert "Usage: labkit submit" in shown


def kept(room) -> dict:
    return json.loads((room.place / "classroom.json").read_text())


def groups(room) -> set[tuple[str, str]]:
    rows = """SELECT users.name, groups.name FROM user_group_map
              JOIN users ON users.id = user_id JOIN groups ON groups.id = group_id"""
    with sqlite3.connect(f"file:{room.place / 'jupyterhub.sqlite'}?mode=ro", uri=True) as database:
        return {(person, group) for person, group in database.execute(rows)}


def test_people_come_and_go_and_the_rest_stays(room):
    """Each step is a start of its own; what isn't given stays, the options too."""
    names = room.names
    room.stop()
    before = {**kept(room), "memory_mib": 4096, "fork_kernels": False}
    (room.place / "classroom.json").write_text(json.dumps(before))
    assert room.url in room.start("--host=127.0.0.1"), "the port is the one of the first start"
    assert kept(room) == before
    room.stop()

    said = room.start(f"--learner={names['dora']}")
    assert f"added: {names['dora']} (4 learners, 1 teacher)\n" in said
    assert kept(room) == {**before, "learners": [*before["learners"], names["dora"]]}
    dora = room.person("dora")
    (home := Path("/home") / dora.name).joinpath("mine").write_text("kept")
    room.stop()

    said = room.start(f"--remove={names['dora']}", f"--remove={names['eve']}", f"--teacher={names['eve']}")
    assert f"added: {names['eve']} (2 learners, 2 teachers)\n" in said
    assert f"removed: {names['dora']} (2 learners, 2 teachers); their files" in said
    assert kept(room)["learners"] == [names["ada"], names["bob"]]
    assert (home / "mine").read_text() == "kept"
    with pytest.raises(urllib.error.HTTPError, match="403"):
        room.person("dora")
    assert dora.ask("inbox/api/hand-ins")[0] == 403, "an old token is worth nothing"
    assert {group for name, group in groups(room) if name == names["eve"]} == {"teachers"}
