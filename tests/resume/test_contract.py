"""TOST against figures from elsewhere, and the contracts of an audit."""

from __future__ import annotations

import math
import random

import pytest

from labkit.errors import UsageError
from labkit.resume import margin_from, tost
from labkit.resume.contract_tost import t_cdf, t_quantile

pytestmark = pytest.mark.slow  # real processes all through


@pytest.mark.parametrize(
    ("p", "freedom", "t"),
    # Student's table: 1 and 2 degrees of freedom have closed forms, the others are as printed in any textbook.
    [
        (0.95, 1, 6.3138), (0.975, 2, 4.3027), (0.95, 5, 2.0150), (0.975, 10, 2.2281), (0.99, 30, 2.4573),
        (0.95, 120, 1.6577),
    ],
)  # fmt: skip
def test_students_t(p, freedom, t):
    assert t_quantile(p, freedom) == pytest.approx(t, abs=6e-5)
    assert t_cdf(t, freedom) == pytest.approx(p, abs=1e-5)
    assert t_cdf(-t, freedom) == pytest.approx(1 - p, abs=1e-5)


def test_closed_forms():
    for t in (-3.0, -0.2, 0.0, 0.7, 5.0):
        assert t_cdf(t, 1) == pytest.approx(0.5 + math.atan(t) / math.pi, abs=1e-12)
        assert t_cdf(t, 2) == pytest.approx(0.5 + t / (2 * math.sqrt(2 + t * t)), abs=1e-12)


def test_by_hand():
    # differences 0.1, -0.1, 0.2, 0.0: mean 0.05, sd 0.12910, error 0.06455; t = (0.05 - 0.5) / 0.06455 = -6.9714
    found = tost([1.0, 2.0, 3.0, 4.0], [1.1, 1.9, 3.2, 4.0], margin=0.5, paired=True)
    assert found.difference == pytest.approx(0.05)
    assert found.p == pytest.approx(1 - t_cdf(6.9714, 3), abs=1e-4)
    assert found.interval == pytest.approx((0.05 - 2.3534 * 0.06455, 0.05 + 2.3534 * 0.06455), abs=1e-4)
    assert found.equivalent


def test_too_few_noisy_runs_show_nothing():
    found = tost([1.0, 3.0, 2.0], [1.5, 2.5, 2.1], margin=0.2)
    assert not found.equivalent
    assert found.power < 0.2


def _share(shift: float, margin: float, runs: int, trials: int) -> tuple[float, float]:
    draw = random.Random(11)
    passed, power = 0, 0.0
    for _ in range(trials):
        a = [draw.gauss(0, 1) for _ in range(runs)]
        b = [draw.gauss(shift, 1) for _ in range(runs)]
        found = tost(a, b, margin=margin)
        passed += found.equivalent
        power += found.power / trials
    return passed / trials, power


def test_its_error_is_alpha_and_its_power_as_told(amount):
    trials = amount(400, full=1500)
    wrong, _ = _share(1.2, 1.2, 12, trials)  # runs that differ by the margin
    assert 0.02 < wrong < 0.075
    margin = margin_from([random.Random(3).gauss(0, 1) for _ in range(2)] + [1.0, -1.0] * 200, runs=12, power=0.9)
    right, told = _share(0.0, margin, 12, trials)
    assert right == pytest.approx(0.9, abs=0.04)
    assert told == pytest.approx(right, abs=0.05)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"margin": 0}, "margin is 0"),
        ({"margin": float("nan")}, "margin is nan"),
        ({"margin": 1, "alpha": 0.7}, "alpha is 0.7"),
        ({"a": [1.0], "margin": 1}, "a has 1 value"),
        ({"b": [1.0, float("inf")], "margin": 1}, "b holds inf"),
        ({"b": [1.0, 2.0, 3.0], "margin": 1, "paired": True}, "a has 2 values and b 3"),
        ({"a": 3, "margin": 1}, "a is 3"),
    ],
)
def test_wrong_values_are_named(settings, words):
    values = {"a": [1.0, 2.0], "b": [1.0, 2.5], **settings}
    a, b = values.pop("a"), values.pop("b")
    with pytest.raises(UsageError, match=words):
        tost(a, b, **values)
