"""`probe`: one real pass of a loader and a step, timed batch by batch on both sides."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from labkit.errors import UsageError
from labkit.inputs import whole
from labkit.pipeline.inputs import number
from labkit.pipeline.measurement import Measurement
from labkit.pipeline.probe_loader import watch
from labkit.pipeline.probe_pass import run
from labkit.pipeline.probe_worker import Settings

_LEAST_S = 0.05


def probe(
    loader: Iterable[Any],
    step: Callable[[Any], Any],
    *,
    batches: int | None = None,
    warmup: int = 2,
    budget_s: float = 60.0,
    to: str | None = None,
) -> Measurement:
    """Run one real pass and say where its time went, batch by batch, workers included.

    A DataLoader is copied (shallow) and the copy iterated, so yours keeps its settings and its workers; sampler and
    data set are the same objects and move on as in any pass. What a worker does is timed in the worker.

    Args:
        loader: anything that can be iterated: a DataLoader, torchdata's, accelerate's, a generator, a list.
        step: called with each batch; trains. On a GPU it is waited for before the clock is read.
        batches: batches to measure after the warm-up; None for all that the loader has.
        warmup: batches that come first and are left out of the figures.
        budget_s: seconds after which the pass ends though the loader goes on.
        to: a device to move each batch's tensors to before the step, timed as transfer; None where the step does it.

    Raises:
        UsageError: a value can't be used, or the loader yields nothing beyond the warm-up.
        LabkitError: the loader or the step raised, with the batch, the worker and the original error.
    """
    if not callable(step):
        raise UsageError(f"step is {step!r}: give a function of a batch")
    batches, warmup = None if batches is None else whole("batches", batches, 1), whole("warmup", warmup, 0)
    if number("budget_s", budget_s) < _LEAST_S:
        raise UsageError(f"budget_s is {budget_s}: give at least {_LEAST_S} seconds")
    watched = watch(iterable(loader), Settings(counts=False))
    try:
        trace = run(watched, step, most=None if batches is None else batches + warmup, budget_s=budget_s, to=to)
    finally:
        watched.close()
    return Measurement.of(trace, warmup)


def iterable(loader: Any) -> Any:
    """`loader`, if it can be iterated; UsageError otherwise."""
    if not hasattr(loader, "__iter__") and not hasattr(loader, "__getitem__"):
        raise UsageError(f"loader is {type(loader).__name__}: give something that can be iterated over")
    return loader
