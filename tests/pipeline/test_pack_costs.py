"""Opens, requests and bytes are the kernel's own; cold is cold, or said not to be."""

from __future__ import annotations

import os
import time
from pathlib import Path

import packs
import pytest

from labkit.errors import UsageError
from labkit.pipeline.packing import Sample, cache, compare, content_hash, pack, read_pass
from labkit.pipeline.packing.counting import BLOCK
from labkit.pipeline.packing.passes import files_of

each_format = pytest.mark.parametrize("format", packs.FORMATS)


def kernel():
    """Read calls of this thread and what they gave, by the kernel's count."""
    told = dict(line.split(": ") for line in Path("/proc/thread-self/io").read_text().splitlines())
    return int(told["syscr"]), int(told["rchar"])


def counted_by_kernel(work):
    if not os.access("/proc/thread-self/io", os.R_OK):
        pytest.skip("this kernel keeps no count of a thread's reads")
    calls, size = kernel()
    empty = kernel()[0] - calls  # looking costs reads too
    calls, size = kernel()
    work()
    after, total = kernel()
    return after - calls - empty, total - size


@pytest.mark.parametrize("format", ["files", "tar", "tfrecord"])
@pytest.mark.parametrize("way", ["stream", "one", "one without index"])
def test_requests_and_bytes_are_those_of_the_kernel(format, way, tmp_path):
    packed = packs.packed(tmp_path, format, packs.samples(60, size=9000), shard_samples=20)
    work = {
        "stream": lambda: list(packed.samples()),
        "one": lambda: packed.read(37),
        "one without index": lambda: packed.read(37, index=False),
    }[way]
    work()  # what is loaded on first use is read too
    packed.close()
    before = packed.reads
    calls, size = counted_by_kernel(work)
    cost = packed.reads - before
    overhead = size - cost.bytes  # the text of /proc/thread-self/io itself
    assert cost.requests == calls
    assert 0 <= overhead < 400


