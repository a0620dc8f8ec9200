"""audit on real ranks: names what moves a metric, and is silent on its clean twin."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
import torch
import torch.distributed as dist
import torchmetrics

from labkit import ranks
from labkit.errors import UsageError
from labkit.metrics import ConfusionCounts, MeanOf, Predictions, SumCount, auc, audit, measure_traffic
from labkit.sharding import plan

pytestmark = pytest.mark.slow  # real processes all through

RNG = np.random.default_rng(0)
TARGETS = RNG.integers(0, 2, 61)
SCORES = np.clip(0.3 * TARGETS + 0.7 * RNG.random(61), 0, 1)
CLASSES = (SCORES > 0.5).astype(int)


def accuracy(p, t):
    return (p == t).mean()


def f1(p, t):
    counts = ConfusionCounts()
    counts.update(p, t)
    return counts.f1()


def roc_area(scores, targets):
    """The area under the curve's corners, by trapezes: another way than counting pairs."""
    order = np.argsort(-scores)
    hits, false = np.cumsum(targets[order]), np.cumsum(1 - targets[order])
    return np.trapezoid(np.r_[0, hits / hits[-1]], np.r_[0, false / false[-1]])


def kinds(report):
    return {finding.kind for finding in report.findings}


def test_a_mean_of_means_is_named_and_measured_beside_its_formula():
    report = audit(accuracy, CLASSES, TARGETS, ranks=3)
    assert report.value == accuracy(CLASSES, TARGETS)
    assert not report.ok
    assert not report.invariant
    assert report.findings[0].kind == "mean of means"
    assert "SumCount" in report.findings[0].fix
    for row in report.rows:
        if row.kind != "idle":
            assert row.bias == pytest.approx(row.formula, abs=1e-12)
    text = report.text()
    assert "-Cov(n, m) / mean(n)" in text
    assert report.plot().alt.startswith("Metric audit.")
    assert len(report.frame()) == len(report.rows)
    assert json.loads(json.dumps(report.as_dict(), allow_nan=False))["ok"] is False


def test_a_mean_over_batches_is_one_too():
    report = audit(accuracy, CLASSES, TARGETS, ranks=(2,), batch_size=7)
    assert report.findings[0].kind == "mean of means"


def test_its_clean_twin():
    report = audit(MeanOf(lambda p, t: p == t), CLASSES, TARGETS, ranks=3, batch_size=8)
    assert report.ok
    assert report.invariant
    assert kinds(report) == {"padding"}  # only an id can tell a borrowed sample
    assert audit(accuracy, CLASSES, TARGETS, ranks=(3,), reduction="weighted").invariant


@pytest.mark.parametrize("reduction", ["mean", "weighted"])
def test_f1_of_parts_is_not_a_mean(reduction):
    report = audit(f1, CLASSES, TARGETS, ranks=(3,), reduction=reduction)
    assert report.findings[0].kind == "not a mean"
    assert audit(ConfusionCounts, CLASSES, TARGETS, ranks=(3,)).invariant


def test_auc_of_parts_against_gathered():
    assert audit(auc, SCORES, TARGETS, ranks=(2,)).findings[0].kind == "not a mean"
    clean = audit(auc, SCORES, TARGETS, ranks=(2,), reduction="gather")
    assert clean.invariant
    assert clean.value == pytest.approx(roc_area(SCORES, TARGETS))


def test_borrowed_samples_go_by_id():
    report = audit(Predictions(accuracy), CLASSES, TARGETS, ranks=3, batch_size=4)
    assert report.findings == ()
    assert {row.kind for row in report.rows} == {"exact", "idle", "padded"}
    assert all(row.value == report.value for row in report.rows)
    assert "Nothing found." in report.text()


def test_padding_is_measured_beside_its_formula():
    order = np.argsort(-TARGETS, kind="stable")  # sorted by class: what is borrowed is all of one kind
    report = audit(MeanOf(lambda p, t: p == t), CLASSES[order], TARGETS[order], ranks=(4,), batch_size=8)
    padded = [row for row in report.rows if row.kind == "padded"]
    assert [row.borrowed for row in padded] == [3, 3]
    for row in padded:
        assert row.bias == pytest.approx(row.formula, abs=1e-12)
        assert row.bias != 0
    (finding,) = report.findings
    assert (finding.kind, finding.level) == ("padding", "warning")
    assert f"with 3 borrowed samples (padded as {padded[0].partition[10:]}, 4 ranks)" in finding.text
    assert f"d / (N + d) * (x_D - M), gives {padded[0].formula:+.4g}" in finding.text
    assert "alone" in audit(accuracy, CLASSES[order], TARGETS[order], ranks=(4,)).findings[1].text


class Unreduced:
    def __init__(self):
        self.hits, self.seen = torch.tensor(0.0), torch.tensor(0.0)

    def update(self, p, t):
        self.hits += float((p == t).sum())
        self.seen += len(p)

    def compute(self):
        return self.hits / self.seen


