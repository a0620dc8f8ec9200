"""The rules by which lab 06 judges functions: samples per second, and weak-scaling efficiency."""

from __future__ import annotations

import random
from statistics import mean, median
from typing import Any

from labkit.checks.evidence import Fault, Rule, number, same

Times = list[list[float]]

ROUNDING = 1e-6
"""What right answers may differ by, relatively: single precision, or another order of additions."""


# scaling.throughput ------------------------------------------------------------------------------------------------


def interval_inputs(rng: random.Random) -> list[tuple[Times, int, int, int, int]]:
    """(seconds by rank and interval, batch_size, steps, warmup, discard), smallest first: made-up intervals.

    The first `warmup` are cold on some rank; a spike or two stand among the rest; ranks are slowest in turn.
    """
    inputs: list[tuple[Times, int, int, int, int]] = [
        ([[2.0]], 8, 1, 0, 0),
        ([[2.0, 7.0, 3.0]], 8, 5, 0, 1),
        ([[2.0, 1.0], [1.0, 4.0]], 8, 1, 0, 0),
    ]
    for ranks, intervals, warmup, discard in ((1, 5, 2, 0), (2, 5, 0, 1), (3, 8, 1, 1), (2, 11, 2, 2), (4, 12, 3, 2)):
        seconds = [[rng.randint(8, 16) / 8 for _ in range(intervals)] for _ in range(ranks)]
        for interval in range(warmup):
            seconds[rng.randrange(ranks)][interval] = float(rng.randint(6, 20))
        if discard:
            seconds[rng.randrange(ranks)][rng.randrange(warmup, intervals)] = float(rng.randint(5, 9))
        inputs.append((seconds, rng.choice((4, 16, 32)), rng.randint(2, 10), warmup, discard))
    return inputs


def rate_of(
    seconds: Times, batch_size: int, steps: int, warmup: int, discard: int, *, of: Any = max, middle: Any = mean
) -> float:
    """Samples per second by a trimmed mean of the intervals; `of` and `middle` are there for the mistakes."""
    intervals = sorted([of(one) for one in zip(*seconds, strict=True)][warmup:])
    kept = intervals[discard : len(intervals) - discard]
    return float(len(seconds) * batch_size * steps / middle(kept))


def _one_rate(rate: Any, *_: Any) -> Fault | None:
    return None if number(rate) and rate > 0 else Fault(
        f"{rate!r}"[:120], "one number above 0", next_step="return samples over seconds."
    )  # fmt: skip


def _possible(rate: float, seconds: Times, batch_size: int, steps: int, warmup: int, discard: int) -> Fault | None:
    samples = len(seconds) * batch_size * steps
    slowest = [max(one) for one in zip(*seconds, strict=True)][warmup:]
    low, high = samples / max(slowest), samples / min(slowest)
    if low * (1 - ROUNDING) <= rate <= high * (1 + ROUNDING):
        return None
    right = _right(seconds, batch_size, steps, warmup, discard)
    alone = len(seconds) > 1 and same(rate * len(seconds), right, ROUNDING)
    return Fault(
        f"{rate:.6g} samples/s",
        f"between {low:.6g} and {high:.6g}, the rates of the slowest and the fastest interval after the warm-up",
        "one rank's samples are counted, not those of all." if alone else "",
        "all ranks together see ranks * batch_size * steps samples in an interval; its slowest rank ends it.",
    )


def _right(seconds: Times, batch_size: int, steps: int, warmup: int, discard: int) -> float:
    return rate_of(seconds, batch_size, steps, warmup, discard)


def _exact_rate(rate: float, seconds: Times, batch_size: int, steps: int, warmup: int, discard: int) -> Fault | None:
    if same(rate, _right(seconds, batch_size, steps, warmup, discard), ROUNDING):
        return None
    return Fault(
        f"{rate:.6g} samples/s",
        "samples of an interval over the mean of the intervals that count",
        "",
        "by hand, in this order: slowest rank, leave out the first ones, sort, cut both ends, mean.",
    )


RATE_MISTAKES = {
    "that takes the fastest rank of each interval; the others still work then.": (
        lambda s, b, n, w, d: rate_of(s, b, n, w, d, of=min)
    ),
    "that takes the mean over ranks; an interval ends with its slowest rank.": (
        lambda s, b, n, w, d: rate_of(s, b, n, w, d, of=mean)
    ),
    "that is the median in place of the mean: all intervals but the middle ones are thrown away.": (
        lambda s, b, n, w, d: rate_of(s, b, n, w, d, middle=median)
    ),
    "the warm-up intervals are in it.": lambda s, b, n, w, d: rate_of(s, b, n, 0, d),
    "no interval was discarded: one spike moves the mean.": lambda s, b, n, w, d: rate_of(s, b, n, w, 0),
    "the ends were cut before the intervals were sorted.": lambda s, b, n, w, d: _cut_unsorted(s, b, n, w, d),
}


