"""One public report as a small reproduction: the fault, its clean twin, and what the instrument must call it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Case:
    """A row of the table.

    Attributes:
        report: where it was reported.
        shows: what goes wrong here, figures included, and what is right.
        cause: the cause that must be among those found.
        fault: runs the instrument on the fault.
        clean: runs it on the twin, on which it must find nothing.
        by: the instrument.
    """

    report: str
    shows: str
    cause: str
    fault: Callable[[], Any]
    clean: Callable[[], Any]
    by: str = "sharding.audit"


def causes_of(result: Any) -> tuple[str, ...]:
    """What an instrument called wrong; metrics.audit's warnings, about data that isn't there, are left out."""
    if hasattr(result, "causes"):
        return tuple(result.causes)
    return tuple(finding.kind for finding in result.findings if finding.level == "fault")


def judge(case: Case) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """`detected`, `missed` or `false alarm`; what was found on the fault, and on the twin."""
    fault, clean = causes_of(case.fault()), causes_of(case.clean())
    return "false alarm" if clean else "detected" if case.cause in fault else "missed", fault, clean
