"""What lab 06 runs live: planned jobs run as planned, reports differ as planned."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

from labkit.scaling import differences, jobs, sketch

pytestmark = pytest.mark.slow  # real processes all through


@pytest.mark.parametrize("job", range(60))
def test_planned_jobs_can_be_read(job):
    """Warm-up without a gap and of clearly different length; single slow steps later, well apart from it."""
    slow = jobs.slow_steps(job)
    warm = [next(k for k in range(jobs.STEPS) if k not in steps) for steps in slow]
    assert abs(warm[0] - warm[1]) >= 2
    later = sorted({step for steps, k in zip(slow, warm, strict=True) for step in steps if step >= k})
    later = [step for step in later if step >= max(warm)]
    assert 1 <= len(later) <= 4
    assert later[0] >= max(warm) + 3
    assert all(b - a >= 2 for a, b in itertools.pairwise(later))


def test_a_job_is_slow_where_it_is_planned_to_be():
    """A step can only take longer than its sleep, never less."""
    slow, times = jobs.slow_steps(77), jobs.run_job(77)
    for rank, steps in enumerate(slow):
        assert len(times.seconds[rank]) == jobs.STEPS
        assert all(times.seconds[rank][step] >= jobs.SLOW for step in steps)
    assert "rank 0:" in times.plot().alt


@pytest.mark.parametrize("job", [4321, 4324])  # every difference is in one or the other
def test_reports_differ_as_planned(job):
    first, six = jobs.six_reports(job)
    for letter, kind in jobs.planned_reports(job).items():
        fields = [one.field for one in differences(first, six[letter])]
        assert fields == ([] if kind == jobs.SAME else [kind])
    assert jobs.six_reports(job)[0] is first
    same = [six[letter] for letter, kind in jobs.planned_reports(job).items() if kind == jobs.SAME]
    assert sorted(one.settings["workers"] for one in same) == [0, 2]


def test_every_difference_turns_up():
    seen = {kind for job in range(30) for kind in jobs.planned_reports(job).values()}
    assert seen == {jobs.SAME, *jobs.DIFFERENT}


def test_intervals_of_real_ranks():
    times = jobs.interval_times(ranks=2, intervals=4, steps=2)
    assert [len(one) for one in times] == [4, 4]
    assert all(seconds > 0.008 for one in times for seconds in one)
    assert min(one[0] for one in times) > 0.028  # the first is cold


def test_sketches_of_open_answers_say_so():
    def still_open(*_):
        raise NotImplementedError

    times = jobs.StepTimes(((0.1, 0.2), (0.1, 0.3)))
    drawn = [
        sketch.sketch_warmup(times, ..., ...),
        sketch.sketch_throughput(still_open),
        sketch.sketch_efficiency(still_open),
        sketch.sketch_reports(None, {}, {"A": ...}),
        sketch.sketch_straggler(40, 4, 8, ..., ...),
    ]
    for picture in drawn:
        assert "still open" in picture.alt, picture.alt


def test_sketches_draw_the_answer():
    times = jobs.StepTimes(((0.1, 0.2, 0.1), (0.1, 0.3, 0.1)))
    drawn = sketch.sketch_warmup(times, 2, 1)
    assert list(drawn.table["left out"]) == [True, True, False]
    assert "mean of the rest 100.0 ms" in drawn.alt
    assert "nothing is left" in sketch.sketch_warmup(times, 9, 0).alt
    assert "Your function: 5" in sketch.sketch_throughput(lambda *_: 5.0).alt
    assert "1 rank 0.50, 2 ranks 0.25" in sketch.sketch_efficiency(lambda runs: {1: 0.5, "2": 0.25}).alt
    none = sketch.sketch_efficiency(lambda runs: None)
    assert "gives None, no efficiency, for runs on 1 rank with batch size 32, 2 ranks" in none.alt
    assert len(none.table) == 3


TIMES = jobs.StepTimes(((0.1, 0.2, 0.1), (0.1, 0.3, 0.1)))
NOT_DRAWN = [
    (lambda: sketch.sketch_warmup(TIMES, None, 1), "warmup is None: give a whole number, 0 or more"),
    (lambda: sketch.sketch_warmup(TIMES, 1, "two"), "later is 'two': give a whole number"),
    (lambda: sketch.sketch_warmup(TIMES, -1, 1), "warmup is -1: give a whole number"),
    (lambda: sketch.sketch_throughput(lambda *_: None), "what your function gives is None: give a number"),
    (lambda: sketch.sketch_throughput(lambda *_: "50"), "what your function gives is '50': give a number"),
    (lambda: sketch.sketch_efficiency(lambda runs: [1.0]), "is [1.0]: give a dict {ranks: efficiency}, or None"),
    (lambda: sketch.sketch_efficiency(lambda runs: {}), "is {}: give a dict"),
    (lambda: sketch.sketch_efficiency(lambda runs: {1: 1.0, 2: None}), "on 2 ranks is None: give a number"),
    (lambda: sketch.sketch_reports(None, {}, None), "differs is None: give a dict"),
    (lambda: sketch.sketch_reports(None, {"A": 0}, {"A": True}), 'A is True: give the name of a field, or "nothing"'),
    (lambda: sketch.sketch_straggler(40, 4, 8, "50", 0.8), "estimate is '50': give a number"),
    (lambda: sketch.sketch_straggler(40, 4, 8, 50, None), "efficiency is None: give a number"),
    (lambda: sketch.sketch_straggler(40, 4, 8, float("nan"), 1), "estimate is nan: give a number"),
]


@pytest.mark.parametrize(("draw", "said"), NOT_DRAWN, ids=[said for _, said in NOT_DRAWN])
def test_an_answer_of_another_kind_is_named_in_plain_words(draw, said):
    alt = draw().alt
    assert said in alt
    assert "Error" not in alt


@pytest.mark.parametrize("number", [np.float32(50), np.int64(50), torch.tensor(50.0), 50])
def test_numbers_of_numpy_and_torch_are_drawn(number):
    assert "You say 50 ms for 8 ranks" in sketch.sketch_straggler(40, 4, 8, number, 0.8).alt
