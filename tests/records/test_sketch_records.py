"""Drawings of lab 10: they say what the answer says, and open answers get a picture with one line."""

from __future__ import annotations

import pytest

from labkit.checks.lab10_runs import Records, killed_run, planted, watched
from labkit.records import SpikeDetector, sketch
from labkit.sketching import OPEN


class Keeper:
    """Keeps copies, or with `copies` off references."""

    copies = True

    def __init__(self, keep):
        self.keep, self.detector, self.held = keep, SpikeDetector(), []

    def step(self, step, loss, batch):
        spike = self.detector.add(loss)
        if spike is not None:
            self.held.append((spike.score, step, list(batch) if self.copies else batch))
            self.held = sorted(self.held, reverse=True)[: self.keep]

    def kept(self):
        return [(step, batch) for _, step, batch in self.held]


class Careless(Keeper):
    copies = False


def test_records_say_the_verdicts():
    drawn = sketch.sketch_records(Records(1234), {"A": "gap", "B": ...})
    assert "A gap, B open" in drawn.alt
    assert len(drawn.table) == 5


@pytest.mark.parametrize("job", range(2000, 2006))
def test_what_is_planted_is_what_the_records_show(job):
    for (letter, kind), record in zip(planted(job).items(), Records(job).values(), strict=True):
        signs = {metric: [one.sign for one in record.health(metric).signs] for metric in ("loss", "grad_norm")}
        if kind == "quiet spike":
            assert signs == {"loss": [], "grad_norm": ["spike"]}, letter
        else:
            wanted = [] if kind == "nothing" else [kind]
            assert signs == {"loss": wanted, "grad_norm": wanted}, letter


def test_names_tell_the_same_from_another():
    drawn = sketch.sketch_names(lambda config, samples, ignore: repr(sorted(samples)))
    assert list(drawn.table["same"]) == [True] * 6 + [False]
    assert sketch.sketch_names(lambda config, samples, ignore: ...).alt == OPEN


def test_kept_draws_what_is_held():
    assert "holds step 38: its batch; step 50: its batch" in sketch.sketch_kept(watched(Keeper)).alt
    assert "step 38: another batch" in sketch.sketch_kept(watched(Careless)).alt


def test_cost_says_what_a_kill_left():
    alt = sketch.sketch_cost(killed_run, "every 50 steps", "nothing", 60, 30).alt
    assert "50 rows left, 10 lost" in alt
    assert "the spike's batch is gone" in alt
    assert sketch.sketch_cost(killed_run, ..., "nothing", 60, 30).alt == OPEN