def test_counts_are_those_of_the_layout(tmp_path):
    items = [Sample(f"k{i:03d}", {"x": bytes(3000), "y": b"1"}) for i in range(40)]
    files, tar, record = (packs.packed(tmp_path, f, items, shard_samples=20) for f in ("files", "tar", "tfrecord"))
    cold = read_pass(files, cold=False).reads
    assert (cold.opens, cold.requests, cold.bytes) == (80, 80, 40 * 3001)
    shard = tar.shards[0].bytes
    got = read_pass(tar, cold=False).reads
    assert got.opens == 2
    assert got.bytes == 2 * shard
    assert 2 * (shard // BLOCK) <= got.requests <= 2 * (shard // BLOCK + 2)
    # one record: its own length with the index; all that lies before it, in whole blocks, without
    for packed in (tar, record):
        entry = packed.shards[1].entries[15]
        before = packed.reads
        packed.read(35)
        one = packed.reads - before
        assert (one.requests, one.bytes) == (1, entry.length)
        before = packed.reads
        packed.read(35, index=False)
        through = packed.reads - before
        end = entry.offset + entry.length
        assert end <= through.bytes <= end + 2 * BLOCK
    # a restarted reader: with the index it goes on where it was
    before = record.reads
    next(record.samples(35))
    assert (record.reads - before).bytes <= BLOCK


@each_format
def test_counts_are_the_same_every_time(format, tmp_path):
    packed = packs.packed(tmp_path, format)
    passes = [read_pass(packed, cold=cold) for cold in (True, False, True)]
    assert len({(one.reads, one.content) for one in passes}) == 1
    assert passes[0].content == packed.manifest.content
    shuffled = read_pass(packed, cold=False, order=[3, 1, 2])
    assert (shuffled.samples, shuffled.content) == (3, "")


def settled(path):
    """Resident pages, once what LMDB's opening began to read ahead is there: it arrives in its own time."""
    seen, now = -1, cache.cached([path]).resident
    while seen != now:
        time.sleep(0.05)
        seen, now = now, cache.cached([path]).resident
    return now


def test_lmdb_pages_are_those_that_are_touched(tmp_path):
    """By mincore, with read-ahead off, on a cold file: what a lookup brings in is what is said."""
    import lmdb

    items = [Sample(f"k{i:04d}", {"x": bytes(5 + 37 * (i % 200))}) for i in range(1500)]
    packed = packs.packed(tmp_path, "lmdb", items)
    path = packed.path / "samples.mdb"
    if cache.evict([path]).state != "cold":
        pytest.skip("files can't be put out of the page cache here")
    touched = {}
    for number in (20, 700, 1499):
        assert cache.evict([path]).state == "cold"
        tree = lmdb.open(str(path), subdir=False, readonly=True, lock=False, readahead=False)
        start = settled(path)
        with tree.begin() as transaction:
            transaction.get(number.to_bytes(8, "big"))
        touched[number] = start, cache.cached([path]).resident
        told = tree.stat()
        tree.close()  # LMDB opens a file once in a process
    for number, (start, after) in touched.items():
        before = packed.reads
        packed.read(number)
        cost = packed.reads - before
        # a few pages are in memory already: where the tree begins, and what could not be put out
        assert after - start <= cost.bytes // 4096 <= after < 60, (number, start, after, cost)
        own = len(items[number].fields["x"]) > 2000  # pages of its own, and not a place in a leaf
        assert cost.requests == told["depth"] + own
    before = packed.reads
    list(packed.samples())
    pages = told["branch_pages"] + told["leaf_pages"] + told["overflow_pages"]
    assert (packed.reads - before).bytes == pages * told["psize"]


@each_format
def test_cold_and_warm_are_told_apart(format, tmp_path):
    packed = packs.packed(tmp_path, format, packs.samples(60, size=9000))
    warm = read_pass(packed, cold=False)
    assert warm.before.state == "warm"
    cold = read_pass(packed, cold=True)
    if cold.before.state != "cold":
        pytest.skip("files can't be put out of the page cache here")
    if cold.fetched is not None:
        assert warm.fetched == 0
        assert cold.fetched >= 0.9 * sum(path.stat().st_size for path in files_of(packed))


def test_tmpfs_is_not_called_cold():
    import tempfile

    if not os.path.ismount("/dev/shm"):
        pytest.skip("no tmpfs at /dev/shm")
    with tempfile.NamedTemporaryFile(dir="/dev/shm") as file:
        file.write(bytes(50_000))
        file.flush()
        left = cache.evict([file.name])
    assert left.pages == 13
    assert left.state != "cold"


def test_an_open_map_is_not_called_cold(tmp_path):
    import mmap

    path = tmp_path / "x"
    path.write_bytes(bytes(40_960))
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as view:
        assert sum(view[::4096]) == 0
        assert cache.evict([path]).state != "cold"


def test_an_unknown_state_is_called_unknown():
    assert cache.Cached(10, None).state == "unknown"
    assert [cache.Cached(1000, n).state for n in (0, 10, 11, 989, 990)] == ["cold", "cold", "mixed", "mixed", "warm"]


def test_a_comparison_holds_every_pass_and_its_spread(tmp_path):
    made = [packs.packed(tmp_path, format) for format in packs.FORMATS]
    found = compare(made, repeats=3)
    assert len(found.passes) == 4 * 2 * 3
    table = found.frame()
    assert (table["passes"] == 3).all()
    assert (table["least"] <= table["ms, median"]).all()
    assert (table["ms, median"] <= table["most"]).all()
    assert "Median ms of a pass" in found.plot().alt
    other = pack(packs.samples(24, seed=1), tmp_path / "other", "tar")
    with pytest.raises(UsageError, match="don't hold the same samples in the same order"):
        compare([made[0], other])
    with pytest.raises(UsageError, match="packs is empty"):
        compare([])
    assert content_hash(packs.samples()) == made[0].manifest.content
