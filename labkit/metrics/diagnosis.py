"""From what the runs gave to findings in plain words, each with its fix."""

from __future__ import annotations

import math
from collections.abc import Iterator

from labkit.metrics.evaluation import Subject
from labkit.metrics.partitions import padded_partitions
from labkit.metrics.report import Finding, MetricReport, Row, same

SUMS = "add up sums and counts over the ranks, then divide (labkit.metrics.SumCount, MeanOf)."
PARTS = (
    "reduce what the metric is made of, then take the ratio (labkit.metrics.ConfusionCounts for precision, recall and "
    "F1), or gather the predictions and call it once (labkit.metrics.Predictions for AUC, quantiles and the like)."
)
IDS = (
    "keep each prediction with its sample's id and count an id once (labkit.metrics.Predictions), or shard evaluation "
    "data without borrowing."
)


def diagnose(report: MetricReport, subject: Subject) -> tuple[Finding, ...]:
    """All findings, faults before warnings."""
    found = [*_partitions(report), *_padding(report, subject), *_idle(report), *_precision(report)]
    return tuple(sorted(found, key=lambda finding: finding.level != "fault"))


def _partitions(report: MetricReport) -> Iterator[Finding]:
    exact = [row for row in report.rows if row.kind == "exact"]
    failed = [row for row in exact if row.error]
    if failed:
        yield Finding(
            "fails",
            "fault",
            f"{_where(failed[0])} it fails: {failed[0].error.rstrip('.')}.",
            _fix_for_failure(failed[0]),
        )
    exact = [row for row in exact if not row.error]
    apart = [row for row in exact if not all(same(value, row.value, report.tolerance) for value in row.by_rank)]
    if apart:
        row = max(apart, key=lambda row: max(row.by_rank) - min(row.by_rank))
        values = ", ".join(f"{value:.4g}" for value in row.by_rank)
        text = f"{_where(row)} the ranks came to {values}; all samples once give {report.value:.6g}."
        yield Finding("ranks disagree", "fault", text, f"nothing reduced it: {SUMS} Or: {PARTS}")
        return
    moved = [row for row in exact if not report.same(row.value)]
    if not moved:
        return
    row = max(moved, key=_size)
    said = f"{_where(row)} it is {row.value:.6g}{_by(row)}; all samples once give {report.value:.6g}."
    if report.reduction == "mean" and all(_explained(row, report.tolerance) for row in moved):
        text = f"{said} The formula for a mean of means, -Cov(n, m) / mean(n), gives {row.formula:+.4g}."
        yield Finding("mean of means", "fault", text, SUMS)
    elif report.reduction in ("mean", "weighted"):
        text = (
            f"{said} No weighting of the ranks' values mends that: the metric of a part isn't the part of the metric."
        )
        yield Finding("not a mean", "fault", text, PARTS)
    else:
        yield Finding("partition", "fault", said, f"its own reduction depends on who holds what: {PARTS}")


def _padding(report: MetricReport, subject: Subject) -> Iterator[Finding]:
    rows = [row for row in report.rows if row.kind == "padded"]
    failed = [row for row in rows if row.error]
    if failed and not any(row.error for row in report.rows if row.kind == "exact"):
        yield Finding(
            "fails",
            "fault",
            f"{_where(failed[0])} it fails: {failed[0].error.rstrip('.')}.",
            _fix_for_failure(failed[0]),
        )
    moved = [row for row in rows if not row.error and not report.same(row.value)]
    if report.invariant and moved:
        row = max(moved, key=_size)
        text = f"with {_borrowed(row)} it is {row.value:.6g}{_by(row)}; without borrowing {report.value:.6g}."
        if row.formula is not None and same(row.bias, row.formula, report.tolerance):
            text += f" The formula, d / (N + d) * (x_D - M), gives {row.formula:+.4g}."
        yield Finding("padding", "warning", text, IDS)
    elif moved:  # the number moves anyway: show what borrowing does by itself, on one process
        effects = [(abs(change), change, row) for row in moved for change in _effect(report, subject, row)]
        if effects:
            _, change, row = max(effects, key=lambda effect: effect[0])
            yield Finding("padding", "warning", f"{_borrowed(row)} alone move it by {change:+.4g}.", IDS)


def _effect(report: MetricReport, subject: Subject, row: Row) -> Iterator[float]:
    """How the samples that a partition borrows move the metric where nothing needs reducing; nothing if they don't."""
    found = padded_partitions(report.samples, row.ranks, subject.batch_size)
    borrowed = next(partition.borrowed for partition in found if partition.name == row.partition)
    change = subject.alone([*range(report.samples), *borrowed]) - report.value
    if not same(change, 0.0, report.tolerance):
        yield change


def _idle(report: MetricReport) -> Iterator[Finding]:
    rows = [row for row in report.rows if row.kind == "idle"]
    wrong = [row for row in rows if row.error or not all(report.same(value) for value in row.by_rank)]
    broken_anyway = any(
        row.error or not all(report.same(value) for value in row.by_rank) for row in report.rows if row.kind == "exact"
    )
    if not wrong or (broken_anyway and not any(row.error or math.isnan(row.value) for row in wrong)):
        return  # what moves under every partition isn't about the idle rank
    row = wrong[0]
    said = (
        f"it fails: {row.error.rstrip('.')}." if row.error else f"it is {row.value:.6g} in place of {report.value:.6g}."
    )
    text = f"where one of {row.ranks} ranks has no sample, {said}"
    yield Finding(
        "idle rank", "warning", text, "let a rank without samples take part in the reduction with a count of 0."
    )


def _precision(report: MetricReport) -> Iterator[Finding]:
    short = [room for room in report.headroom if room.dtype in ("float32", "float16", "bfloat16", "int32")]
    if not short:
        return
    room = min(short, key=lambda room: room.samples_left)
    others = sorted({other.state for other in short} - {room.state})
    also = f" (also {', '.join(others)})" if others else ""
    tried = " Tried: set to that, one more sample leaves it where it was." if room.tried else ""
    text = (
        f"its {room.state}{also} is {room.dtype}: it is {room.value:.6g} after {report.samples:,} samples and stops "
        f"growing at {room.stops_at:,.10g}, {room.samples_left:,} samples from here.{tried}"
    )
    level = "fault" if room.samples_left < report.samples else "warning"
    yield Finding("precision", level, text, "count in int64 and sum in float64 (labkit.metrics.SumCount).")


def _explained(row: Row, tolerance: float) -> bool:
    return row.formula is not None and same(row.bias, row.formula, tolerance)


def _size(row: Row) -> float:
    """How far off, for picking the row to show; one that isn't a number only where there is no other."""
    return -1.0 if math.isnan(row.bias) else abs(row.bias)


def _by(row: Row) -> str:
    return "" if math.isnan(row.bias) else f" ({row.bias:+.4g})"


def _borrowed(row: Row) -> str:
    return f"{row.borrowed} borrowed sample{'s' * (row.borrowed != 1)} ({row.partition}, {row.ranks} ranks)"


def _where(row: Row) -> str:
    return f"on {row.ranks} ranks with {', '.join(map(str, row.sizes))} samples ({row.partition})"


def _fix_for_failure(row: Row) -> str:
    if len(set(row.sizes)) > 1:
        return (
            "ranks hold different numbers of samples, so a gather must allow for it (labkit.metrics.Predictions "
            "gathers parts of any size), or reduce counts in place of rows."
        )
    return "read the rank's own error; the same metric works on one process."
