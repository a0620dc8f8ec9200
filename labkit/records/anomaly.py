"""When is a value out of line? Against the median of the last ones, in units of their own spread."""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections import deque
from dataclasses import dataclass

from labkit.errors import UsageError
from labkit.inputs import whole

FEWEST = 16  # values before anything but a non-finite one is judged
TO_SIGMA = 1.4826  # median absolute deviation of a normal distribution, in its standard deviations (as 1 / 0.6745)


@dataclass(frozen=True)
class Spike:
    """A value out of line.

    Attributes:
        value: the value.
        usual: median of the values before it.
        spread: their robust standard deviation (1.4826 times the median absolute deviation).
        score: how many spreads above the median; infinite for a value that isn't a number.
    """

    value: float
    usual: float
    spread: float
    score: float


class SpikeDetector:
    """Judges values one by one, remembers the last `window` of them, and nothing else."""

    def __init__(self, *, window: int = 64, threshold: float = 8.0) -> None:
        """A new detector.

        Args:
            window: values that the median is taken over.
            threshold: spreads above the median that make a spike. 8 is far outside what a noisy loss does.

        Raises:
            UsageError: a value can't be used.
        """
        self.window = whole("window", window, FEWEST)
        if not (isinstance(threshold, int | float) and threshold > 0):
            raise UsageError(f"threshold is {threshold!r}: give spreads above the median, such as 8")
        self.threshold = float(threshold)
        self._values: deque[float] = deque()
        self._sorted: list[float] = []

    def add(self, value: float) -> Spike | None:
        """Judge `value` against those before it, then remember it."""
        if not math.isfinite(value):
            usual = self._median() if self._sorted else math.nan
            return Spike(value, usual, math.nan, math.inf)
        found = None
        if len(self._sorted) >= FEWEST:
            usual = self._median()
            limit = self._sorted[(3 * len(self._sorted)) // 4]
            if value > limit:  # only then is the spread worth its time
                spread = TO_SIGMA * _median([abs(one - usual) for one in self._sorted])
                spread = max(spread, 1e-3 * abs(usual), 1e-12)
                score = (value - usual) / spread
                if score > self.threshold:
                    found = Spike(value, usual, spread, score)
        self._remember(value)
        return found

    def _remember(self, value: float) -> None:
        self._values.append(value)
        insort(self._sorted, value)
        if len(self._values) > self.window:
            del self._sorted[bisect_left(self._sorted, self._values.popleft())]

    def _median(self) -> float:
        held, half = self._sorted, len(self._sorted) // 2
        return held[half] if len(held) % 2 else (held[half - 1] + held[half]) / 2


def _median(values: list[float]) -> float:
    values.sort()
    half = len(values) // 2
    return values[half] if len(values) % 2 else (values[half - 1] + values[half]) / 2
