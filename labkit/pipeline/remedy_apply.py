"""Try the advice: an epoch as it is and one with it, each after a short epoch that warms up, and the two gains."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from labkit.errors import UsageError
from labkit.pipeline.probe_loader import watch
from labkit.pipeline.probe_pass import run
from labkit.pipeline.probe_worker import Settings
from labkit.pipeline.probing import iterable
from labkit.pipeline.remedy_replay import replay

if TYPE_CHECKING:
    from labkit.pipeline.diagnosis import Diagnosis


@dataclass(frozen=True)
class Applied:
    """Two epochs of the same number of batches.

    Attributes:
        cause: what was diagnosed.
        advice: what was tried.
        batches: of each epoch.
        before: ms of the epoch as it was.
        after: ms with the advice.
        predicted_before: what the recurrence says for an epoch of that many batches.
        predicted_after: the same with the advice.
    """

    cause: str
    advice: str
    batches: int
    before: float
    after: float
    predicted_before: float
    predicted_after: float

    @property
    def gain(self) -> float:
        """How many times as fast the epoch became; 1: as before."""
        return self.before / self.after

    @property
    def predicted_gain(self) -> float:
        """What the recurrence had said."""
        return self.predicted_before / self.predicted_after

    @property
    def error(self) -> float:
        """(predicted - achieved) / achieved, of the gains. Far from 0: something happens that the model leaves out."""
        return self.predicted_gain / self.gain - 1

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        names = (*self.__dataclass_fields__, "gain", "predicted_gain", "error")
        return {name: getattr(self, name) for name in names}

    def text(self) -> str:
        """One paragraph."""
        return (
            f"{self.advice}: an epoch of {self.batches} batches took {self.before:.4g} ms, now {self.after:.4g} "
            f"(measured here), {self.gain:.2f} times as fast; predicted {self.predicted_gain:.2f} times "
            f"(computed), off by {self.error:+.1%}"
        )

    def __repr__(self) -> str:
        """The text."""
        return self.text()


def apply(
    diagnosis: Diagnosis,
    make_loader: Callable[[], Any],
    step: Callable[[Any], Any],
    make_fixed: Callable[[], Any] | None,
    budget_s: float,
) -> Applied:
    """See `Diagnosis.apply`."""
    remedy, record = diagnosis.verdict.remedy, diagnosis.record
    if remedy is None or record is None:
        if remedy is not None:
            raise UsageError(f"nothing could be measured before the loader failed: {remedy.advice}")
        raise UsageError(f"the diagnosis is {diagnosis.cause!r}: there is no advice to apply")
    if make_fixed is None and not remedy.applies_itself:
        raise UsageError(
            f"the advice asks for a change of code ({remedy.advice}): give make_fixed=, the repaired loader"
        )
    base = remedy.base or record.plan()
    pace = replay(base).makespan / base.batches
    batches = max(2, min(base.batches, round(budget_s * 1000 / 2.5 / pace)))
    before = _epoch(make_loader, step, batches, first=remedy.first_epoch)
    if make_fixed is not None:
        after = _epoch(make_fixed, step, batches, first=remedy.first_epoch)
    else:
        after = _epoch(
            make_loader, step, batches, first=remedy.first_epoch, settings=remedy.settings, **dict(remedy.changes)
        )
    count = min(before[0], after[0])
    plans = [_of_length(plan, count) for plan in (base, remedy.plan)]
    return Applied(
        cause=diagnosis.cause,
        advice=remedy.advice,
        batches=count,
        before=before[1] * count / before[0],
        after=after[1] * count / after[0],
        predicted_before=replay(plans[0]).makespan,
        predicted_after=replay(plans[1]).makespan,
    )


def _of_length(plan: Any, batches: int) -> Any:
    from dataclasses import replace

    return replace(plan, batches=batches)


def _epoch(
    make: Callable[[], Any],
    step: Callable[[Any], Any],
    batches: int,
    *,
    first: bool,
    settings: Settings | None = None,
    **changes: Any,
) -> tuple[int, float]:
    """Batches and ms of one epoch; of a second one unless the first is meant."""
    loader = iterable(make())
    watched = watch(loader, settings, **changes)
    try:
        if not first and watched.inner is not None:
            warm = max(4, watched.inner.num_workers * 2)
            run(watched, step, most=warm, end=False)
        trace = run(watched, step, most=batches)
    finally:
        watched.close()
    if not len(trace):
        raise UsageError("the repaired loader yields no batch")
    return len(trace), math.fsum((trace.ended[-1] - trace.begin, 0.0)) * 1000
