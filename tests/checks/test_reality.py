"""`pipeline.reality` on machines that are slow: the computed line settles it, else one real worker is the measure."""

from __future__ import annotations

import random
from types import SimpleNamespace

import pytest

import labkit.pipeline
from labkit.checks import lab01_figures as own
from labkit.checks.lab01_reality import TRIES, reality_evidence

FIGURES = own.REALITY.draw(random.Random(5))
WORKERS, FACTOR = min(own.settings_of(FIGURES))
ALONE = sum(own.line_of(FIGURES, 1, 1).waits[1:])


def evidence(monkeypatch, theirs: float, one_worker: float):
    """The last evidence, where the settings' run waits `theirs` and one worker `one_worker` of what is computed."""
    runs = []

    def run_line(prepare, train, *, workers, prefetch_factor):
        runs.append(workers)
        share = one_worker if workers == 1 else theirs
        return SimpleNamespace(waits=(9.0, share * ALONE), ids=range(len(prepare)), pids=range(workers), makespan=300.0)

    monkeypatch.setattr(labkit.pipeline, "run_line", run_line)
    predicted = own.line_of(FIGURES, WORKERS, FACTOR).makespan
    value = {"workers": WORKERS, "prefetch_factor": FACTOR, "predicted": predicted}
    return list(reality_evidence(value, FIGURES))[-1], runs


def test_where_the_computed_line_settles_it_nobody_waits_for_one_worker(monkeypatch):
    last, runs = evidence(monkeypatch, 0.4, 1.0)
    assert last.ok
    assert runs == [WORKERS]
    assert "(computed)" in last.seen


@pytest.mark.parametrize(("one_worker", "ok"), [(2.0, True), (1.2, False), (0.1, False)])
def test_a_slow_machine_is_measured_against_itself(monkeypatch, one_worker, ok):
    last, runs = evidence(monkeypatch, 0.8, one_worker)
    assert last.ok is ok
    assert runs == [WORKERS] * TRIES + [1]
    assert "measured" in last.seen
