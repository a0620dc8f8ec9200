"""What lab 05 runs live: each against what it stands for."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

from labkit.errors import UsageError
from labkit.metrics import across, biases, programs, sketch, suspects, ways
from labkit.sharding import plan

pytestmark = pytest.mark.slow  # real processes all through

needs_accelerate = pytest.mark.skipif(importlib.util.find_spec("accelerate") is None, reason="needs accelerate")


@needs_accelerate
@pytest.mark.parametrize(("samples", "batch_size"), [(3, 5), (9, 2), (9, 4), (10, 4), (16, 4), (17, 4), (23, 3)])
def test_programs_do_what_the_rule_says(samples, batch_size):
    """Real accelerate on real ranks gives what `predict_programs` says, value for value."""
    real, said = programs.run_programs(samples, batch_size), programs.predict_programs(samples, batch_size)
    for letter in programs.LETTERS:
        assert real[letter].values == pytest.approx(said[letter].values), letter
    assert sorted(real["A"].values) == list(range(samples))


def test_rank_means_of_the_facts():
    assert programs.predict_programs(9, 4)["D"].mean == 3.25


def test_across_ranks_runs_on_processes_of_its_own():
    import os

    here = os.getpid()
    pids = across.across_ranks(lambda values: os.getpid())([[1.0], [2.0], []])
    assert len(set(pids)) == 3
    assert here not in pids
    assert across.across_ranks(lambda values: os.getpid())([[1.0]]) == [here]


def test_across_ranks_says_what_is_open_or_wrong():
    def still_open(values):
        raise NotImplementedError

    with pytest.raises(NotImplementedError):
        across.across_ranks(still_open)([[1.0], [2.0]])
    with pytest.raises(UsageError, match="shards is empty"):
        across.across_ranks(sum)([])
    with pytest.raises(UsageError, match="metric is 3"):
        across.across_ranks(3)


@pytest.mark.parametrize("late", [False, True])
def test_gathered_rows_are_the_plans(late):
    made = plan(8, 2, 3)
    rows = across.gathered_rows(8, 2, 3, late=late)
    assert sorted(row[0] for row in rows) == sorted([*range(8), *made.duplicates])
    first = [i for step in range(made.steps[0]) for batches in made.per_rank for i in batches[step]]
    by_rank = [i for batches in made.per_rank for batch in batches for i in batch]
    assert [row[0] for row in rows] == (by_rank if late else first)


def test_biases_lie_on_their_formulas():
    found = biases.measure_biases(57, ranks=3, partitions=6, seed=5)
    assert {one.kind for one in found.runs} == {biases.MEANS, biases.PADDING}
    assert max(abs(one.measured) for one in found.runs) > 0.02
    for one in found.runs:
        assert one.measured == pytest.approx(one.formula, abs=1e-12)
    assert "partitions of the same samples" in found.plot().alt
    with pytest.raises(UsageError, match="ranks is 9 for 4 samples"):
        biases.measure_biases(4, ranks=9)


def test_ways_count_bytes_and_only_auc_needs_rows():
    gathered = ways.evaluate(1200, 3, dict.fromkeys(ways.METRICS, "gather"), seed=4)
    reduced = ways.evaluate(1200, 3, dict.fromkeys(ways.METRICS, "reduce"), seed=4)
    assert [one.payload for one in gathered] == [12 * 1200] * 3
    assert [one.payload for one in reduced] == [24 * 3] * 3
    assert [one.metric for one in [*gathered, *reduced] if one.wrong] == ["AUC"]
    with pytest.raises(UsageError, match="'sum': give 'gather' or 'reduce'"):
        ways.evaluate(10, 2, {"mean loss": "sum", "F1": "sum", "AUC": "sum"})


@pytest.mark.slow
@pytest.mark.parametrize("job", [1001, 2345, 9999])
def test_the_audit_finds_what_is_planted(job):
    """Otherwise the line-up would mark right readings wrong."""
    for letter, suspect in suspects.lineup(job).items():
        findings = suspect.audit().findings
        assert (findings[0].kind if findings else "nothing") == suspects.planted(job)[letter]


def test_lineups_differ_and_hold_each_verdict_once():
    orders = {tuple(suspects.planted(job).values()) for job in range(40)}
    assert len(orders) > 20
    assert all(sorted(order) == sorted(suspects.VERDICTS) for order in orders)


def test_sketches_of_open_answers_say_so():
    def still_open(*_):
        raise NotImplementedError

    drawn = [
        sketch.sketch_ranks([1, 2, 3], [1, 1, 1], ..., ...),
        sketch.sketch_mean(across.across_ranks(still_open), [[1], [2]]),
        sketch.sketch_rows(still_open, 8, 2, 3),
        sketch.sketch_pooled({}, {}, ..., ...),
        sketch.sketch_counters({"A": {"adds": 1, "updates": 2, "dtype": "int64"}}, {"A": ...}),
        sketch.sketch_gather(9, {"A": ..., "B": ..., "C": ...}, ...),
        sketch.sketch_bytes(100, 2, {"F1": ...}, ..., ...),
        sketch.sketch_lineup({}, {"A": ...}),
        sketch.sketch_audit(still_open),
    ]
    for picture in drawn:
        assert "still open" in picture.alt, picture.alt


def test_sketches_draw_the_answer_and_not_the_truth():
    drawn = sketch.sketch_rows(lambda rows: rows[:3], 8, 2, 3)
    assert "12 rows, you keep 3" in drawn.alt
    assert drawn.table["kept"].sum() == 6
    said = sketch.sketch_ranks([10, 20, 30], [5, 10, 15], 0.9, 0.1)
    assert "reported 0.900, pooled 0.100" in said.alt
    assert "can't be drawn (ValueError: no)" in sketch.sketch_rows(_raises, 8, 2, 3).alt
    counted = sketch.sketch_counters({"A": {"adds": 2, "updates": 50, "dtype": "float16"}}, {"A": 7})
    assert counted.alt == "You say: A shows 7 of 100."
    assert np.allclose(sketch.sketch_gather(9, {"A": 4}, 1.5).table["rows, you say"], [4])


def _raises(rows):
    raise ValueError("no")
