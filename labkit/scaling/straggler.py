"""Everyone waits for the slowest: what jitter costs a synchronous step, by formula, by drawing, and on real ranks."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from labkit.errors import UsageError
from labkit.inputs import whole
from labkit.words import counted


@dataclass(frozen=True)
class Straggling:
    """What a synchronous step takes, against one rank's own step.

    Attributes:
        ranks: how many.
        mean: mean time of one rank's own work, in the caller's unit (measured: s).
        deviation: its standard deviation. Large against the mean: waiting grows with every rank.
        estimate: mean + deviation * sqrt(2 ln ranks): the upper estimate.
        seen: mean over steps of the slowest rank's own time: simulated, or measured.
        error: standard error of `seen`.
        step: mean time until all had met, the all-reduce included; None where simulated. Far above `seen`: meeting
            itself is dear (small steps, or more ranks than cores).
    """

    ranks: int
    mean: float
    deviation: float
    estimate: float
    seen: float
    error: float
    step: float | None = None

    def text(self) -> str:
        """One line; where measured, a second one for the time until all had met."""
        line = (
            f"{counted(self.ranks, 'rank')}: own work {self.mean:.4g} +- {self.deviation:.2g}, "
            f"slowest {self.seen:.4g} (error {self.error:.2g}), upper estimate {self.estimate:.4g}"
        )
        return line if self.step is None else f"{line}\nwith the all-reduce: {self.step:.4g}"


def straggler_estimate(mean: float, deviation: float, ranks: int) -> float:
    """mean + deviation * sqrt(2 ln ranks): about what a synchronous step of `ranks` ranks takes, from above.

    The expected largest of R independent normal times is at most this (Jensen's inequality on the moment generating
    function); it is reached slowly, so for few ranks the truth is clearly lower. Jitter that ranks share (one machine,
    one network) isn't independent and costs less; heavy tails cost more.

    Args:
        mean: of one rank's own step, in any unit.
        deviation: its standard deviation, in that unit, 0 or more.
        ranks: how many.

    Raises:
        UsageError: a value can't be used.
    """
    mu, sigma, ranks = _number("mean", mean), _number("deviation", deviation), whole("ranks", ranks, 1)
    return mu + sigma * math.sqrt(2 * math.log(ranks))


def simulate_straggler(mean: float, deviation: float, ranks: int, *, steps: int = 10_000, seed: int = 0) -> Straggling:
    """The same by drawing: independent normal times, the mean over steps of the largest.

    Raises:
        UsageError: a value can't be used.
    """
    estimate = straggler_estimate(mean, deviation, ranks)
    steps, seed = whole("steps", steps, 2), whole("seed", seed, 0)
    generator = np.random.default_rng(seed)
    slowest = np.array([generator.normal(mean, deviation, ranks).max() for _ in range(steps)])
    return Straggling(ranks, mean, deviation, estimate, float(slowest.mean()), float(slowest.std() / math.sqrt(steps)))


def measure_straggler(
    mean: float, deviation: float, ranks: int = 4, *, steps: int = 50, seed: int = 0, timeout: float = 120
) -> Straggling:
    """The same on real ranks: each sleeps for a normal time and then takes part in an all-reduce, step by step.

    The ranks sleep rather than work, so that they don't compete for cores. Their own times are measured, and the
    estimate is made from those, not from the times asked for.

    Args:
        mean: of the time asked for, in s.
        deviation: its standard deviation, in s.
        ranks: how many.
        steps: how many.
        seed: of the draws; every rank has its own stream.
        timeout: seconds for the run.

    Raises:
        UsageError: a value can't be used.
        RankError: a rank failed.
    """
    from labkit.ranks import run

    straggler_estimate(mean, deviation, ranks)
    steps, seed = whole("steps", steps, 2), whole("seed", seed, 0)
    by_rank = run(_sleep_and_meet, float(mean), float(deviation), steps, seed, ranks=ranks, timeout=timeout)
    own = np.array([times for times, _ in by_rank])
    met = np.array([times for _, times in by_rank]).max(axis=0)
    mu, sigma = float(own.mean()), float(own.std())
    slowest = own.max(axis=0)
    error = float(slowest.std() / math.sqrt(steps))
    return Straggling(
        ranks, mu, sigma, straggler_estimate(mu, sigma, ranks), float(slowest.mean()), error, float(met.mean())
    )


def _sleep_and_meet(rank: int, mean: float, deviation: float, steps: int, seed: int) -> tuple[list[float], list[float]]:
    """On one rank: its own time in every step, and the time until all had met."""
    import torch
    import torch.distributed as dist

    draws: Any = np.random.default_rng([seed, rank]).normal(mean, deviation, steps)
    one = torch.ones(1)
    own, met = [], []
    dist.all_reduce(one)
    for wait in draws:
        start = time.perf_counter()
        time.sleep(max(0.0, float(wait)))
        own.append(time.perf_counter() - start)
        dist.all_reduce(one)
        met.append(time.perf_counter() - start)
    return own, met


def _number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= float(value) < math.inf:
        raise UsageError(f"{name} is {value!r}: give a number, 0 or more")
    return float(value)
