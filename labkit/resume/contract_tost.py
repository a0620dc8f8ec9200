"""Are two sets of runs equivalent? Two one-sided t-tests, with a margin declared beforehand.

A t-test that finds no difference shows nothing: few noisy runs never find one. TOST asks the other way round: it takes
the runs for different by the margin until they show that they aren't.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from labkit.errors import UsageError


@dataclass(frozen=True)
class Equivalence:
    """What TOST found.

    Attributes:
        equivalent: whether the difference of means was shown to lie inside the margin.
        difference: mean of `b` minus mean of `a`, in the measure's unit.
        interval: the two-sided interval of the difference at 1 - 2 alpha; inside the margin means equivalent.
        margin: the largest difference that doesn't matter, as declared.
        p: the larger of the two one-sided p-values; at most alpha means equivalent.
        power: chance that runs that don't differ at all would have passed, with this spread and number; below 0.8,
            a failure says little: take more runs.
        alpha: the error that is accepted: calling runs equivalent that differ by the margin.
        runs: how many on either side.
    """

    equivalent: bool
    difference: float
    interval: tuple[float, float]
    margin: float
    p: float
    power: float
    alpha: float
    runs: tuple[int, int]

    def text(self) -> str:
        """One line."""
        low, high = self.interval
        verdict = "equivalent" if self.equivalent else "not shown to be equivalent"
        return (
            f"{verdict}: difference {self.difference:.3g}, interval {low:.3g} to {high:.3g}, margin {self.margin:.3g}, "
            f"p {self.p:.3g}, power {self.power:.2f}, {self.runs[0]} and {self.runs[1]} runs"
        )


def tost(
    a: Sequence[float], b: Sequence[float], *, margin: float, alpha: float = 0.05, paired: bool = False
) -> Equivalence:
    """Two one-sided t-tests for equivalence of means (Schuirmann, 1987; Welch's degrees of freedom where unpaired).

    Args:
        a: a measure of the uninterrupted runs, one value a seed.
        b: the same of the resumed runs.
        margin: the largest difference of means that doesn't matter, above 0, in the measure's unit; see `margin_from`.
        alpha: error of calling runs equivalent that differ by the margin.
        paired: whether a[i] and b[i] share a seed; their differences are tested then.

    Raises:
        UsageError: fewer than 2 values on a side, values that aren't finite, unequal lengths where paired, or a margin
            or alpha out of range.
    """
    a, b = _values("a", a), _values("b", b)
    if not (isinstance(margin, int | float) and math.isfinite(margin) and margin > 0):
        raise UsageError(f"margin is {margin!r}: give the largest difference that doesn't matter, above 0")
    if not 0 < alpha < 0.5:
        raise UsageError(f"alpha is {alpha!r}: give a number between 0 and 0.5, such as 0.05")
    if paired:
        if len(a) != len(b):
            raise UsageError(f"a has {len(a)} values and b {len(b)}: pairs need as many")
        gaps = [y - x for x, y in zip(a, b, strict=True)]
        difference, error, freedom = _mean(gaps), math.sqrt(_variance(gaps) / len(gaps)), len(gaps) - 1.0
    else:
        difference = _mean(b) - _mean(a)
        va, vb = _variance(a) / len(a), _variance(b) / len(b)
        error = math.sqrt(va + vb)
        freedom = (va + vb) ** 2 / (va**2 / (len(a) - 1) + vb**2 / (len(b) - 1)) if error else len(a) + len(b) - 2.0
    if error == 0:
        inside = abs(difference) < margin
        p, power, width = (0.0 if inside else 1.0), 1.0, 0.0
    else:
        p = max(
            1 - t_cdf((difference + margin) / error, freedom),
            t_cdf((difference - margin) / error, freedom),
        )
        critical = t_quantile(1 - alpha, freedom)
        width = critical * error
        power = max(0.0, 2 * t_cdf(margin / error - critical, freedom) - 1)  # central t: close for 5 runs and more
    return Equivalence(
        p <= alpha, difference, (difference - width, difference + width), float(margin), p, power, alpha,
        (len(a), len(b)),
    )  # fmt: skip


def margin_from(twins: Sequence[float], *, runs: int, alpha: float = 0.05, power: float = 0.9) -> float:
    """The least margin that `runs` pairs can test: calibrated on uninterrupted twins.

    Runs that don't differ pass with about this power. A smaller margin would fail clean resumes; a larger one would let
    through what these runs can tell.

    Args:
        twins: a measure of uninterrupted runs, one value a seed.
        runs: how many runs a side the test will have.
        alpha: as in `tost`.
        power: how often a clean resume should pass.

    Raises:
        UsageError: a value can't be used.
    """
    twins = _values("twins", twins)
    if runs < 2:
        raise UsageError(f"runs is {runs}: give at least 2 on a side")
    if not 0 < power < 1 or not 0 < alpha < 0.5:
        raise UsageError(f"power is {power!r} and alpha {alpha!r}: give power below 1 and alpha below 0.5")
    error = math.sqrt(2 * _variance(twins) / runs)
    freedom = 2.0 * runs - 2
    return error * (t_quantile(1 - alpha, freedom) + t_quantile((1 + power) / 2, freedom))


def t_cdf(t: float, freedom: float) -> float:
    """Student's t distribution function, by the incomplete beta function."""
    tail = 0.5 * _beta(freedom / (freedom + t * t), freedom / 2, 0.5)
    return 1 - tail if t > 0 else tail


def t_quantile(p: float, freedom: float) -> float:
    """The t whose distribution function is `p`, by bisection."""
    if p < 0.5:
        return -t_quantile(1 - p, freedom)
    low, high = 0.0, 1.0
    while t_cdf(high, freedom) < p:
        high *= 2
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if t_cdf(middle, freedom) < p else (low, middle)
    return (low + high) / 2


def _beta(x: float, a: float, b: float) -> float:
    """Regularised incomplete beta function: the continued fraction of Abramowitz and Stegun 26.5.8, Lentz's method."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - _beta(1 - x, b, a)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)) / a
    tiny = 1e-300
    c, d = 1.0, 1 / max(1 - (a + b) * x / (a + 1), tiny)
    total = d
    for m in range(1, 1000):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 + term * d
            d = 1 / (d if abs(d) > tiny else tiny)
            c = 1 + term / c
            c = c if abs(c) > tiny else tiny
            total *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return front * total


def _values(name: str, values: Sequence[float]) -> list[float]:
    try:
        held = [float(value) for value in values]
    except (TypeError, ValueError):
        raise UsageError(f"{name} is {values!r}: give a sequence of numbers, one a run") from None
    if len(held) < 2:
        raise UsageError(f"{name} has {len(held)} value(s): at least 2 runs are needed to know their spread")
    if bad := [value for value in held if not math.isfinite(value)]:
        raise UsageError(f"{name} holds {bad[0]}: a run that diverged can't be averaged; it is a failure by itself")
    return held


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _variance(values: Sequence[float]) -> float:
    mean = _mean(values)
    return math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)
