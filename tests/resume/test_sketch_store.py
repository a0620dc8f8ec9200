"""Drawings of answers about checkpoints, and the apparatus of lab 09: what it records, what it plants, how it waits."""

from __future__ import annotations

import copy
import json
import threading

import pytest

from labkit.checks.lab09_builds import fault_of, newest_good
from labkit.checks.lab09_disk import KINDS, SCENES, Disk, damaged, in_background, kinds_of, loads, recorded
from labkit.resume import sketch_store as sketch

pytestmark = pytest.mark.slow  # real processes all through

OPEN = "still open"


def good(disk, text):
    disk.write("a.tmp", text)
    disk.fsync("a.tmp")
    if disk.read("a.tmp") != text:
        raise OSError
    disk.rename("a.tmp", "checkpoint.json")
    disk.fsync_dir()


def stub(*_):
    raise NotImplementedError


def test_a_save_on_every_crash_state():
    """Each of the four orders in which a save can be wrong shows in its own way; the right one in none."""

    def report(save):
        done = recorded(save)(list(sketch.TEXTS))
        return sketch.crash_report(done["operations"], done["marks"], sketch.TEXTS)

    def careless(disk, text):
        disk.write("checkpoint.json", text)

    def unsynced(disk, text):
        disk.write("a.tmp", text)
        disk.rename("a.tmp", "checkpoint.json")
        disk.fsync_dir()

    def unnamed(disk, text):
        disk.write("a.tmp", text)
        disk.fsync("a.tmp")
        disk.rename("a.tmp", "checkpoint.json")

    assert report(good).ok
    assert report(good).total["kept"] > 0
    assert report(careless).total["refused"] > 0
    assert report(unsynced).total["refused"] > 0
    only = report(unnamed).total
    assert only["lost"] > 0
    assert only["refused"] == only["wrong"] == 0
    assert "refused" in sketch.sketch_publish(recorded(careless)).alt
    assert OPEN in sketch.sketch_publish(recorded(stub)).alt


def test_the_faulty_disks():
    assert recorded(good)(list(sketch.TEXTS[:2]), "flip") | {"operations": 0} == {
        "operations": 0, "marks": [], "content": sketch.TEXTS[0], "raised": "OSError", "unsafe": False,
    }  # fmt: skip
    assert recorded(good)(list(sketch.TEXTS[:2]), "fsync")["raised"] == "OSError"
    disk = Disk("fsync")
    disk.write("a", "x")
    with pytest.raises(OSError, match="Input/output error"):
        disk.fsync("a")
    disk.fsync("a")  # reports success, and is to be mistrusted
    disk.rename("a", "checkpoint.json")
    assert disk.unsafe


@pytest.mark.parametrize("seed", range(50))
def test_what_is_planted_is_there(seed):
    """Every kind once at least; torn and zeros never load, the others always; the whole one matches its manifest."""
    kinds, folders = kinds_of(seed), damaged(seed)
    assert set(kinds.values()) == set(KINDS)
    for letter, folder in folders.items():
        assert loads(folder) == (kinds[letter] in ("whole", "flipped", "mixed"))
        texts = {name: content.decode("latin-1") for name, content in folder.items() if name != "manifest.json"}
        manifest = json.loads(folder["manifest.json"])
        one = {"step": manifest["step"], "manifest": manifest["sha256"], "files": texts}
        assert (fault_of(one) == "") == (kinds[letter] == "whole")
    assert "A torn" in sketch.sketch_torn(folders, dict.fromkeys("ABCDEF", "torn")).alt
    assert OPEN in sketch.sketch_torn(folders, dict.fromkeys("ABCDEF", ...)).alt


def test_fallback_is_drawn_as_the_function_says():
    some = [{"step": n, "manifest": None if n == 30 else {}, "files": {}} for n in (10, 20, 30)]
    assert newest_good(some) == (20, [30])
    assert sketch.sketch_fallback(newest_good, some).alt.endswith("Your function takes 20 and passed over [30].")
    assert "passed over none" in sketch.sketch_fallback(lambda found: (10, []), some).alt


def background(copied):
    def start_save(state, write):
        held, failed = copied(state), []

        def run():
            try:
                write(copied(held) if copied is not copy.deepcopy else held)
            except OSError as error:
                failed.append(error)

        thread = threading.Thread(target=run)
        thread.start()

        def wait():
            thread.join()
            if failed:
                raise failed[0]

        return wait

    return in_background(start_save)


def test_background_saves_are_seen_through():
    """The writer always runs after the update: one that copies late is caught every time, not sometimes."""
    before = threading.Thread.run
    for _ in range(3):
        late = background(lambda state: state)("flat")
        assert late["written"] == late["now"] != late["at_call"]
        right = background(copy.deepcopy)("tensors")
        assert right["written"] == right["at_call"] != right["now"]
        assert right["in_time"]
        assert right["waited"]
    assert background(copy.deepcopy)("full disk")["raised"] == "OSError"
    assert background(dict)("nested")["written"] not in (None, background(dict)("nested")["at_call"])
    assert threading.Thread.run is before
    assert SCENES[0] == "flat"
    assert "0 as they were one update later" in sketch.sketch_snapshot(background(copy.deepcopy)).alt
    assert OPEN in sketch.sketch_snapshot(in_background(stub)).alt


def test_intervals_and_ledgers():
    drawn = sketch.sketch_interval(5, 360, 60, 56.71)
    assert "your Young 60.0 min costs" in drawn.alt
    assert OPEN in sketch.sketch_interval(5, ..., ..., ...).alt
    assert OPEN in sketch.sketch_ledger(...).alt
    assert "can't be drawn" in sketch.sketch_ledger(0).alt


def test_marks():
    drawn = sketch.sketch_marks({"a": "says a", "b": "says b"}, "one two three four", {"a": "one two", "b": False})
    assert drawn.alt == "4 words; 1 of 2 criteria met, by your own marks."
    assert OPEN in sketch.sketch_marks({"a": "says a"}, ..., {"a": ...}).alt
    for met, said in (
        ({"a": True}, "met['a'] is True: quote words, or write False"),
        ({"a": 3}, "met['a'] is 3: quote words, or write False"),
        ({"b": False}, "met has no 'a': quote words for it, or write False"),
    ):
        assert sketch.sketch_marks({"a": "says a"}, "a long text of many words", met).alt == said
