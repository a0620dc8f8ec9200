"""Many lines at once: the same recurrence with one NumPy operation a batch, over all replications together."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labkit.errors import UsageError
from labkit.pipeline.inputs import as_array, number
from labkit.pipeline.line import settings

Floats = NDArray[np.float64]

_BUFFER = 1 << 16  # numbers: half a megabyte, well inside a core's second-level cache
_LINE = 8  # numbers in a cache line: fewer at a time would read every line more than once


@dataclass(frozen=True, eq=False)
class Replications:
    """What many runs of one line gave. Times are in the unit that went in; R runs of n batches.

    Attributes:
        makespans: shape (R,): when each run ends. A wide spread: judge a setting by many runs, never by one.
        waits: shape (R, n): the trainer's idle time before each batch. `waits[:, 0]` fills the line; the rest is stall.
    """

    makespans: Floats
    waits: Floats


def simulate_many(
    prepare: Any,
    train: Any,
    *,
    depth: int | None = None,
    workers: int = 1,
    prefetch_factor: int | None = None,
    get_cost: float = 0.0,
) -> Replications:
    """`simulate` for R replications of n batches; each row is one run and gives exactly what `simulate` gives for it.

    Args:
        prepare: times, shape (R, n), (1, n) or (n,); or (R, 1) or one number for all batches alike. The two broadcast.
        train: likewise.
        depth: see `simulate`, as are the settings below; the same for every replication.
        workers: workers that prepare at the same time.
        prefetch_factor: DataLoader's setting, in place of depth.
        get_cost: time to fetch one batch that is ready.

    Raises:
        UsageError: a value can't be used, or the shapes don't broadcast to (R, n).
    """
    depth, workers = settings(depth, workers, prefetch_factor)
    get = number("get_cost", get_cost)
    p, c = _times("prepare", prepare), _times("train", train)
    try:
        runs, batches = np.broadcast_shapes(p.shape, c.shape)
    except ValueError:
        raise UsageError(
            f"prepare has shape {p.shape} and train has shape {c.shape}: give (replications, batches) for both"
        ) from None
    if not runs or not batches:
        raise UsageError(f"times have shape {(runs, batches)}: give at least one replication and one batch")
    waits = np.empty((batches, runs))
    makespans = _run(_rows(p, batches, runs), _rows(c, batches, runs), depth, workers, get, waits)
    return Replications(makespans, waits.T)


def _run(
    prepare: Iterator[Floats], train: Iterator[Floats], depth: int | None, workers: int, get: float, waits: Floats
) -> Floats:
    """Fill `waits` (batches, replications), return the ends (replications,). The rules are in `recurrence`."""
    batches, runs = waits.shape
    slots = batches if depth is None else depth
    bounded = slots < batches - 1  # otherwise no batch ever finds the queue full
    handed = np.zeros((min(workers, batches), runs))  # D of the last W batches; row i mod W is overwritten at batch i
    taken = np.zeros((max(slots, 1) if bounded else 1, runs))  # G of the last K batches, likewise
    end = np.zeros(runs)
    start = np.empty(runs)
    add, maximum, subtract = np.add, np.maximum, np.subtract
    for i, (p, c, wait) in enumerate(zip(prepare, train, waits, strict=True)):
        ready = handed[i % len(handed)]
        add(ready, p, out=ready)
        maximum(ready, end, out=start)
        if get:
            add(start, get, out=start)
        if bounded:
            if slots:
                room = taken[i % slots]
                maximum(ready, room, out=ready)
                room[:] = start
            else:
                ready[:] = start
        subtract(start, end, out=wait)
        add(start, c, out=end)
    return end


def _times(name: str, values: Any) -> Floats:
    """`values` as an array of two dimensions, checked."""
    try:
        found = as_array(values)
    except ValueError:
        raise UsageError(f"{name} has rows of unequal length: give one time for each batch in every row") from None
    if found.dtype.kind not in "iuf":
        raise UsageError(f"{name} is {_short(values)}: give numbers")
    if found.ndim > 2:
        raise UsageError(f"{name} has shape {found.shape}: give (replications, batches)")
    block = np.atleast_2d(found).astype(np.float64, copy=False)
    good = (block >= 0.0) & (block < math.inf)
    if not good.all():
        at = np.unravel_index(int(np.argmin(good)), block.shape)
        raise UsageError(f"{name}[{at[0]}, {at[1]}] is {block[at]}: times must be finite, 0 or more")
    return block


def _rows(block: Floats, batches: int, runs: int) -> Iterator[Floats]:
    """For each batch, its times in all replications, side by side in memory; a scalar row where they are all alike.

    Turned a few batches at a time into one small buffer, so that the rows are still in the cache when they are used.
    """
    if block.shape[0] == 1:
        block = np.broadcast_to(block, (1, batches))
        yield from block.T
        return
    if block.shape[1] == 1:
        yield from repeat(np.ascontiguousarray(block[:, 0]), batches)
        return
    few = max(_LINE, _BUFFER // runs)
    buffer = np.empty((few, runs))
    for begin in range(0, batches, few):
        some = block[:, begin : begin + few].T
        buffer[: len(some)] = some
        yield from buffer[: len(some)]


def _short(values: Any) -> str:
    text = repr(values).replace("\n", " ")
    return text if len(text) <= 60 else f"{text[:57]}..."
