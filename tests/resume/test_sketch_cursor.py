"""Drawings of lab 08: they say what the answer says, and open or odd answers get a picture with one line."""

from __future__ import annotations

import pytest

from labkit.checks.lab08_accumulation import Accumulation, stopped_in_mid_step, updates_of
from labkit.checks.lab08_ranks import resume_on_ranks
from labkit.checks.lab08_runs import epoch_batches, leave_checkpoints, walked
from labkit.resume import sketch_cursor as sketch
from labkit.sketching import OPEN

JOB = {"accumulate": 3, "batch_size": 2, "seed": 5}


class Loader:
    """Goes on from what was committed, or with `off` so many batches later."""

    def __init__(self, data, batch_size, seed, workers, off=0):
        self.batches, self.off = epoch_batches(len(data), batch_size, seed, 0), off
        self.batches += epoch_batches(len(data), batch_size, seed, 1)
        self.cursor = self.handed = 0

    def __iter__(self):
        self.handed = self.cursor
        for batch in self.batches[self.cursor :]:
            self.handed += 1
            yield batch

    def commit(self):
        self.cursor = self.handed

    def state_dict(self):
        return {"cursor": self.cursor + self.off}

    def load_state_dict(self, state):
        self.cursor = state["cursor"]


def plan(batch_size, accumulate, cursor):
    return {"batch_size": batch_size, "accumulate": accumulate, "cursor": cursor}


def test_cursor_says_what_is_said():
    text = sketch.sketch_cursor(10, 6, 10, 13).text()
    assert "the cursor is 10 and 13 batches were asked for, so 3 are on their way" in text
    assert text.count("asked for, not applied") == 3


def test_gaps_draw_the_answer_and_not_the_truth():
    log, saved = leave_checkpoints(JOB)
    drawn = sketch.sketch_gaps(log, saved, {"A": 2, "B": -3, "C": ...})
    assert list(drawn.table["gap"]) == [2, -3]
    assert list(drawn.table["cursor"]) == [saved["A"]["cursor"], saved["B"]["cursor"]]


def test_walk_marks_what_was_not_due():
    assert "0 of 14 aren't" in sketch.sketch_walk(walked(Loader)).alt
    late = sketch.sketch_walk(walked(lambda *args: Loader(*args, off=3)))
    assert "9 of 14 aren't" in late.alt


def test_mid_step_says_where_two_runs_part():
    names = ("w", "b", "vw", "vb", "step", "cursor")

    def resume(run, snapshot):
        vars(run).update(snapshot)

    def back(run):
        return {name: getattr(run, name) for name in names} | {"cursor": run.cursor - run.done}

    whole = updates_of(Accumulation(7, 4), 14)
    assert "they never part" in sketch.sketch_mid_step(stopped_in_mid_step(back, resume), whole).alt
    lost = stopped_in_mid_step(lambda run: {name: getattr(run, name) for name in names}, resume)
    assert "they part at update 4" in sketch.sketch_mid_step(lost, whole).alt


def test_missing_names_what_is_said():
    drawn = sketch.sketch_missing({"A": None, "B": None}, {"A": "ema", "B": "nothing"}, ("nothing", "ema"))
    assert "A ema, B nothing" in drawn.alt


def test_ranks_says_how_many_updates_read_the_same():
    job = {"batch_size": 3, "accumulate": 2, "step": 8, "seed": 4}
    text = sketch.sketch_ranks(resume_on_ranks, job, plan(3, 2, 16), plan(3, 4, 16)).text()
    assert "four ranks: 4 of 4 updates read the same samples, weights differ by up to 0.0e+00" in text
    assert "two ranks: 0 of 4" in text


def test_verdicts_say_margin_and_intervals():
    text = sketch.sketch_verdicts({"A": (-0.5, 0.25)}, 1.0, {"A": "equivalent"}).text()
    assert "Margin 1. A -0.5 to 0.25, you say equivalent" in text


@pytest.mark.parametrize(
    "draw",
    [
        lambda: sketch.sketch_cursor(10, 6, ..., ...),
        lambda: sketch.sketch_gaps([], {}, {"A": ...}),
        lambda: sketch.sketch_missing({"A": None}, {"A": ...}, ("nothing",)),
        lambda: sketch.sketch_ranks(resume_on_ranks, {}, plan(..., 1, 1), plan(1, 1, 1)),
        lambda: sketch.sketch_verdicts({"A": (0, 1)}, 1.0, {"A": ...}),
    ],
)
def test_open_answers_are_said_to_be_open(draw):
    assert draw().alt == OPEN


def test_an_answer_that_raises_is_named():
    assert "KeyError" in sketch.sketch_gaps([], {}, {"A": 3}).alt
