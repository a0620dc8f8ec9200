"""A damaged progress file is set aside once, never deleted, and said; any damage ends in answers or in one line."""

import multiprocessing
import os
import random
import re
import sys

import pytest
from test_progress import record

from labkit.course import progress
from labkit.course.progress import ProgressError, ProgressStore

PAGE = 4096


@pytest.fixture
def path(tmp_path):
    """A sound file of some 30 pages."""
    store = ProgressStore(tmp_path / "progress.sqlite")
    for row in range(40):
        store.add(record(f"lab.exercise_{row}", evidence=[{"claim": "x" * 1500}]))
    return store.path


def garbage(data):
    return random.Random(1).randbytes(len(data))


def truncated(data):
    return data[: len(data) // 2]


def cut_within_a_page(data):
    return data[: len(data) - PAGE - 100]


def one_page_flipped(data):
    start = len(data) // PAGE // 2 * PAGE
    return data[:start] + bytes(byte ^ 0xFF for byte in data[start : start + PAGE]) + data[start + PAGE :]


def first_page_flipped(data):
    return bytes(byte ^ 0xFF for byte in data[:PAGE]) + data[PAGE:]


def a_text_file(data):
    return b"progress: lots\n"


@pytest.mark.parametrize(
    "harm", [garbage, truncated, cut_within_a_page, one_page_flipped, first_page_flipped, a_text_file]
)
@pytest.mark.parametrize("first", ["add", "standings"])
def test_damage_is_set_aside_and_said(path, harm, first):
    path.write_bytes(harm(path.read_bytes()))
    damaged = path.read_bytes()
    store = ProgressStore(path)
    if first == "add":
        store.add(record("after.wards"))
        assert [one["exercise"] for one in store.records()] == ["after.wards"]
    else:
        assert store.standings("ada") == {}
        store.add(record("after.wards"))
    (line,) = store.take_notices()
    assert store.take_notices() == []
    (aside,) = [name for name in os.listdir(path.parent) if "damaged" in name]
    assert re.fullmatch(r"progress\.damaged-\d{8}T\d{6}Z\.sqlite", aside)
    assert line == f"{path} was damaged: it is now {aside} beside it, and a fresh one was started"
    assert (path.parent / aside).read_bytes() == damaged


def test_its_journal_goes_with_it(path):
    path.write_bytes(garbage(path.read_bytes()))
    journal = path.parent / "progress.sqlite-journal"
    finished = bytes(512)  # the header of a transaction that ended; SQLite leaves such a journal where it is
    journal.write_bytes(finished)
    ProgressStore(path).add(record())
    (aside,) = path.parent.glob("progress.damaged-*.sqlite-journal")
    assert aside.read_bytes() == finished
    assert aside.with_name(aside.name.removesuffix("-journal")).exists()
    assert not journal.exists()


def test_damage_while_the_store_is_in_use(path):
    store = ProgressStore(path)
    store.add(record())
    path.write_bytes(truncated(path.read_bytes()))
    store.add(record("after.wards"))
    assert len(store.records()) == 1
    assert len(store.take_notices()) == 1


def test_two_damaged_files_in_one_second_keep_both(path):
    store = ProgressStore(path)
    for number in range(3):
        path.write_bytes(b"garbage %d" % number * 100)
        store.add(record())
    kept = [one.read_bytes()[:9] for one in path.parent.glob("progress.damaged-*.sqlite")]
    assert sorted(kept) == [b"garbage 0", b"garbage 1", b"garbage 2"]
    assert len(store.take_notices()) == 3


def _add(path, barrier, number, queue):
    store = ProgressStore(path)
    barrier.wait()
    try:
        store.add(record(f"writer.w{number}"))
    except Exception as error:
        queue.put([repr(error)])
    else:
        queue.put(store.take_notices())


@pytest.mark.skipif(sys.platform == "win32", reason="forks")
@pytest.mark.slow
def test_eight_processes_find_the_damage_at_once_and_one_sets_it_aside(path, monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE_S", 300.0)
    fork, queue = multiprocessing.get_context("fork"), multiprocessing.get_context("fork").SimpleQueue()
    for round_ in range(1, 16):
        path.write_bytes(b"round %d " % round_ * 1000)
        barrier = fork.Barrier(8)
        children = [fork.Process(target=_add, args=(path, barrier, number, queue)) for number in range(8)]
        for child in children:
            child.start()
        notices = [line for _ in children for line in queue.get()]
        for child in children:
            child.join()
        assert len(notices) == 1, notices
        assert len(list(path.parent.glob("progress.damaged-*"))) == round_
        kept = sorted(one["exercise"] for one in ProgressStore(path).records())
        assert kept == [f"writer.w{number}" for number in range(8)], "a row went into the file that was set aside"


def _hold(path, begun, end):
    ProgressStore(path)._operate(lambda db: (begun.set(), end.wait()), writing=True)


@pytest.mark.skipif(sys.platform == "win32", reason="forks")
def test_a_file_is_set_aside_only_when_nobody_is_writing_to_it(path):
    fork = multiprocessing.get_context("fork")
    begun, end, queue = fork.Event(), fork.Event(), fork.SimpleQueue()
    holder = fork.Process(target=_hold, args=(path, begun, end))
    holder.start()
    begun.wait()
    with path.open("r+b") as file:
        file.write(garbage(b" " * PAGE))
    finder = fork.Process(target=_add, args=(path, fork.Barrier(1), 1, queue))
    finder.start()
    finder.join(0.5)
    early = list(path.parent.glob("progress.damaged-*"))
    end.set()
    assert len(queue.get()) == 1
    holder.join()
    finder.join()
    assert early == []
    assert len(list(path.parent.glob("progress.damaged-*.sqlite"))) == 1


@pytest.mark.slow
def test_any_few_flipped_bytes_end_in_rows_or_one_line(path):
    """Bit rot: SQLite sees most of it, never all. Whatever it sees, the store answers and no file disappears."""
    sound, draw = path.read_bytes(), random.Random(3)
    seen = {"read": 0, "set aside": 0, "refused": 0}
    lines = []
    for _ in range(400):
        data = bytearray(sound)
        region = draw.choice([100, PAGE, 3 * PAGE, len(data)])  # headers decide most, so they are hit most
        for _ in range(draw.choice([1, 4, 32])):
            data[draw.randrange(region)] ^= draw.randrange(1, 256)
        path.write_bytes(data)
        store = ProgressStore(path)
        try:
            store.standings("ada")
            store.records()
            store.add(record())
        except ProgressError as error:
            lines.append(str(error))
            seen["refused"] += 1
        else:
            seen["set aside" if list(path.parent.glob("*.damaged-*")) else "read"] += 1
        asides = list(path.parent.glob("*.damaged-*"))
        assert path.exists() or asides
        for one in asides:
            assert one.read_bytes() == bytes(data) or one.stat().st_size >= len(data)  # a row may have gone in before
            one.unlink()
    assert all("\n" not in line for line in lines)
    assert min(seen["read"], seen["set aside"]) > 20, seen
    print(seen, {re.sub(r"^\S+", "", line) for line in lines})


def test_a_file_that_cant_be_set_aside_is_said_in_one_line(path, monkeypatch):
    path.write_bytes(garbage(path.read_bytes()))

    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(progress.os, "rename", refuse)
    with pytest.raises(ProgressError) as caught:
        ProgressStore(path).add(record())
    assert str(caught.value) == (
        f"{path} is damaged and can't be set aside (permission denied): rename it, or set LABKIT_PROGRESS"
    )
