"""Checks of lab 01, the ideal line: what is judged and by which inputs. The figures come from `lab01_figures`."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from labkit.checks import lab01_figures as own
from labkit.checks.answer import Answer
from labkit.checks.evidence import Fault, Rule, judged, named_mistake, number, over_inputs, same
from labkit.checks.lab01_reality import reality_evidence
from labkit.checks.registry import Context, exercise
from labkit.checks.result import Evidence
from labkit.checks.shapes import numbers_fault
from labkit.pipeline import required_depth, simulate


@exercise("pipeline.makespan", lab="01", title="Two totals", kind="predict", points=2, minutes=4, figures=own.MAKESPAN)
def makespan(answer: Answer, context: Context) -> Iterator[Evidence]:
    """Serial and overlapped time of a steady line."""
    value = answer.value()
    yield judged("both answers are numbers", numbers_fault(value, ("serial", "overlapped")))

    serial, overlapped = value["serial"], value["overlapped"]
    batches, prepare, train = (context.figures[name] for name in ("batches", "prepare", "train"))
    fault = None
    if overlapped > serial:
        fault = Fault(
            f"overlapped {overlapped:g} > serial {serial:g}",
            "overlapped <= serial",
            "overlap removes waiting, it never adds work; did the two change places?",
            "serial is every prepare and every train, one after the other.",
        )
    yield judged("overlapping is never slower", fault)

    busiest = batches * max(prepare, train)
    fault = None
    if overlapped < busiest:
        fault = Fault(
            f"overlapped {overlapped:g}",
            f"at least {busiest:g}: the slower stage works on all {batches} batches, one at a time",
            next_step="draw the slower stage's blocks end to end, then ask what comes before and after them.",
        )
    yield judged("the slower stage does all its work", fault)

    truth = own.makespan_truth(context.figures)
    mistakes = own.makespan_parts(context.figures)
    for name, hint in (
        ("serial", "write down when batch 0 is prepared and trained, then when batch 1 starts to be prepared."),
        ("overlapped", "draw two rows, prepare and train, for the first three batches; when does the last train end?"),
    ):
        fault = None
        if not same(value[name], truth[name]):
            mistake = named_mistake(value[name], mistakes[name])
            fault = Fault(
                f"{name} = {value[name]:g} ms",
                f"the end of the last train on the {name} line for your figures",
                f"that is {mistake}." if mistake else "",
                hint,
            )
        yield judged(f"{name} is the end of the last train", fault, held=f"{value[name]:g} ms")


@exercise("pipeline.waits", lab="01", title="Where the trainer waits", kind="predict", points=2, minutes=6,
          figures=own.WAITS)  # fmt: skip
def waits(answer: Answer, context: Context) -> Iterator[Evidence]:
    """The intervals in which the trainer stands still, on a line of uneven batches."""
    value = answer.value()
    yield judged("a list of (start, end) pairs", own.interval_fault(value))

    pairs = [tuple(pair) for pair in value]
    fault = None
    if unordered := [(a, b) for a, b in itertools.pairwise(pairs) if a[1] > b[0]]:
        fault = Fault(
            f"{unordered[0][0]} then {unordered[0][1]}",
            "intervals in order, none overlapping",
            next_step="list the waits as they happen, from the left.",
        )
    yield judged("the waits follow one another", fault)

    truth = own.waits_truth(context.figures)
    fault = None
    if not pairs or pairs[0][0] != 0:
        fault = Fault(
            f"first wait {pairs[0] if pairs else 'missing'}",
            "a wait from 0 until the first batch is ready",
            "before the first batch is prepared the trainer has nothing to do: that wait counts too.",
            "start the list at 0; it ends when the first prepare ends.",
        )
    elif pairs[0] != truth[0]:
        fault = Fault(
            f"first wait {pairs[0]}",
            "it ends when the first batch is ready",
            next_step="how long does the worker take for batch 0?",
        )
    yield judged("the first wait is there", fault)

    fault = None
    if pairs != truth:
        mistake = named_mistake(pairs, own.waits_mistakes(context.figures))
        fault = Fault(
            _first_difference(pairs, truth),
            "from the end of one train to the start of the next, wherever the next batch isn't ready yet",
            f"that is {mistake}." if mistake else "",
            "for each batch write two times: when it is ready, and when the trainer is free. Which is later?",
        )
    yield judged("every wait ends when a batch is ready", fault, held=f"{len(pairs)} waits")


def _first_difference(pairs: Sequence[tuple[float, float]], truth: Sequence[tuple[float, float]]) -> str:
    """The first wait that isn't one, or where one is missing; never the missing one itself."""
    for pair in pairs:
        if pair not in truth:
            return f"{len(pairs)} waits; {pair} is not one"
    before = next((pair for pair, true in zip(pairs, truth, strict=False) if pair != true), None)
    return f"{len(pairs)} waits; " + (f"one before {before} is missing" if before else "a later one is missing")


