"""Every public report: the right component is named, the clean twin is passed in silence. See cases/resume_table.py."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "cases"))

import resume_table

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("case", resume_table.CASES, ids=lambda case: case.report)
def test_the_right_component_is_named_and_the_twin_passes_in_silence(case, amount):
    verdict, named, first, twin = resume_table.judge(case, few=bool(amount(1, full=0)))
    assert (verdict, named, twin) == ("detected", (case.component,), ()), first


def test_no_report_is_forgotten():
    assert len({case.report for case in resume_table.CASES}) == 24
