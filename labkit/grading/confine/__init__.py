"""Answers run apart from the judge: a torch-loaded server a slot, a confined child an answer, JSON between.

with Slots(2) as slots:
    print(slots.report.text())
    with slots.answer(program, Limits(seconds=10)) as answer:
        answer.value()
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from labkit.later import members

if TYPE_CHECKING:
    from labkit.grading.confine.handle import ConfinedAnswer as ConfinedAnswer
    from labkit.grading.confine.limits import IsolationReport as IsolationReport
    from labkit.grading.confine.limits import LimitHit as LimitHit
    from labkit.grading.confine.limits import Limits as Limits
    from labkit.grading.confine.limits import Program as Program
    from labkit.grading.confine.limits import Usage as Usage
    from labkit.grading.confine.slots import Slots as Slots

__all__ = ["ConfinedAnswer", "IsolationReport", "LimitHit", "Limits", "Program", "Slots", "Usage"]

__getattr__ = members(
    __name__,
    dict.fromkeys(("IsolationReport", "LimitHit", "Limits", "Program", "Usage"), "limits")
    | dict.fromkeys(("ConfinedAnswer", "Slots"), "slots"),
)
