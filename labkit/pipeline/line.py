"""The ideal line: workers prepare batches, a queue holds finished ones, a trainer takes them in order."""

from __future__ import annotations

from labkit.errors import UsageError
from labkit.inputs import whole
from labkit.pipeline.inputs import Times, columns, number
from labkit.pipeline.recurrence import train_starts
from labkit.pipeline.timeline import Timeline


def simulate(
    prepare: Times,
    train: Times,
    *,
    batches: int | None = None,
    depth: int | None = None,
    workers: int = 1,
    prefetch_factor: int | None = None,
    get_cost: float = 0.0,
) -> Timeline:
    """When is each batch ready, and who waits? The rules are in `labkit.pipeline.recurrence`.

    Args:
        prepare: time to prepare a batch: one number for all, or one per batch. Any unit, the same everywhere.
        train: time to train on a batch, likewise.
        batches: how many batches; needed when both times are numbers.
        depth: finished batches that may wait for the trainer; None for no limit. With several workers, batch i is
            handed over once batch i - depth has been taken, so order is kept and no worker overtakes.
        workers: workers that prepare at the same time; batch i belongs to worker i mod workers.
        prefetch_factor: DataLoader's setting, in place of depth: workers * prefetch_factor batches are out at a time.
        get_cost: time the trainer's process spends on fetching one batch that is ready.

    Raises:
        UsageError: a value can't be used; the text names it.
    """
    prepare, train = columns(prepare, train, batches)
    depth, workers = settings(depth, workers, prefetch_factor)
    get_cost = number("get_cost", get_cost)
    starts = train_starts(prepare, train, depth, workers, get_cost)
    return Timeline(prepare, train, starts, depth=depth, workers=workers, get_cost=get_cost)


def settings(depth: int | None, workers: int, prefetch_factor: int | None) -> tuple[int | None, int]:
    """The line's depth and workers, whichever way they were given; UsageError for values that can't be used."""
    workers = whole("workers", workers, 1)
    if prefetch_factor is None:
        return None if depth is None else whole("depth", depth, 0), workers
    if depth is not None:
        raise UsageError(f"depth is {depth} and prefetch_factor is {prefetch_factor}: give one of the two")
    return workers * whole("prefetch_factor", prefetch_factor, 1) - workers, workers
