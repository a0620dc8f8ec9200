"""`labkit pack`: four formats, verified; every fault one line."""

from __future__ import annotations

import json

import pytest

from labkit.cli import main


@pytest.fixture
def source(tmp_path):
    directory = tmp_path / "source"
    directory.mkdir()
    for i in range(7):
        (directory / f"{i}.txt").write_text(f"text {i}")
        (directory / f"{i}.cls").write_text(str(i % 2))
    return directory


def test_the_four_formats_hold_the_same(source, tmp_path, capsys):
    contents = set()
    for to in ("files", "tar", "lmdb", "tfrecord"):
        size = ["--shard-samples", "3"] if to in ("tar", "tfrecord") else []
        assert main(["pack", str(source), "--to", to, "--out", str(tmp_path / to), "--verify", "--json", *size]) == 0
        told = json.loads(capsys.readouterr().out)
        assert (told["format"], told["samples"], told["verified"]["ok"]) == (to, 7, True)
        assert len(told["shards"]) == (3 if size else 1)
        contents.add(told["content"])
    assert len(contents) == 1
    assert main(["pack", str(tmp_path / "tar"), "--to", "lmdb", "--out", str(tmp_path / "again")]) == 0
    assert contents.pop() in capsys.readouterr().out


@pytest.mark.parametrize(("to", "parts"), [("files", "14 files"), ("tar", "1 shard"), ("lmdb", "1 file")])
def test_it_says_what_the_pack_is_made_of(to, parts, source, tmp_path, capsys):
    assert main(["pack", str(source), "--to", to, "--out", str(tmp_path / to)]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first.endswith(f" bytes in {parts}")
    assert second.startswith("content as written ")


def test_a_damaged_pack_is_exit_1(source, tmp_path, capsys):
    out = tmp_path / "out"
    main(["pack", str(source), "--to", "tfrecord", "--out", str(out), "--shard-size", "20"])
    (out / "shard-00001.tfrecord").unlink()
    capsys.readouterr()
    assert main(["pack", str(out), "--verify"]) == 1
    said = capsys.readouterr().out
    assert "can be read" in said
    assert "\ncontent as written " in said  # not the content of what is there now
    assert "shard-00001.tfrecord, records 0 to " in said
    assert "the shard is missing" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "nothing to do: give --to FORMAT --out DIR, or --verify for a pack that is there"),
        (["--to", "tar"], "--out DIR is missing: both are needed to write a pack"),
        (["--out", "OUT"], "--to FORMAT is missing: both are needed to write a pack"),
        (["--to", "zip", "--out", "OUT"], "--to is 'zip': give one of files, tar, lmdb, tfrecord"),
        (["--to", "tar", "--out", "SRC"], "source exists: name a new directory"),
        (["--to", "tar", "--out", "OUT", "--shard-size", "3X"], "'3X' is not a size"),
        (["--to", "lmdb", "--out", "OUT", "--shard-samples", "3"], "lmdb has no shards"),
        (["--verify"], "source is no pack: it has no pack.json"),
        (["--verify", "--shard-size", "1M"], "--verify alone writes no shards"),
    ],
)
def test_wrong_usage_is_one_line(words, said, source, tmp_path, capsys):
    places = {"OUT": str(tmp_path / "out"), "SRC": str(source)}
    assert main(["pack", str(source), *(places.get(word, word) for word in words)]) == 2
    error = capsys.readouterr().err
    assert error.startswith("labkit pack: ")
    assert said in error
    assert error.count("\n") == 1


def test_a_source_that_is_not_there(tmp_path, capsys):
    assert main(["pack", str(tmp_path / "no"), "--to", "tar", "--out", str(tmp_path / "out")]) == 2
    assert "there is no directory" in capsys.readouterr().err
