"""Lab 08's own figures: how they are drawn, their right values, and the mistakes they tell apart."""

from __future__ import annotations

import functools
import random
from collections.abc import Mapping
from typing import Any

from labkit.checks import lab08_ranks
from labkit.checks.lab08_runs import job_plan
from labkit.checks.lab08_trainers import planted
from labkit.checks.registry import Figures

# cursor.prefetched -------------------------------------------------------------------------------------------------


def _draw_prefetched(rng: random.Random) -> dict[str, Any]:
    handed = rng.randint(8, 25)
    return {
        "handed_out": handed,
        "workers": rng.randint(2, 4),
        "prefetch_factor": rng.randint(2, 4),
        "batch_size": rng.choice((4, 6, 8, 12)),
        "older": handed - rng.randint(4, 7),
    }


def prefetched_truth(figures: Mapping[str, Any]) -> dict[str, int]:
    """The cursor, what the workers were asked for, the samples lost with that as the cursor, and applied twice."""
    cursor = figures["handed_out"] - 1
    asked = figures["handed_out"] + figures["workers"] * figures["prefetch_factor"]
    size = figures["batch_size"]
    return {
        "cursor": cursor,
        "asked": asked,
        "lost": (asked - cursor) * size,
        "twice": (cursor - figures["older"]) * size,
    }


