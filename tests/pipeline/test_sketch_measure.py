"""Lab 02's drawings of a learner's answer: their figures, their words, what they leave out and say so."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from labkit.checks.lab02_replay import replayed
from labkit.pipeline import sketch_measure as sketch


def epoch(first, waits, pids=(1, 2)):
    train = (10.0,) * (len(waits) + 1)
    share = sum(waits) / (sum(waits) + sum(train))
    return SimpleNamespace(first_wait=first, waits=tuple(waits), train=train, pids=pids, share=share)


def case(firsts, pids):
    waits = [37.0, *[1.0] * 9]
    measured = SimpleNamespace(fetch_waits=waits, queue_depth=[1] * 10, prepare=[2.0] * 10, train=[9.0] * 10)
    return SimpleNamespace(
        measured=measured, epochs=[epoch(first, waits, pid) for first, pid in zip(firsts, pids, strict=True)]
    )


def test_pairs_are_held_against_the_end_of_the_last_step_not_of_the_workers():
    def measured(prepare, train, start, real):
        pairs = [(20.0, 10.0), (4.0, 10.0)]
        device, free = [(20.5, 30.5), (34.5, 44.5)], [30.5, 44.5]
        return {"pairs": pairs, "device": device, "free": free, "began": [0.5], "end": 90.0}

    picture = sketch.sketch_pairs(measured)
    assert "took 44 ms from iter() to the end of the last step; your 2 pairs add up to 44." in picture.alt
    assert "90" not in picture.alt


@pytest.mark.parametrize(("pids", "words"), [(((1,), (2,)), "other workers"), (((1,), (1,)), "the same workers")])
def test_first_waits_of_an_epoch_have_bars_of_their_own(pids, words):
    picture = sketch.sketch_cases({"A": case((1188.0, 1190.0), pids)}, {"A": "healthy", "B": ...})
    assert f"epochs' first waits 1188 and 1190 ms, {words}" in picture.alt
    axes = picture.figure.axes[0]
    assert [bar.get_height() for bar in axes.containers[1]] == [1188.0, 1190.0]
    assert axes.containers[1][0].get_hatch() != axes.containers[0][0].get_hatch()
    assert axes.get_ylim()[1] < 5 * 37  # the pass stays readable
    assert "1188 (cut)" in [text.get_text() for text in axes.texts]


def test_the_judged_waits_set_the_scale_of_five_percent():
    runs = [epoch(400.0, [1.0] * 26 + [9.0]), epoch(2.0, [1.0] * 27)]
    settings = {"num_workers": 2, "prefetch_factor": 2, "persistent_workers": True}
    picture = sketch.sketch_fix(lambda *_: runs, lambda **_: None, lambda _: None, settings, cores=3, memory=12)
    axes = picture.figure.axes[0]
    assert axes.get_ylim()[1] < 15
    assert max(bar.get_height() for bars in axes.containers for bar in bars) == 9.0
    assert axes.get_title(loc="left") == "waits 11.1% and 8.8%; same workers"
    assert "first waits (400 and 2 ms) left out" in picture.alt
    assert max(picture.table["wait (ms)"]) == 400.0


def test_a_card_names_the_function_that_a_person_writes():
    def measure(loader, step, synchronise, clock):
        raise NotImplementedError

    assert replayed(measure).__name__ == "replayed(measure)"
