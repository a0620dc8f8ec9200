"""Four formats hold the same samples in the same order; what is damaged is named and the rest stays readable."""

from __future__ import annotations

import hashlib
import os
import pickle
import random
import shutil
import struct

import packs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.errors import LabkitError, UsageError
from labkit.pipeline import packing
from labkit.pipeline.packing import Sample, ShardError, content_hash, open_pack, pack, samples_of, verify

each_format = pytest.mark.parametrize("format", packs.FORMATS)
streamed = pytest.mark.parametrize("format", ["tar", "tfrecord"])


@each_format
def test_what_was_packed_comes_back_in_order(format, tmp_path):
    items = packs.samples()
    with packs.packed(tmp_path, format, items) as packed:
        assert list(packed.samples()) == items
        assert [packed.read(i) for i in (23, 0, 7)] == [items[i] for i in (23, 0, 7)]
        assert [packed.read(i, index=False) for i in (23, 0, 7)] == [items[i] for i in (23, 0, 7)]
        for start in (0, 5, 6, 23, 24):
            assert list(packed.samples(start)) == items[start:]
            assert list(packed.samples(start, index=False)) == items[start:]
        assert [s for k in range(len(packed.shards)) for s in packed.shard(k)] == items
        assert verify(packed).ok
        assert packed.manifest.content == content_hash(items)


def test_the_hash_is_what_its_definition_says():
    """Written again from the words: a length before every part."""

    def text(part):
        return struct.pack("<I", len(part)) + part

    total = hashlib.sha256()
    items = packs.samples(5)
    for item in items:
        record = text(item.key.encode()) + struct.pack("<I", 2)
        for name in ("bin", "cls"):
            record += text(name.encode()) + struct.pack("<Q", len(item.fields[name])) + item.fields[name]
        total.update(struct.pack("<Q", len(record)) + record)
    assert content_hash(items) == total.hexdigest()


names = st.text(st.characters(codec="utf-8", exclude_characters="/\0._"), min_size=1, max_size=6)
fields = st.dictionaries(names, st.binary(max_size=40), min_size=1, max_size=3)


@given(st.lists(st.tuples(names, fields), min_size=1, max_size=5, unique_by=lambda pair: pair[0]), st.data())
@settings(max_examples=60)
def test_any_change_changes_the_hash(pairs, data):
    items = [Sample(*pair) for pair in pairs]
    assert [Sample.of_record(item.record()) for item in items] == items
    before = content_hash(items)
    where = data.draw(st.integers(0, len(items) - 1))
    key, held = pairs[where]
    name = data.draw(st.sampled_from(sorted(held)))
    changed = Sample(key, held | {name: held[name] + b"x"})
    assert content_hash([*items[:where], changed, *items[where + 1 :]]) != before
    assert content_hash(items[1:]) != before
    if len(items) > 1:
        assert content_hash([*items[1:], items[0]]) != before


@given(st.lists(st.tuples(names, fields), min_size=1, max_size=4, unique_by=lambda pair: pair[0].casefold()))
@settings(max_examples=15)
def test_odd_names_and_empty_contents_survive_each_format(tmp_path_factory, pairs):
    items = [Sample(f"dir.d/{key}", held) for key, held in pairs if len({n.casefold() for n in held}) == len(held)]
    directory = tmp_path_factory.mktemp("odd")
    for format in packs.FORMATS if items else ():
        with packs.packed(directory, format, items, shard_samples=2) as packed:
            assert list(packed.samples()) == items, format


def test_the_packages_own_readers_find_the_same_samples(tmp_path):
    import lmdb
    from tfrecord.reader import tfrecord_loader
    from webdataset import WebDataset

    items = packs.samples(8)
    tar = packs.packed(tmp_path, "tar", items, shard_samples=8)
    told = list(WebDataset(str(tar.path / tar.shards[0].name), shardshuffle=False))
    assert [(s["__key__"], s["bin"], s["cls"]) for s in told] == [(i.key, *i.fields.values()) for i in items]

    records = packs.packed(tmp_path, "tfrecord", items, shard_samples=8)
    path = str(records.path / records.shards[0].name)
    kinds = {"__key__": "byte", "bin": "byte", "cls": "byte"}
    told = [{name: bytes(data) for name, data in one.items()} for one in tfrecord_loader(path, None, kinds)]
    assert told == [{"__key__": i.key.encode(), **i.fields} for i in items]

    tree = packs.packed(tmp_path, "lmdb", items)
    with lmdb.open(str(tree.path / "samples.mdb"), subdir=False, readonly=True, lock=False) as env, env.begin() as t:
        assert [value for _, value in t.cursor()] == [item.record() for item in items]


