"""The rules by which lab 07 judges functions: a capture that brings everything back, and the first difference."""

from __future__ import annotations

import copy
import math
import random
from collections.abc import Iterator, Sequence
from typing import Any

from labkit.checks.answer import Answer
from labkit.checks.evidence import Fault, Rule, judged
from labkit.checks.lab07_runs import WORDS, rows
from labkit.checks.result import Evidence
from labkit.resume.line import FAULTS, train

Row = dict[str, Any]

ORDER = ("ids", "parameters", "optimizer", "position", "order", "rng")
"""Components of a row, in the order in which the first one is looked for."""

_MEANS = {
    "step": "the count of updates started anew",
    "ids": "other samples are read",
    "parameters": "the update came out differently",
    "optimizer": "other momentum is carried on",
    "position": "the cursor stands elsewhere",
    "order": "the order of samples is another one",
    "rng": "the shuffler is in another state, so the next shuffle will be another one",
}


# resume.capture ----------------------------------------------------------------------------------------------------


def capture_inputs(rng: random.Random) -> list[tuple[int, int, int]]:
    """(seed, at, until): within an order, at its end, at the lesson's step, and two of one's own."""
    own = [(rng.randint(10, 9_999), at, at + rng.randint(6, 12)) for at in rng.sample(range(5, 40), 2)]
    return [(7, 2, 7), (7, 4, 10), (7, 19, 30), *sorted(own, key=lambda one: one[1])]


def _restored(found: Any, seed: int, at: int, until: int) -> Fault | None:
    if found["rows"]:
        return None
    return Fault(
        "the new line still stands at step 0, with weights and momentum 0",
        "a line that goes on where the other one was captured",
        "restore changed nothing.",
        "set the attributes of the line that restore is given: line.w = ...; a new Line() of your own gets lost.",
    )


def _still(found: Any, seed: int, at: int, until: int) -> Fault | None:
    if found["saved"] == found["later"]:
        return None
    return Fault(
        "four updates later the snapshot holds other values than when it was taken",
        "a snapshot of one moment, whatever the line does next",
        "it holds the line's own list, which the line goes on shuffling: it shows two moments at once.",
        "copy what can change: list(...).",
    )


def _same_rows(found: Any, seed: int, at: int, until: int) -> Fault | None:
    whole = rows(train(until, seed=seed))[at:]
    steps = [[one["step"] for one in both] for both in (whole, found["rows"])]
    place = first_difference(whole, found["rows"]) if steps[0] == steps[1] else (at + 1, "step")
    if place is None:
        return None
    step, name = place
    index = min(step - at - 1, len(whole) - 1)
    mine, theirs = found["rows"][index], whole[index]
    why = _MEANS[name] + "."
    state = train(at, seed=seed).state
    for fault in FAULTS:
        if first_difference(rows(train(until, seed=seed, resume=state, fault=fault)), found["rows"]) is None:
            why = f"the run goes on as one that lost its {WORDS[fault]}." if fault != "reset-rng" else why
    return Fault(
        f"after step {theirs['step']}: {name} {_short(mine[name])}",
        f"the uninterrupted run's, {_short(theirs[name])}, to the last bit",
        why,
        "go through advance() line by line: what does it read that an earlier update left behind?",
    )


CAPTURE_RULES = [
    Rule("the snapshot reaches the new line", _restored),
    Rule("the snapshot is of one moment", _still),
    Rule("the resumed run is the uninterrupted one, update by update", _same_rows),
]


def _short(value: Any) -> str:
    text = ", ".join(f"{k} {v!r}" for k, v in value.items()) if isinstance(value, dict) else repr(value)
    return text if len(text) <= 70 else text[:67] + "..."


# resume.reconcile --------------------------------------------------------------------------------------------------


def first_difference(a: Sequence[Row], b: Sequence[Row]) -> tuple[int, str] | None:
    """(step, component) of the first difference, over the steps that both hold; bit for bit."""
    held = {row["step"]: row for row in b}
    for row in sorted(a, key=lambda one: int(one["step"])):
        other = held.get(row["step"])
        if other is not None:
            for name in ORDER:
                if row[name] != other[name]:
                    return row["step"], name
    return None


def pair_inputs(rng: random.Random) -> list[tuple[list[Row], list[Row]]]:
    """Two runs each: the same, the same but for file and seconds, one bit off, resumed with and without a fault."""
    seed = rng.randint(10, 9_999)
    at = rng.choice([step for step in range(9, 20) if step % 4])
    whole, state = _dressed(rows(train(at + 7, seed=seed)), "full.json"), train(at, seed=seed).state
    few = whole[:4]
    pairs = [(few, _dressed(few, "again.json", 0.5)), (few, _bit(few, 1, "rng")), (few, _bit(few, 1, "optimizer"))]
    pairs += [(few, _bit(_bit(few, 2, "parameters"), 1, "rng"))]
    pairs += [(whole, _dressed(rows(train(at + 7, seed=seed, resume=state)), "resumed.json", 0.5))]
    for fault in FAULTS:
        pairs.append((whole, _dressed(rows(train(at + 7, seed=seed, resume=state, fault=fault)), "resumed.json")))
    pairs.append(pairs[-1][::-1])
    return pairs


