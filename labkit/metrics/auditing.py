"""`audit`: does a metric give the same number however its samples are shared out? Answered on real ranks."""

from __future__ import annotations

import contextlib
import io
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from labkit.errors import LabkitError, UsageError
from labkit.inputs import whole
from labkit.metrics import evaluation
from labkit.metrics.arrays import nans, pair
from labkit.metrics.bias import mean_of_means_bias, padding_bias, pooled_mean
from labkit.metrics.diagnosis import diagnose
from labkit.metrics.evaluation import REDUCTIONS, Subject
from labkit.metrics.headroom import headroom
from labkit.metrics.partitions import Partition, exact_partitions, idle_partition, padded_partitions
from labkit.metrics.report import MetricReport, Row


def audit(
    metric: Any,
    predictions: Any,
    targets: Any,
    *,
    ranks: int | Sequence[int] = 4,
    reduction: str | None = None,
    batch_size: int | None = None,
    ids: Any = None,
    tolerance: float = 1e-5,
    seed: int = 0,
    timeout: float = 60,
) -> MetricReport:
    """Run a metric on real ranks over many partitions of the same samples, and say what moves it.

    Partitions: in turn, sorted by target in unequal blocks, random ones of unequal sizes, one that leaves a rank
    without samples, and those of samplers that even out by borrowing. The right value is the metric over all samples
    once, in one call, on one process. What the ranks print isn't shown. Running sums inside a metric object are looked
    at as well: how many samples are left until their type stops counting.

    Args:
        metric: a callable on (predictions, targets) that gives one number; or an object (or its class) with update and
            compute, such as torchmetrics'. `all_gather()` or `all_reduce()` is called before compute where there is
            one; update gets `ids` where it takes them.
        predictions: one entry a sample: tensor, array or list.
        targets: likewise.
        ranks: up to how many ranks (2 to that many are run), or which numbers of ranks.
        reduction: for a callable, how the ranks' values become one: "mean" (the usual one, averaged over batches, then
            ranks), "weighted" (by samples), "gather" (every rank gets all samples, then one call), "own" (the callable
            reduces by itself). An object always does it itself.
        batch_size: samples in a call or update; None for all of a rank's. Also given, accelerate's padding for batches
            of that size is tried.
        ids: the samples' ids; 0, 1, 2, ... where not given.
        tolerance: relative to the larger of 1 and the value: what counts as the same. Leaves room for float32.
        seed: of the random partitions.
        timeout: seconds for one run.

    Raises:
        UsageError: a value can't be used, or the metric itself fails on all samples.
    """
    from labkit.ranks import run

    subject = subject_of(metric, predictions, targets, reduction, batch_size, ids)
    return audit_with(run, subject, ranks=ranks, tolerance=tolerance, seed=seed, timeout=timeout)


def audit_with(
    run: Callable[..., list[Any]],
    subject: Subject,
    *,
    ranks: int | Sequence[int],
    tolerance: float = 1e-5,
    seed: int = 0,
    timeout: float = 60,
) -> MetricReport:
    """`audit` of a subject on ranks of the caller's: `run(fn, *args, ranks=..., timeout=...)` as `labkit.ranks.run`."""
    size = len(subject.targets)
    if isinstance(tolerance, bool) or not isinstance(tolerance, int | float) or not 0 <= tolerance < math.inf:
        raise UsageError(f"tolerance is {tolerance!r}: give a number, 0 or more")
    seed = whole("seed", seed, 0)
    value = _reference(subject)
    rows = []
    for count in _worlds(ranks, size):
        partitions = exact_partitions(subject.targets, count, seed=seed)
        if count > 1:
            partitions.append(idle_partition(size, count))
        partitions += padded_partitions(size, count, subject.batch_size)
        for partition, (values, error) in zip(partitions, _run(run, subject, partitions, count, timeout), strict=True):
            rows.append(_row(subject, value, count, partition, values, error))
    room = headroom(subject)
    found = MetricReport(
        value,
        size,
        subject.reduction,
        tolerance,
        tuple(rows),
        room,
        (),
        (nans(subject.predictions), nans(subject.targets)),
    )
    return replace(found, findings=diagnose(found, subject))


