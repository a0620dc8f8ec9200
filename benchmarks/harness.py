"""Time rivals in turns, so that a busy moment hits them all, and keep every round."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One timed thing.

    Attributes:
        what: what was timed, its size included.
        unit: what is counted, per second.
        rates: one rate a round; higher is faster.
        ratios: rate divided by the peer's rate in the same round; empty for the peer itself.
        against: the peer.
        bar: the ratio that the median must reach, None where nothing is asked.
    """

    what: str
    unit: str
    rates: list[float]
    ratios: list[float]
    against: str = ""
    bar: float | None = None

    @property
    def met(self) -> bool:
        return self.bar is None or statistics.median(self.ratios) >= self.bar

    def cells(self) -> list[str]:
        """The row as a table shows it: median, smallest and largest."""
        ratio = f"{spread(self.ratios, '.3g')} x {self.against}" if self.ratios else ""
        bar = "" if self.bar is None else f">= {self.bar:g}: {'met' if self.met else 'NOT MET'}"
        return [self.what, f"{spread(self.rates, '.2e')} {self.unit}", ratio, bar]


HEADINGS = ["what", "rate: median (min to max)", "ratio, round by round", "bar"]


def spread(values: list[float], form: str) -> str:
    return f"{statistics.median(values):{form}} ({min(values):{form}} to {max(values):{form}})"


@dataclass(frozen=True)
class Rival:
    """`run()` handles `count` units; `peer` names the rival that its ratio is taken against."""

    what: str
    count: int
    run: Callable[[], object]
    peer: str = ""
    bar: float | None = None


def race(rivals: list[Rival], *, rounds: int, unit: str) -> list[Row]:
    """Run all rivals once to warm up, then `rounds` times in turns."""
    for rival in rivals:
        rival.run()
    rates: dict[str, list[float]] = {rival.what: [] for rival in rivals}
    for _ in range(rounds):
        for rival in rivals:
            gc.collect()
            begin = time.perf_counter()
            rival.run()
            rates[rival.what].append(rival.count / (time.perf_counter() - begin))
    rows = []
    for rival in rivals:
        against = rates.get(rival.peer, [])
        ratios = [mine / other for mine, other in zip(rates[rival.what], against, strict=False)]
        rows.append(Row(rival.what, unit, rates[rival.what], ratios, rival.peer.split(",")[0], rival.bar))
    return rows
