"""The learner's own figures in lab 01: how they are drawn, the right value, and the values that mistakes give."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Mapping, Sequence
from typing import Any

from labkit.checks.evidence import Fault, number
from labkit.checks.registry import Figures
from labkit.pipeline import Timeline, required_depth, simulate

Intervals = list[tuple[float, float]]


# pipeline.makespan -------------------------------------------------------------------------------------------------


def _draw_makespan(rng: random.Random) -> dict[str, Any]:
    prepare, train = rng.sample(range(4, 21), 2)
    return {"batches": rng.randint(4, 9), "prepare": prepare, "train": train}


def makespan_truth(figures: Mapping[str, Any]) -> dict[str, float]:
    """Serial and overlapped time of the steady line."""
    line = simulate(figures["prepare"], figures["train"], batches=figures["batches"])
    return {"serial": line.serial, "overlapped": line.makespan}


def makespan_parts(figures: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """For each of the two answers: the mistakes, by name."""
    n, p, c = figures["batches"], figures["prepare"], figures["train"]
    return {
        "serial": {
            "one batch only": p + c,
            "the prepare times alone": n * p,
            "the train times alone": n * c,
            "the overlapped time": makespan_truth(figures)["overlapped"],
            "one batch short": (n - 1) * (p + c),
        },
        "overlapped": {
            "one batch only": p + c,
            "the serial time": n * (p + c),
            "the slower stage alone, one overlap too many: n batches overlap n - 1 times": n * (p + c) - n * min(p, c),
            "the faster stage repeated, but the slower one sets the pace": min(p, c) * n + max(p, c),
            "the first wait counted twice": p + max(p, c) * n + min(p, c),
        },
    }


def _makespan_mistakes(figures: Mapping[str, Any]) -> dict[str, Any]:
    """Any mistake in either answer must show, so each is paired with the truth of the other."""
    truth = makespan_truth(figures)
    return {
        f"{name}: {phrase}": truth | {name: value}
        for name, mistakes in makespan_parts(figures).items()
        for phrase, value in mistakes.items()
    }


MAKESPAN = Figures(
    _draw_makespan,
    makespan_truth,
    _makespan_mistakes,
    {"batches": "in all", "prepare": "ms to prepare a batch", "train": "ms to train on a batch"},
)


# pipeline.waits ----------------------------------------------------------------------------------------------------


def _draw_waits(rng: random.Random) -> dict[str, Any]:
    """Uneven batches with at least two waits after the first and at least one batch that is ready in time."""
    while True:
        figures = {"prepare": [rng.randint(3, 19) for _ in range(6)], "train": rng.randint(7, 11)}
        waits = simulate(figures["prepare"], figures["train"]).waits[1:]
        if sum(wait > 0 for wait in waits) >= 2 and sum(wait == 0 for wait in waits) >= 2:
            return figures


def waits_truth(figures: Mapping[str, Any]) -> Intervals:
    """The intervals in which the trainer stands still."""
    line = simulate(figures["prepare"], figures["train"])
    ends = (0.0, *line.train_end)
    return [(e, g) for e, g in zip(ends, line.train_start, strict=False) if g > e]


def waits_mistakes(figures: Mapping[str, Any]) -> dict[str, Intervals]:
    """Intervals as people's usual mistakes give them."""
    truth = waits_truth(figures)
    prepare, train = figures["prepare"], figures["train"]
    local: Intervals = []
    now = 0.0
    for p in prepare:  # each batch on its own: as if what is ready early were forgotten
        wait = p if not local else max(0.0, p - train)
        if wait:
            local.append((now, now + wait))
        now += wait + train
    line = simulate(prepare, train)
    return {
        "the list without the first wait": truth[1:],
        "each batch compared on its own, as if nothing had been prepared ahead": local,
        "the train intervals": list(zip(line.train_start, line.train_end, strict=True)),
        "the prepare intervals": list(zip(line.prepare_start, line.prepare_end, strict=True)),
        "the list up to the second wait": truth[:2],
    }


