"""What the functions of lab 02 are held to: `measure` on replays and a real loader, `debt` on passes of many kinds."""

from __future__ import annotations

import itertools
import random
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from labkit.checks import lab02_figures as own
from labkit.checks.answer import Answer
from labkit.checks.evidence import Fault, Rule, judged, number, same
from labkit.checks.lab02_recorded import PASSES, TRACE
from labkit.checks.lab02_replay import LAUNCH, exact_pairs, hasty_pairs
from labkit.checks.result import Evidence

# measure.fetch_wait ------------------------------------------------------------------------------------------------

Run = Mapping[str, Any]
CLOSE = 1e-3  # ms; a replay's clock counts in seconds and back


def line_inputs(rng: random.Random) -> list[tuple[list[float], list[float], float, bool]]:
    """Lines to replay, smallest first: the slower stage changes, starting the workers takes its time."""
    lines = [([6.0], [10.0], 20.0), ([14.0, 14.0], [10.0, 10.0], 30.0), ([6.0] * 4, [10.0] * 4, 0.0)]
    for batches in (5, 8):
        prepare = [float(rng.randint(3, 30)) for _ in range(batches)]
        lines.append((prepare, [float(rng.randint(5, 15)) for _ in range(batches)], float(rng.randint(20, 60))))
    lines.append((TRACE["prepare"], TRACE["train"], 12.6))
    return [(*line, False) for line in lines]


def _pairs_fault(run: Run, prepare: list[float], train: list[float], start: float, real: bool) -> Fault | None:
    pairs = run["pairs"]
    if pairs is None:
        return Fault("None", "a list of pairs", "the function gave None.", "is `return` missing at its end?")
    if type(pairs) not in (list, tuple):
        return Fault(f"{pairs!r}"[:100], "a list of pairs", next_step="return [(wait, train), ...].")
    for pair in pairs:
        if type(pair) not in (list, tuple) or len(pair) != 2 or not all(map(number, pair)):
            return Fault(f"{pair!r}"[:100], "a pair of two numbers", next_step="append (wait, train) for each batch.")
    if len(pairs) != len(prepare):
        return Fault(
            f"{len(pairs)} pair{'s' * (len(pairs) != 1)} for {len(prepare)} batches",
            "a pair for each batch",
            "the end of the loader isn't a batch." if len(pairs) == len(prepare) + 1 else "",
            "count: one next, one step, one pair.",
        )
    return None


def _once_fault(run: Run, prepare: list[float], train: list[float], start: float, real: bool) -> Fault | None:
    batches = len(prepare)
    if len(run["began"]) != 1:
        return Fault(
            f"{len(run['began'])} iterators were made",
            "one pass",
            "each iter(loader) starts the workers anew.",
            "make the iterator once, before the loop.",
        )
    if len(run["stepped"]) != batches:
        return Fault(
            f"{len(run['stepped'])} steps for {batches} batches", "one step a batch", next_step="call step(batch) once."
        )
    if len(run["free"]) < batches:
        return Fault(
            f"synchronise was called {len(run['free'])} times for {batches} steps",
            "the device is waited for after each step, before the clock is read",
            "step only starts the work: without waiting for it, its time turns up in the next fetch or nowhere.",
            "after step(batch): synchronise(), then clock().",
        )
    return None


def _negative_fault(run: Run, prepare: list[float], train: list[float], start: float, real: bool) -> Fault | None:
    low = min(min(pair) for pair in run["pairs"])
    if low < -CLOSE:
        return Fault(f"{low:g} ms", "no time below 0", next_step="later minus earlier.")
    return None


def _whole_fault(run: Run, prepare: list[float], train: list[float], start: float, real: bool) -> Fault | None:
    whole = sum(map(sum, run["pairs"]))
    if abs(whole - run["end"]) < CLOSE * len(prepare):
        return None
    return Fault(
        f"waits and trains add up to {whole:.5g}, the run took {run['end']:.5g} ms",
        "the trainer always either waits or trains, so nothing is left over",
        "",
        "read the clock once where one part ends and the next one begins, and use that reading for both.",
    )


