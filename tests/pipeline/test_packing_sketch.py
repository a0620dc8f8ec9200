"""Drawings of answers in lab 03: drawn as they are, right or wrong; an open answer draws nothing."""

from __future__ import annotations

import packs
import pytest

from labkit.pipeline import sketch_packing as packing
from labkit.pipeline import sketch_shuffling as shuffling
from labkit.pipeline.bucketing import bucketed, lognormal_lengths
from labkit.pipeline.shuffling import shuffle_quality, two_stage
from labkit.pipeline.tokenising import Costs
from labkit.sketching import OPEN

JOBS = {
    "samples": 60,
    "record_bytes": 900,
    "shard_samples": 20,
    "jobs": {
        "A": {"reads": "all", "opens": 3, "kb": 90},
        "B": {"reads": "single", "count": 9, "opens": 3, "kb": 14},
        "C": {"reads": "restart", "start": 38, "opens": 2, "kb": 35},
    },
}


def stub(*_):
    raise NotImplementedError


def mine(shards, buffer, seed, epoch):
    return list(two_stage(len(shards), shards.__getitem__, buffer=buffer, seed=seed, epoch=epoch))


@pytest.mark.parametrize(
    "draw",
    [
        lambda: packing.sketch_modes(JOBS, {name: {"format": ..., "index": ..., "cold": ...} for name in "ABC"}),
        lambda: packing.sketch_access(20, 30, 35, ..., ..., ...),
        lambda: shuffling.sketch_order(stub, 4, 5, 3),
        lambda: shuffling.sketch_quality(stub, 4, 20),
        lambda: shuffling.sketch_buckets(stub, [3, 4], 2),
        lambda: shuffling.sketch_trade(..., ..., ..., 11),
        lambda: shuffling.sketch_break_even({}, {"narrow": ..., "wide": ...}),
        lambda: shuffling.sketch_text(..., {"where": ...}),
    ],
)
def test_open_answers_draw_nothing(draw):
    assert draw().alt == OPEN


def test_hashes_are_told_apart_by_letters(tmp_path):
    four = [packs.packed(tmp_path, format, packs.samples(8)) for format in packs.FORMATS]
    right = packing.sketch_hashes(lambda samples: str(hash(repr([(k, sorted(f.items())) for k, f in samples]))), four)
    assert right.alt == "Your hashes: files A, tar A, lmdb A, tfrecord A, two exchanged B."
    assert packing.sketch_hashes(stub, four).alt == OPEN
    blind = packing.sketch_hashes(lambda samples: len(samples), four)
    assert blind.alt.endswith("two exchanged A.")


def test_choices_are_run_as_they_are():
    modes = {
        "A": {"format": "files", "index": True, "cold": False},
        "B": {"format": "tar", "index": False, "cold": False},
        "C": {"format": ..., "index": ..., "cold": ...},
    }
    picture = packing.sketch_modes(JOBS, modes)
    assert "job A, files, page cache warm: 60 opens of 3" in picture.alt
    assert "job B, tar" in picture.alt
    assert "job C" not in picture.alt
    hatched = [bar for axes in picture.figure.axes for bar in axes.patches if bar.get_hatch()]
    assert len(hatched) == 3, "files: opens; tar without an index: opens and kB"


def test_orders_and_batches_are_drawn_as_they_are():
    assert "20 of 20 samples" in shuffling.sketch_order(mine, 4, 5, 3).alt
    assert "19 of 20 samples" in shuffling.sketch_order(lambda *a: mine(*a)[1:], 4, 5, 3).alt
    assert "Ends: stored order 0.00" in shuffling.sketch_quality(shuffle_quality, 8, 32).alt
    assert "stored order 1.00" in shuffling.sketch_quality(lambda o, b: 1 - shuffle_quality(o, b), 8, 32).alt
    held = lognormal_lengths(48, seed=0)
    drawn = shuffling.sketch_buckets(lambda n, b, pool, seed: bucketed(n, b, pool=pool, seed=seed), held, 3)
    assert "padding" in drawn.alt
    assert "correlation" in drawn.alt


def test_numbers_and_words_are_drawn_as_they_are():
    assert "reads 15 samples again" in packing.sketch_access(20, 30, 35, 9000, 600, 15).alt
    assert "padding 12.5 % (limit 11 %) and correlation 0.3" in shuffling.sketch_trade(10, 12.5, 0.3, 11).alt
    stores = {"narrow": Costs(40, 100, 300, 20), "wide": Costs(40, 100, 300, 200)}
    both = shuffling.sketch_break_even(stores, {"narrow": 4, "wide": "never"})
    assert "narrow pays from epoch 4 on; wide pays never" in both.alt
    assert "wide" not in shuffling.sketch_break_even(stores, {"narrow": 4, "wide": ...}).alt
    for value, said in (("Never", "'Never'"), (2.5, "2.5"), (None, "None"), (True, "True"), (0, "0")):
        refused = f'narrow is {said}: give a whole number of epochs from 1 on, or "never"'
        assert shuffling.sketch_break_even(stores, {"narrow": value, "wide": "never"}).alt == refused
    marked = shuffling.sketch_text("one two three four five", {"where": True, "batch": ...})
    assert marked.alt == "met['where'] is True: quote words, or write False"
    text = shuffling.sketch_text("one two three four five", {"where": "two three", "batch": "six", "next": False})
    assert text.alt == "Your text: 5 words; quoted in it: where."