def interval_fault(value: Any) -> Fault | None:
    """None where `value` is a list of (start, end) pairs of numbers with start < end."""
    if type(value) not in (list, tuple):
        return Fault(f"{value!r}"[:120], "a list of pairs", next_step="waits = [(0, 5), ...], for example.")
    for pair in value:
        if type(pair) not in (list, tuple) or len(pair) != 2 or not all(number(t) for t in pair):
            return Fault(
                f"{pair!r}"[:120],
                "a (start, end) pair, in ms",
                next_step="give two times for each wait, not its length.",
            )
        if not pair[0] < pair[1]:
            return Fault(f"{pair!r}", "start < end", next_step="leave out waits of no length.")
    return None


WAITS = Figures(
    _draw_waits, waits_truth, waits_mistakes, {"prepare": "ms to prepare each batch", "train": "ms to train on each"}
)


# pipeline.recurrence -----------------------------------------------------------------------------------------------


def serial_starts(prepare: Sequence[float], train: Sequence[float]) -> list[float]:
    """Train starts where nothing overlaps."""
    ends = itertools.accumulate(p + c for p, c in zip(prepare, train, strict=True))
    return [end - c for end, c in zip(ends, train, strict=True)]


def slot_before_prepare_starts(prepare: Sequence[float], train: Sequence[float], depth: int) -> list[float]:
    """Train starts where the worker begins a batch only when a slot is already free for it."""
    ready = free = 0.0
    starts: list[float] = []
    for i, (p, c) in enumerate(zip(prepare, train, strict=True)):
        slot = (starts[i - depth] if i >= depth else 0.0) if depth else free
        ready = max(ready, slot) + p
        starts.append(max(ready, free))
        free = starts[-1] + c
    return starts


# pipeline.depth ----------------------------------------------------------------------------------------------------


def jittery_traces(rng: random.Random) -> list[tuple[list[float], list[float]]]:
    """Traces, shortest first, whose waits after the first can all be removed; different depths are needed."""
    steady: list[tuple[list[float], list[float]]] = [([3.0, 4.0], [5.0, 5.0]), ([6.0] * 5, [10.0] * 5)]
    wanted = {0: 1, 1: 2, 2: 3, 3: 3, 4: 3, 5: 2}
    traces: list[tuple[list[float], list[float]]] = []
    while any(wanted.values()):
        batches = rng.randint(4, 24)
        prepare = [float(rng.choice((2, 3, 4, 5, 6, 18, 27))) for _ in range(batches)]
        train = [float(rng.randint(7, 11)) for _ in range(batches)]
        depth = required_depth(prepare, train)
        if wanted.get(depth) and simulate(prepare, train).stall == 0:
            wanted[depth] -= 1
            traces.append((prepare, train))
    return steady + sorted(traces, key=lambda trace: len(trace[0]))


# pipeline.hopeless -------------------------------------------------------------------------------------------------


def _draw_hopeless(rng: random.Random) -> dict[str, Any]:
    """Five lines of different character, in an order of the learner's own."""
    train = rng.randint(9, 12)
    slow = rng.randint(2 * train, 2 * train + 5)
    quick = rng.randint(2, 4)
    lines = [
        {"prepare": [train - rng.randint(2, 4)] * 8, "train": train, "depth": 1},  # steady, keeps up
        {"prepare": [train + rng.randint(2, 5)] * 8, "train": train, "depth": 1},  # steady, too slow
        {"prepare": [quick] * 4 + [slow] + [quick] * 3, "train": train, "depth": 1},  # a late swing: depth helps
        {"prepare": [slow] * 2 + [quick] * 6, "train": train, "depth": 1},  # the swing comes first: queue empty
        {"prepare": [quick] * 3 + [slow + train] * 5, "train": train, "depth": 1},  # too slow on average, yet helped
    ]
    rng.shuffle(lines)
    return {"lines": dict(zip("ABCDE", lines, strict=True))}