def _lines(rng: random.Random, depths: tuple[int, ...]) -> list[tuple[list[float], list[float], int]]:
    """Fresh lines, shortest first: whole ms, steady and uneven ones, every depth."""
    lines = []
    for batches in (1, 2, 2, 3, 3, 4, 5, 6, 8, 12, 40):
        for depth in depths:
            prepare = [float(rng.randint(1, 20)) for _ in range(batches)]
            train = [float(rng.randint(1, 20)) for _ in range(batches)]
            lines.append((prepare, train, depth))
    return lines


def _is_pairs(times: Any, prepare: list[float], train: list[float], depth: int) -> Fault | None:
    fits = type(times) in (list, tuple) and len(times) == len(prepare)
    if fits and all(type(p) in (list, tuple) and len(p) == 2 and all(number(t) for t in p) for p in times):
        return None
    return Fault(
        f"{times!r}"[:160],
        f"a list of {len(prepare)} (start, finish) pairs, one a batch",
        next_step="return [(start, finish), ...] in the order of the batches.",
    )


def _lasts(times: Any, prepare: list[float], train: list[float], depth: int) -> Fault | None:
    for i, (start, finish) in enumerate(times):
        if not same(finish - start, train[i]):
            return Fault(
                f"batch {i}: {start:g} to {finish:g}", f"finish - start = train = {train[i]:g}",
                next_step="finish is start plus the train time of that batch."
            )  # fmt: skip
    return None


def _one_at_a_time(times: Any, prepare: list[float], train: list[float], depth: int) -> Fault | None:
    for i, (a, b) in enumerate(itertools.pairwise(times)):
        if b[0] < a[1] - 1e-9:
            return Fault(
                f"batch {i + 1} starts at {b[0]:g}, batch {i} ends at {a[1]:g}",
                "the trainer works on one batch at a time",
                next_step="a start is never before the finish of the batch before it.",
            )
    return None


def _after_prepare(times: Any, prepare: list[float], train: list[float], depth: int) -> Fault | None:
    ready = list(itertools.accumulate(prepare))
    for i, (start, _) in enumerate(times):
        if start < ready[i] - 1e-9:
            return Fault(
                f"batch {i} starts at {start:g}",
                f"not before {ready[i]:g}: the worker makes one batch at a time, without a pause at best",
                next_step="a batch can't be trained before it and all batches before it are prepared.",
            )
    return None


def _exact_times(times: Any, prepare: list[float], train: list[float], depth: int) -> Fault | None:
    line = simulate(prepare, train, depth=depth)
    for i, (start, _) in enumerate(times):
        if same(start, line.train_start[i]):
            continue
        late = start > line.train_start[i]
        return Fault(
            f"batch {i} starts {'later' if late else 'earlier'} than the line allows",
            f"with depth {depth}, the worker holds a finished batch until one of {depth} slots is free"
            if depth
            else "with depth 0, the worker holds a finished batch until the trainer takes it",
            "",
            "write the times of this small line by hand: prepare ends, put into the queue, train starts, train ends.",
        )
    return None


def _pairs(starts: Sequence[float], train: Sequence[float]) -> list[tuple[float, float]]:
    return [(start, start + c) for start, c in zip(starts, train, strict=True)]


