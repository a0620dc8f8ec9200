"""Lab 10's own figures: how they are drawn, their right values, and the mistakes they tell apart."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from labkit.checks.lab10_runs import WRITES, planted
from labkit.checks.registry import Figures

# records.health ----------------------------------------------------------------------------------------------------


def _draw_health(rng: random.Random) -> dict[str, Any]:
    return {"job": rng.randint(1000, 9999)}


def health_truth(figures: Mapping[str, Any]) -> dict[str, str]:
    """The sign that each record shows."""
    return {letter: kind.removeprefix("quiet ") for letter, kind in planted(figures["job"]).items()}


def health_mistakes(figures: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """What people's rules give."""
    truth = health_truth(figures)
    quiet = next(letter for letter, kind in planted(figures["job"]).items() if kind == "quiet spike")
    return {
        "what the loss alone shows": truth | {quiet: "nothing"},
        "that all are healthy": dict.fromkeys(truth, "nothing"),
    }


HEALTH = Figures(_draw_health, health_truth, health_mistakes, {"job": "number of your five records"})


# records.overhead --------------------------------------------------------------------------------------------------


def _draw_overhead(rng: random.Random) -> dict[str, Any]:
    killed = 50 * rng.randint(1, 2) + rng.randint(10, 40)
    return {"killed": killed, "spike": rng.randint(20, killed - 20)}


def lost_truth(figures: Mapping[str, Any]) -> dict[str, int]:
    """Steps lost by each way to write."""
    killed = figures["killed"]
    return dict(zip(WRITES, (0, killed % 50, killed), strict=True))


def lost_parts(figures: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    """For each way to write: the mistakes, by name."""
    killed = figures["killed"]
    return {
        "each step": {"as if a kill lost what the system holds": 1},
        "every 50 steps": {"the steps written, not the steps lost": killed - killed % 50, "all of the last 50": 50},
        "at the end": {"as if a killed process still wrote its end": 0},
    }


def _overhead_truth(figures: Mapping[str, Any]) -> dict[str, Any]:
    return {"write": "each step", "keep": "spikes", "lost": lost_truth(figures)}


def _overhead_mistakes(figures: Mapping[str, Any]) -> dict[str, Any]:
    truth = _overhead_truth(figures)
    found: dict[str, Any] = {
        f"{way}: {phrase}": truth | {"lost": truth["lost"] | {way: value}}
        for way, mistakes in lost_parts(figures).items()
        for phrase, value in mistakes.items()
    }
    return found | {"every batch": truth | {"keep": "every batch"}}


OVERHEAD = Figures(
    _draw_overhead,
    _overhead_truth,
    _overhead_mistakes,
    {"killed": "the step after which the process is killed", "spike": "the step whose loss spikes"},
)