def _exact_fault(run: Run, prepare: list[float], train: list[float], start: float, real: bool) -> Fault | None:
    for i, (mine, truth) in enumerate(zip(run["pairs"], exact_pairs(prepare, train, start), strict=True)):
        for name, a, b in zip(("wait", "train"), mine, truth, strict=True):
            if abs(a - b) > CLOSE:
                much = "more" if a > b else "less"
                return Fault(
                    f"batch {i}: {name} {a:.5g} ms, {much} than there was",
                    "wait: until the batch is there; train: from then until the device is done",
                    "",
                    "which of your readings of the clock lies in the middle of something?",
                )
    return None


def _late_sync(prepare: list[float], train: list[float], start: float) -> list[tuple[float, float]]:
    """The clock is read before the device is waited for, so the next wait begins too early."""
    exact = exact_pairs(prepare, train, start)
    waits = [exact[0][0], *(w + c - LAUNCH for (_, c), (w, _) in itertools.pairwise(exact))]
    return [(wait, LAUNCH) for wait in waits]


def _without_start(prepare: list[float], train: list[float], start: float) -> list[tuple[float, float]]:
    exact = exact_pairs(prepare, train, start)
    return [(exact[0][0] - start, exact[0][1]), *exact[1:]]


PAIR_MISTAKES = {
    "these are seconds; asked for are ms.": lambda p, c, s: [(a / 1000, b / 1000) for a, b in exact_pairs(p, c, s)],
    "these are the right times with train first; wait comes first.": lambda p, c, s: [
        (b, a) for a, b in exact_pairs(p, c, s)
    ],
    "the device wasn't waited for: the loop asks for a batch while the last one is in training.": hasty_pairs,
    "the clock is read before synchronise(): the device's work is counted as waiting for the next batch.": _late_sync,
    "the first wait lacks the start of the workers, which happens inside iter(loader).": _without_start,
}


def pair_evidence(answer: Answer, rng: random.Random) -> Iterator[Evidence]:
    """`measure` on replays, exactly; then on a real DataLoader, between stamps of our own."""
    lines = line_inputs(rng)
    runs = [(line, answer.call(*line)) for line in lines]
    rules = (
        ("a (wait, train) pair for each batch", _pairs_fault),
        ("one pass, one step a batch, and the device waited for", _once_fault),
        ("no time is negative", _negative_fault),
        ("waits and trains add up to the whole run", _whole_fault),
        ("each wait and each train is as long as it was", _exact_fault),
    )
    for claim, test in rules:
        failing = ((line, test(run, *line)) for line, run in runs)
        line, fault = next(((line, fault) for line, fault in failing if fault), (lines[0], None))
        if fault is not None and not fault.why and test is not _pairs_fault:
            fault = Fault(fault.seen, fault.expected, _named(runs), fault.next_step)
        given = f"prepare {_listed(line[0])}, train {_listed(line[1])}, starting the workers takes {line[2]:g} ms"
        yield judged(
            claim, fault, given if fault else f"{len(lines)} replayed lines, one of them recorded", "held on each"
        )
    yield _real_evidence(answer)


def _named(runs: Sequence[tuple[Any, Run]]) -> str:
    """The mistake that gives these pairs on every line, or ""."""
    for words, made in PAIR_MISTAKES.items():
        pairs = [(run["pairs"], made(*line[:3])) for line, run in runs]
        if all(
            len(a) == len(b)
            and all(abs(x - y) < CLOSE for p, q in zip(a, b, strict=True) for x, y in zip(p, q, strict=True))
            for a, b in pairs
        ):
            return words
    return ""


