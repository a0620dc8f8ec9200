"""How many finished batches must be able to wait, so that a recorded trace never stalls for lack of room?"""

from __future__ import annotations

from collections.abc import Sequence

from labkit.pipeline.inputs import Times, columns
from labkit.pipeline.recurrence import train_starts


def required_depth(prepare: Times, train: Times) -> int:
    """The least depth at which the trainer waits no more than with an unlimited queue (one worker).

    Waits that stay at that depth are those no queue removes: preparing is too slow there. Times within 1e-9 of the
    makespan count as equal, so rounding asks for no extra slot.

    Args:
        prepare: time to prepare each batch, shape (batches,); any unit. One of the two may be a single number.
        train: time to train on each batch, likewise.

    Raises:
        UsageError: a value can't be used, or both are single numbers, which say nothing about swings.

    A trainer wait never grows with depth, so bisection finds the least one. It starts from the backlog: the most by
    which preparing falls behind training over any stretch of batches, in units of one train time.
    """
    prepare, train = columns(prepare, train, None)
    free = train_starts(prepare, train, None, 1, 0.0)
    slack = 1e-9 * (free[-1] + train[-1])

    def enough(depth: int) -> bool:
        starts = train_starts(prepare, train, depth, 1, 0.0)
        return all(a - b <= slack for a, b in zip(starts, free, strict=True))

    most = len(prepare) - 1  # with one slot a batch, nothing is ever blocked
    low, high = 0, min(most, _backlog(prepare, train))
    while not enough(high):
        low, high = high + 1, min(most, 2 * high + 1)
    while low < high:
        middle = (low + high) // 2
        if enough(middle):
            high = middle
        else:
            low = middle + 1
    return high


def _backlog(prepare: Sequence[float], train: Sequence[float]) -> int:
    """Largest sum of prepare - train over consecutive batches, divided by the mean train time, rounded up."""
    worst = behind = 0.0
    for p, c in zip(prepare, train, strict=True):
        behind = max(0.0, behind + p - c)
        worst = max(worst, behind)
    mean = sum(train) / len(train)
    return int(min(-(-worst // mean), len(train))) if mean else len(train)