class Float32(Unreduced):
    """The counts stacked into one float32 tensor: right on small data, and silent about its end."""

    def all_reduce(self):
        if dist.is_initialized():
            both = torch.stack([self.hits, self.seen])
            dist.all_reduce(both)
            self.hits, self.seen = both


def test_ranks_that_come_to_other_values():
    report = audit(Unreduced, CLASSES, TARGETS, ranks=(3,))
    assert report.findings[0].kind == "ranks disagree"
    assert not report.ok


def test_float32_counts_are_seen_before_they_stop():
    report = audit(Float32, CLASSES, TARGETS, ranks=(2,))
    finding = next(one for one in report.findings if one.kind == "precision")
    assert finding.level == "warning"
    assert "16,777,216" in finding.text
    assert "Tried: set to that, one more sample leaves it" in finding.text
    seen = next(room for room in report.headroom if room.state == "seen")
    assert (seen.samples_left, seen.tried) == (2**24 - 61, True)
    assert report.invariant


def test_float16_counts_are_a_fault_now():
    class Half(Float32):
        def __init__(self):
            self.hits, self.seen = torch.tensor(0.0, dtype=torch.bfloat16), torch.tensor(0.0, dtype=torch.bfloat16)

    many = np.tile(TARGETS, 4)  # 244 of the 256 that bfloat16 counts to
    report = audit(Half, many, many, ranks=(2,), tolerance=0.02)
    assert {(f.kind, f.level) for f in report.findings} >= {("precision", "fault")}


def naive_gather(p, t):
    """all_gather into buffers of this rank's own size: fine as long as all ranks hold the same number."""
    if dist.is_initialized():
        rows = torch.tensor(np.stack([p, t]))
        every = [torch.empty_like(rows) for _ in range(dist.get_world_size())]
        dist.all_gather(every, rows)
        p, t = torch.cat(every, 1).numpy()
    return auc(p, t)


@pytest.mark.slow
def test_a_gather_of_unequal_parts_fails_and_is_named():
    report = audit(naive_gather, SCORES, TARGETS, ranks=(2,), reduction="own", timeout=20)
    assert report.findings[0].kind == "fails"
    assert "Predictions" in report.findings[0].fix


def test_torchmetrics_as_it_is():
    p, t = torch.tensor(CLASSES), torch.tensor(TARGETS)
    report = audit(torchmetrics.classification.BinaryF1Score(), p, t, ranks=(3,))
    assert report.invariant
    assert report.value == pytest.approx(f1(CLASSES, TARGETS), abs=1e-6)
    assert kinds(report) <= {"padding"}


def test_torchmetrics_mean_stops_where_float32_stops():
    class Mean:
        def __init__(self):
            self.inner = torchmetrics.MeanMetric()

        def update(self, p, t):
            self.inner.update((p == t).float())

        def compute(self):
            return self.inner.compute()

    report = audit(Mean, torch.tensor(CLASSES), torch.tensor(TARGETS), ranks=(2,))
    weight = next(room for room in report.headroom if room.state == "inner.weight")
    assert weight.stops_at == 16_777_216
    assert "precision" in kinds(report)
    inner = torchmetrics.MeanMetric()
    inner.update(torch.tensor(1.0))
    inner.weight.fill_(2.0**24)
    inner.update(torch.tensor(1.0))
    assert inner.weight.item() == 2.0**24


# The figures the course quotes, each from real ranks.

SHARD_A = ([0.9, 0.8, 0.4, 0.5, 0.3, 0.2], [1, 1, 1, 0, 0, 0])  # AUC 8/9
SHARD_B = ([0.45, 0.1, 0.7, 0.6], [1, 1, 0, 0])  # AUC 0


def test_auc_0_444_and_0_560():
    def on_rank(rank):
        mine = (SHARD_A, SHARD_B)[rank]
        ids = [100 * rank + i for i in range(len(mine[0]))]
        kept = Predictions(auc)
        kept.update(*mine, ids=ids)
        return auc(*mine), kept.all_gather().compute()

    (first, pooled), (second, again) = ranks.run(on_rank, ranks=2)
    assert [round(first, 3), second] == [0.889, 0.0]
    assert round((first + second) / 2, 3) == 0.444
    assert round(pooled, 3) == 0.560
    assert pooled == again


def test_f1_0_591_and_0_308():
    def on_rank(rank):
        mine = ConfusionCounts.of(*((1, 0, 0), (1, 8, 1))[rank])
        return mine.f1(), mine.all_reduce().f1()

    found = ranks.run(on_rank, ranks=2)
    assert round(np.mean([one for one, _ in found]), 3) == 0.591
    assert [round(pooled, 3) for _, pooled in found] == [0.308, 0.308]