TIMES_MISTAKES = {
    "these are the times of a queue without a limit: depth makes no difference in your answer.": (
        lambda p, c, depth: _pairs(simulate(p, c).train_start, c)
    ),
    "these are the times for one slot more.": lambda p, c, depth: _pairs(
        simulate(p, c, depth=depth + 1).train_start, c
    ),
    "these are the times for one slot less.": (
        lambda p, c, depth: _pairs(simulate(p, c, depth=max(depth - 1, 0)).train_start, c)
    ),
    "these are the times of the serial line: nothing overlaps.": lambda p, c, depth: _pairs(own.serial_starts(p, c), c),
    "your worker waits for a free slot before it prepares; it prepares first and then waits to put.": (
        lambda p, c, depth: _pairs(own.slot_before_prepare_starts(p, c, depth), c)
    ),
}


@exercise("pipeline.recurrence", lab="01", title="The whole line", kind="build", points=3, minutes=10)
def recurrence(answer: Answer, context: Context) -> Iterator[Evidence]:
    """Start and finish of every train, for any prepare, train and depth."""
    lines = _lines(context.rng(), depths=(0, 1, 2, 4))
    rules = [
        Rule("one (start, finish) pair a batch", _is_pairs),
        Rule("a train lasts its train time", _lasts),
        Rule("the trainer does one batch at a time", _one_at_a_time),
        Rule("no batch is trained before it is prepared", _after_prepare),
        Rule("the times are those of the line with its queue", _exact_times, TIMES_MISTAKES),
    ]
    yield from over_inputs(answer, "train_times", lines, rules)


def _rate_number(rate: Any, prepare: float, train: float, workers: int) -> Fault | None:
    return None if number(rate) else Fault(f"{rate!r}", "one number, ms a batch", next_step="return a single number.")


def _rate_floor(rate: float, prepare: float, train: float, workers: int) -> Fault | None:
    if rate < train * 0.99:
        return Fault(
            f"{rate:g} ms a batch",
            f"at least the {train:g} ms that one train takes",
            "there is one trainer, whatever the number of workers.",
            "which stage do more workers speed up, and which not?",
        )
    if rate < prepare / workers * 0.99:
        return Fault(
            f"{rate:g} ms a batch",
            f"at least prepare/workers = {prepare / workers:g}",
            "the trainer can't be fed faster than the workers prepare.",
            f"{'1 worker finishes 1 batch' if workers == 1 else f'{workers} workers finish {workers} batches'} "
            f"in {prepare:g} ms.",
        )
    return None


def _rate_exact(rate: float, prepare: float, train: float, workers: int) -> Fault | None:
    batches = 120 * workers
    line = simulate(prepare, train, batches=2 * batches, workers=workers)
    truth = (line.train_end[-1] - line.train_end[batches - 1]) / batches
    if same(rate, truth, 0.01):
        return None
    return Fault(
        f"{rate:g} ms a batch",
        "the time between two train ends, far into the run",
        "",
        "simulate 200 batches with these figures and look at the last few train_end.",
    )


RATE_MISTAKES = {
    "that adds the two stages, as if they never overlapped.": lambda p, c, workers: p + c,
    "that ignores the workers.": lambda p, c, workers: max(p, c),
    "that adds the stages and divides only prepare.": lambda p, c, workers: p / workers + c,
}


@exercise("pipeline.steady_state", lab="01", title="The long run", kind="build", points=2, minutes=4)
def steady_state(answer: Answer, context: Context) -> Iterator[Evidence]:
    """ms a batch in the long run, for W workers."""
    rng = context.rng()
    inputs = [(float(rng.randint(2, 60)), float(rng.randint(2, 30)), w) for w in (1, 1, 1, 2, 2, 3, 4, 5, 8)]
    inputs += [(6.0, 10.0, 1), (30.0, 10.0, 2), (30.0, 10.0, 3), (30.0, 10.0, 6), (7.0, 3.0, 2)]
    inputs.sort(key=lambda args: args[2])
    rules = [
        Rule("the answer is one number", _rate_number),
        Rule("no stage is faster than it can be", _rate_floor),
        Rule("the rate of a long line", _rate_exact, RATE_MISTAKES),
    ]
    yield from over_inputs(answer, "ms_per_batch", inputs, rules)


