"""Planted faults: what a number promises is what real ranks and workers show."""

from __future__ import annotations

import pytest

from labkit.sharding import CAUSES, audit
from labkit.sharding.planted import LOADERS, NOTHING, mystery, planted
from labkit.sharding.planted_draws import JOBS, alike_in, alike_seen, draws

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("kind", range(len(LOADERS)), ids=list(LOADERS))
@pytest.mark.parametrize(("round_", "ranks"), [(1, 3), (7, 4)])
def test_an_audit_finds_what_is_planted_and_nothing_else(kind, round_, ranks):
    number = round_ * len(LOADERS) + kind
    promised = planted(number, ranks)
    coverage = audit(mystery(number), ranks=ranks)
    assert coverage.causes == (() if promised["cause"] == NOTHING else (promised["cause"],))
    assert len(coverage.duplicates) == promised["again"]
    assert len(coverage.missing) == promised["missing"]


def test_the_words_are_the_instruments():
    assert set(LOADERS) - {NOTHING} <= set(CAUSES)
    assert NOTHING not in CAUSES


@pytest.mark.parametrize("round_", [1, 2, 9])
def test_real_workers_draw_alike_as_promised(round_):
    numbers = {f"job {kind}": round_ * len(JOBS) + kind for kind in range(len(JOBS))}
    frame = draws(numbers)
    assert {name: alike_seen(frame, name) for name in numbers} == {n: alike_in(number) for n, number in numbers.items()}