def _dressed(made: Sequence[Row], file: str, late: float = 0.0) -> list[Row]:
    """Rows as a report holds them: with the file and the time of each update, which aren't state."""
    keys = ("step", *ORDER)
    return [
        {**{key: copy.deepcopy(row[key]) for key in keys}, "file": file, "seconds": 0.001 * row["step"] + late}
        for row in made
    ]


def _bit(made: Sequence[Row], index: int, name: str) -> list[Row]:
    """The same rows with the last bit of one number changed from `index` on; of the shuffler's state, all of it."""
    changed = copy.deepcopy(list(made))
    for row in changed[index:]:
        if name == "rng":
            row["rng"] = row["rng"][::-1]
        else:
            row[name]["b"] = math.nextafter(row[name]["b"], math.inf)
    return changed


def _shape(found: Any, a: list[Row], b: list[Row]) -> Fault | None:
    if found is None:
        return None
    if type(found) in (tuple, list) and len(found) == 2 and type(found[0]) is int and found[1] in ORDER:
        return None
    return Fault(
        repr(found)[:100],
        f"None, or a pair (step, component) with a component of {', '.join(ORDER)}",
        "file and seconds aren't state." if "file" in repr(found) or "seconds" in repr(found) else "",
        "return step, name; or None where there is no difference.",
    )


def _silent(found: Any, a: list[Row], b: list[Row]) -> Fault | None:
    if found is None or first_difference(a, b) is not None:
        return None
    shifted = a[0]["step"] != b[0]["step"]
    return Fault(
        f"a difference: {found}",
        "None: every component is the same at every step that both runs hold",
        "rows were compared by their place in the list; the second run starts later."
        if shifted
        else "where a file lies and how long a step took isn't state.",
        "look the other run's row up by its step." if shifted else "compare the named components only.",
    )


def _step(found: Any, a: list[Row], b: list[Row]) -> Fault | None:
    truth = first_difference(a, b)
    if truth is None or (found is not None and found[0] == truth[0]):
        return None
    by_place = next((x["step"] for x, y in zip(a, b, strict=False) if any(x[k] != y[k] for k in ORDER)), None)
    last = max(x["step"] for x in a for y in b if x["step"] == y["step"] and any(x[k] != y[k] for k in ORDER))
    if found is None:
        why = "a difference of one bit is one: from there on the runs aren't the same."
        if not _near(a, b):
            why = "what differs isn't always a weight: go through all components."
    elif found[0] == by_place and a[0]["step"] != b[0]["step"]:
        why = "rows were compared by their place in the list; the second run starts later."
    elif found[0] == last:
        why = "that is the last step that differs; the first one says where it began."
    else:
        why = "something differs before: go step by step, and through all components at each."
    return Fault(
        "None" if found is None else f"step {found[0]}",
        "the first step at which any component differs",
        why,
        "the outer loop goes over the steps, the inner one over the components.",
    )


def _near(a: list[Row], b: list[Row]) -> bool:
    """Whether nothing but the last bits of numbers differs."""
    pairs = [(x, y) for x in a for y in b if x["step"] == y["step"]]
    same = all(x[k] == y[k] for x, y in pairs for k in ("ids", "position", "order", "rng"))
    return same and all(
        math.isclose(x[k][n], y[k][n], rel_tol=1e-9)
        for x, y in pairs
        for k in ("parameters", "optimizer")
        for n in "wb"
    )


def _component(found: Any, a: list[Row], b: list[Row]) -> Fault | None:
    truth = first_difference(a, b)
    if truth is None or found[1] == truth[1]:
        return None
    return Fault(
        f"{found[1]} at step {found[0]}",
        "the first of the components, in the order given, that differs at this step",
        "the one that differs there comes later in the list: another differs as well, or it is the same at this step.",
        "print both rows of that step, side by side.",
    )


def over_pairs(answer: Answer, rng: random.Random) -> Iterator[Evidence]:
    """As `over_inputs`, with each pair of runs described in words: written out it would fill the screen."""
    results = [(pair, answer.call(*pair)) for pair in pair_inputs(rng)]
    for rule in RECONCILE_RULES:
        faults = ((pair, rule.test(found, *pair)) for pair, found in results)
        pair, fault = next(((p, f) for p, f in faults if f is not None), ((), None))
        given = f"{len(results)} pairs of runs"
        if fault is not None:
            held = [f"{one[0]['file']} with steps {one[0]['step']} to {one[-1]['step']}" for one in pair]
            given = f"first_difference(a, b): a {held[0]}, b {held[1]}"
        yield judged(rule.claim, fault, given, held="held on each")


RECONCILE_RULES: list[Rule] = [
    Rule("the result is None, or a step and a component", _shape),
    Rule("runs with the same state have no difference", _silent),
    Rule("the step is the first that differs", _step),
    Rule("the component is the first that differs there", _component),
]
