"""The learner's own figures in lab 07: how they are drawn, the right value, and the values that mistakes give."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from labkit.checks.lab07_runs import WORDS, four_runs, plan_of, unveil
from labkit.checks.registry import Figures
from labkit.resume.line import FAULTS, train
from labkit.resume.reconciliation import COMPONENTS, reconcile

BOUND = 2e-7
"""Every run of resume.low_loss ends below this mean squared error."""


# resume.target -----------------------------------------------------------------------------------------------------


def _draw_target(rng: random.Random) -> dict[str, Any]:
    at = rng.randint(6, 40)
    return {"checkpoint": at, "steps": at + rng.randint(9, 60)}


def target_truth(figures: Mapping[str, Any]) -> dict[str, int]:
    """Updates done after the resume, the cursor at the end, and how often the order was shuffled meanwhile."""
    at, steps = figures["checkpoint"], figures["steps"]
    return {
        "updates": steps - at,
        "position": 4 * ((steps - 1) % 4 + 1),
        "shuffles": sum(step % 4 == 1 for step in range(at + 1, steps + 1)),
    }


def target_parts(figures: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    """For each of the three answers: the mistakes, by name."""
    at, steps = figures["checkpoint"], figures["steps"]
    truth = target_truth(figures)
    return {
        "updates": {"the target itself: steps was taken as so many more": steps, "one too many": truth["updates"] + 1},
        "position": {
            "the cursor of a run that does so many more": 4 * ((at + steps - 1) % 4 + 1),
            "4 times the updates, modulo 16: a used-up order stands at 16 until the next step": 4 * steps % 16,
            "the cursor counted from the resume": 4 * ((steps - at - 1) % 4 + 1),
        },
        "shuffles": {
            "the shuffles of a run from the start": sum(step % 4 == 1 for step in range(1, steps + 1)),
            "the used-up orders: one is shuffled when the next step starts": sum(
                step % 4 == 0 for step in range(at + 1, steps + 1)
            ),
            "a quarter of the updates": truth["updates"] // 4,
        },
    }


def _target_mistakes(figures: Mapping[str, Any]) -> dict[str, Any]:
    """Each mistake in one answer; those that happen to give the right number there are no mistake to tell apart."""
    truth = target_truth(figures)
    made = {
        f"{name}: {phrase}": truth | {name: value}
        for name, mistakes in target_parts(figures).items()
        for phrase, value in mistakes.items()
        if value != truth[name]
    }
    wrong = target_parts(figures)
    both = {name: next(iter(wrong[name].values())) for name in truth}
    return made | {"so many more": truth | {"updates": both["updates"], "position": both["position"]}}


TARGET = Figures(
    _draw_target,
    target_truth,
    _target_mistakes,
    {"checkpoint": "updates done in the checkpoint", "steps": "given as --steps when resuming"},
)


# resume.continue ---------------------------------------------------------------------------------------------------


def _draw_continue(rng: random.Random) -> dict[str, Any]:
    return {"seed": rng.randint(10, 9_999), "killed": rng.randint(26, 38), "target": rng.randint(60, 80)}


def continue_truth(figures: Mapping[str, Any]) -> dict[str, Any]:
    """The newest checkpoint that is right, the target as it is, and the updates that are left."""
    good = {letter: step for letter, (kind, step) in plan_of(figures).items() if kind == "right"}
    newest = max(good, key=lambda letter: good[letter])
    return {"checkpoint": newest, "steps": figures["target"], "updates": figures["target"] - good[newest]}


def _continue_mistakes(figures: Mapping[str, Any]) -> dict[str, Any]:
    plan, truth = plan_of(figures), continue_truth(figures)
    made = {}
    for letter, (kind, step) in plan.items():
        if letter != truth["checkpoint"]:
            made[f"{letter}, {kind}"] = truth | {"checkpoint": letter, "updates": figures["target"] - step}
    return made | {"so many more": truth | {"steps": truth["updates"]}}


CONTINUE = Figures(
    _draw_continue,
    continue_truth,
    _continue_mistakes,
    {"seed": "of the shuffler", "killed": "updates done when the process was killed", "target": "updates in all"},
)


# resume.first_fault ------------------------------------------------------------------------------------------------


def _draw_first(rng: random.Random) -> dict[str, Any]:
    at = rng.choice([step for step in range(9, 60) if step % 4 and step != 19])
    return {"seed": rng.randint(10, 9_999), "checkpoint": at}


def first_truth(figures: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """For each fault: (step, component) of the first difference, and the first step that reads other samples."""
    at, seed = figures["checkpoint"], figures["seed"]
    state, whole = train(at, seed=seed).state, train(at + 8, seed=seed)
    first: dict[str, Any] = {}
    samples: dict[str, Any] = {}
    for fault in FAULTS:
        found = reconcile(whole, train(at + 8, seed=seed, resume=state, fault=fault))
        assert found is not None
        first[fault], samples[fault] = (found.step, found.component), found.first["sampleIds"]
    return {"first": first, "samples": samples}


def first_mistakes(figures: Mapping[str, Any]) -> dict[str, dict[str, dict[str, Any]]]:
    """For each answer and fault: the mistakes, by name."""
    at, truth = figures["checkpoint"], first_truth(figures)
    shuffle = truth["samples"]["reset-rng"]
    made: dict[str, dict[str, dict[str, Any]]] = {"first": {}, "samples": {}}
    for fault in FAULTS:
        component = truth["first"][fault][1]
        made["first"][fault] = {
            "the checkpoint's own step: the first update after it is one later": (at, component),
            "what was lost; which component comes first in the list, among those that differ?": {
                "drop-optimizer": (at + 1, "optimizer"),
                "reset-cursor": (at + 1, "samplePosition"),
                "reset-rng": (shuffle, "rngState"),
            }[fault],
            "the step at which the samples change; something else differs before": (
                shuffle if fault == "reset-rng" else at + 2,
                "sampleIds",
            ),
        }
    made["samples"] = {
        "drop-optimizer": {"the first update: the weights differ, not the samples": at + 1},
        "reset-cursor": {"the checkpoint's own step": at, "the next shuffle": shuffle, "no step": None},
        "reset-rng": {
            "the update that uses up the order": shuffle - 1,
            "no step: the shuffler's state is used in every shuffle": None,
        },
    }
    return {
        part: {
            fault: {name: value for name, value in mistakes.items() if value != truth[part][fault]}
            for fault, mistakes in made[part].items()
        }
        for part in made
    }


def _first_mistakes(figures: Mapping[str, Any]) -> dict[str, Any]:
    truth = first_truth(figures)
    return {
        f"{part} of {fault}: {name}": {**truth, part: {**truth[part], fault: value}}
        for part, faults in first_mistakes(figures).items()
        for fault, mistakes in faults.items()
        for name, value in mistakes.items()
    }


FIRST = Figures(
    _draw_first,
    first_truth,
    _first_mistakes,
    {"seed": "of the shuffler", "checkpoint": "updates done in the checkpoint"},
)
assert {"parameters", "sampleIds", "rngState"} <= set(COMPONENTS)


# resume.low_loss ---------------------------------------------------------------------------------------------------


def _draw_low(rng: random.Random) -> dict[str, Any]:
    """A run and a stop after which all four end below the bound, and a wrong one ends lowest."""
    while True:
        job = {"seed": rng.randint(10, 9_999), "stopped": rng.choice([s for s in range(9, 40) if s % 4])}
        lost = unveil(job)
        _, runs = four_runs({**job, "lost": lost})
        errors = [run.mse for run in runs.values()]
        if max(errors) < BOUND and lost[errors.index(min(errors))] is not None:
            return job


def low_truth(figures: Mapping[str, Any]) -> dict[str, str]:
    """What each of the four runs lost."""
    return {letter: WORDS[fault] for letter, fault in zip("ABCD", unveil(figures), strict=True)}


def low_mistakes(figures: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Verdicts that people's usual rules give, by the rule."""
    truth = low_truth(figures)
    swap = {"cursor": "shuffler", "shuffler": "cursor"}
    return {
        "that a small loss means a right resume": dict.fromkeys("ABCD", "nothing"),
        "that whatever differs has lost its momentum": {
            k: "nothing" if v == "nothing" else "momentum" for k, v in truth.items()
        },
        "cursor where it is the shuffler, and the other way round": {k: swap.get(v, v) for k, v in truth.items()},
    }


