"""The ideal line: workers prepare batches, a queue holds finished ones, a trainer takes them in order.

For batch i (times before the first batch are 0):

    prepare starts   S_i = D_{i-W}                     its worker (i mod W) has handed over its last batch
    prepare ends     F_i = S_i + prepare_i
    handed over      D_i = max(F_i, G_{i-K})           K finished batches may wait; until then the worker is blocked
    train starts     G_i = max(F_i, E_{i-1}) + get_cost
    train ends       E_i = G_i + train_i

With K = 0 the worker keeps its batch until the trainer takes it (D_i = G_i). With one worker this is the textbook line
with a bounded queue and blocking after service. PyTorch's DataLoader hands out W * prefetch_factor credits and returns
one with each delivery (`torch/utils/data/dataloader.py`, `_try_put_index`): the same line with
K = W * prefetch_factor - W.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, repeat

from labkit.errors import UsageError
from labkit.pipeline.inputs import Times, columns, number, whole
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
    """When is each batch ready, and who waits?

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
    queued, starts = recurrence(prepare, train, depth, workers, number("get_cost", get_cost))
    return Timeline(prepare, train, queued, starts, depth=depth, workers=workers, get_cost=float(get_cost))


def settings(depth: int | None, workers: int, prefetch_factor: int | None) -> tuple[int | None, int]:
    """The line's depth and workers, whichever way they were given; UsageError for values that can't be used."""
    workers = whole("workers", workers, 1)
    if prefetch_factor is None:
        return None if depth is None else whole("depth", depth, 0), workers
    if depth is not None:
        raise UsageError(f"depth is {depth} and prefetch_factor is {prefetch_factor}: give one of the two")
    return workers * whole("prefetch_factor", prefetch_factor, 1) - workers, workers


def recurrence(
    prepare: list[float], train: list[float], depth: int | None, workers: int, get_cost: float
) -> tuple[list[float], list[float]]:
    """(D, G) of every batch: when it is handed over and when training on it starts. No checks."""
    starts: list[float] = []
    queued: list[float] = starts if depth == 0 else []
    add_start, add_queued = starts.append, queued.append
    # Both iterators read lists that this loop is still filling, W and K places behind it.
    free: Iterator[float] = chain(repeat(0.0, workers), queued)
    end = 0.0
    if depth == 0:
        for p, c, begin in zip(prepare, train, free, strict=False):
            ready = begin + p
            start = (ready if ready > end else end) + get_cost
            add_start(start)
            end = start + c
        return queued, starts
    room: Iterator[float] = repeat(0.0) if depth is None else chain(repeat(0.0, depth), starts)
    for p, c, begin, taken in zip(prepare, train, free, room, strict=False):
        ready = begin + p
        add_queued(ready if ready > taken else taken)
        start = (ready if ready > end else end) + get_cost
        add_start(start)
        end = start + c
    return queued, starts