def test_the_same_samples_give_the_same_bytes(tmp_path):
    for format in ("tar", "tfrecord"):
        one = packs.packed(tmp_path, format)
        (tmp_path / "again").mkdir(exist_ok=True)
        two = packs.packed(tmp_path / "again", format)
        assert [(one.path / s.name).read_bytes() for s in one.shards] == [
            (two.path / s.name).read_bytes() for s in two.shards
        ]


def test_lmdb_grows_past_its_first_map(tmp_path, monkeypatch):
    monkeypatch.setattr(packing.writing.format_lmdb, "_FIRST_MAP", 64 * 1024)
    monkeypatch.setattr(packing.writing.format_lmdb, "_COMMIT_EVERY", 50 * 1024)
    items = packs.samples(60, size=8000)
    with packs.packed(tmp_path, "lmdb", items) as packed:
        assert list(packed.samples()) == items


def test_a_shard_ends_by_samples_or_bytes(tmp_path):
    items = [Sample(f"k{i}", {"x": bytes(100)}) for i in range(10)]
    assert [len(s) for s in pack(items, tmp_path / "a", "tar", shard_samples=4).shards] == [4, 4, 2]
    assert [len(s) for s in pack(items, tmp_path / "b", "tfrecord", shard_bytes=350).shards] == [3, 3, 3, 1]
    assert [len(s) for s in pack(items, tmp_path / "c", "tfrecord", shard_bytes=1).shards] == [1] * 10


def test_a_source_is_a_directory_or_a_pack(tmp_path):
    source = tmp_path / "source"
    (source / "b").mkdir(parents=True)
    for name in ("b/2.jpg", "b/2.cls", "b/1.seg.png", "a.txt", ".hidden"):
        (source / name).write_bytes(name.encode())
    found = list(samples_of(source))
    assert [(s.key, sorted(s.fields)) for s in found] == [("a", ["txt"]), ("b/1", ["seg.png"]), ("b/2", ["cls", "jpg"])]
    tar = pack(found, tmp_path / "t", "tar")
    assert list(samples_of(tar.path)) == found


# damage ------------------------------------------------------------------------------------------------------------


def spoil(path, offset, data=b"\xff\x00\xff"):
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(data)


@streamed
@pytest.mark.parametrize("part", ["head", "content", "end"])
def test_a_damaged_record_is_named_and_the_rest_is_read(format, part, tmp_path):
    items = [Sample(f"k{i:02d}", {"x": bytes([i + 1]) * 600}) for i in range(18)]
    packed = packs.packed(tmp_path, format, items)
    entry = packed.shards[1].entries[2]
    into = {"head": 2, "content": 600 if format == "tar" else 90, "end": entry.length - 3}[part]
    if part == "end" and format == "tar":
        into = 512 + 590  # what follows is filling
    spoil(packed.path / packed.shards[1].name, entry.offset + into)
    with pytest.raises(ShardError, match=rf"shard-00001\.{format}, record 2 \(k08\): .*; samples\(skipped=\[\]\)") as e:
        list(packed.samples())
    assert (e.value.shard, e.value.record, e.value.key) == (packed.shards[1].name, 2, "k08")
    assert str(pickle.loads(pickle.dumps(e.value))) == str(e.value)
    with pytest.raises(ShardError, match="record 2"):
        packed.read(8)
    assert packed.read(9) == items[9]
    skipped = []
    assert list(packed.samples(skipped=skipped)) == items[:8] + items[9:]
    assert [(s.shard, s.record, s.records) for s in skipped] == [(packed.shards[1].name, 2, 1)]
    assert list(packed.samples(8, index=False, skipped=[])) == items[9:]
    assert not verify(packed).ok