def prefetched_parts(figures: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    """For each of the four: the mistakes, by name."""
    handed, size, truth = figures["handed_out"], figures["batch_size"], prefetched_truth(figures)
    ahead = figures["workers"] * figures["prefetch_factor"]
    return {
        "cursor": {
            "the batch in the forward pass counted as applied": handed,
            "the last batch that is applied, not the next one": handed - 2,
            "what the workers were asked for": truth["asked"],
        },
        "asked": {
            "what the loop was given": handed,
            "one worker's share of reading ahead": handed + figures["prefetch_factor"],
            "one batch a worker": handed + figures["workers"],
            "the batches ahead alone": ahead,
            "counted from what is applied, not from what was handed out": truth["cursor"] + ahead,
        },
        "lost": {
            "batches, not samples": truth["asked"] - truth["cursor"],
            "what waits in the queue alone: the batch in the forward pass is lost too": ahead * size,
        },
        "twice": {
            "batches, not samples": truth["cursor"] - figures["older"],
            "the batch in the forward pass counted as applied": (handed - figures["older"]) * size,
            "the last applied batch left out": (truth["cursor"] - figures["older"] - 1) * size,
        },
    }


def _prefetched_mistakes(figures: Mapping[str, Any]) -> dict[str, Any]:
    truth = prefetched_truth(figures)
    return {
        f"{name}: {phrase}": truth | {name: value}
        for name, mistakes in prefetched_parts(figures).items()
        for phrase, value in mistakes.items()
    }


PREFETCHED = Figures(
    _draw_prefetched,
    prefetched_truth,
    _prefetched_mistakes,
    {
        "handed_out": "batches given to the loop; the last one is in its forward pass",
        "workers": "",
        "prefetch_factor": "batches that each worker is asked for ahead",
        "batch_size": "",
        "older": "the cursor in an older file: a right one, of an earlier update",
    },
)


# cursor.mismatch ---------------------------------------------------------------------------------------------------


def _draw_mismatch(rng: random.Random) -> dict[str, Any]:
    return {"accumulate": rng.choice((3, 4, 5)), "batch_size": rng.choice((2, 3, 4)), "seed": rng.randint(1000, 9999)}


def gaps_truth(figures: Mapping[str, Any]) -> dict[str, int]:
    """For each checkpoint: batches lost, or less than 0: applied twice. After an update 4 batches are on their way."""
    k = figures["accumulate"]
    gaps = {}
    for letter, (kind, update) in job_plan(figures).items():
        gaps[letter] = {"right": 0, "fetched": 4, "handed": 1, "older": -k, "updates": update - k * update}[kind]
    return gaps


def gaps_mistakes(figures: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    """What people's rules give."""
    k, plan, truth = figures["accumulate"], job_plan(figures), gaps_truth(figures)
    cursors = {letter: k * plan[letter][1] + truth[letter] for letter in plan}
    return {
        "lost and twice exchanged": {letter: -gap for letter, gap in truth.items()},
        "the cursor compared with the number of updates, not of batches": {
            letter: cursors[letter] - plan[letter][1] for letter in plan
        },
        "the gap counted in updates": {letter: int(gap / k) for letter, gap in truth.items()},
        "one row too late in the log: the weights are those after an update": {
            letter: gap + k for letter, gap in truth.items()
        },
    }


MISMATCH = Figures(
    _draw_mismatch,
    gaps_truth,
    gaps_mistakes,
    {"accumulate": "batches of one update", "batch_size": "", "seed": "of the order"},
)


# contract.missing --------------------------------------------------------------------------------------------------


def _draw_missing(rng: random.Random) -> dict[str, Any]:
    return {"job": rng.randint(1000, 9999)}


def missing_truth(figures: Mapping[str, Any]) -> dict[str, str]:
    """What each trainer forgets."""
    return planted(figures["job"])


def missing_mistakes(figures: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """What people's rules give."""
    truth = missing_truth(figures)
    swap = {"dropout rng": "rank rng", "rank rng": "dropout rng"}
    return {
        "that lost generators are always every rank's": {
            k: "dropout rng" if v == "rank rng" else v for k, v in truth.items()
        },
        "that lost generators are always the other ranks'": {
            k: "rank rng" if v == "dropout rng" else v for k, v in truth.items()
        },
        "every rank's generator and the other ranks' exchanged": {k: swap.get(v, v) for k, v in truth.items()},
        "that nothing is missing anywhere": dict.fromkeys(truth, "nothing"),
    }


MISSING = Figures(_draw_missing, missing_truth, missing_mistakes, {"job": "number of your five trainers"})


# contract.ranks ----------------------------------------------------------------------------------------------------


def _draw_ranks(rng: random.Random) -> dict[str, Any]:
    return {
        "batch_size": rng.choice((3, 4, 5, 6)),
        "accumulate": rng.choice((2, 3)),
        "step": rng.randint(4, 8),
        "seed": rng.randint(1000, 9999),
    }


def ranks_truth(figures: Mapping[str, Any]) -> dict[str, Any]:
    """One right way: the same samples in each update, and what can be promised."""
    b, a, at = figures["batch_size"], figures["accumulate"], figures["step"]
    return {
        "four": {"batch_size": b, "accumulate": a, "cursor": a * at},
        "two": {"batch_size": b, "accumulate": 2 * a, "cursor": 2 * a * at},
        "promise": {"four": "bitwise", "two": "sample-exact"},
    }


def cursor_mistakes(figures: Mapping[str, Any], plan: Mapping[str, Any], ranks: int) -> dict[str, int]:
    """Wrong cursors for a plan that reads the right number of samples in an update, by name."""
    at = figures["step"]
    right = at * plan["accumulate"]
    named = {
        "updates, but the cursor counts batches of one rank": at,
        "the cursor of the run on four ranks": at * figures["accumulate"],
        "batches of all ranks together": right * ranks,
        "samples": right * plan["batch_size"],
    }
    return {phrase: cursor for phrase, cursor in named.items() if cursor != right}


def _ranks_mistakes(figures: Mapping[str, Any]) -> dict[str, Any]:
    truth = ranks_truth(figures)
    return {
        "four's settings on two ranks": truth | {"two": truth["four"]},
        "bitwise on two": truth | {"promise": {"four": "bitwise", "two": "bitwise"}},
        "updates as the cursor": truth | {"four": truth["four"] | {"cursor": figures["step"]}},
    }


RANKS = Figures(
    _draw_ranks,
    ranks_truth,
    _ranks_mistakes,
    {
        "batch_size": "of one rank, on four ranks",
        "accumulate": "batches of one rank in an update",
        "step": "updates done when the checkpoint was saved",
        "seed": "of the data",
    },
)


# contract.statistical ----------------------------------------------------------------------------------------------


_WANTED = {  # kind -> verdict, and whether a t-test finds a difference (None: either)
    "right": ("equivalent", False),
    "few": ("undecided", False),
    "schedule": ("different", None),
    "slight": ("equivalent", True),
}


def _draw_twins(rng: random.Random) -> dict[str, Any]:
    while True:
        seed = rng.randint(1000, 99_999)
        wanted = [_WANTED[kind] for kind in lab08_ranks.kinds_of(seed).values()]
        if _verdicts(seed) == tuple(verdict for verdict, _ in wanted) and all(
            found in (None, seen) for (_, found), seen in zip(wanted, _significant(seed), strict=True)
        ):
            return {"seed": seed, "margin": lab08_ranks.margin_of(seed)}


@functools.lru_cache(maxsize=4096)
def _verdicts(seed: int) -> tuple[str, ...]:
    """For A to D: what the interval says."""
    margin, held = lab08_ranks.margin_of(seed), lab08_ranks.twins({"seed": seed}).values()
    return tuple(lab08_ranks.verdict(one["straight"], one["resumed"], margin) for one in held)


@functools.lru_cache(maxsize=4096)
def _significant(seed: int) -> tuple[bool, ...]:
    """For A to D: whether a t-test finds a difference."""
    held = lab08_ranks.twins({"seed": seed}).values()
    return tuple(lab08_ranks.significant(one["straight"], one["resumed"]) for one in held)


def twins_truth(figures: Mapping[str, Any]) -> dict[str, str]:
    """What the interval says for each program."""
    return dict(zip("ABCD", _verdicts(figures["seed"]), strict=True))


def twins_mistakes(figures: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """What people's rules give."""
    truth, found = twins_truth(figures), dict(zip("ABCD", _significant(figures["seed"]), strict=True))
    return {
        "what a t-test says: no significant difference, so equivalent": {
            k: "different" if found[k] else "equivalent" for k in truth
        },
        "that a significant difference always matters": {k: "different" if found[k] else v for k, v in truth.items()},
        "that what isn't shown to be equivalent is different": {
            k: "different" if v == "undecided" else v for k, v in truth.items()
        },
        "that all are equivalent": dict.fromkeys(truth, "equivalent"),
    }


STATISTICAL = Figures(
    _draw_twins,
    twins_truth,
    twins_mistakes,
    {
        "seed": "of the runs",
        "margin": "the largest difference of mean final losses that doesn't matter, declared beforehand",
    },
)
