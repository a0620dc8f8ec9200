"""The metrics themselves: against torchmetrics and plain NumPy on the whole data, however it is cut into batches."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
import torchmetrics.functional as tm
from hypothesis import given
from hypothesis import strategies as st

from labkit.errors import UsageError
from labkit.metrics import (
    ConfusionCounts,
    MeanOf,
    Predictions,
    SumCount,
    auc,
    float_stall,
    mean_of_means_bias,
    mean_of_means_bound,
    padding_bias,
    pooled_mean,
    tail_weight,
    worst_padding_bias,
)
from labkit.sharding import plan

classes = st.integers(2, 5).flatmap(
    lambda k: st.tuples(
        st.just(k), st.lists(st.tuples(st.integers(0, k - 1), st.integers(0, k - 1)), min_size=1, max_size=60)
    )
)
numbers = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40)


@given(numbers, st.integers(1, 7))
def test_sum_count_is_the_mean_however_it_is_batched(values, batch):
    mean = SumCount()
    for i in range(0, len(values), batch):
        mean.update(np.array(values[i : i + batch]))
    assert mean.count == len(values)
    assert mean.compute() == pytest.approx(np.mean(values), abs=1e-9, rel=1e-9)
    both = SumCount()
    both.update(sum(values), count=len(values))
    assert both.compute() == pytest.approx(mean.compute(), abs=1e-9, rel=1e-9)
    assert mean.all_reduce() == mean  # no process group: alone


def test_sum_count_goes_on_where_float32_stops():
    mean = SumCount(2.0**24, 2**24)
    mean.update(torch.ones(1000))
    assert mean.count == 16_778_216
    stuck = torch.tensor(2.0**24)
    for _ in range(1000):
        stuck += 1.0
    assert stuck.item() == 16_777_216
    assert math.isnan(SumCount().compute())


@given(classes)
def test_confusion_counts_against_torchmetrics(case):
    k, rows = case
    given_, true = torch.tensor([p for p, _ in rows]), torch.tensor([t for _, t in rows])
    counts = ConfusionCounts(k)
    for i in range(0, len(rows), 7):
        counts.update(given_[i : i + 7], true[i : i + 7])
    kind = {"num_classes": k}
    assert counts.matrix.tolist() == tm.classification.multiclass_confusion_matrix(given_, true, **kind).tolist()
    assert counts.accuracy() == pytest.approx(float((given_ == true).float().mean()), abs=1e-6)
    for average in ("micro", "macro"):
        for ours, theirs in (
            (counts.precision, tm.classification.multiclass_precision),
            (counts.recall, tm.classification.multiclass_recall),
            (counts.f1, tm.classification.multiclass_f1_score),
        ):
            assert ours(average) == pytest.approx(float(theirs(given_, true, average=average, **kind)), abs=1e-6)
    if k == 2:
        assert counts.f1() == pytest.approx(float(tm.classification.binary_f1_score(given_, true)), abs=1e-6)


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 1)), min_size=1, max_size=40))
def test_auc_is_the_share_of_pairs_in_order(rows):
    positive = [s for s, t in rows if t]
    negative = [s for s, t in rows if not t]
    value = auc([s for s, _ in rows], [t for _, t in rows])
    if not positive or not negative:
        assert math.isnan(value)
        return
    pairs = [(p > n) + 0.5 * (p == n) for p in positive for n in negative]
    assert value == pytest.approx(sum(pairs) / len(pairs))
    scores = torch.tensor([s / 8 for s, _ in rows])
    theirs = float(tm.classification.binary_auroc(scores, torch.tensor([t for _, t in rows])))
    assert value == pytest.approx(theirs, abs=1e-6)


@given(st.integers(1, 60), st.integers(1, 6), st.integers(1, 4), st.randoms())
def test_predictions_count_each_sample_once_in_any_order(samples, batch_size, ranks, random):
    """Borrowed ones go, whichever rank's batches come in first."""
    scores = np.array([random.random() for _ in range(samples)])
    rows = [batch for batches in plan(samples, batch_size, ranks).per_rank for batch in batches]
    random.shuffle(rows)
    kept = Predictions(lambda p, t: float(np.mean(p == t)))
    for batch in rows:
        kept.update(scores[batch], scores[batch] > 0.5, ids=batch)
    ids, predictions, targets = kept.ordered()
    assert ids == list(range(samples))
    np.testing.assert_array_equal(predictions, scores)
    np.testing.assert_array_equal(targets, scores > 0.5)
    assert kept.repeated == len(plan(samples, batch_size, ranks).duplicates)
    assert kept.compute() == float(np.mean(scores == (scores > 0.5)))


def test_the_first_prediction_for_an_id_counts():
    kept = Predictions()
    kept.update([[0.1, 0.9], [0.5, 0.5]], [1, 0], ids=["b", "a"])
    kept.update([[0.7, 0.3]], [0], ids=["b"])
    ids, predictions, targets = kept.ordered()
    assert (ids, predictions.tolist(), targets.tolist()) == (["a", "b"], [[0.5, 0.5], [0.1, 0.9]], [0, 1])
    assert (len(kept), kept.repeated) == (2, 1)


@given(st.lists(st.tuples(st.integers(1, 50), st.floats(-10, 10)), min_size=1, max_size=8))
def test_mean_of_means_bias_is_the_difference_itself(rows):
    counts, means = [n for n, _ in rows], [m for _, m in rows]
    direct = np.mean(means) - np.average(means, weights=counts)
    bias = mean_of_means_bias(counts, means)
    assert bias == pytest.approx(direct, abs=1e-9)
    assert abs(bias) <= mean_of_means_bound(counts, means) + 1e-9
    assert pooled_mean(counts, means) == pytest.approx(np.average(means, weights=counts))


