"""Every public report: the fault is named, the clean twin is passed in silence. See cases/table.py."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "cases"))

import table
from case import judge

from labkit.sharding import CAUSES
from labkit.sharding.accelerate_cases import all_pitfalls

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", autouse=True)
def _warm():
    from labkit import ranks

    ranks.warm_up("accelerate", "webdataset")


@pytest.mark.parametrize("case", table.CASES, ids=lambda case: case.report)
def test_the_fault_is_named_and_the_twin_passes_in_silence(case):
    verdict, fault, clean = judge(case)
    assert (verdict, clean) == ("detected", ()), f"found on the fault: {fault}"
    if case.by == "sharding.audit":
        assert set(fault) <= set(CAUSES)


def test_accelerates_seven_pitfalls_are_wrong_as_stated():
    found = {p.name: (p.seen, p.right) for p in all_pitfalls()}
    assert found["stream with a length"] == (12, 9)
    assert found["batch sampler without batch_size"] == (12, 10)
    assert found["one mean a rank and step"] == (3.25, 4.0)
    assert found["len() with split_batches"] == ([(3, 3), (3, 2)], [(3, 3), (2, 2)])
    assert found["skip_first_batches"] == (8, 5)
    assert found["even_batches=False"][0].startswith("error: rank")
    assert found["dispatch, fewer samples than ranks"][0].startswith("error: rank 2 ")
    assert len(found) == 7