def _cut_unsorted(seconds: Times, batch_size: int, steps: int, warmup: int, discard: int) -> float:
    intervals = [max(one) for one in zip(*seconds, strict=True)][warmup:]
    return float(len(seconds) * batch_size * steps / mean(intervals[discard : len(intervals) - discard]))


RATE_RULES = [
    Rule("the answer is one number", _one_rate),
    Rule("the rate lies between those of the slowest and the fastest interval", _possible, RATE_MISTAKES),
    Rule("the rate of the protocol", _exact_rate, RATE_MISTAKES),
]


# scaling.weak_efficiency -------------------------------------------------------------------------------------------

Runs = list[dict[str, Any]]


def run_inputs(rng: random.Random) -> list[tuple[Runs]]:
    """Runs, fewest first: perfect, lossy, out of order, unlike batch sizes, without one rank."""

    def runs(counts: list[int], batch_size: int = 32) -> Runs:
        alone = 16.0 * rng.randint(40, 200)
        losses = {count: 1 + rng.randint(1, 9) / 8 if count > 1 else 1.0 for count in counts}
        return [{"ranks": n, "batch_size": batch_size, "samples_per_second": alone * n / losses[n]} for n in counts]

    strong = runs([1, 2, 4])
    for run in strong:
        run["batch_size"] = 64 // run["ranks"]
    perfect = [{"ranks": n, "batch_size": 8, "samples_per_second": 100.0 * n} for n in (1, 2)]
    shuffled = runs([8, 1, 4, 2], 16)
    return [(runs([1]),), (perfect,), (runs([1, 2, 4]),), (strong,), (runs([2, 4]),), (shuffled,)]


def efficiency_of(runs: Runs) -> dict[int, float] | None:
    """T1 / TR by number of ranks, from rates at equal work a rank; None where the runs can't say."""
    rates = {run["ranks"]: run["samples_per_second"] for run in runs}
    if 1 not in rates or len({run["batch_size"] for run in runs}) > 1:
        return None
    return {count: rate / (count * rates[1]) for count, rate in rates.items()}


def by_number(found: Any) -> Any:
    """JSON makes text of a dict's keys on the way out of another process: numbers again, where they are some."""
    if type(found) is not dict:
        return found
    return {int(key) if type(key) is str and key.isdecimal() else key: value for key, value in found.items()}


def _refuses(found: Any, runs: Runs) -> Fault | None:
    if efficiency_of(runs) is not None or found is None:
        return None
    sizes = {run["batch_size"] for run in runs}
    why = f"batch_size is {sorted(sizes)}: a rank's work changes" if len(sizes) > 1 else "there is no run on 1 rank"
    return Fault(
        f"{found!r}"[:120], f"None: {why}", "nobody can say from these runs what more ranks cost.", "return None there."
    )


def _by_ranks(found: Any, runs: Runs) -> Fault | None:
    if efficiency_of(runs) is None:
        return None
    counts = sorted(run["ranks"] for run in runs)
    found = by_number(found)
    if type(found) is dict and sorted(found, key=repr) == sorted(counts, key=repr) and all(map(number, found.values())):
        return None
    return Fault(f"{found!r}"[:120], f"a dict with a number for each of {counts} ranks", next_step="{ranks: ...}.")


def _one_is_one(found: Any, runs: Runs) -> Fault | None:
    if efficiency_of(runs) is None:
        return None
    found = by_number(found)
    if same(found[1], 1.0, ROUNDING):
        return None
    return Fault(
        f"{found[1]:.6g} on 1 rank",
        "1 on 1 rank: it is what the others are compared with",
        "that is a speed-up or a rate, or it is compared with another run.",
        "divide by the rate on 1 rank.",
    )


def _exact_efficiency(found: Any, runs: Runs) -> Fault | None:
    truth = efficiency_of(runs)
    if truth is None:
        return None
    found = by_number(found)
    wrong = next((count for count in sorted(truth) if not same(found[count], truth[count], ROUNDING)), None)
    if wrong is None:
        return None
    why = ""
    if all(same(found[count], truth[count] * count, ROUNDING) for count in truth):
        why = "that is the speed-up: it grows with the ranks, and efficiency doesn't."
    elif all(same(found[count] * truth[count], 1.0, ROUNDING) for count in truth):
        why = "that is the wrong way round: an efficiency above 1 would say that waiting made a rank faster."
    elif all(same(found[count], truth[count] / count, ROUNDING) for count in truth):
        why = "that divides by the ranks once too often."
    return Fault(
        f"{found[wrong]:.6g} on {wrong} ranks",
        "step time on one rank over step time on so many, each rank's work the same",
        why,
        "a step time is ranks * batch_size / samples_per_second.",
    )


EFFICIENCY_RULES = [
    Rule("no answer where the runs can't give one", _refuses),
    Rule("a number for each number of ranks", _by_ranks),
    Rule("one rank has efficiency 1", _one_is_one),
    Rule("the efficiency is T1 / TR", _exact_efficiency),
]
