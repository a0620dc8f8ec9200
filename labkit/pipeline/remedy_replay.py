"""The exact recurrence of a DataLoader's epoch, for a recorded trace and settings that may be altered. Times in ms.

It is `labkit.pipeline.recurrence` with what a real epoch adds: workers that start late, packing after preparing, no
workers at all, and delivery out of order. For batch i of worker w, N = workers * prefetch_factor credits:

    begins    S_i = max(F of the worker's last batch (its start before the first), G_{i-N})
    ready     F_i = S_i + prepare_i
    sent      R_i = max(F_i, R of the worker's last batch) + sending_i
    in hand   G_i = max(R_i, E_{i-1}) + get_cost
    trained   E_i = G_i + train_i
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import cycle, islice


def stretched(times: Sequence[float], mean: float) -> list[float]:
    """The same pattern with another mean."""
    now = math.fsum(times) / len(times)
    return [t * mean / now for t in times] if now > 0 else [mean] * len(times)


@dataclass(frozen=True)
class Plan:
    """A recorded epoch, as the recurrence needs it.

    Attributes:
        prepare: ms that each batch takes a worker; repeated from the front where an epoch is longer.
        sending: ms of packing, likewise.
        train: ms of each step, likewise.
        get_cost: ms of one fetch in the trainer's process.
        start: ms from iter() until the workers begin.
        workers: 0 where the trainer's process prepares.
        prefetch_factor: batches handed out ahead, per worker.
        in_order: batches are delivered in the order in which they were handed out.
        batches: of an epoch.
    """

    prepare: Sequence[float]
    train: Sequence[float]
    sending: Sequence[float] = (0.0,)
    get_cost: float = 0.0
    start: float = 0.0
    workers: int = 1
    prefetch_factor: int = 2
    in_order: bool = True
    batches: int = 1

    def scaled(self, prepare: float, **changes: object) -> Plan:
        """The same with the prepare times stretched to the mean `prepare`, and other fields changed."""
        return replace(self, prepare=stretched(self.prepare, prepare), **changes)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Replayed:
    """One epoch by the recurrence. Times in ms.

    Attributes:
        makespan: from iter() until the last step has ended.
        waits: the trainer's time without work before each batch.
    """

    makespan: float
    waits: tuple[float, ...]


def replay(plan: Plan) -> Replayed:
    """The epoch that the plan describes."""
    prepare, sending, train = (islice(cycle(t), plan.batches) for t in (plan.prepare, plan.sending, plan.train))
    triples = zip(prepare, sending, train, strict=True)
    if plan.workers == 0:
        waits = []
        end = plan.start
        for p, _, c in triples:
            waits.append(p + plan.get_cost)
            end += p + plan.get_cost + c
        waits[0] += plan.start
        return Replayed(end, tuple(waits))
    return _ordered(plan, list(triples)) if plan.in_order else _unordered(plan, list(triples))


def _ordered(plan: Plan, batches: list[tuple[float, float, float]]) -> Replayed:
    count, credits = plan.workers, plan.workers * plan.prefetch_factor
    free, sent = [plan.start] * count, [0.0] * count
    taken: list[float] = []
    waits: list[float] = []
    end = 0.0
    for i, (p, d, c) in enumerate(batches):
        worker = i % count
        begin = free[worker] if i < credits else max(free[worker], taken[i - credits])
        free[worker] = begin + p
        sent[worker] = max(free[worker], sent[worker]) + d
        start = max(sent[worker], end) + plan.get_cost
        taken.append(start)
        waits.append(start - end)
        end = start + c
    return Replayed(end, tuple(waits))


def _unordered(plan: Plan, batches: list[tuple[float, float, float]]) -> Replayed:
    """Whichever batch is ready first is delivered first; a new one goes to the next worker that has room."""
    count = plan.workers
    free, sent, held = [plan.start] * count, [0.0] * count, [0] * count
    ready: list[tuple[float, int, int]] = []
    waits: list[float] = []
    end, turn, given = 0.0, 0, 0

    def give(now: float) -> None:
        nonlocal turn, given
        if given == len(batches):
            return
        while held[turn % count] >= plan.prefetch_factor:
            turn += 1
        worker = turn % count
        turn += 1
        p, d, _ = batches[given]
        held[worker] += 1
        free[worker] = max(free[worker], now) + p
        sent[worker] = max(free[worker], sent[worker]) + d
        heapq.heappush(ready, (sent[worker], given, worker))
        given += 1

    for _ in range(plan.workers * plan.prefetch_factor):
        give(0.0)
    for _ in range(len(batches)):
        moment, batch, worker = heapq.heappop(ready)
        start = max(moment, end) + plan.get_cost
        held[worker] -= 1
        give(start)
        waits.append(start - end)
        end = start + batches[batch][2]
    return Replayed(end, tuple(waits))
