"""The arithmetic of the line, unchecked and fast. For batch i (times before the first batch are 0):

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

from collections.abc import Iterable, Sequence
from itertools import chain, repeat


def train_starts(
    prepare: Iterable[float], train: Iterable[float], depth: int | None, workers: int, get_cost: float
) -> list[float]:
    """G of every batch. All other times follow from it, so nothing else is kept in the loop."""
    starts: list[float] = []
    add = starts.append
    end = 0.0
    # Iterators over `starts` and `queued` read lists that the loop is still filling, some places behind it.
    if depth == 0:
        for p, c, begin in zip(prepare, train, chain(repeat(0.0, workers), starts), strict=False):
            ready = begin + p
            start = (ready if ready > end else end) + get_cost
            add(start)
            end = start + c
    elif workers == 1:
        begin = 0.0
        for p, c, taken in zip(prepare, train, _room(depth, starts), strict=False):
            ready = begin + p
            begin = ready if ready > taken else taken
            start = (ready if ready > end else end) + get_cost
            add(start)
            end = start + c
    else:
        queued: list[float] = []
        hand_over = queued.append
        free = chain(repeat(0.0, workers), queued)
        for p, c, begin, taken in zip(prepare, train, free, _room(depth, starts), strict=False):
            ready = begin + p
            hand_over(ready if ready > taken else taken)
            start = (ready if ready > end else end) + get_cost
            add(start)
            end = start + c
    return starts


def handed_over(prepare: Iterable[float], starts: Sequence[float], depth: int | None, workers: int) -> list[float]:
    """D of every batch, from the G that `train_starts` gave."""
    if depth == 0:
        return list(starts)
    queued: list[float] = []
    free = chain(repeat(0.0, workers), queued)
    for p, begin, taken in zip(prepare, free, _room(depth, starts), strict=False):
        ready = begin + p
        queued.append(ready if ready > taken else taken)
    return queued


def _room(depth: int | None, starts: Iterable[float]) -> Iterable[float]:
    """For each batch, when the queue has a place for it: when batch i - depth was taken."""
    return repeat(0.0) if depth is None else chain(repeat(0.0, depth), starts)
