"""Checks of lab 05, metrics across ranks."""

from __future__ import annotations

from collections.abc import Iterator

from labkit.checks import lab05_diagnoses as diagnoses
from labkit.checks import lab05_figures as own
from labkit.checks import lab05_pooled
from labkit.checks.answer import Answer
from labkit.checks.evidence import Fault, judged, named_mistake, over_inputs
from labkit.checks.lab05_builds import PADDING_RULES, SUM_COUNT_RULES, row_inputs, shard_inputs
from labkit.checks.registry import Context, exercise
from labkit.checks.result import Evidence
from labkit.checks.shapes import numbers_fault


@exercise("metrics.mean_of_means", lab="05", title="Reported and right", kind="predict", points=2, minutes=6,
          figures=own.MEANS)  # fmt: skip
def mean_of_means(answer: Answer, context: Context) -> Iterator[Evidence]:
    """The mean of the ranks' accuracies, and the accuracy."""
    value = answer.value()
    names = ("reported", "pooled")
    yield judged("both answers are numbers", numbers_fault(value, names))

    counts, right = context.figures["counts"], context.figures["right"]
    shares = [c / n for c, n in zip(right, counts, strict=True)]
    fault = None
    for name in names:
        if not min(shares) - 0.001 <= value[name] <= max(shares) + 0.001:
            fault = Fault(
                f"{name} = {value[name]:g}",
                f"a share between {min(shares):.3f} and {max(shares):.3f}, the ranks' own",
                "a mean lies between what it is a mean of.",
                "give shares, such as 0.753, not percent or counts.",
            )
            break
    yield judged("both lie between the ranks' own accuracies", fault)

    truth, parts = own.means_truth(context.figures), own.means_parts(context.figures)
    hints = {
        "reported": "three accuracies, each counted once.",
        "pooled": "how many predictions are right on all ranks, and how many are there?",
    }
    swapped = all(abs(value[a] - truth[b]) < 0.00051 for a, b in (names, names[::-1]))
    for name in names:
        fault = None
        if abs(value[name] - truth[name]) > 0.00051:
            mistake = named_mistake(round(value[name], 3), parts[name])
            fault = Fault(
                f"{name} = {value[name]:.4g}",
                "the mean of the ranks' accuracies" if name == "reported" else "the accuracy over all samples",
                "did the two change places?" if swapped else f"that is {mistake}." if mistake else "",
                hints[name],
            )
        yield judged(f"{name} is right to three digits", fault, held=f"{value[name]:.3f}")


@exercise("metrics.sum_count", lab="05", title="A mean that survives", kind="build", points=3, minutes=10)
def sum_count(answer: Answer, context: Context) -> Iterator[Evidence]:
    """A mean over real ranks: uneven shards, an idle rank, no process group at all."""
    yield from over_inputs(answer, "mean_over_ranks", shard_inputs(context.rng()), SUM_COUNT_RULES)


@exercise("metrics.padding", lab="05", title="Each sample once", kind="build", points=2, minutes=8)
def padding(answer: Answer, context: Context) -> Iterator[Evidence]:
    """Gathered rows without what was borrowed."""
    yield from over_inputs(answer, "each_once", row_inputs(context.rng()), PADDING_RULES)


@exercise("metrics.pooled", lab="05", title="F1 and AUC of everybody", kind="diagnose", points=3, minutes=9,
          figures=lab05_pooled.POOLED)  # fmt: skip
def pooled(answer: Answer, context: Context) -> Iterator[Evidence]:
    """F1 and AUC over all ranks' samples, and which metrics need rows."""
    yield from lab05_pooled.pooled_evidence(answer.value(), context.figures)


@exercise("metrics.precision", lab="05", title="Where a count stops", kind="diagnose", points=2, minutes=7,
          figures=own.PRECISION)  # fmt: skip
def precision(answer: Answer, context: Context) -> Iterator[Evidence]:
    """What five counters of different types show."""
    yield from diagnoses.precision_evidence(answer.value(), context.figures)


@exercise("metrics.gather_pitfalls", lab="05", title="What accelerate hands back", kind="diagnose", points=3,
          minutes=10, figures=own.GATHER)  # fmt: skip
def gather_pitfalls(answer: Answer, context: Context) -> Iterator[Evidence]:
    """Rows and mean of four programs, as real accelerate gives them."""
    yield from diagnoses.gather_evidence(answer.value(), context.figures)


@exercise("metrics.bytes", lab="05", title="Rows or three numbers", kind="experiment", points=2, minutes=8,
          figures=own.BYTES)  # fmt: skip
def bytes_(answer: Answer, context: Context) -> Iterator[Evidence]:
    """Gather or reduce, for three metrics within a budget of bytes."""
    yield from diagnoses.bytes_evidence(answer.value(), context.figures, context.seed)


@exercise("metrics.audit", lab="05", title="The line-up", kind="diagnose", points=3, minutes=10,
          figures=own.AUDIT)  # fmt: skip
def audit(answer: Answer, context: Context) -> Iterator[Evidence]:
    """Which of five metrics is wrong, and in what."""
    yield from diagnoses.audit_evidence(answer.value(), context.figures)
