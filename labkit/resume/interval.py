"""How often to save: the interval that costs least, by Young's, Daly's and the exact formula.

Saving costs `save_cost` each time; failures come at random, on average every `mtbf`. All times in one unit, any one.
Young, "A first order approximation to the optimum checkpoint interval" (1974); Daly, "A higher order estimate of the
optimum checkpoint interval for restart dumps" (2006), whose model of the run's time is the one used throughout.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Real
from typing import TYPE_CHECKING

from labkit.errors import UsageError

if TYPE_CHECKING:
    import pandas as pd

    from labkit.picture import Picture


def young(save_cost: float, mtbf: float) -> float:
    """Compute time between saves by Young: sqrt(2 C M). Good while C is far below M.

    Args:
        save_cost: C, time that one save takes from training.
        mtbf: M, mean time between failures, in the same unit.

    Raises:
        UsageError: one of them isn't a finite number above 0.
    """
    c, m = _times(save_cost, mtbf)
    return math.sqrt(2 * c * m)


def daly(save_cost: float, mtbf: float) -> float:
    """Compute time between saves by Daly's higher-order estimate; arguments and errors as for `young`.

    For C < 2M: sqrt(2CM) (1 + sqrt(C/2M)/3 + (C/2M)/9) - C; otherwise M.
    """
    c, m = _times(save_cost, mtbf)
    if c >= 2 * m:
        return m
    ratio = c / (2 * m)
    return math.sqrt(2 * c * m) * (1 + math.sqrt(ratio) / 3 + ratio / 9) - c


def exact_interval(save_cost: float, mtbf: float) -> float:
    """Compute time between saves at which `expected_time` is least; arguments and errors as for `young`.

    M (1 + W(-exp(-1 - C/M))) with Lambert's W, its principal branch: the root u in (0, 1) of u + ln(1 - u) = -C/M,
    times M. Found in that second form, which loses no digits where C is far below M.
    """
    c, m = _times(save_cost, mtbf)
    target = c / m
    if target > 40:
        return m  # the root is nearer to 1 than a float can say
    low, high = 0.0, 1.0
    u = min(math.sqrt(2 * target), 0.9)  # Young's answer to begin with
    for _ in range(200):
        gap = _needed(u) - target
        if gap > 0:
            high = u
        else:
            low = u
        after = u - gap * (1 - u) / u
        if not low < after < high:  # Newton's step leaves the bracket: halve it
            after = (low + high) / 2
        if after == u:
            break
        u = after
    return m * u


def expected_time(interval: float, save_cost: float, mtbf: float, *, recovery: float = 0.0, work: float = 1.0) -> float:
    """Mean time that a run takes in all, in Daly's model: M e^{R/M} (e^{(tau + C)/M} - 1) work / tau.

    Args:
        interval: tau, compute time between saves.
        save_cost, mtbf: C and M.
        recovery: R, from the failure until training goes on: detect, restart, load. What is replayed isn't in it.
        work: compute time of the whole run without failures and saves.

    Returns:
        A time; divided by `work` it is the factor by which failures and saves stretch the run. inf where the run would
        hardly ever get from one save to the next.

    Raises:
        UsageError: a time isn't a finite number above 0 (recovery: 0 or above).
    """
    c, m = _times(save_cost, mtbf)
    tau, total = _positive("interval", interval), _positive("work", work)
    if isinstance(recovery, bool) or not isinstance(recovery, Real) or not 0 <= recovery < math.inf:
        raise UsageError(f"recovery is {recovery!r}: give a time of 0 or more")
    try:
        return m * math.exp(recovery / m) * math.expm1((tau + c) / m) * total / tau
    except OverflowError:
        return math.inf


def interval_frame(
    save_cost: float, mtbf: float, *, recovery: float = 0.0, intervals: Sequence[float] | None = None
) -> pd.DataFrame:
    """Cost against interval: one row an interval with the shares of a run's time that it costs.

    Args:
        save_cost, mtbf, recovery: as for `expected_time`.
        intervals: which; from a tenth of the best to ten times that where they aren't given.

    Returns:
        Columns interval; saving (time spent on saves, as a share of the compute time); failures (replays and
        recoveries, likewise); cost (both: 0.05 means that the run takes 5 % longer).
    """
    import pandas as pd

    best = exact_interval(save_cost, mtbf)
    taken = [best * 10 ** (k / 20) for k in range(-20, 21)] if intervals is None else list(intervals)
    rows = []
    for interval in taken:
        cost = expected_time(interval, save_cost, mtbf, recovery=recovery) - 1
        saving = save_cost / interval
        rows.append((interval, saving, cost - saving, cost))
    return pd.DataFrame(rows, columns=["interval", "saving", "failures", "cost"])


def draw_interval(save_cost: float, mtbf: float, *, recovery: float = 0.0, unit: str = "min") -> Picture:
    """The cost over the interval, with what Young, Daly and the exact formula choose marked."""
    from labkit.resume.interval_drawing import draw

    return draw(save_cost, mtbf, recovery=recovery, unit=unit)


def _needed(u: float) -> float:
    """-(u + ln(1 - u)), without the loss of digits that the difference has for small u."""
    if u < 1e-2:
        total, power = 0.0, u
        for k in range(2, 12):
            power *= u
            total += power / k
        return total
    return -(u + math.log1p(-u)) if u < 1 else math.inf


def _times(save_cost: float, mtbf: float) -> tuple[float, float]:
    return _positive("save_cost", save_cost), _positive("mtbf", mtbf)


def _positive(name: str, value: float) -> float:
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 < value < math.inf:
        raise UsageError(f"{name} is {value!r}: give a finite time above 0")
    return float(value)
