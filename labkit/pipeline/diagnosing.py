"""`diagnose`: why does the trainer wait? A named cause with evidence, or an honest "not enough evidence"."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from labkit.errors import LabkitError, UsageError
from labkit.pipeline.diagnosis import Diagnosis
from labkit.pipeline.diagnosis_causes import SHARED_MEMORY
from labkit.pipeline.diagnosis_collect import collect
from labkit.pipeline.diagnosis_memory import speaks_of_shared_memory
from labkit.pipeline.diagnosis_verdict import Verdict, judge
from labkit.pipeline.inputs import number
from labkit.pipeline.measurement import Measurement
from labkit.pipeline.remedy import SHARED_MEMORY_FULL

LEAST_S = 2.0
"""The least time budget: below it there is no time for enough batches."""


def diagnose(
    make_loader: Callable[[], Any],
    step: Callable[[Any], Any] | None = None,
    *,
    budget_s: float = 20.0,
    step_ms: float | None = None,
) -> Diagnosis:
    """Find out why a training loop waits for its data, by experiment.

    The loader is read, the step is run on it and on batches held in memory (so your model does train), and where a
    suspicion arises a small probe follows: fewer threads, other cores, more workers, a second read. Small rules, one
    for each cause, then judge the one record of all this.

    Args:
        make_loader: called for a fresh loader; the loader itself is left as it was.
        step: called with each batch; trains. None for a stand-in that sleeps `step_ms`.
        budget_s: seconds that the experiments may take, about; most take a quarter of it.
        step_ms: the length of the stand-in; 0 (read as fast as possible) where it isn't given.

    Raises:
        UsageError: a value can't be used, the loader yields nothing, or make_loader hands out one iterator twice.
        LabkitError: the loader or the step raised; the text names the batch, the worker and the error.
    """
    if not callable(make_loader):
        raise UsageError(f"make_loader is {type(make_loader).__name__}: give a function that builds the loader")
    if step is not None and not callable(step):
        raise UsageError(f"step is {step!r}: give a function of a batch")
    if number("budget_s", budget_s) < LEAST_S:
        raise UsageError(f"budget_s is {budget_s:g}: too small for enough batches, give at least {LEAST_S:g} seconds")
    if step is not None and step_ms is not None:
        raise UsageError(f"step_ms is {step_ms!r}, but there is a step: give one of the two")
    pause = number("step_ms", step_ms or 0.0) / 1000
    begin = time.perf_counter()
    try:
        record, trace = collect(make_loader, step or (lambda batch: time.sleep(pause)), budget_s)
    except LabkitError as error:
        if isinstance(error, UsageError) or not speaks_of_shared_memory(str(error)):
            raise
        verdict = Verdict(SHARED_MEMORY, str(error), {}, {}, {}, SHARED_MEMORY_FULL)
        return Diagnosis(verdict, None, None, time.perf_counter() - begin, step is not None)
    measured = Measurement.of(trace, 0) if len(trace) else None
    return Diagnosis(judge(record), record, measured, time.perf_counter() - begin, step is not None)
