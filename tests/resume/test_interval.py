"""How often to save: golden values, an independent Lambert W, a simulation; and a recovery that is really measured."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.errors import UsageError
from labkit.resume import daly, draw_interval, exact_interval, expected_time, interval_frame, recovery_ledger, young

mpmath = pytest.importorskip("mpmath")
times = st.floats(1e-6, 1e6)


@pytest.mark.parametrize(
    ("mtbf", "golden"),
    [(24 * 60, (120, 116.69, 116.69)), (6 * 60, (60, 56.71, 56.71)), (15, (12.25, 9.14, 9.17))],
)
def test_golden_values(mtbf, golden):
    assert tuple(round(f(5, mtbf), 2) for f in (young, daly, exact_interval)) == golden


@given(times, times)
def test_exact_is_lamberts(c, m):
    with mpmath.workdps(60):
        ratio = mpmath.mpf(c) / mpmath.mpf(m)
        known = mpmath.mpf(m) * (1 + mpmath.lambertw(-mpmath.exp(-(1 + ratio))).real)
        assert abs(exact_interval(c, m) / known - 1) < 1e-12


@given(st.floats(0.01, 100), st.floats(0.1, 1000), st.floats(0, 10))
def test_exact_is_least(c, m, r):
    best = exact_interval(c, m)
    cost = expected_time(best, c, m, recovery=r)
    for factor in (0.5, 0.9, 0.99, 1.01, 1.1, 2):
        assert cost <= expected_time(best * factor, c, m, recovery=r) * (1 + 1e-12)


def test_daly_beyond_its_range_is_the_mtbf():
    assert daly(10, 5) == 5
    assert daly(10, 4.9) == 4.9


def test_expected_time_is_what_a_simulation_takes():
    """Failures at random; each loses the work since the last save; recovery may itself be interrupted."""
    rng = random.Random(3)
    tau, c, m, r, segments = 8.0, 1.0, 30.0, 2.0, 60_000
    clock = 0.0
    for _ in range(segments):
        need = tau + c
        while True:
            fails = rng.expovariate(1 / m)
            if fails >= need:
                clock += need
                break
            clock += fails
            need = tau + c + r  # recover, then the segment again
    assert clock / (segments * tau) == pytest.approx(expected_time(tau, c, m, recovery=0) * 1.0, rel=0.08)
    # Daly charges the recovery even to a run without failures (the factor e^(R/M)); the simulation lies between.
    assert expected_time(tau, c, m) < clock / (segments * tau) < expected_time(tau, c, m, recovery=r) * 1.01


def test_frame_and_picture():
    frame = interval_frame(5, 360, recovery=10)
    assert list(frame.columns) == ["interval", "saving", "failures", "cost"]
    assert frame.loc[frame["cost"].idxmin(), "interval"] == pytest.approx(exact_interval(5, 360))
    assert ((frame["saving"] + frame["failures"] - frame["cost"]).abs() < 1e-12).all()
    assert list(interval_frame(5, 360, intervals=[1, 2])["saving"]) == [5, 2.5]
    picture = draw_interval(5, 360)
    assert "Young 60 min" in picture.alt
    assert picture.png()[:4] == b"\x89PNG"
    assert draw_interval(1e6, 1, unit="s").png()[:4] == b"\x89PNG"  # hopeless, and still drawn


@pytest.mark.parametrize("wrong", [0, -1, float("nan"), float("inf"), "5", True, None])
def test_wrong_times(wrong):
    for call in (young, daly, exact_interval):
        with pytest.raises(UsageError, match="save_cost is"):
            call(wrong, 5)
        with pytest.raises(UsageError, match="mtbf is"):
            call(5, wrong)
    with pytest.raises(UsageError, match="interval is"):
        expected_time(wrong, 1, 1)
    if wrong != 0:
        with pytest.raises(UsageError, match="recovery is"):
            expected_time(1, 1, 1, recovery=wrong)


def test_a_run_really_killed():
    ledger = recovery_ledger(kill_at=7, save_every=3, step_seconds=0.005, poll_seconds=0.01)
    assert ledger.killed_at >= 7
    assert ledger.resumed_from % 3 == 0
    assert 0 < ledger.resumed_from <= ledger.killed_at
    assert ledger.saves >= 2
    assert min(ledger.detect, ledger.restart, ledger.load, ledger.save, ledger.step) > 0
    assert ledger.replay >= 0.005 * ledger.lost_steps
    assert ledger.total == pytest.approx(ledger.frame()["seconds"].sum())
    assert ledger.frame()["share"].sum() == pytest.approx(1)
    assert f"resumed from {ledger.resumed_from}" in ledger.plot().alt


def test_killed_before_the_first_save_starts_from_nothing():
    ledger = recovery_ledger(kill_at=2, save_every=1000, step_seconds=0.001, poll_seconds=0.01)
    assert ledger.resumed_from == 0
    assert ledger.lost_steps == ledger.killed_at
    assert ledger.save == 0


def test_wrong_settings():
    with pytest.raises(UsageError, match="kill_at is 0"):
        recovery_ledger(kill_at=0)
    with pytest.raises(UsageError, match="step_seconds is -1"):
        recovery_ledger(step_seconds=-1)