@streamed
def test_a_shard_cut_short_loses_its_end_only(format, tmp_path):
    items = packs.samples(18)
    packed = packs.packed(tmp_path, format, items)
    path = packed.path / packed.shards[1].name
    os.truncate(path, packed.shards[1].entries[4].offset + 20)
    skipped = []
    assert list(packed.samples(skipped=skipped)) == items[:10] + items[12:]
    assert [(s.record, s.records) for s in skipped] == [(4, 1), (5, 1)]


@each_format
def test_a_missing_shard_is_named(format, tmp_path):
    items = packs.samples(18)
    packed = packs.packed(tmp_path, format, items)
    name = packed.shards[-1].name
    path = packed.path / name
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    with pytest.raises(ShardError, match=f"{name}: the shard is missing"):
        list(packed.samples())
    skipped = []
    rest = list(packed.samples(skipped=skipped))
    assert rest == (items[:12] if len(packed.shards) > 1 else [])
    assert [(s.shard, s.record, s.records) for s in skipped] == [(name, 0, 18 - len(rest))]


def test_a_missing_and_a_changed_small_file_are_named(tmp_path):
    items = packs.samples(12)
    packed = packs.packed(tmp_path, "files", items)
    (packed.path / "files" / f"{items[3].key}.cls").unlink()
    (packed.path / "files" / f"{items[5].key}.bin").write_bytes(b"other")
    with pytest.raises(ShardError, match=r"record 3 \(part0/s0003\): s0003\.cls is missing"):
        list(packed.samples())
    skipped = []
    assert list(packed.samples(skipped=skipped)) == [i for k, i in enumerate(items) if k not in (3, 5)]
    assert [s.why for s in skipped] == ["s0003.cls is missing", "its content is not what was written"]


def test_a_changed_lmdb_record_is_named(tmp_path):
    items = [Sample(f"k{i}", {"x": bytes([65 + i]) * 300}) for i in range(8)]
    packed = packs.packed(tmp_path, "lmdb", items)
    path = packed.path / "samples.mdb"
    spoil(path, path.read_bytes().index(b"D" * 300) + 7)
    skipped = []
    assert list(packed.samples(skipped=skipped)) == items[:3] + items[4:]
    assert [(s.record, s.why) for s in skipped] == [(3, "its content is not what was written")]


@pytest.mark.parametrize("seed", range(6))
@streamed
def test_whatever_is_spoilt_what_is_read_is_right(format, seed, tmp_path):
    """Property: after any damage the samples read and the records skipped make up the whole, in order."""
    rng = random.Random(seed)
    items = packs.samples(18)
    packed = packs.packed(tmp_path, format, items)
    for shard in packed.shards:
        if rng.random() < 0.7:
            spoil(packed.path / shard.name, rng.randrange(shard.bytes - 8), rng.randbytes(rng.randint(1, 8)))
    skipped = []
    left = list(packed.samples(skipped=skipped))
    assert len(left) + sum(s.records for s in skipped) == 18
    gone = {packed._starts[[x.name for x in packed.shards].index(s.shard)] + s.record for s in skipped}
    assert left == [item for i, item in enumerate(items) if i not in gone]


# writing -----------------------------------------------------------------------------------------------------------


class Stop(BaseException):
    pass


@each_format
@pytest.mark.parametrize("error", [Stop, ValueError("mine"), OSError(5, "Input/output error", "some/file")])
def test_a_pack_is_whole_or_not_there(format, error, tmp_path):
    def broken():
        yield from packs.samples(5)
        raise error

    with pytest.raises(LabkitError if isinstance(error, OSError) else type(error) if error is not Stop else Stop) as e:
        pack(broken(), tmp_path / "out", format)
    assert list(tmp_path.iterdir()) == []
    if isinstance(error, OSError):
        assert str(e.value) == "some/file can't be read: input/output error"


