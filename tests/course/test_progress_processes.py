"""Progress under real processes: many writers, kills, forks, disks that are full."""

import multiprocessing
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time

import pytest
from test_progress import record

from labkit.course import progress
from labkit.course.progress import ProgressError, ProgressStore

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="forks and signals")
FORK = multiprocessing.get_context("fork")


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE_S", 300.0)  # a slow disk must not decide a test
    return tmp_path / "progress.sqlite"


def names(path):
    return sorted(one for one in os.listdir(path.parent) if one.startswith("progress"))


def _write(path, writer, rows, start):
    start.wait()
    store = ProgressStore(path)
    for row in range(rows):
        store.add(record(f"w{writer}.r{row}"))


@pytest.mark.parametrize(("writers", "rows"), [(2, 60), (8, 30)])
def test_writers_at_once_lose_nothing(path, writers, rows):
    start = FORK.Barrier(writers)
    children = [FORK.Process(target=_write, args=(path, w, rows, start)) for w in range(writers)]
    for child in children:
        child.start()
    for child in children:
        child.join()
    assert [child.exitcode for child in children] == [0] * writers
    kept = [one["exercise"] for one in ProgressStore(path).records()]
    assert sorted(kept) == sorted(f"w{w}.r{r}" for w in range(writers) for r in range(rows))


def test_threads_at_once_lose_nothing(path):
    store = ProgressStore(path)
    threads = [threading.Thread(target=lambda: [store.add(record()) for _ in range(20)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(store.records()) == 80


def _write_for_ever(path, outlet):
    store = ProgressStore(path)
    while True:
        store.add(record())
        os.write(outlet, b".")


@pytest.mark.slow
def test_kills_at_random_moments_lose_no_row_that_was_reported_kept(path):
    draw = random.Random(7)
    kept = cut_short = 0
    for _ in range(100):
        inlet, outlet = os.pipe()
        child = FORK.Process(target=_write_for_ever, args=(path, outlet))
        child.start()
        os.close(outlet)
        reported = len(os.read(inlet, 1))  # it is writing now
        time.sleep(draw.uniform(0, 0.012))
        os.kill(child.pid, signal.SIGKILL)
        child.join()
        while more := os.read(inlet, 4096):
            reported += len(more)
        os.close(inlet)
        cut_short += (path.parent / "progress.sqlite-journal").exists()
        store = ProgressStore(path)
        now = len(store.records())
        assert kept + reported <= now <= kept + reported + 1  # the last row may have been kept and not yet reported
        assert store.take_notices() == []
        kept = now
    ProgressStore(path).add(record())  # takes away what the last kill left behind
    assert names(path) == ["progress.sqlite", "progress.sqlite.lock"]
    print(f"{cut_short} of 100 kills cut a transaction short, {kept} rows kept")


def test_a_fork_amid_another_threads_write_leaves_the_child_able_to_write(path):
    store, done = ProgressStore(path), threading.Event()
    written = []

    def keep_writing():
        while not done.is_set():
            store.add(record("parent.thread"))
            written.append(1)

    thread = threading.Thread(target=keep_writing)
    thread.start()
    try:
        children = []
        for _ in range(30):
            children.append(FORK.Process(target=store.add, args=(record("child.row"),)))
            children[-1].start()
        for child in children:
            child.join(60)
            assert child.exitcode == 0, "a child waits for a lock of its parent's thread"
    finally:
        done.set()
        thread.join()
        for child in children:
            child.kill()
    assert len(store.records(exercise="child.row")) == 30
    assert len(store.records(exercise="parent.thread")) == len(written)


def _fill(store, outlet=None):
    """Add until the disk is full; the line that was said, and the rows kept before it."""
    for row in range(10_000):
        try:
            store.add(record(evidence=[{"claim": "x" * 500}]))
        except ProgressError as error:
            return str(error), row
    raise AssertionError("the disk never filled")


def test_a_file_that_may_not_grow(path, monkeypatch):
    store, connect = ProgressStore(path), ProgressStore._connect
    store.add(record())

    class Small:
        def __init__(self, inner):
            self.inner = inner

        def __enter__(self):
            db = self.inner.__enter__()
            db.execute("PRAGMA max_page_count = 20")
            return db

        def __exit__(self, *what):
            return self.inner.__exit__(*what)

    with monkeypatch.context() as limit:
        limit.setattr(ProgressStore, "_connect", lambda self, *, create: Small(connect(self, create=create)))
        line, rows = _fill(store)
    assert "can't grow (disk full, " in line
    assert "MB free): free some space, then check again" in line
    assert len(store.records()) == rows + 1
    store.add(record("after.wards"))
    assert len(store.records()) == rows + 2
    assert store.take_notices() == []


def _fill_with_a_limit(path, outlet):
    resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, resource.RLIM_INFINITY))
    store = ProgressStore(path)
    line, rows = _fill(store)
    assert len(store.records()) == rows + 1, "a row was lost while the limit held"
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    store.add(record("after.wards"))
    outlet.send((line, rows))


def test_a_file_size_limit_of_the_system(path):
    ProgressStore(path).add(record())
    inlet, outlet = FORK.Pipe(duplex=False)
    child = FORK.Process(target=_fill_with_a_limit, args=(path, outlet))
    child.start()
    outlet.close()
    line, rows = inlet.recv()
    child.join()
    assert "can't be read or written (a full disk, a quota, a file-size limit or a lost network share)" in line
    assert "\n" not in line
    assert len(ProgressStore(path).records()) == rows + 2
    assert names(path) == ["progress.sqlite", "progress.sqlite.lock"]


_ON_A_FULL_DISK = """
import os, pathlib, sys
from labkit.course.progress import ProgressError, ProgressStore
sys.path.insert(0, sys.argv[2])
from test_progress import record
home = pathlib.Path(sys.argv[1])
store = ProgressStore(home / "progress.sqlite")
store.add(record())
rows = 1
try:
    while True:
        store.add(record(evidence=[{"claim": "x" * 500}]))
        rows += 1
except ProgressError as error:
    print(error)
assert len(store.records()) == rows == len(ProgressStore(store.path).records()), "a row was lost"
(home / "ballast").write_bytes(b"")
with open(home / "ballast", "wb", buffering=0) as ballast:  # not one byte is left
    try:
        while ballast.write(b"x" * 512): pass
    except OSError: pass
try:
    ProgressStore(home / "fresh" / "progress.sqlite").add(record())
    print("kept on a full disk")
except ProgressError as error:
    print(error)
assert len(store.records()) == rows
(home / "ballast").unlink()
"""


@pytest.mark.skipif(shutil.which("unshare") is None, reason="needs unshare to mount a disk of 256 kB")
def test_a_disk_that_is_really_full(tmp_path):
    mount = f"mount -t tmpfs -o size=256k,nr_inodes=40 none {tmp_path}"
    if subprocess.run(["unshare", "-rm", "sh", "-c", mount], capture_output=True).returncode:
        pytest.skip("this system lets nobody mount a file system of their own")
    script = [sys.executable, "-c", _ON_A_FULL_DISK, tmp_path, os.path.dirname(__file__)]
    inside = ["unshare", "-rm", "sh", "-c", f'{mount} && exec "$@"', "sh", *script]
    done = subprocess.run(inside, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 2
    assert all("can't grow (disk full, 0 MB free): free some space, then check again" in line for line in lines)