@given(st.lists(st.floats(-10, 10), min_size=1, max_size=40), st.integers(1, 8), st.integers(1, 5))
def test_padding_bias_is_the_difference_itself(values, batch_size, ranks):
    made = plan(len(values), batch_size, ranks)
    padded = [values[i] for batches in made.per_rank for batch in batches for i in batch]
    borrowed = [values[i] for i in made.duplicates]
    formula = padding_bias(len(values), len(borrowed), np.mean(borrowed) if borrowed else 0.0, float(np.mean(values)))
    assert formula == pytest.approx(np.mean(padded) - np.mean(values), abs=1e-9)


def test_the_figures_the_course_quotes():
    shards = [ConfusionCounts.of(1, 0, 0), ConfusionCounts.of(1, 8, 1)]
    assert round(np.mean([shard.f1() for shard in shards]), 3) == 0.591
    pooled = ConfusionCounts()
    pooled.matrix = shards[0].matrix + shards[1].matrix
    assert round(pooled.f1(), 3) == 0.308
    made = plan(1000, 64, 8)
    assert len(made.duplicates) == 24
    assert round(100 * worst_padding_bias(1000, len(made.duplicates)), 2) == 2.34
    assert float_stall("float32").at == 16_777_216
    assert tail_weight(1001, 100) == (1 / 11, 1 / 1001)


@pytest.mark.parametrize(("dtype", "bits"), [("float16", 11), ("bfloat16", 8), ("float32", 24), ("float64", 53)])
def test_stalls_are_where_the_type_has_them(dtype, bits):
    assert float_stall(dtype).at == 2**bits
    assert float_stall(dtype, 4).at == 4 * 2**bits
    kind = getattr(torch, dtype)
    below = torch.tensor(2.0**bits - 1, dtype=kind)
    assert below + 1 > below
    assert float_stall(kind) == float_stall(dtype)


@given(st.sampled_from(["float16", "bfloat16"]), st.floats(0.05, 3.0))
def test_a_real_running_sum_stops_there(dtype, step):
    stall = float_stall(dtype, step)
    total, one = torch.tensor(0.0, dtype=getattr(torch, dtype)), torch.tensor(step, dtype=getattr(torch, dtype))
    for _ in range(40_000):
        after = total + one
        if after == total:
            break
        total = after
    assert total.item() == pytest.approx(stall.at, rel=2.0**-7)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: SumCount().update([1.0, float("nan")]), r"values\[1\] is nan: give finite numbers"),
        (lambda: SumCount().update("abc"), r"values is 'abc'"),
        (lambda: SumCount().update([[1.0]]), r"values has shape \(1, 1\)"),
        (lambda: SumCount().update(1.0, count=-1), "count is -1"),
        (lambda: SumCount().update(1.0, count=1.5), "count is 1.5"),
        (lambda: SumCount().update([1.0, 2.0], count=2), "values is .*give the sum"),
        (lambda: SumCount().update(float("inf"), count=2), "values is inf"),
        (lambda: MeanOf(lambda p, t: p).update([1], [1, 2]), "predictions has 1 samples and targets has 2"),
        (lambda: ConfusionCounts(1), "classes is 1"),
        (lambda: ConfusionCounts(2).update([0, 2], [0, 1]), r"predictions\[1\] is 2: with classes=2 give"),
        (lambda: ConfusionCounts(2).update([0.5], [0]), "predictions holds float64 values such as 0.5"),
        (lambda: ConfusionCounts(2).update([0], [-1]), r"targets\[0\] is -1"),
        (lambda: ConfusionCounts(3).f1("binary"), "average is 'binary' and classes is 3"),
        (lambda: ConfusionCounts(3).f1("weighted"), "average is 'weighted'"),
        (lambda: ConfusionCounts.of(-1, 0, 0), "tp is -1"),
        (lambda: auc([0.1, float("nan")], [0, 1]), r"scores\[1\] is nan"),
        (lambda: auc([0.1, 0.2], [0, 2]), r"targets\[1\] is 2: give 0 or 1"),
        (lambda: auc(0.5, [1]), "predictions is 0.5: give one entry"),
        (lambda: Predictions().update([1], [1], ids=[[1]]), r"an id is \[1\], which isn't hashable"),
        (lambda: Predictions().update([1, 2], [1, 2], ids=[1]), "ids is 1 of them for 2 predictions"),
        (lambda: Predictions().compute(), "metric is missing"),
        (lambda: padding_bias(0, 1, 0.5, 0.5), "samples is 0"),
        (lambda: padding_bias(10, -1, 0.5, 0.5), "borrowed is -1"),
        (lambda: padding_bias(10, 1, float("nan"), 0.5), r"borrowed_mean\[0\] is nan"),
        (lambda: mean_of_means_bias([1, 0], [0.5, 0.5]), r"counts\[1\] is 0"),
        (lambda: mean_of_means_bias([1], [0.5, 0.5]), "counts has 1 entries and means has 2"),
        (lambda: mean_of_means_bias([], []), "counts is empty"),
        (lambda: float_stall("float8"), "dtype is 'float8': give one of"),
        (lambda: float_stall("float32", 0), "step is 0"),
        (lambda: float_stall("float16", 64), "overflows before it stalls"),
    ],
)  # fmt: skip
def test_bad_input_gets_one_line(call, message):
    with pytest.raises(UsageError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)
