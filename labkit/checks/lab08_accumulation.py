"""Lab 08's run with gradient accumulation: the line y = 3x + 2 from micro-batches of different lengths."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

Row = list[float]
"""After one update: step, w, b, vw, vb, cursor."""


def micro_batch(seed: int, number: int) -> list[float]:
    """The samples of one micro-batch: one to six of them."""
    rng = random.Random(f"{seed}/{number}")
    return [rng.uniform(-2, 2) for _ in range(rng.randint(1, 6))]


class Accumulation:
    """A run between two micro-batches.

    Attributes:
        seed: decides what is in the micro-batches.
        accumulate: micro-batches of one update.
        w, b: weights.
        vw, vb: momentum.
        step: updates done.
        cursor: the next micro-batch to read, from 0.
        gw, gb: gradients added up since the last update.
        samples: how many samples they are of; the update divides by it.
        done: micro-batches since the last update.
    """

    def __init__(self, seed: int, accumulate: int) -> None:
        self.seed, self.accumulate = seed, accumulate
        self.w = self.b = self.vw = self.vb = 0.0
        self.step = self.cursor = 0
        self.gw = self.gb = 0.0
        self.samples = self.done = 0

    def micro(self) -> None:
        """One micro-batch; after the last one of an update, the update."""
        xs = micro_batch(self.seed, self.cursor)
        self.cursor += 1
        for x in xs:
            error = self.w * x + self.b - (3 * x + 2)
            self.gw += 2 * error * x
            self.gb += 2 * error
        self.samples += len(xs)
        self.done += 1
        if self.done == self.accumulate:
            self.update()

    def update(self) -> None:
        """Momentum 0.8, learning rate 0.02; the gradient is the mean over all samples since the last update."""
        self.vw = 0.8 * self.vw + self.gw / self.samples
        self.vb = 0.8 * self.vb + self.gb / self.samples
        self.w -= 0.02 * self.vw
        self.b -= 0.02 * self.vb
        self.step += 1
        self.gw = self.gb = 0.0
        self.samples = self.done = 0


Save = Callable[[Accumulation], Any]
Resume = Callable[[Accumulation, Any], Any]


def updates_of(run: Accumulation, until: int) -> list[Row]:
    """Go on until `until` updates are done in all; a row an update."""
    rows: list[Row] = []
    for _ in range((until + 2) * run.accumulate):
        before = run.step
        if before >= until:
            break
        run.micro()
        if run.step != before:
            rows.append([run.step, run.w, run.b, run.vw, run.vb, run.cursor])
    return rows


def stopped_in_mid_step(save: Save, resume: Resume) -> Callable[[int, int, int, int], list[Row]]:
    """A run that is saved between two micro-batches, goes on a little, is lost, and is resumed in a new one.

    The result takes (seed, accumulate, micros, until): save after that many micro-batches, reach that many updates. It
    gives a row (step, w, b, vw, vb, cursor) for each update of the new run; none if nothing was put into it.
    """

    def stopped(seed: int, accumulate: int, micros: int, until: int) -> list[Row]:
        run = Accumulation(seed, accumulate)
        for _ in range(micros):
            run.micro()
        snapshot = save(run)
        if snapshot is ...:
            raise NotImplementedError
        saved = json.dumps(snapshot)
        for _ in range(3):
            run.micro()
        fresh = Accumulation(seed, accumulate)
        untouched = dict(vars(fresh))
        resume(fresh, json.loads(saved))
        return [] if vars(fresh) == untouched and micros >= accumulate else updates_of(fresh, until)

    stopped.__name__ = "stopped_in_mid_step"  # as cards call it
    return stopped
