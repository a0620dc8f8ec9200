"""What lab 02's own cells show: recorded times, remedies to choose from, a rubric. No right value is here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from labkit.checks.lab02_recorded import CONTROLS

REMEDIES = {"waiting": "more workers", "contention": "fewer workers", "copies": "fewer bytes"}
"""What lowers the largest part."""

RUBRIC = {
    "first": "say what is measured before anything is changed: waits and steps apart, the device waited for",
    "bound": "say how a run without the loader (cached batches) bounds what can be gained",
    "cause": "name a suspected cause and the one measurement that would tell it from another",
    "change": "give a setting or a change that follows from that cause, and the gain expected of it",
    "stop": "say when to stop: what would show that the loader isn't what keeps the GPU at 60 %",
}


def control_rows(figures: Mapping[str, Any]) -> dict[str, list[float]]:
    """The recorded times that the learner sees."""
    return {name: times[: figures["batches"]] for name, times in CONTROLS[figures["run"]].items()}
