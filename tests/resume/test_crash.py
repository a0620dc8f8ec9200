"""The enumerator on protocols whose crash states are known by heart, and the store on all of its own."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from labkit.errors import UsageError
from labkit.resume.checkpoint_error import CheckpointError
from labkit.resume.crash import crash_states, lay_out
from labkit.resume.crash_trial import crash_store, judge_crashes
from labkit.resume.store import Store
from labkit.resume.store_backend import LocalBackend
from labkit.resume.store_files import Operation, RecordedFiles

OLD, NEW = b"old!", b"new!"


def ops(*rows):
    return [
        Operation(kind, path, **({"data": more} if kind == "write" else {"target": more} if more else {}))
        for kind, path, *rest in rows
        for more in [rest[0] if rest else b"" if kind == "write" else ""]
    ]


def contents(log, name="f", before=None):
    return {state.tree.get(name) for state in crash_states(log, before=before)}


def test_writing_in_place_loses_both():
    log = ops(("truncate", "f"), ("write", "f", NEW), ("fsync", "f"))
    assert contents(log, before={"f": OLD}) == {
        OLD, b"", NEW, b"\0\0\0\0", b"ne", b"ne\0\0", b"ne" + OLD[2:],
    }  # fmt: skip


def test_rename_without_fsync_leaves_an_empty_or_torn_file():
    log = ops(("create", "t"), ("write", "t", NEW), ("rename", "t", "f"), ("fsync_dir", ""))
    assert contents(log, before={"f": OLD}) == {OLD, NEW, b"", b"\0\0\0\0", b"ne", b"ne\0\0"}


def test_the_right_protocol_has_the_old_or_the_new_file():
    log = ops(("create", "t"), ("write", "t", NEW), ("fsync", "t"), ("rename", "t", "f"), ("fsync_dir", ""))
    assert contents(log, before={"f": OLD}) == {OLD, NEW}
    last = [s.tree for s in crash_states(log, before={"f": OLD}, marks=[5]) if s.after == 5]
    assert last == [{"f": NEW}]


def test_without_the_directorys_fsync_a_promise_is_broken():
    log = ops(("create", "t"), ("write", "t", NEW), ("fsync", "t"), ("rename", "t", "f"))
    assert {s.tree["f"] for s in crash_states(log, before={"f": OLD}, marks=[4]) if s.after == 4} == {OLD, NEW}


def test_unlink_before_rename_leaves_nothing():
    log = ops(
        ("create", "t"), ("write", "t", NEW), ("fsync", "t"), ("unlink", "f"), ("rename", "t", "f"), ("fsync_dir", "")
    )
    assert contents(log, before={"f": OLD}) == {OLD, NEW, None}


def test_names_in_two_directories_are_reordered():
    log = ops(("create", "a/x"), ("create", "b/y"), ("fsync_dir", "b"))
    trees = {tuple(sorted(s.tree)) for s in crash_states(log)}
    assert trees == {("a", "b"), ("a", "a/x", "b"), ("a", "b", "b/y"), ("a", "a/x", "b", "b/y")}


def test_a_fresh_directory_must_be_synced_in_its_parent():
    log = ops(("mkdir", "d"), ("create", "d/x"), ("write", "d/x", NEW), ("fsync", "d/x"), ("fsync_dir", "d"))
    assert {tuple(sorted(s.tree)) for s in crash_states(log, marks=[5]) if s.after == 5} == {(), ("d", "d/x")}


def test_blocks_are_torn_apart():
    data = b"a" * 10 + b"b" * 10 + b"c" * 4
    found = contents(ops(("create", "f"), ("write", "f", data), ("fsync", "f"), ("fsync_dir", "")), before=None)
    assert found >= {None, b"", data}
    small = {s.tree.get("f") for s in crash_states(ops(("create", "f"), ("write", "f", data)), block=10)}
    assert data[:10] + b"\0" * 10 + data[20:] in small  # the middle block never arrived
    assert data[:22] in small  # the last one is cut
    assert data[:20] in small


def test_what_cant_be():
    with pytest.raises(UsageError, match="isn't a file at that point"):
        list(crash_states(ops(("write", "f", b"x"))))
    with pytest.raises(UsageError, match="fsync more often"):
        list(crash_states(ops(*[("create", f"f{i}") for i in range(20)])))
    with pytest.raises(UsageError, match="is a 'sync'"):
        list(crash_states(ops(("sync", "f"))))


def test_lay_out(tmp_path):
    lay_out({"a": None, "a/b": b"1", "c": b""}, tmp_path)
    assert sorted(p.relative_to(tmp_path).as_posix() for p in tmp_path.rglob("*")) == ["a", "a/b", "c"]
    assert (tmp_path / "a" / "b").read_bytes() == b"1"


def test_the_log_says_what_was_really_done(tmp_path):
    """The last state of a log is what lies on the disk."""
    files = RecordedFiles(tmp_path)
    store = Store(LocalBackend(tmp_path / "store", files), keep=2)
    for step in range(4):
        store.save({"w": np.arange(step + 3.0), "step": step}, step)
    disk = {p.relative_to(tmp_path).as_posix(): None if p.is_dir() else p.read_bytes() for p in tmp_path.rglob("*")}
    end = len(files.log)
    last = [state for state in crash_states(files.log, marks=[end]) if state.after == end]
    assert disk in [state.tree for state in last]
    assert {op.kind for op in files.log} >= {
        "mkdir",
        "create",
        "write",
        "fsync",
        "fsync_dir",
        "link",
        "unlink",
        "rmdir",
    }


def plain(step):
    return {"step": step, "values": [step * 0.1] * 300, "name": "x" * step}


@pytest.mark.parametrize("keep", [1, 2, 3])
def test_the_store_on_every_crash_state(keep):
    report = crash_store([plain(step) for step in range(1, 5)], keep=keep)
    total = report.total
    assert report.ok, report.text()
    assert total["kept"] > 40
    assert total["newer"] >= 4
    assert total["nothing yet"] > 5


def test_the_store_with_tensors_and_a_leftover_of_a_crash(tmp_path):
    """Save, die in the middle of a save (any crash state), start again, save on, die again: nothing is lost."""

    def state(step):
        return {"w": np.full(600, float(step)), "step": step}

    def record(place, steps):
        files = RecordedFiles(place)
        store, marks = Store(LocalBackend(place / "store", files), keep=2), []
        for step in steps:
            store.save(state(step), step)
            marks.append(len(files.log))
        return files.log, marks

    def load(directory):
        found = Store(directory / "store").load()
        if found is None:
            return None
        return found.step if found.state["step"] == found.step and (found.state["w"] == found.step).all() else -1

    first = tmp_path / "first"
    first.mkdir()
    log, marks = record(first, [1, 2])
    halfway = [s for s in crash_states(log, marks=marks) if marks[0] <= s.after < marks[1]]
    assert len(halfway) > 10
    for number, crashed in enumerate(halfway[::5]):
        place = tmp_path / f"again-{number}"
        place.mkdir()
        lay_out(crashed.tree, place)
        there = load(place)
        assert there in (1, 2)
        before = {name: content for name, content in crashed.tree.items() if content is not None}
        log, marks = record(place, [3])
        assert load(place) == 3
        assert Store(place / "store").verify().unfinished == 0  # the leftovers are gone

        def numbered(directory, there=there):
            found = load(directory)
            return 0 if found == there else 1 if found == 3 else found

        report = judge_crashes("again", log, marks, numbered, before=before)
        assert report.ok, report.text()


@pytest.mark.slow
@pytest.mark.parametrize("forget", ["fsync", "fsync_dir"])
def test_the_harness_sees_a_store_that_forgets(forget, tmp_path, monkeypatch):
    """Without either fsync the store breaks its promise, and it shows; checksums still let nothing wrong through."""
    monkeypatch.setattr(RecordedFiles, forget, lambda self, path: None)
    report = crash_store([plain(1)], keep=2)
    assert not report.ok
    assert report.total["lost"] + report.total["refused"] > 0
    assert report.total["wrong"] == 0


def small_store(place):
    store = Store(place, keep=2)
    for step in (1, 2):
        store.save({"w": np.full(3, float(step)), "step": step}, step)
    return store


@pytest.mark.slow
def test_a_flip_of_each_byte(tmp_path):
    """Every byte of every file, two ways: the right newest state, or the one before with a reason; never another."""
    small_store(tmp_path / "s")
    checked = 0
    for path in sorted(p for p in (tmp_path / "s").rglob("*") if p.is_file()):
        whole = path.read_bytes()
        for at in range(len(whole)):
            for mask in (0x01, 0x80):
                path.write_bytes(whole[:at] + bytes([whole[at] ^ mask]) + whole[at + 1 :])
                found = Store(tmp_path / "s").load()
                assert found is not None
                assert (found.state["w"] == found.step).all()
                assert found.state["step"] == found.step
                assert found.step == 2 or found.passed_over[0].reason
                checked += 1
        path.write_bytes(whole)
    assert checked > 1500
    assert Store(tmp_path / "s").load().step == 2


@pytest.mark.slow
def test_every_truncation_and_every_missing_file(tmp_path):
    small_store(tmp_path / "s")
    for path in sorted(p for p in (tmp_path / "s").rglob("*") if p.is_file()):
        whole = path.read_bytes()
        for size in range(len(whole)):
            path.write_bytes(whole[:size])
            found = Store(tmp_path / "s").load()
            assert (found.state["w"] == found.step).all()
        path.write_bytes(whole)
        path.unlink()
        found = Store(tmp_path / "s").load()
        assert (found.state["w"] == found.step).all()
        path.write_bytes(whole)


def test_a_flip_in_the_only_checkpoint_is_refused_with_the_reason(tmp_path):
    Store(tmp_path / "s").save({"w": [1.5]}, 1)
    path = next((tmp_path / "s" / "data").rglob("state.json"))
    path.write_bytes(path.read_bytes().replace(b"1.5", b"2.5"))
    with pytest.raises(CheckpointError, match=r"none verifies: save 1 \(step 1\): state.json is damaged"):
        Store(tmp_path / "s").load()


def test_report(tmp_path):
    report = crash_store([plain(1), plain(2)], keep=1)
    assert sum(report.frame()[list(report.total)].sum()) == sum(report.total.values())
    picture = report.plot()
    assert "crash states at" in picture.alt
    assert json.loads(report.to_json())["title"] == report.title
    assert picture.png()[:4] == b"\x89PNG"


def test_the_scratch_directories_are_gone():
    crash_store([plain(1)], keep=1)
    if Path("/dev/shm").is_dir():
        assert not list(Path("/dev/shm").glob("labkit-crash-*"))
    assert shutil.which("ls")
