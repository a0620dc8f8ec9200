"""The rules by which lab 10 judges functions: a name for a run, and a keeper of the batches behind spikes."""

from __future__ import annotations

import copy
import heapq
import math
import random
from typing import Any

from labkit.checks.evidence import Fault, Rule
from labkit.records.anomaly import SpikeDetector

# records.identity --------------------------------------------------------------------------------------------------

Pair = tuple[dict[str, Any], list[str], dict[str, Any], list[str], list[str]]


def name_inputs(rng: random.Random) -> list[Pair]:
    """Two runs each: the same but for the order of keys or what doesn't decide, and with one thing changed."""
    lr = rng.randint(1, 9) / 1000
    config = {
        "lr": lr,
        "model": {"width": 64, "depth": rng.randint(2, 9)},
        "seed": 7,
        "output": "runs/a",
        "log_every": 10,
    }
    samples = ["ab", "c", "the cat", "a dog"]
    ignore = ["output", "log_every"]

    def changed(**values: Any) -> dict[str, Any]:
        return {**copy.deepcopy(config), **values}

    turned = {key: config[key] for key in reversed(config)}
    turned["model"] = {"depth": config["model"]["depth"], "width": 64}  # type: ignore[index]
    others = [
        (turned, samples),
        (changed(output="runs/b"), samples),
        (changed(log_every=1), list(samples)),
        (changed(lr=lr + 1e-12), samples),
        (changed(seed=8), samples),
        (changed(seed="7"), samples),
        (changed(model={"width": 65, "depth": config["model"]["depth"]}), samples),  # type: ignore[index]
        (config, ["a", "bc", "the cat", "a dog"]),
        (config, ["c", "ab", "the cat", "a dog"]),
        (config, [*samples[:-1], "a dig"]),
    ]
    return [(config, samples, other, held, ignore) for other, held in others]


def _decides(
    a: dict[str, Any], a_samples: list[str], b: dict[str, Any], b_samples: list[str], ignore: list[str]
) -> str:
    """What of what decides differs between two runs, or ""."""
    for key in a:
        if key not in ignore and (a[key] != b.get(key) or type(a[key]) is not type(b.get(key))):
            return f"config[{key!r}] is {b.get(key)!r} instead of {a[key]!r}"
    return f"the samples are {b_samples} instead of {a_samples}" if a_samples != b_samples else ""


def _text(found: Any, *pair: Any) -> Fault | None:
    for name in found:
        if type(name) is not str or not 6 <= len(name) <= 100:
            return Fault(repr(name)[:100], "a text of 6 to 100 characters", next_step="a digest's .hexdigest() is one.")
    return None


def _elsewhere(found: Any, *pair: Any) -> Fault | None:
    if found[0] == found[2]:
        return None
    return Fault(
        f"{found[0]!r} here, {found[2]!r} in another process",
        "the same name in every process, today and next year",
        "Python's hash() of a text differs from process to process; so does an id() or a time.",
        "take a digest of bytes: hashlib.sha256(text.encode()).hexdigest().",
    )


def _same(found: Any, *pair: Any) -> Fault | None:
    if _decides(*pair) or found[0] == found[1]:
        return None
    a, _, b, _, ignore = pair
    ignored = [key for key in ignore if a[key] != b[key]]
    return Fault(
        f"{found[0]!r} and {found[1]!r}",
        "the same name: nothing that decides the result differs",
        f"{ignored[0]!r} is in `ignore`." if ignored else "only the order of the keys differs.",
        "leave out the ignored keys." if ignored else "bring the keys into one order, in inner dicts as well.",
    )


def _differs(found: Any, *pair: Any) -> Fault | None:
    what = _decides(*pair)
    if not what or found[0] != found[1]:
        return None
    joined = "".join(pair[1]) == "".join(pair[3]) and pair[1] != pair[3]
    return Fault(
        f"both are named {found[0]!r}",
        f"another name: {what}",
        "joined without marks between them, these samples are the same text." if joined else "",
        "json.dumps keeps types, quotes and order: what goes into the digest?",
    )


NAME_RULES = [
    Rule("a name is a short text", _text),
    Rule("a name is the same in another process", _elsewhere),
    Rule("what doesn't decide doesn't change the name", _same),
    Rule("whatever decides changes the name", _differs),
]


# records.evidence --------------------------------------------------------------------------------------------------

Loop = tuple[list[float | None], list[list[int]], int]


