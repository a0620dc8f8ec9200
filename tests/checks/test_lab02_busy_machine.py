"""`measure.fix` on a busy machine: what the machine adds to the waits is no fault of the settings, anything else is."""

from __future__ import annotations

import answerbook
import pytest

from labkit.checks import card, lab02_measuring_a_dataloader
from labkit.checks.result import Verdict
from labkit.pipeline.measured_cases import Epoch

STEPS = 28


@pytest.mark.parametrize(
    ("wait", "late", "verdict"),
    [
        (0.5, 0.0, Verdict.PASSED),  # a quiet machine
        (12.0, 6.0, Verdict.PASSED),  # each sleeper wakes 6 ms late, three of them before a batch
        (12.0, 0.1, Verdict.FAILED),  # the machine wakes in time: these waits need another reason
        (80.0, 6.0, Verdict.FAILED),  # more than the machine accounts for
    ],
)
def test_what_the_machine_adds(wait, late, verdict, monkeypatch):
    def runs(figures, settings):
        train = lab02_measuring_a_dataloader.far_times(figures["job"])[1] + late
        epoch = Epoch(90.0, (wait,) * (STEPS - 1), (train,) * STEPS, (1, 2, 3))
        return [[epoch, epoch]]

    monkeypatch.setattr(lab02_measuring_a_dataloader, "_real_runs", runs)
    reference = next(a for a in answerbook.answers("02") if a.exercise == "measure.fix" and a.right)
    result = answerbook.judge("02", reference)
    assert result.verdict is verdict, card.text(result)
    if verdict is Verdict.PASSED:
        assert ("wakes 6.0 ms late, 3 times a batch" in card.text(result)) is bool(late)
