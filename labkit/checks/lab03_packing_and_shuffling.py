"""Checks of lab 03, packing and shuffling: the exercises, and where each is judged."""

from __future__ import annotations

from collections.abc import Iterator

from labkit.checks import lab03_builds as builds
from labkit.checks import lab03_figures as own
from labkit.checks import lab03_runs as runs
from labkit.checks import lab03_shuffles as shuffles
from labkit.checks.answer import Answer
from labkit.checks.explained import self_assessed
from labkit.checks.registry import Context, exercise
from labkit.checks.result import Evidence

RUBRIC = {
    "where": "says which kind of sample takes most of the worker's time at your share, with a figure measured here",
    "batch": "says what that does to a batch: its images add up, or the batch waits for them",
    "moved": "says where the work goes when images are decoded before: bytes, storage or memory, with a figure",
    "next": "names one next step, and the measurement that would show whether it helped",
}
"""What a text on a mixture of images and texts should say."""


@exercise("packing.same_samples", lab="03", title="The same samples", kind="build", points=3, minutes=7)
def same_samples(answer: Answer, context: Context) -> Iterator[Evidence]:
    """A hash that is equal exactly where samples and order are."""
    yield from builds.hash_evidence(answer, context.rng())


@exercise("packing.read_modes", lab="03", title="Three ways to read", kind="experiment", points=3, minutes=8,
          figures=own.MODES)  # fmt: skip
def read_modes(answer: Answer, context: Context) -> Iterator[Evidence]:
    """Format, index and state of the page cache for three jobs; real runs count opens and bytes."""
    yield from runs.modes_evidence(answer.value(), context.figures)


@exercise("packing.random_access", lab="03", title="One record, and a restart", kind="diagnose", points=3, minutes=6,
          figures=own.ACCESS)  # fmt: skip
def random_access(answer: Answer, context: Context) -> Iterator[Evidence]:
    """What one record of a shard costs, and what a restarted worker reads again."""
    yield from runs.access_evidence(answer.value(), context.figures)


@exercise("shuffle.two_stage", lab="03", title="Shuffle in two stages", kind="build", points=3, minutes=8)
def two_stage(answer: Answer, context: Context) -> Iterator[Evidence]:
    """Shard order, then a bounded buffer."""
    yield from shuffles.two_stage_evidence(answer, context.rng())


@exercise("shuffle.quality", lab="03", title="How well is it shuffled?", kind="build", points=2, minutes=6)
def quality(answer: Answer, context: Context) -> Iterator[Evidence]:
    """A scale with two computed ends."""
    yield from shuffles.quality_evidence(answer, context.rng())


@exercise("bucketing.batches", lab="03", title="Batches of like length", kind="build", points=2, minutes=6)
def batches(answer: Answer, context: Context) -> Iterator[Evidence]:
    """Random pools, sorted within, cut into batches."""
    yield from builds.buckets_evidence(answer, context.rng())


@exercise("bucketing.trade", lab="03", title="What padding costs to remove", kind="diagnose", points=3, minutes=6,
          figures=own.TRADE)  # fmt: skip
def trade(answer: Answer, context: Context) -> Iterator[Evidence]:
    """The smallest pool within a limit of padding, with both figures."""
    yield from runs.trade_evidence(answer.value(), context.figures)


@exercise("tokenise.break_even", lab="03", title="When tokenising before pays", kind="predict", points=2, minutes=5,
          figures=own.BREAK_EVEN)  # fmt: skip
def break_even(answer: Answer, context: Context) -> Iterator[Evidence]:
    """Least epochs for two widths of ids."""
    yield from runs.break_even_evidence(answer.value(), context.figures)


@exercise("mixture.decode", lab="03", title="Where the work goes", kind="explain", points=2, minutes=7)
def decode(answer: Answer, context: Context) -> Iterator[Evidence]:
    """A text on images and texts in one loader, marked by its writer."""
    yield from self_assessed(answer.value(), RUBRIC)