@each_format
def test_a_killed_writer_leaves_no_pack(format, tmp_path):
    def until_killed():
        yield from packs.samples(5)
        os._exit(9)

    if (child := os.fork()) == 0:
        pack(until_killed(), tmp_path / "out", format)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    (left,) = tmp_path.iterdir()
    assert left.name.startswith(".out.partial-")
    with pytest.raises(UsageError, match=r"is no pack: it has no pack\.json, which is written last"):
        open_pack(left)
    assert verify(pack(packs.samples(5), tmp_path / "out", format)).ok


@each_format
def test_a_full_disk_is_one_line_and_leaves_nothing(format, tmp_path):
    """A limit on the size of files stands for the disk: the same error at the same call."""
    import resource

    if (child := os.fork()) == 0:
        resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000))
        try:
            pack([Sample("k", {"x": bytes(40_000)})], tmp_path / "out", format)
        except LabkitError as error:
            why = "the disk is full or fails" if format == "lmdb" else "the disk is full"
            full = f"out can't be written: {why}; nothing was left behind"
            os._exit(0 if full in str(error) and "\n" not in str(error) else 3)
        except BaseException:
            os._exit(4)
        os._exit(5)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_packed_is_said(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "file").write_text("x")
    ok = packs.samples(2)
    for said, call in {
        "exists: name a new directory": lambda: pack(ok, tmp_path / "there", "tar"),
        "there is no directory .*/no: make it first": lambda: pack(ok, tmp_path / "no" / "out", "tar"),
        "there is no directory .*/file: make it first": lambda: pack(ok, tmp_path / "file" / "out", "tar"),
        "format 'zip': give one of files, tar, lmdb, tfrecord": lambda: pack(ok, tmp_path / "o", "zip"),
        "lmdb has no shards": lambda: pack(ok, tmp_path / "o", "lmdb", shard_samples=3),
        "shard_samples is 0": lambda: pack(ok, tmp_path / "o", "tar", shard_samples=0),
        "there are no samples to pack": lambda: pack([], tmp_path / "o", "lmdb"),
        "key 'part0/s0000' comes twice": lambda: pack([ok[0], ok[0]], tmp_path / "o", "tar"),
        "there is no directory .*/none": lambda: samples_of(tmp_path / "none"),
        "file is not a directory": lambda: samples_of(tmp_path / "file"),
        "there holds no files": lambda: samples_of(tmp_path / "there"),
        "is no pack": lambda: open_pack(tmp_path / "there"),
        "none is not a directory": lambda: open_pack(tmp_path / "none"),
        "key '../x'": lambda: Sample("../x", {"a": b""}),
        "key 'a.b'": lambda: Sample("a.b", {"a": b""}),
        "field '_x'": lambda: Sample("a", {"_x": b""}),
        "has no fields": lambda: Sample("a", {}),
    }.items():
        with pytest.raises(UsageError, match=said):
            call()
    (tmp_path / "there" / "README").write_text("x")
    with pytest.raises(UsageError, match=r"README has no ending: a sample's files are called KEY\.FIELD"):
        samples_of(tmp_path / "there")


def test_a_damaged_list_is_said(tmp_path):
    packed = packs.packed(tmp_path, "tar")
    path = packed.path / "pack.json"
    for text in ("{", "[]", '{"version": 1}', '{"version": 1, "format": "tar", "content": "", "shards": [{}]}'):
        path.write_text(text)
        with pytest.raises(LabkitError, match=r"pack\.json is damaged .*: pack the samples again"):
            open_pack(packed.path)
    path.write_text('{"version": 2, "format": "tar"}')
    with pytest.raises(LabkitError, match="another version of labkit"):
        open_pack(packed.path)


@each_format
def test_a_pack_goes_into_other_processes(format, tmp_path):
    items = packs.samples(12)
    packed = packs.packed(tmp_path, format, items)
    packed.read(3)
    assert list(pickle.loads(pickle.dumps(packed)).samples()) == items
    if (child := os.fork()) == 0:
        os._exit(0 if packed.read(5) == items[5] and list(packed.samples(4)) == items[4:] else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert packed.read(6) == items[6]
