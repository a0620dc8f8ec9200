"""Predicted beside measured: which term of the model explains how much of a real run."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass

import pandas as pd

from labkit.errors import UsageError
from labkit.picture import Picture
from labkit.pipeline.drawing import Lane, draw_lanes
from labkit.pipeline.line import simulate
from labkit.pipeline.real import LineRun
from labkit.pipeline.timeline import Timeline


@dataclass(frozen=True)
class Comparison:
    """One run and four predictions of it, each with one more term than the one before. Times in ms.

    Attributes:
        run: what was measured.
        ideal: the asked times, and an unlimited queue.
        credits: the asked times, and DataLoader's workers * prefetch_factor credits. Longer: prefetching too little.
        jitter: the measured prepare and train times, with credits. Longer: times swing, or sleeps overshoot.
        fetch: as `jitter`, and `get_cost` for each fetch. The full prediction.
        get_cost: the price of one fetch in the trainer's process, calibrated on this run: the median wait for batches
            that were ready when the trainer asked; where none was, the median time from ready to in hand.
    """

    run: LineRun
    ideal: Timeline
    credits: Timeline
    jitter: Timeline
    fetch: Timeline
    get_cost: float

    @property
    def error(self) -> float:
        """(fetch - measured) / measured, of the makespans. Far from 0: something happens that the model leaves out."""
        return self.fetch.makespan / self.run.makespan - 1

    def frame(self) -> pd.DataFrame:
        """A row for each model and the measurement: model, makespan (ms), change (ms, to the row above), error (%)."""
        rows = [
            ("ideal line", self.ideal.makespan),
            ("+ credits", self.credits.makespan),
            ("+ measured times", self.jitter.makespan),
            ("+ get cost", self.fetch.makespan),
            ("measured", self.run.makespan),
        ]
        frame = pd.DataFrame(rows, columns=["model", "makespan"])
        frame["change"] = frame["makespan"].diff().fillna(0.0)
        frame["error %"] = (frame["makespan"] / self.run.makespan - 1) * 100
        return frame

    def plot(self, *, title: str | None = None, marks: Iterable[tuple[float, str]] = ()) -> Picture:
        """The trainer's lane as the ideal line, the model refitted to the measured times, and the measurement have it.

        `marks` are (time, label) pairs, drawn as vertical lines.
        """
        run, frame = self.run, self.frame().round(2)
        lanes: list[Lane] = [
            ("ideal line", _trainer(self.ideal.train_start, self.ideal.train_end)),
            ("refitted", _trainer(self.fetch.train_start, self.fetch.train_end)),
            ("measured", _trainer(run.train_start, run.train_end)),
        ]
        if title is None:
            title = (
                f"ideal line {self.ideal.makespan:.5g} ms, measured {run.makespan:.5g} ms; "
                f"the model refitted to the measured times is off by {self.error:+.1%}"
            )
        alt = (
            f"The trainer's lane three times, {len(run)} batches, {run.workers} worker{'s' * (run.workers > 1)}, "
            f"prefetch_factor {run.prefetch_factor}. Makespans in ms: ideal line {self.ideal.makespan:.5g}, "
            f"with credits {self.credits.makespan:.5g}, with measured times {self.jitter.makespan:.5g}, with get cost "
            f"{self.fetch.makespan:.5g}, measured {run.makespan:.5g}."
        )
        return draw_lanes(lanes, marks=marks, title=title, alt=alt, table=frame)


def compare(run: LineRun) -> Comparison:
    """Predict a measured run four ways, term by term.

    Args:
        run: what `run_line` returned.

    Raises:
        UsageError: `run` isn't a LineRun.
    """
    if not isinstance(run, LineRun):
        raise UsageError(f"run is {type(run).__name__}: give what run_line(...) returned")
    get_cost = fetch_cost(run)
    workers, factor = run.workers, run.prefetch_factor
    return Comparison(
        run=run,
        ideal=simulate(run.asked_prepare, run.asked_train, workers=workers),
        credits=simulate(run.asked_prepare, run.asked_train, workers=workers, prefetch_factor=factor),
        jitter=simulate(run.prepare, run.train, workers=workers, prefetch_factor=factor),
        fetch=simulate(run.prepare, run.train, get_cost=get_cost, workers=workers, prefetch_factor=factor),
        get_cost=get_cost,
    )


def fetch_cost(run: LineRun) -> float:
    """The median cost in ms of one fetch in the trainer's process, from batches that were ready where there are any."""
    ready: list[float] = []
    late: list[float] = []
    for i in range(1, len(run)):
        asked = run.train_end[i - 1]
        (ready if run.prepare_end[i] <= asked else late).append(run.train_start[i] - max(run.prepare_end[i], asked))
    return statistics.median(ready or late or [run.train_start[0] - run.prepare_end[0]])


def _trainer(starts: tuple[float, ...], ends: tuple[float, ...]) -> list[tuple[float, float, object, str]]:
    items: list[tuple[float, float, object, str]] = []
    before = 0.0
    for i, (start, end) in enumerate(zip(starts, ends, strict=True)):
        if start > before:
            items.append((before, start, (f"wait {start - before:.3g}", f"{start - before:.2g}"), "wait"))
        items.append((start, end, str(i), "train"))
        before = end
    return items