def loop_inputs(rng: random.Random) -> list[Loop]:
    """(losses, batches, keep): calm, one spike, two with a loss that is no number, more than may stay, a long one."""

    def loop(steps: int, keep: int, spikes: dict[int, float | None], size: int = 4) -> Loop:
        losses: list[float | None] = [round(rng.uniform(0.9, 1.1), 4) for _ in range(steps)]
        for step, value in spikes.items():
            losses[step - 1] = value
        batches = [[1000 * step + i for i in range(size)] for step in range(1, steps + 1)]
        return losses, batches, keep

    first = rng.randint(22, 26)
    return [
        loop(24, 2, {}),
        loop(30, 2, {first: 9.0}),
        loop(40, 3, {first: 9.0, first + 6: None}),
        loop(60, 2, {first: 9.0, first + 8: 30.0, first + 16: 5.0, first + 24: 20.0}),
        loop(400, 2, {300: 9.0}, size=200),
    ]


def spikes_of(losses: list[float | None], keep: int) -> list[int]:
    """The steps whose batches should be kept, by labkit's own detector: the largest, if there are more than `keep`."""
    detector, found = SpikeDetector(), []
    for step, loss in enumerate(losses, start=1):
        spike = detector.add(math.nan if loss is None else loss)
        if spike is not None:
            found.append((spike.score, step))
    return sorted(step for _, step in heapq.nlargest(keep, found))


def _pairs(found: Any, losses: Any, batches: Any, keep: int) -> Fault | None:
    for one in found["kept"]:
        if type(one[0]) is not int or not 1 <= one[0] <= len(losses):
            return Fault(repr(one)[:100], "pairs (step, batch)", next_step="kept() gives a list of (step, batch).")
    if len(found["kept"]) > keep:
        return Fault(f"{len(found['kept'])} batches kept", f"at most {keep}", "", "which one goes, if one more comes?")
    return None


def _calm(found: Any, losses: Any, batches: Any, keep: int) -> Fault | None:
    wanted = spikes_of(losses, keep)
    extra = [step for step, _ in found["kept"] if step not in wanted]
    if not extra or wanted:
        return None
    return Fault(
        f"the batch of step {extra[0]} is kept, its loss is {losses[extra[0] - 1]}",
        "nothing: no loss is out of line",
        next_step="SpikeDetector.add(loss) is None where a loss is nothing special.",
    )


def _content(found: Any, losses: Any, batches: Any, keep: int) -> Fault | None:
    for step, batch in found["kept"]:
        if batch != batches[step - 1]:
            where = [i + 1 for i, one in enumerate(batches) if one == batch]
            last = bool(where and where[0] == len(batches)) or not any(batch)
            return Fault(
                f"step {step}: kept is the batch of step {where[0]}" if where else f"step {step}: {str(batch)[:60]}",
                "the batch of that step, as it was",
                "it was kept by reference, and the loader wrote later batches into the same buffer." if last else
                "it is another step's batch.",
                "copy it in the moment of the spike: list(batch)." if last else "which batch does step get?",
            )  # fmt: skip
    return None


def _all(found: Any, losses: Any, batches: Any, keep: int) -> Fault | None:
    wanted, kept = spikes_of(losses, keep), sorted(step for step, _ in found["kept"])
    if wanted == kept:
        return None
    missing = [step for step in wanted if step not in kept]
    why = ""
    if missing and losses[missing[0] - 1] is None:
        why = "a loss that isn't a number is a spike as well: no comparison with it is ever true."
    elif len(spikes_of(losses, len(losses))) > keep:
        why = "there are more spikes than may stay: the largest ones should."
    return Fault(
        f"kept are the batches of steps {kept}",
        f"those of steps {wanted}" if not missing else f"that of step {missing[0]} among them",
        why,
        "a Spike has a score; it is infinite where the loss is no number.",
    )


def _bounded(found: Any, losses: Any, batches: Any, keep: int) -> Fault | None:
    size = 10 * len(batches[0])
    if len(losses) < 200 or found["held"] <= (keep + 4) * size + 4_000:
        return None
    return Fault(
        f"{found['held']:,} bytes held after {len(losses)} steps",
        f"about {keep} batches, whatever the number of steps",
        "every batch is kept until the end: a real run has no memory for that.",
        "copy a batch only where there is a spike.",
    )


KEEPER_RULES = [
    Rule("at most `keep` pairs of step and batch", _pairs),
    Rule("nothing is kept of a calm run", _calm),
    Rule("a kept batch is the batch of its step", _content),
    Rule("the batches behind the largest spikes are kept", _all),
    Rule("memory doesn't grow with the run", _bounded),
]
