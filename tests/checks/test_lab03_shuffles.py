"""Lab 03's checks: what chance can't do to a right answer, inputs that can be replayed, and mistakes that are real."""

from __future__ import annotations

import json
import random
import statistics
from pathlib import Path
from types import SimpleNamespace

import pytest

from labkit.checks import lab03_figures as own
from labkit.checks import lab03_shuffles as shuffles
from labkit.checks.answer import call_text
from labkit.pipeline import packing
from labkit.pipeline.shuffling import shuffle_quality, two_stage


def right(shards, buffer, seed, epoch):
    return list(two_stage(len(shards), shards.__getitem__, buffer=buffer, seed=seed, epoch=epoch))


def emptied(shards, buffer, seed, epoch):
    """Fills a buffer, shuffles it and empties it."""
    rng = random.Random(f"{seed}/{epoch}")
    stream = [one for shard in rng.sample(shards, len(shards)) for one in shard]
    parts = [stream[at : at + buffer] for at in range(0, len(stream), buffer)]
    return [one for part in parts for one in rng.sample(part, len(part))]


def failing(function, seed):
    evidence = shuffles.two_stage_evidence(SimpleNamespace(call=function), random.Random(seed))
    return next((one for one in evidence if not one.ok), None)


def test_a_right_shuffle_passes_with_every_seed(amount):
    assert [failing(right, seed) for seed in range(amount(25, full=300))].count(None) == amount(25, full=300)


def test_the_bar_is_far_from_a_right_answer_and_from_chance(amount):
    """The mean of SEEDS runs scatters so little that the bar is more than ten standard deviations away."""
    shards = [list(range(i * 16, i * 16 + 16)) for i in range(20)]
    found = [shuffle_quality(right(shards, 48, seed, 0), 8) for seed in range(amount(400, full=4000))]
    scatter = statistics.stdev(found) / shuffles.SEEDS**0.5
    assert statistics.mean(found) - shuffles.BAR * shuffles._usual_quality() > 10 * scatter


def test_an_emptied_buffer_is_named_with_every_seed():
    for seed in range(10):
        card = failing(emptied, seed)
        assert card.why == "the buffer is emptied as a whole, so samples never leave their block."
        order = eval(card.given, {"two_stage": lambda *args: list(emptied(*args)), "list": list, "range": range})
        assert sorted(order) == list(range(40)), "the card's input can be typed in again"


def test_inputs_of_quality_are_printed_whole():
    for seed in range(20):
        for args in shuffles.quality_inputs(random.Random(seed)):
            assert "..." not in call_text("quality", args)
            shuffle_quality(*args)  # each can be judged


@pytest.mark.parametrize("seed", range(3))
def test_the_row_of_tfrecord_is_that_of_a_real_pack(seed, tmp_path):
    figures = own._draw_access(random.Random(seed))
    samples = packing.made(figures["samples"], figures["record_bytes"])
    with packing.pack(samples, tmp_path / "pack", "tfrecord", shard_samples=figures["shard_samples"]) as packed:
        costs = packing.access_costs([packed], figures["want"], figures["restart"])
    through = own.tfrecord_through(figures, figures["want"] % figures["shard_samples"] + 1)
    assert costs["bytes for one"].max() == through


def test_usual_misreadings_of_a_shards_bytes_have_names():
    figures = {"samples": 240, "shard_samples": 60, "record_bytes": 4000, "want": 90, "restart": 130}
    assert own.tar_entry(4000) == 4608
    named = {value: name for name, value in own.access_parts(figures)["through"].items()}
    assert named[31 * 4608] == "the shard up to the record; a reader asks for 65,536 bytes at a time"
    assert named[131_072] == "the row of tfrecord"


def test_no_exercise_has_the_name_of_a_section():
    cells = json.loads(Path("notebooks/03_packing_and_shuffling.ipynb").read_text(encoding="utf-8"))["cells"]
    lines = [line.strip() for cell in cells if cell["cell_type"] == "markdown" for line in cell["source"]]
    sections = {line.split(". ", 1)[-1] for line in lines if line.startswith("## ")}
    assert not sections & {line[4:] for line in lines if line.startswith("### ")}