def _real_evidence(answer: Answer) -> Evidence:
    """A real run: each of the answer's times lies between what happened inside it and what happened around it."""
    batches = 12
    run = answer.call([14.0] * batches, [10.0] * batches, 0.0, True)
    fault = _pairs_fault(run, [0.0] * batches, [], 0.0, True)
    asked, got, stepped, free = (run[name] for name in ("asked", "got", "stepped", "free"))
    for i, (wait, train) in enumerate(run["pairs"] if fault is None else ()):
        before, after = (free[i - 1] if i else 0.0), (asked[i + 1] if i + 1 < batches else run["end"])
        began = asked[i] if i else run["began"][0]
        for name, mine, least, most in (
            ("wait", wait, got[i] - began, stepped[i] - before),
            ("train", train, free[i] - stepped[i], after - got[i]),
        ):
            if not least - 0.05 <= mine <= most + 0.05:
                fault = Fault(
                    f"batch {i}: {name} {mine:.4g} ms; stamps around your loop say {least:.4g} to {most:.4g}",
                    "the same on a real DataLoader",
                    next_step="use the clock that your function is given.",
                )
                break
    waits = [pair[0] for pair in run["pairs"]] if fault is None else []
    held = (
        f"first wait {waits[0]:.1f} ms, then {statistics.median(waits[1:]):.1f} at the median, measured here"
        if waits
        else ""
    )
    return judged(
        "on a real DataLoader your times agree with stamps around your loop", fault, "1 worker, 12 batches", held
    )


def _listed(times: Sequence[float]) -> str:
    """Every number, so that a person can run the case; the inputs that fail first are short."""
    if len(set(times)) == 1 and len(times) > 1:
        return f"{times[0]:g} for each of {len(times)}"
    return "[" + ", ".join(f"{time:g}" for time in times) + "]"


# measure.debt ------------------------------------------------------------------------------------------------------

NAMES = ("debt", "supply", "interference")
Passes = tuple[list[float], list[float], list[float], int]


def pass_inputs(rng: random.Random) -> list[Passes]:
    """Times at which batches were done: by hand, drawn with bursts, and recorded; smallest first.

    Most hold at most 8 numbers a list, since a card prints them; the recorded ones come last, in full.
    """
    by_hand = ([10.0, 16.0, 22.0], [3.0, 13.0, 23.0], [20.0, 32.0, 44.0], 1)
    slower = ([30.0, 44.0, 58.0], [12.0, 22.0, 32.0], [30.0, 46.0, 62.0], 1)
    drawn = sorted((own.passes_of(rng) for _ in range(6)), key=lambda passes: len(passes[0]))
    recorded = [(one["read_only"], one["train_only"], one["both"], 2) for one in PASSES]
    begun = [(read[:8], train[:7], both[:8], warmup) for read, train, both, warmup in recorded]
    return [by_hand, slower, *drawn, *begun, *recorded]


def _debt_numbers(found: Any, *passes: Any) -> Fault | None:
    if type(found) is dict and all(number(found.get(name)) for name in NAMES):
        return None
    return Fault(
        f"{found!r}"[:100], f"a number for each of {', '.join(NAMES)}", next_step="return a dict with these names."
    )


def _debt_sum(found: Any, *passes: Any) -> Fault | None:
    if same(found["supply"] + found["interference"], found["debt"], 1e-6):
        return None
    return Fault(
        f"supply {found['supply']:.4g} + interference {found['interference']:.4g} is not debt {found['debt']:.4g}",
        "the two parts are the whole debt",
        next_step="interference is what is left of the debt.",
    )


def _debt_supply(found: Any, read: list[float], train: list[float], both: list[float], warmup: int) -> Fault | None:
    if found["supply"] < 0:
        return Fault(
            f"supply {found['supply']:.4g} ms",
            "0, or more",
            "reading is faster than training here: then all of it can be hidden.",
            "what is the least that is left of a read if it runs beside a train?",
        )
    return None


def _debt_exact(found: Any, read: list[float], train: list[float], both: list[float], warmup: int) -> Fault | None:
    truth = own.debt_truth(read, train, both, warmup)
    wrong = next((name for name in NAMES if not same(found[name], truth[name], 1e-6)), None)
    if wrong is None:
        return None
    return Fault(
        f"{wrong} {found[wrong]:.4g} ms",
        f"{wrong} in ms a batch, from when batch {warmup - 1} is done, the last of the warm-up",
        "",
        "how long did all batches after the warm-up take together, and how many were they?",
    )