def test_0_800_and_0_753():
    def on_rank(rank):
        mean = SumCount()
        size, right = ((100, 70), (50, 40), (20, 18))[rank]
        mean.update(np.arange(size) < right)
        return mean.compute(), mean.all_reduce().compute(), mean.count

    found = ranks.run(on_rank, ranks=3)
    assert round(np.mean([own for own, _, _ in found]), 3) == 0.800
    assert {round(pooled, 3) for _, pooled, _ in found} == {0.753}
    assert [count for _, _, count in found] == [100, 50, 20]  # a rank's own isn't changed


def test_predictions_of_uneven_ranks_come_together():
    made = plan(23, 3, 4)

    def on_rank(rank):
        kept = Predictions(accuracy)
        for batch in made.per_rank[rank]:
            kept.update(np.array(batch) % 2, np.array(batch) % 3 == 0, ids=batch)
        kept.update([1], [1], ids=["only here"]) if rank == 2 else None
        together = kept.all_gather()
        return len(kept), len(together), together.repeated, together.compute(), together.ordered()[0]

    found = ranks.run(on_rank, ranks=4)
    assert {one[1:4] for one in found} == {(24, len(made.duplicates), found[0][3])}
    whole = np.arange(23)
    assert found[0][3] == pytest.approx((np.sum(whole % 2 == (whole % 3 == 0)) + 1) / 24)
    assert found[0][4] == found[3][4]


def test_traffic_of_rows_grows_and_of_numbers_does_not():
    small, large = measure_traffic(1_000, 3, rounds=2), measure_traffic(10_000, 3, rounds=2)
    for few, many in zip(small.ways, large.ways, strict=True):
        if few.name == "reduce three numbers":
            assert few.payload == many.payload == (24, 24, 24)
        else:
            assert sum(many.payload) == 10 * sum(few.payload) == 120_000
    if large.ways[0].sent is not None:
        to_one, to_all, three = (sum(way.sent) for way in large.ways)
        assert to_all > to_one > 6_666 * 12 > three
        assert abs(three - sum(small.ways[2].sent)) < 2_000
    assert len(large.frame()) == 3
    assert "reduce three numbers" in large.text()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: audit(accuracy, [1, 2], [1], ranks=2), "predictions has 2 samples and targets has 1"),
        (lambda: audit(accuracy, [], [], ranks=2), "predictions is empty: an empty data set"),
        (lambda: audit(5, [1], [1]), "metric is 5: give a callable"),
        (lambda: audit(accuracy, [1], [1], ranks=0), "ranks is 0"),
        (lambda: audit(accuracy, [1], [1], ranks=()), "ranks is empty"),
        (lambda: audit(accuracy, [1], [1], ranks=(2,)), "ranks is 2 for 1 sample:"),
        (lambda: audit(accuracy, [1], [1], reduction="max"), "reduction is 'max': give one of mean"),
        (lambda: audit(SumCount, [1], [1], reduction="mean"), "reduces itself; leave it out"),
        (lambda: audit(accuracy, [1], [1], batch_size=0), "batch_size is 0"),
        (lambda: audit(accuracy, [1], [1], ids=[1, 2]), "ids has 2 entries for 1 sample:"),
        (lambda: audit(accuracy, [1], [1], tolerance=float("nan")), "tolerance is nan"),
        (lambda: audit(lambda p, t: 1 / 0, [1], [1]), "fails on all samples at once.*ZeroDivisionError"),
        (lambda: audit(lambda p, t: {"a": 1}, [1], [1]), "the metric gave {'a': 1}: it must give one number"),
        (lambda: audit(lambda p, t: math.nan, [1], [1]), "the metric is nan over all samples: give"),
        (
            lambda: audit(lambda p, t: np.mean(p), [1.0, math.nan], [1, 2]),
            "nan over all samples because 1 of 2 predictions hold NaN: give",
        ),
        (lambda: audit(lambda p, t: np.ones(3), [1], [1]), "the metric gave 3 numbers: the audit follows one"),
        (lambda: audit(lambda p, t: np.ones((2, 2)), [1], [1]), r"gave numbers of shape \(2, 2\): the audit follows"),
        (lambda: measure_traffic(0), "samples is 0"),
    ],
)
def test_bad_input_gets_one_line(call, message):
    with pytest.raises(UsageError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_predictions_that_are_nan_are_counted_in_one_line():
    given = torch.tensor([1.0, math.nan, 1.0, 0.0, math.nan, 1.0])
    found = audit(lambda p, t: (p == t).double().sum(), given, torch.ones(6), ranks=[2], reduction="gather")
    assert found.nans == (2, 0)
    assert found.value == 3
    (line,) = [line for line in found.text().splitlines() if "NaN" in line]
    assert line.startswith("note: 2 of 6 predictions hold NaN, and the metric is a number all the same")
    clean = audit(lambda p, t: (p == t).double().sum(), torch.ones(6), torch.ones(6), ranks=[2], reduction="gather")
    assert clean.nans == (0, 0)
    assert "NaN" not in clean.text()