def _depth_number(depth: Any, prepare: list[float], train: list[float]) -> Fault | None:
    if type(depth) is int and depth >= 0:
        return None
    return Fault(f"{depth!r}", "a whole number of slots, 0 or more", next_step="return an int.")


def _depth_enough(depth: int, prepare: list[float], train: list[float]) -> Fault | None:
    stall = simulate(prepare, train, depth=depth).stall
    if same(stall, 0):
        return None
    return Fault(
        f"depth {depth}, and the trainer still waits {stall:g} ms after the first batch",
        "no wait after the first",
        next_step="simulate this trace with your depth and with one more; look at .waits.",
    )


def _depth_least(depth: int, prepare: list[float], train: list[float]) -> Fault | None:
    if depth == required_depth(prepare, train):
        return None
    return Fault(
        f"depth {depth}",
        f"the least depth: with depth {depth - 1} this trace has no wait after the first either",
        "every slot more holds a batch in memory that is never needed.",
        "go down one slot at a time until a wait comes back.",
    )


@exercise("pipeline.depth", lab="01", title="Just deep enough", kind="build", points=3, minutes=7)
def depth(answer: Answer, context: Context) -> Iterator[Evidence]:
    """The least depth that removes every wait but the first, on jittery traces."""
    inputs = own.jittery_traces(context.rng())
    rules = [
        Rule("the answer is a whole number", _depth_number),
        Rule("with that depth only the first wait is left", _depth_enough),
        Rule("no smaller depth would do", _depth_least),
    ]
    yield from over_inputs(answer, "least_depth", inputs, rules)


@exercise("pipeline.hopeless", lab="01", title="Can more depth help?", kind="predict", points=2, minutes=4,
          figures=own.HOPELESS)  # fmt: skip
def hopeless(answer: Answer, context: Context) -> Iterator[Evidence]:
    """For five lines: would a deeper queue end sooner?"""
    value = answer.value()
    letters = list(context.figures["lines"])
    fault = None
    if type(value) is not dict or [type(value.get(letter)) for letter in letters] != [bool] * len(letters):
        fault = Fault(f"{value!r}", "True or False for each of A to E", next_step="write True where more depth helps.")
    yield judged("every line has an answer", fault)

    truth = own.hopeless_truth(context.figures)
    wrong = [letter for letter in letters if value[letter] != truth[letter]]
    fault = None
    if wrong:
        rule = named_mistake({k: value[k] for k in letters}, own.hopeless_mistakes(context.figures))
        fault = Fault(
            f"{len(wrong)} of {len(letters)} are not so",
            "True exactly where a longer queue makes the last train end earlier",
            f"that is what {rule} gives." if rule else "",
            "look for a moment when the worker stands still while the queue is full, and a wait after it.",
        )
    yield judged("each line behaves as you say", fault, held=_letters(value))


def _letters(value: Mapping[str, bool]) -> str:
    return ", ".join(f"{letter} {'helps' if helps else 'no help'}" for letter, helps in value.items())


@exercise("pipeline.reality", lab="01", title="Settings for a real DataLoader", kind="experiment", points=3, minutes=7,
          figures=own.REALITY)  # fmt: skip
def reality(answer: Answer, context: Context) -> Iterator[Evidence]:
    """Settings for a real DataLoader: in memory, no stall, fewest workers; a real run decides."""
    value = answer.value()
    names = ("workers", "prefetch_factor", "predicted")
    fault = None
    if type(value) is not dict or any(name not in value for name in names):
        fault = Fault(f"{value!r}", "workers, prefetch_factor and predicted", next_step="check the three names.")
    else:
        counts = [name for name in names[:2] if type(value[name]) is not int or not 1 <= value[name] <= 16]
        if counts:
            fault = Fault(f"{counts[0]} = {value[counts[0]]!r}", "a whole number, 1 to 16", next_step="give an int.")
        elif not number(value["predicted"]) or not math.isfinite(value["predicted"]):
            fault = Fault(f"predicted = {value['predicted']!r}", "a number, in ms", next_step="give the makespan.")
    yield judged("two settings and a prediction", fault)
    yield from reality_evidence(value, context.figures)
