"""The learner's own figures in lab 06: how they are drawn, the right value, and the values that mistakes give."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from typing import Any

from labkit.checks.registry import Figures
from labkit.scaling import jobs
from labkit.scaling.straggler import straggler_estimate


def _draw_job(rng: random.Random) -> dict[str, Any]:
    return {"job": rng.randint(1000, 9999)}


# scaling.warmup ----------------------------------------------------------------------------------------------------


def warmup_truth(figures: Mapping[str, Any]) -> dict[str, int]:
    """Steps until both ranks are warm, and slow steps after that, on whichever rank."""
    warm, later = _of_job(figures["job"])
    return {"warmup": max(warm), "later": len({step for steps in later for step in steps})}


def _of_job(job: int) -> tuple[list[int], list[list[int]]]:
    """For each rank: how long it warms up, and its single slow steps later."""
    slow = jobs.slow_steps(job)
    warm = [next(k for k in range(jobs.STEPS) if k not in steps) for steps in slow]
    return warm, [[step for step in steps if step >= k] for steps, k in zip(slow, warm, strict=True)]


def warmup_mistakes(figures: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    """What people read off."""
    warm, later = _of_job(figures["job"])
    truth = warmup_truth(figures)
    last = max(step for steps in later for step in steps)
    return {
        "the rank that is warm first": truth | {"warmup": min(warm)},
        "all slow steps, wherever they stand": truth | {"warmup": max(warm) + truth["later"]},
        "everything up to the last slow step": {"warmup": last + 1, "later": 0},
        "the number of the last warm-up step, not how many there are": truth | {"warmup": max(warm) - 1},
        "rank 0 alone": {"warmup": warm[0], "later": len(later[0])},
        "rank 1 alone": {"warmup": warm[1], "later": len(later[1])},
    }


WARMUP = Figures(_draw_job, warmup_truth, warmup_mistakes, {"job": "number of your job"})


# scaling.comparable ------------------------------------------------------------------------------------------------


def comparable_truth(figures: Mapping[str, Any]) -> dict[str, str]:
    """What keeps each report from being compared with the first."""
    return jobs.planned_reports(figures["job"])


def comparable_mistakes(figures: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """What people overlook."""
    truth = comparable_truth(figures)
    found = {"that all may be compared": dict.fromkeys(truth, jobs.SAME)}
    protocol = ("warmup", "steps", "discard")
    rules = {
        "that the protocol doesn't matter": {k: jobs.SAME if v in protocol else v for k, v in truth.items()},
        "that the data doesn't matter": {k: jobs.SAME if v == "data" else v for k, v in truth.items()},
        "that the job's size doesn't matter": {
            k: jobs.SAME if v in ("batch_size", "ranks") else v for k, v in truth.items()
        },
    }
    return found | {rule: said for rule, said in rules.items() if said != truth}


COMPARABLE = Figures(_draw_job, comparable_truth, comparable_mistakes, {"job": "number of your seven reports"})


# scaling.straggler -------------------------------------------------------------------------------------------------


def _draw_straggler(rng: random.Random) -> dict[str, Any]:
    mean = rng.randint(40, 120)
    return {"mean": mean, "deviation": rng.randint(mean // 20, mean // 5), "ranks": rng.choice((8, 16, 32, 64, 128))}


# What a right answer may be off by: its last decimal place, and for the efficiency that of the estimate as well.
ROUNDED = {"estimate": 0.051, "efficiency": 0.0062}
PLACES = {"estimate": 1, "efficiency": 2}


def straggler_exact(figures: Mapping[str, Any]) -> dict[str, float]:
    """The upper estimate of a step, in ms, and the efficiency that it leaves."""
    estimate = straggler_estimate(figures["mean"], figures["deviation"], figures["ranks"])
    return {"estimate": estimate, "efficiency": figures["mean"] / estimate}


def straggler_truth(figures: Mapping[str, Any]) -> dict[str, float]:
    """Both, to one and two decimal places."""
    return {name: round(value, PLACES[name]) for name, value in straggler_exact(figures).items()}


def straggler_mistake(name: str, value: float, figures: Mapping[str, Any]) -> str:
    """A sentence for the mistake that gives `value`, which isn't the right one; "" where none does."""
    exact, places = straggler_exact(figures)[name], PLACES[name]
    word = f"{('one', 'two')[places - 1]} decimal place{'' if places == 1 else 's'}"
    rounding = f"only the rounding is off: give {word}."
    for scale in (10**places, 10 ** (places - 1)):  # cut off, or rounded one place too early
        if any(math.isclose(value, whole(exact * scale) / scale) for whole in (math.floor, math.ceil)):
            return rounding
    for phrase, wrong in straggler_parts(figures)[name].items():
        if abs(value - wrong) <= ROUNDED[name] * (100 if phrase == "percent" else 1):
            return f"that is {phrase}."
    return rounding if value == float(f"{exact:.1g}") else ""


def straggler_parts(figures: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """For each of the two answers: the mistakes, by name."""
    mu, sigma, ranks = figures["mean"], figures["deviation"], figures["ranks"]
    truth = straggler_truth(figures)
    return {
        "estimate": {
            "one rank's own mean": float(mu),
            "the mean and one deviation": float(mu + sigma),
            "without the factor 2": round(mu + sigma * math.sqrt(math.log(ranks)), 1),
            "without the root": round(mu + sigma * 2 * math.log(ranks), 1),
            "with the logarithm to base 2": round(mu + sigma * math.sqrt(2 * math.log2(ranks)), 1),
            "with the logarithm to base 10": round(mu + sigma * math.sqrt(2 * math.log10(ranks)), 1),
            "the root of the number of ranks": round(mu + sigma * math.sqrt(ranks), 1),
            "the waiting alone": round(sigma * math.sqrt(2 * math.log(ranks)), 1),
        },
        "efficiency": {
            "what is lost": round(1 - mu / straggler_estimate(mu, sigma, ranks), 2),
            "step over own work, the wrong way round": round(straggler_estimate(mu, sigma, ranks) / mu, 2),
            "one over the number of ranks": round(1 / ranks, 2),
            "percent": round(100 * truth["efficiency"], 2),
        },
    }


def _straggler_mistakes(figures: Mapping[str, Any]) -> dict[str, Any]:
    truth = straggler_truth(figures)
    return {
        f"{name}: {phrase}": truth | {name: value}
        for name, mistakes in straggler_parts(figures).items()
        for phrase, value in mistakes.items()
    }


STRAGGLER = Figures(
    _draw_straggler,
    straggler_truth,
    _straggler_mistakes,
    {"mean": "ms of a rank's own step", "deviation": "ms, its standard deviation", "ranks": ""},
)