def subject_of(
    metric: Any, predictions: Any, targets: Any, reduction: str | None = None, batch_size: Any = None, ids: Any = None
) -> Subject:
    """What `audit` looks at, its inputs looked through. Raises UsageError."""
    import numpy as np

    is_object = evaluation.updates(metric)
    if not is_object and not callable(metric):
        raise UsageError(f"metric is {metric!r}: give a callable on (predictions, targets), or update and compute")
    if reduction is not None and reduction not in REDUCTIONS:
        raise UsageError(f"reduction is {reduction!r}: give one of {', '.join(REDUCTIONS)}")
    if is_object and reduction not in (None, "own"):
        raise UsageError(f"reduction is {reduction!r}: an object with update and compute reduces itself; leave it out")
    pair(predictions, targets)
    size = len(targets)
    if size == 0:
        raise UsageError("predictions is empty: an empty data set has no metric; give at least one sample")
    if ids is None:
        ids = np.arange(size)
    elif len(ids) != size:
        raise UsageError(f"ids has {len(ids)} entries for {size} sample{'s' * (size != 1)}: give one for each")
    size_each = None if batch_size is None else whole("batch_size", batch_size, 1)
    return Subject(metric, reduction or ("own" if is_object else "mean"), size_each, predictions, targets, ids)


def _worlds(ranks: int | Sequence[int], size: int) -> list[int]:
    """The numbers of ranks to try; none beyond the number of samples, so that every rank can have one."""
    if isinstance(ranks, Sequence) and not isinstance(ranks, str):
        found = sorted({whole(f"ranks[{i}]", count, 1) for i, count in enumerate(ranks)})
        if not found:
            raise UsageError("ranks is empty: give how many, such as 4, or numbers such as (2, 4)")
    else:
        most = whole("ranks", ranks, 1)
        found = list(range(min(2, most), most + 1))
    if found[0] > size:
        raise UsageError(f"ranks is {found[0]} for {size} sample{'s' * (size != 1)}: give at most one rank a sample")
    return [count for count in found if count <= size]


def _reference(subject: Subject) -> float:
    try:
        value = subject.alone(range(len(subject.targets)))
    except UsageError:
        raise
    except Exception as error:
        first = str(error).partition("\n")[0]
        raise UsageError(
            f"the metric fails on all samples at once, without ranks: {type(error).__name__}: {first}"
        ) from error
    if math.isnan(value):
        held = [
            f"{n} of {len(subject.targets)} {name}"
            for name, n in (("predictions", nans(subject.predictions)), ("targets", nans(subject.targets)))
            if n
        ]
        why = f" because {' and '.join(held)} hold NaN" if held else ""
        raise UsageError(
            f"the metric is nan over all samples{why}: give predictions and targets for which it is a number"
        )
    return value


def _run(
    run: Callable[..., list[Any]], subject: Subject, partitions: list[Partition], ranks: int, timeout: float
) -> list[tuple[tuple[float, ...], str]]:
    """Every partition on real ranks: each rank's value, or why there is none. One run, or one each if that fails."""
    from labkit.ranks import RankError

    def go(chosen: list[Partition]) -> list[tuple[float, ...]]:
        parts = [partition.parts for partition in chosen]
        unheard = io.StringIO()  # what dozens of runs print says nothing that the report doesn't
        with contextlib.redirect_stdout(unheard), contextlib.redirect_stderr(unheard):
            by_rank = run(evaluation.on_rank, subject, parts, ranks=ranks, timeout=timeout)
        return [tuple(values) for values in zip(*by_rank, strict=True)]

    try:
        return [(values, "") for values in go(partitions)]
    except RankError as error:
        if len(partitions) == 1:
            return [((math.nan,) * ranks, str(error))]
        return [_run(run, subject, [one], ranks, timeout)[0] for one in partitions]


def _row(
    subject: Subject, value: float, ranks: int, partition: Partition, values: tuple[float, ...], error: str
) -> Row:
    bias = values[0] - value
    borrowed = len(partition.borrowed)
    formula = _formula(subject, value, partition)
    return Row(partition.kind, ranks, partition.name, partition.sizes, borrowed, values, bias, formula, error)


def _formula(subject: Subject, value: float, partition: Partition) -> float | None:
    """What theory says about this partition; None where there is no formula, or the metric can't be had on a part."""
    try:
        if partition.kind == "padded":
            effect = padding_bias(
                len(subject.targets), len(partition.borrowed), subject.alone(partition.borrowed), value
            )
            return 0.0 if evaluation.updates(subject.metric) and evaluation.takes_ids(subject.metric) else effect
        if partition.kind == "exact" and subject.reduction == "mean":
            return _mean_bias(subject, partition)
    except LabkitError:
        return None
    except Exception:  # the metric isn't defined there, such as an AUC of one class; the runs themselves say so
        return None
    return None


def _mean_bias(subject: Subject, partition: Partition) -> float:
    """Mean over ranks of the mean over batches, by formula: the ranks' covariance, and each rank's own over batches."""
    means, within = [], []
    for part in partition.parts:
        batches = subject.batches(part)
        counts, values = [len(batch) for batch in batches], [subject.alone(batch) for batch in batches]
        means.append(pooled_mean(counts, values))
        within.append(mean_of_means_bias(counts, values))
    return mean_of_means_bias(partition.sizes, means) + sum(within) / len(within)