def _helps(line: Mapping[str, Any]) -> bool:
    batches = len(line["prepare"])
    train = [line["train"]] * batches
    now = simulate(line["prepare"], train, depth=line["depth"]).makespan
    return simulate(line["prepare"], train).makespan < now


def hopeless_truth(figures: Mapping[str, Any]) -> dict[str, bool]:
    """For each line: does an unlimited queue end earlier than the present depth?"""
    return {letter: _helps(line) for letter, line in figures["lines"].items()}


def hopeless_mistakes(figures: Mapping[str, Any]) -> dict[str, dict[str, bool]]:
    """Rules of thumb that get at least one line wrong."""
    lines = figures["lines"].items()
    stalls = {k: simulate(v["prepare"], [v["train"]] * 8, depth=v["depth"]).stall > 0 for k, v in lines}
    on_average = {k: sum(v["prepare"]) / 8 < v["train"] for k, v in lines}
    return {
        "the rule 'more depth always helps'": dict.fromkeys(figures["lines"], True),
        "the rule 'depth never helps'": dict.fromkeys(figures["lines"], False),
        "the rule 'it helps wherever the trainer waits'": stalls,
        "the rule 'it helps wherever prepare is faster on average'": on_average,
        "the rule 'it helps wherever batches are uneven'": {k: len(set(v["prepare"])) > 1 for k, v in lines},
        "the rule 'uneven and faster on average'": {k: len(set(v["prepare"])) > 1 and on_average[k] for k, v in lines},
        "the opposite": {k: not helps for k, helps in hopeless_truth(figures).items()},
    }


HOPELESS = Figures(
    _draw_hopeless, hopeless_truth, hopeless_mistakes, {"lines": "prepare and train in ms, depth in slots"}
)


# pipeline.reality --------------------------------------------------------------------------------------------------


def _draw_reality(rng: random.Random) -> dict[str, Any]:
    """A job of 24 batches with one slow batch, for three workers that get further ahead than by torch's default."""
    while True:
        train = rng.randint(10, 13)
        job = [rng.randint(2 * train + 2, int(2.5 * train))] * 24
        job[rng.randint(12, 16)] += rng.randint(3 * train, 5 * train)
        figures = {"prepare": job, "train": train, "budget": 12}
        if min(settings_of(figures), default=(0, 0)) in ((3, 3), (3, 4)):
            return figures


def settings_of(figures: Mapping[str, Any]) -> list[tuple[int, int]]:
    """Every (workers, prefetch_factor) in the budget after whose fill the trainer never waits, by prediction."""
    return [
        (w, f)
        for w, f in itertools.product(range(1, 9), range(1, 17))
        if w * f <= figures["budget"] and stall_of(figures, w, f) < 1e-6
    ]


def stall_of(figures: Mapping[str, Any], workers: int, prefetch_factor: int) -> float:
    """Predicted wait after the first batch, ms."""
    return line_of(figures, workers, prefetch_factor).stall


def line_of(figures: Mapping[str, Any], workers: int, prefetch_factor: int) -> Timeline:
    """The predicted line of the job."""
    train = [figures["train"]] * len(figures["prepare"])
    return simulate(figures["prepare"], train, workers=workers, prefetch_factor=prefetch_factor)


def _reality_truth(figures: Mapping[str, Any]) -> tuple[int, int]:
    return min(settings_of(figures))


def _reality_mistakes(figures: Mapping[str, Any]) -> dict[str, tuple[int, int]]:
    """Settings that people's rules of thumb give."""
    return {
        "enough workers on average, torch's default ahead": (math.ceil(figures["prepare"][0] / figures["train"]), 2),
        "a worker a core of a small machine": (2, figures["budget"] // 2),
        "the whole budget as workers": (figures["budget"], 1),
        "the whole budget in one worker": (1, figures["budget"]),
    }


REALITY = Figures(
    _draw_reality,
    _reality_truth,
    _reality_mistakes,
    {
        "prepare": "ms to prepare each batch; one is slow",
        "train": "ms to train on each",
        "budget": "batches in memory: workers x prefetch_factor at most",
    },
)
