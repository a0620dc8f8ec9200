"""The learner's own figures in lab 09: how they are drawn, the right value, and the values that mistakes give."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from typing import Any

from labkit.checks.lab09_disk import damaged, kinds_of, loads
from labkit.checks.registry import Figures
from labkit.resume.interval import daly, young

# durable.torn ------------------------------------------------------------------------------------------------------


def torn_truth(figures: Mapping[str, Any]) -> dict[str, Any]:
    """What became of each folder, and the damaged ones that a loader without checksums takes."""
    kinds, folders = kinds_of(figures["seed"]), damaged(figures["seed"])
    return {"found": kinds, "silent": [k for k in kinds if kinds[k] != "whole" and loads(folders[k])]}


def torn_mistakes(figures: Mapping[str, Any]) -> dict[str, Any]:
    """Verdicts that usual rules give, by the rule."""
    truth = torn_truth(figures)
    kinds = truth["found"]
    swap = {"flipped": "mixed", "mixed": "flipped"}
    blocks = {"torn": "zeros", "zeros": "torn"}
    return {
        "that whatever can be parsed is whole": {
            **truth,
            "found": {k: "whole" if k in truth["silent"] else v for k, v in kinds.items()},
        },
        "flipped where it is mixed, and the other way round": {
            **truth,
            "found": {k: swap.get(v, v) for k, v in kinds.items()},
        },
        "torn where it is zeros, and the other way round": {
            **truth,
            "found": {k: blocks.get(v, v) for k, v in kinds.items()},
        },
        "no silent damage": {**truth, "silent": []},
    }


TORN = Figures(
    lambda rng: {"seed": rng.randint(10, 99_999)}, torn_truth, torn_mistakes, {"seed": "of your six folders"}
)


# interval.optimum --------------------------------------------------------------------------------------------------


def _draw_optimum(rng: random.Random) -> dict[str, Any]:
    while True:
        made = {"machines": 8 * rng.randint(20, 300), "days": rng.randint(60, 900), "save": rng.randint(2, 12)}
        truth = optimum_truth(made)
        if truth["mtbf"] > 8 * made["save"] and truth["young"] - truth["daly"] > 0.05 * truth["young"]:
            return made


def optimum_truth(figures: Mapping[str, Any]) -> dict[str, float]:
    """Mean time between failures of the whole job, and Young's and Daly's interval, in minutes."""
    mtbf = figures["days"] * 1440 / figures["machines"]
    return {"mtbf": mtbf, "young": young(figures["save"], mtbf), "daly": daly(figures["save"], mtbf)}


def optimum_parts(figures: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """For each of the three answers: the mistakes, by name."""
    truth, save = optimum_truth(figures), figures["save"]
    mtbf, ratio = truth["mtbf"], save / (2 * truth["mtbf"])
    return {
        "mtbf": {
            "the time of one machine: any one of them stops the job": figures["days"] * 1440.0,
            "in hours": mtbf / 60,
            "in days": mtbf / 1440,
        },
        "young": {
            "without the 2": math.sqrt(save * mtbf),
            "by the time of one machine": math.sqrt(2 * save * figures["days"] * 1440),
            "with the time between failures in hours": math.sqrt(2 * save * mtbf / 60),
            "without the root": 2 * save * mtbf,
        },
        "daly": {
            "Young's again": truth["young"],
            "without the last term, - C": truth["daly"] + save,
            "Young's less C, without the factor": truth["young"] - save,
            "with C/M in place of C/2M": truth["young"] * (1 + math.sqrt(2 * ratio) / 3 + 2 * ratio / 9) - save,
        },
    }


def near(value: float, truth: float) -> bool:
    """Within 1 %: enough to tell the formulas apart, and to round."""
    return abs(value - truth) <= 0.01 * abs(truth)


def _optimum_mistakes(figures: Mapping[str, Any]) -> dict[str, Any]:
    truth = optimum_truth(figures)
    return {
        f"{name}: {phrase}": truth | {name: value}
        for name, mistakes in optimum_parts(figures).items()
        for phrase, value in mistakes.items()
    }


OPTIMUM = Figures(
    _draw_optimum,
    optimum_truth,
    _optimum_mistakes,
    {"machines": "in the job", "days": "mean time between failures of one machine", "save": "min for one save"},
)


# interval.cost -----------------------------------------------------------------------------------------------------


def cost_truth(figures: Mapping[str, Any]) -> dict[str, int]:
    """Updates between saves: as many as may be lost."""
    return {"save_every": figures["at_most"]}


def cost_mistakes(figures: Mapping[str, Any]) -> dict[str, Any]:
    """Intervals that usual thoughts give, by the thought."""
    most = figures["at_most"]
    return {
        "the mean loss taken for the largest": {"save_every": 2 * most},
        "a loss of all but one": {"save_every": most + 1},
        "half of what may be lost": {"save_every": most // 2},
        "every update": {"save_every": 1},
    }


COST = Figures(
    lambda rng: {"at_most": rng.randint(5, 44)},
    cost_truth,
    cost_mistakes,
    {"at_most": "updates that may have to be done again"},
)