LOW_LOSS = Figures(
    _draw_low,
    low_truth,
    low_mistakes,
    {"seed": "of the shuffler", "stopped": "updates done when all four were stopped"},
)


# resume.torch ------------------------------------------------------------------------------------------------------


def _draw_torch(rng: random.Random) -> dict[str, Any]:
    return {
        "seed": rng.randint(10, 9_999),
        "decay": rng.choice([0.99, 0.985, 0.98, 0.975, 0.97, 0.96, 0.95]),
        "checkpoint": rng.choice([step for step in range(9, 30) if step % 4]),
    }


def torch_rates(figures: Mapping[str, Any]) -> list[float]:
    """Learning rates of the first two updates after a resume that brings all back but the scheduler."""
    return [0.02 * figures["decay"] ** figures["checkpoint"], 0.02 * figures["decay"]]


def torch_mistakes(figures: Mapping[str, Any]) -> dict[str, list[float]]:
    """The rates that usual mistakes give, by name."""
    decay, at = figures["decay"], figures["checkpoint"]
    held = 0.02 * decay**at
    return {
        "the rates of a schedule that starts anew at once; where is the rate of the next update kept?": [
            0.02,
            0.02 * decay,
        ],
        "the rates of a right resume": [held, held * decay],
        "a rate that stays where it was; a scheduler that knows nothing still steps": [held, held],
        "the schedule one update too far": [held * decay, 0.02 * decay],
        "a second rate that wasn't decayed at all": [held, 0.02],
    }


TORCH = Figures(
    _draw_torch,
    torch_rates,
    torch_mistakes,
    {"seed": "of the shuffler", "decay": "of the rate, each update", "checkpoint": "updates done in the checkpoint"},
)
