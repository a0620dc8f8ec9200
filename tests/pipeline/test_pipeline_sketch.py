"""Drawings of a person's answer: right, wrong, open or nonsense, they never raise and say what they show."""

from __future__ import annotations

import pytest

from labkit.pipeline import simulate, sketch


def times(prepare, train, depth):
    line = simulate(prepare, train, depth=depth)
    return list(zip(line.train_start, line.train_end, strict=True))


def stub(*args):
    raise NotImplementedError


BUDGET = {sketch.sketch_run: {"budget": 12}}
LINES = {"A": {"prepare": [2, 30, 2], "train": 9, "depth": 1}, "B": {"prepare": [5, 5, 5], "train": 9, "depth": 1}}
DRAWN = [
    (sketch.sketch_busy, (10, 120), "you say 120 ms"),
    (sketch.sketch_totals, (4, 6, 10, 64, 46), "You say overlapped 46 ms, serial 64 ms"),
    (sketch.sketch_waits, ([14] * 3, 10, [(0, 14), (24, 28), (38, 42)]), "every batch exists when it is trained"),
    (sketch.sketch_waits, ([14] * 3, 10, [(0, 14)]), "batch 1 would be trained before it is prepared"),
    (sketch.sketch_times, (times, [14] * 4, [10] * 4, 1), "14 to 24, 28 to 38, 42 to 52, 56 to 66"),
    (sketch.sketch_rate, (lambda p, c, w: max(c, p / w), 30, 10), "lies on the simulated line"),
    (sketch.sketch_rate, (lambda p, c, w: p + c, 30, 10), "leaves the simulated line at [1, 2, 3, 4, 5, 6, 7, 8]"),
    (sketch.sketch_depth, (lambda p, c: 3, [3, 3, 25, 3], [9] * 4), "You pick depth 3"),
    (sketch.sketch_lines, (LINES, {"A": True, "B": ...}), "You say: A more depth helps"),
]


@pytest.mark.parametrize(("draw", "args", "said"), DRAWN)
def test_drawn_as_said(draw, args, said):
    picture = draw(*args)
    assert said in picture.alt
    assert len(picture.png()) > 5_000


@pytest.mark.parametrize(
    ("draw", "args"),
    [
        (sketch.sketch_busy, (10, ...)),
        (sketch.sketch_totals, (4, 6, 10, ..., ...)),
        (sketch.sketch_waits, ([14], 10, ...)),
        (sketch.sketch_times, (stub, [14], [10], 1)),
        (sketch.sketch_rate, (stub, 30, 10)),
        (sketch.sketch_depth, (stub, [3], [9])),
        (sketch.sketch_lines, (LINES, {"A": ..., "B": ...})),
        (sketch.sketch_run, ([5], 5, ..., ..., ...)),
    ],
)
def test_open_answers(draw, args):
    assert draw(*args, **BUDGET.get(draw, {})).alt == "nothing to draw yet: the answer is still open"


@pytest.mark.parametrize(
    ("draw", "args"),
    [
        (sketch.sketch_busy, (10, "a while")),
        (sketch.sketch_waits, ([14], 10, [5])),
        (sketch.sketch_times, (lambda *a: 1 / 0, [14], [10], 1)),
        (sketch.sketch_times, (lambda *a: [(9, 3)], [14], [10], 1)),
        (sketch.sketch_run, ([5], 5, 2.5, 2, 30)),
    ],
)
def test_nonsense(draw, args):
    assert draw(*args, **BUDGET.get(draw, {})).alt.startswith("this answer can't be drawn")


def test_text_is_named():
    assert sketch.sketch_busy(10, "116").alt == "this answer can't be drawn: '116' is text, give a number"
    assert "True or False" in sketch.sketch_lines(LINES, {"A": "yes", "B": ...}).alt


def test_a_run_keeps_to_the_budget():
    """A mistyped number must not start a hundred processes."""
    picture = sketch.sketch_run([5], 5, 100, 2, 30, budget=12)
    assert picture.alt == "not run: workers x prefetch_factor is 200, the budget is 12"


def test_a_run_shows_the_persons_prediction():
    picture = sketch.sketch_run([5.0] * 4, 5.0, 1, 2, 25, budget=12)
    assert "measured" in picture.alt
    assert len(picture.png()) > 5_000
