"""What `diagnose` returns: a named cause with its evidence, the rivals ruled out, one piece of advice and its gain."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labkit.pipeline.diagnosis_causes import HEALTHY, MIB, UNSURE, digits
from labkit.pipeline.diagnosis_record import Record
from labkit.pipeline.diagnosis_verdict import Verdict
from labkit.pipeline.measurement import Measurement

if TYPE_CHECKING:
    from labkit.picture import Picture
    from labkit.pipeline.remedy_apply import Applied


@dataclass(frozen=True)
class Diagnosis:
    """One diagnosis.

    Attributes:
        verdict: what the rules said.
        record: everything that was measured, and that the rules read.
        measured: the pass in which loader and step ran together; None where there were too few batches.
        seconds: how long the diagnosis took.
        step_given: the step was the caller's own; otherwise a stand-in of a given length.
    """

    verdict: Verdict
    record: Record | None
    measured: Measurement | None
    seconds: float
    step_given: bool = True

    @property
    def cause(self) -> str:
        """One of `labkit.pipeline.CAUSES`."""
        return self.verdict.cause

    @property
    def evidence(self) -> str:
        """The measurement that separates the cause from the others, in words with figures."""
        return self.verdict.evidence

    @property
    def second(self) -> tuple[str, ...]:
        """Causes that hold too, and whose remedies bring less."""
        return tuple(self.verdict.second)

    @property
    def ruled_out(self) -> dict[str, str]:
        """Every cause that doesn't hold, with the figures that say so."""
        return self.verdict.ruled_out

    @property
    def advice(self) -> str:
        """One thing to change; "" where there is nothing to do."""
        found = self.verdict.remedy
        return self.verdict.next_try if found is None else found.advice

    @property
    def predicted_gain(self) -> float | None:
        """How many times as fast an epoch becomes with the advice, by the recurrence; 1.0: it saves memory instead.

        None for "healthy" and "not enough evidence".
        """
        return self.verdict.remedy.gain if self.verdict.remedy is not None else None

    @property
    def healthy(self) -> bool:
        """Nothing to fix."""
        return self.cause == HEALTHY

    @property
    def found(self) -> bool:
        """A fault was named."""
        return self.cause not in (HEALTHY, UNSURE)

    @cached_property
    def parts(self) -> dict[str, float | None]:
        """Ms a batch: read-only, train-only, both, and what both lose to waiting and to sharing the cores."""
        r = self.record
        if r is None:
            return {}
        both = r.mean_train + r.mean_wait
        cached = r.cached_train
        return {
            "both": both,
            "read-only": r.read_only,
            "train-only, from memory": cached,
            "lost to waiting": r.mean_wait,
            "lost to sharing the machine": None if cached is None else max(0.0, r.mean_train - cached),
        }

    def apply(
        self,
        make_loader: Callable[[], Any],
        step: Callable[[Any], Any],
        make_fixed: Callable[[], Any] | None = None,
        *,
        budget_s: float = 20.0,
    ) -> Applied:
        """Run an epoch as it is and one with the advice; the gain achieved beside the gain predicted.

        Args:
            make_loader: as for `diagnose`.
            step: as for `diagnose`.
            make_fixed: your own repaired loader, where the advice is more than a setting of the DataLoader.
            budget_s: seconds for both together, about.

        Raises:
            UsageError: there is no advice, or it asks for a change of code and make_fixed is missing.
        """
        from labkit.pipeline.remedy_apply import apply

        return apply(self, make_loader, step, make_fixed, budget_s)

    def text(self) -> str:
        """The diagnosis in a few lines."""
        return "\n".join(_lines(self))

    def __repr__(self) -> str:
        """The text."""
        return self.text()

    def as_dict(self) -> dict[str, Any]:
        """The same as plain JSON values, every measured figure included."""
        found = self.verdict.remedy
        return {
            "cause": self.cause,
            "evidence": self.evidence,
            "advice": self.advice,
            "predicted_gain": self.predicted_gain,
            "saves_bytes": found.saves if found is not None else 0.0,
            "second": dict(self.verdict.second),
            "ruled_out": dict(self.ruled_out),
            "unseen": dict(self.verdict.unseen),
            "parts_ms": self.parts,
            "record": None if self.record is None else dataclasses.asdict(self.record),
            "step_given": self.step_given,
            "seconds": self.seconds,
        }

    def plot(self) -> Picture:
        """Where a batch's time goes in each experiment, and what the advice would bring."""
        from labkit.pipeline.diagnosis_views import draw

        return draw(self)

    def html(self, name: str = "") -> str:
        """A page of its own: works offline, light or dark, the picture with words and a table.

        Args:
            name: what was diagnosed, for the line below the heading.
        """
        from labkit.pipeline.diagnosis_views import page

        return page(self, name)

    def to_perfetto(self, path: str | Path) -> Path | None:
        """Write the pass with loader and step as a Chrome trace; None where nothing was measured."""
        return None if self.measured is None else self.measured.to_perfetto(path)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        from labkit.pipeline.diagnosis_views import card

        return {"text/html": card(self), "text/plain": self.text()}


def _lines(d: Diagnosis) -> list[str]:
    lines = [f"{d.cause}: {d.evidence}"]
    if d.advice:
        lines.append(f"  advice     {d.advice}")
    if (found := d.verdict.remedy) is not None:
        if found.saves:
            lines.append(f"  predicted  {digits(found.saves / MIB, 4)} MiB less (computed), an epoch as long as before")
        elif d.record is not None:
            lines.append(f"  predicted  an epoch {found.gain:.2f} times as fast (computed from the recorded trace)")
    parts = ", ".join(f"{name} {digits(value)}" for name, value in d.parts.items() if value is not None)
    if parts:
        lines.append(f"  measured   ms a batch: {parts}")
    if not d.step_given:
        lines.append("  step       none was given: a stand-in that sleeps")
    holds, holds_not = ("perhaps", "no sign of") if d.cause == UNSURE else ("second", "not")
    lines += [f"  {holds:10} {cause}: {why}" for cause, why in d.verdict.second.items()]
    lines += [f"  {holds_not:10} {cause}: {why}" for cause, why in d.ruled_out.items()]
    lines += [f"  unseen     {cause}: {why}" for cause, why in d.verdict.unseen.items()]
    lines.append(f"  took       {d.seconds:.1f} s")
    return lines