def _with(a_batch: Any) -> Any:
    return lambda read, train, both, warmup: own.debt_of(*(a_batch(done, warmup) for done in (read, train, both)))


def _middle(done: list[float], warmup: int) -> float:
    return statistics.median(b - a for a, b in zip(done[warmup - 1 : -1], done[warmup:], strict=True))


DEBT_MISTAKES = {
    "that counts the warm-up.": _with(lambda done, warmup: done[-1] / len(done)),
    "that leaves out the time of the warm-up, but still divides by all batches.": _with(
        lambda done, warmup: (done[-1] - done[warmup - 1]) / len(done)
    ),
    "that is all the time after the warm-up, not ms a batch.": _with(lambda done, warmup: done[-1] - done[warmup - 1]),
    "that is the median: several workers deliver in bursts, and the median sees only the short gaps.": _with(_middle),
    "that leaves out one batch too many: the clock starts when batch warmup - 1 is done, not a batch later.": _with(
        lambda done, warmup: (done[-1] - done[warmup]) / (len(done) - warmup - 1)
    ),
    "the clock starts a batch too late, when batch warmup is done, but that batch is still counted.": _with(
        lambda done, warmup: (done[-1] - done[warmup]) / (len(done) - warmup)
    ),
    "the right time, divided by one batch too many: the last batch of the warm-up isn't one of them.": _with(
        lambda done, warmup: (done[-1] - done[warmup - 1]) / (len(done) - warmup + 1)
    ),
}


def same_debt(found: Any, made: Any) -> bool:
    """All three figures agree."""
    return all(same(found[name], made[name], 1e-6) for name in NAMES)


DEBT_RULES = [
    Rule("three numbers", _debt_numbers),
    Rule("supply is never negative", _debt_supply),
    Rule("supply and interference make up the debt", _debt_sum),
    Rule("ms a batch after the warm-up", _debt_exact),
]


def debt_evidence(answer: Answer, rng: random.Random, run: Callable[[], Passes]) -> Iterator[Evidence]:
    """`debt` on drawn and recorded passes; where it is right, on three real ones that `run` takes."""
    inputs = pass_inputs(rng)
    found = [(passes, answer.call(*passes)) for passes in inputs]
    for rule in DEBT_RULES:
        failing = ((passes, rule.test(value, *passes)) for passes, value in found)
        passes, fault = next(((p, fault) for p, fault in failing if fault), (inputs[0], None))
        if fault is not None and not fault.why and rule.test is not _debt_numbers:
            fault = Fault(fault.seen, fault.expected, _debt_named(found), fault.next_step)
        if fault is not None and found[0][1] is None:
            fault = Fault(
                fault.seen, fault.expected, "the function gave None: is `return` missing at its end?", fault.next_step
            )
        names = zip(("read_only", "train_only", "both"), passes[:3], strict=True)
        given = ", ".join(f"{name} {_listed(done)}" for name, done in names) + f", warmup {passes[3]}"
        yield judged(rule.claim, fault, given if fault else f"{len(inputs)} times three passes", "held on each")

    real = run()
    fault = _debt_exact(answer.call(*real), *real)
    held = f"debt {own.debt_truth(*real)['debt']:.3g} ms a batch, measured here"
    yield judged("the same on three passes over a real DataLoader", fault, "run a moment ago", held)


def _debt_named(found: Sequence[tuple[Passes, Any]]) -> str:
    for words, made in DEBT_MISTAKES.items():
        if all(same_debt(value, made(*passes)) for passes, value in found):
            return words
    parts: dict[str, Callable[[float, float, float], float]] = {
        "that takes what is longer than reading for the debt; it is what is longer than training.": lambda r, t, b: (
            b - r
        ),
        "that takes off both: they don't come one after the other.": lambda r, t, b: b - r - t,
        "that takes off the longer of the two; the debt is against training alone.": lambda r, t, b: b - max(r, t),
    }
    for words, of in parts.items():
        if all(
            same(value["debt"], of(*(own.a_batch(done, passes[3]) for done in passes[:3])), 1e-6)
            for passes, value in found
        ):
            return words
    return ""
