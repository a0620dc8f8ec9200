"""Rules that judge functions: every named mistake is one, and right answers of less precision are none."""

from __future__ import annotations

import random

import numpy as np
import pytest

from labkit.checks import lab06_builds as lab06
from labkit.checks import lab06_figures as figures06
from labkit.checks.answer import LocalAnswer
from labkit.checks.evidence import close, over_inputs

NAMED = {  # name -> (inputs, rules, the right function, mistakes by name)
    "scaling.throughput": (lab06.interval_inputs, lab06.RATE_RULES, lab06.rate_of, lab06.RATE_MISTAKES),
}
EACH = [
    pytest.param(*parts[:3], name, parts[3][name], id=f"{id}: {name}")
    for id, parts in NAMED.items()
    for name in parts[3]
]


@pytest.mark.parametrize(("inputs", "rules", "right", "name", "mistake"), EACH)
def test_a_named_mistake_is_found_and_named(inputs, rules, right, name, mistake):
    for seed in range(40):
        drawn = inputs(random.Random(seed))
        assert not all(close(mistake(*args), right(*args)) for args in drawn), seed
        failing = [item for item in over_inputs(LocalAnswer(mistake), "f", drawn, rules) if not item.ok]
        assert failing[0].why == name, seed


def _efficiency(wrong):
    def answer(runs):
        truth = lab06.efficiency_of(runs)
        return truth and {count: wrong(count, value) for count, value in truth.items()}

    return answer


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (lambda count, value: value * count, "the speed-up"),
        (lambda count, value: 1 / value, "the wrong way round"),
        (lambda count, value: value / count, "once too often"),
        (lambda count, value: value if count < 4 else value * count, ""),  # right at some: none of these
    ],
)
def test_mistakes_of_an_efficiency_are_named(wrong, why):
    for seed in range(40):
        drawn = lab06.run_inputs(random.Random(seed))
        judged = over_inputs(LocalAnswer(_efficiency(wrong)), "f", drawn, lab06.EFFICIENCY_RULES)
        failing = [item for item in judged if not item.ok]
        assert why in failing[0].why if why else failing[0].why == "", seed


def test_single_precision_and_keys_as_text_are_right():
    def rate(*args):
        return np.float32(lab06.rate_of(*args)) * np.float32(1 + 2e-7)

    def efficiency(runs):
        truth = lab06.efficiency_of(runs)
        return truth and {str(count): np.float32(value) for count, value in truth.items()}

    for seed in range(40):
        rng = random.Random(seed)
        assert all(e.ok for e in over_inputs(LocalAnswer(rate), "f", lab06.interval_inputs(rng), lab06.RATE_RULES))
        runs = lab06.run_inputs(rng)
        assert all(e.ok for e in over_inputs(LocalAnswer(efficiency), "f", runs, lab06.EFFICIENCY_RULES))


def test_only_the_rounding_is_off():
    figures = {"mean": 100, "deviation": 10, "ranks": 8}  # 120.39 ms, efficiency 0.8306
    said = {
        ("estimate", 120.0): "only the rounding is off: give one decimal place.",
        ("estimate", 121.0): "only the rounding is off: give one decimal place.",
        ("estimate", 120.3): "only the rounding is off: give one decimal place.",
        ("estimate", 100.0): "that is one rank's own mean.",
        ("estimate", 131.0): "",
        ("efficiency", 0.8): "only the rounding is off: give two decimal places.",
        ("efficiency", 0.84): "only the rounding is off: give two decimal places.",
        ("efficiency", 83.06): "that is percent.",
        ("efficiency", 0.75): "",
    }
    assert {key: figures06.straggler_mistake(*key, figures) for key in said} == said
