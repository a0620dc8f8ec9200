"""Starts of a classroom that are refused: one line, and nothing is made or remembered. None of them starts a hub."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from labkit.errors import LabkitError, UsageError
from labkit.hub import accounts, classroom_changes, preflight, running
from labkit.hub.classroom import Classroom, names

ROOT = Path(__file__).parents[2]


@pytest.fixture
def room(tmp_path):
    return Classroom(tmp_path, ("ada", "bob"), ("tess",), "0.0.0.0", 18123, "own", 4096, 200, 30, fork_kernels=False)


def test_a_start_changes_what_is_given_alone(room):
    nothing = {"host": None, "port": None, "fork_kernels": None}
    assert classroom_changes.changed(room, (), (), (), False, nothing).classroom == room
    change = classroom_changes.changed(room, ("dora", "ada"), (), (), False, {**nothing, "port": 9000})
    assert change.classroom == replace(room, learners=("ada", "bob", "dora"), port=9000)
    assert change.text() == "added: dora (3 learners, 1 teacher)"
    gone = classroom_changes.changed(room, (), (), ("bob",), False, nothing)
    assert gone.text() == "removed: bob (1 learner, 1 teacher); their files and what they handed in stay"


@pytest.mark.parametrize(
    ("learners", "removed", "shared", "why"),
    [
        (("tess",), (), False, "tess is named twice"),
        ((), ("zoe",), False, "--remove zoe: nobody in the classroom has that name"),
        ((), ("ada", "bob"), False, "no learner: name at least one"),
        ((), (), True, "leave --shared out"),
    ],
)
def test_changes_that_are_refused(room, learners, removed, shared, why):
    with pytest.raises(UsageError, match=why):
        classroom_changes.changed(room, learners, (), removed, shared, {})


def test_names_from_windows(tmp_path):
    file = tmp_path / "learners.txt"
    file.write_bytes(b"\xef\xbb\xbflktada\r\nlktbob # left early\r\n")
    assert names([str(file), "lkteve"]) == ("lktada", "lktbob", "lkteve")
    with pytest.raises(UsageError, match=r"'Ada Lovelace' is neither an account's name .* nor a file of names"):
        names(["Ada Lovelace"])
    file.write_bytes("ada\n".encode("utf-16"))
    with pytest.raises(UsageError, match="isn't UTF-8"):
        names([str(file)])


def test_another_accounts_name_is_refused_before_anything_is_made():
    with pytest.raises(LabkitError, match="root is an account of this machine already"):
        accounts.check(["no-such-account", "root"])


def test_the_address_printed_is_one_that_others_can_open(room):
    address = running.reached_at(room)
    assert "0.0.0.0" not in address
    assert address.endswith(":18123/")
    assert running.reached_at(replace(room, host="127.0.0.1")) == "http://127.0.0.1:18123/"
    assert running.reached_at(replace(room, host=socket.gethostname())).startswith(f"http://{socket.gethostname()}:")


@pytest.mark.parametrize("host", ["nonsense.invalid", "203.0.113.9", "", "x" * 70, "a b"])
def test_a_host_that_is_none_is_refused(room, host):
    with pytest.raises(LabkitError, match=r"isn't an address of this machine: give 127\.0\.0\.1 or 0\.0\.0\.0"):
        preflight._port(replace(room, host=host))


def start(place: Path, *words: str) -> subprocess.CompletedProcess[str]:
    env = {name: value for name, value in os.environ.items() if name != "LABKIT_COURSE_KEY"}
    line = [sys.executable, "-m", "labkit.cli", "hub", f"--dir={place}", *words]
    env["CONFIGPROXY_CMD"] = "true"
    return subprocess.run(line, env=env, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)


PEOPLE = ("--learner=lktnobody", "--teacher=lktteacher", "--port=1")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--learner=root", "--teacher=lktteacher"), "root" if os.geteuid() else "root is an account"),
        ((*PEOPLE, "--shared", "--host=203.0.113.9"), "--host 203.0.113.9 isn't an address"),
        ((*PEOPLE, "--port=0"), "port is 0"),
        (("--learner=Ada Lovelace", "--teacher=lktteacher"), "neither an account's name"),
        (("--remove=lktnobody",), "there is no classroom"),
        (("--learner=lktnobody",), "needs --learners and --teachers"),
    ],
)
def test_a_refused_start_makes_nothing(tmp_path, words, why):
    place = tmp_path / "below" / "class"
    done = start(place, *words)
    assert done.returncode == 2, done.stderr
    assert why in done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    assert not place.parent.exists(), "neither DIR nor a key"


@pytest.mark.slow
def test_a_refused_start_is_not_remembered(room):
    shared = replace(room, accounts="shared")
    shared.save()
    before = (room.place / "classroom.json").read_text()
    done = start(room.place, "--learner=lktnobody", "--host=203.0.113.9")
    assert done.returncode == 2, done.stderr
    assert (room.place / "classroom.json").read_text() == before
    assert [path.name for path in room.place.iterdir()] == ["classroom.json"]
    assert json.loads(before)["learners"] == ["ada", "bob"]


@pytest.mark.slow
def test_a_file_in_the_way_is_said(tmp_path):
    (tmp_path / "file").write_text("")
    done = start(tmp_path / "file" / "class", *PEOPLE, "--shared")
    assert done.returncode == 2, done.stderr
    assert f"can't be made: {tmp_path / 'file'} is a file" in done.stderr
