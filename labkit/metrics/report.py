"""What `audit` returns: the value everywhere, what moved it, and what to do about it."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from labkit.metrics.headroom import Headroom

if TYPE_CHECKING:
    import pandas as pd

    from labkit.picture import Picture


@dataclass(frozen=True)
class Row:
    """The metric under one partition, on real ranks.

    Attributes:
        kind: "exact" (each sample once), "idle" (each once, one rank has none) or "padded" (some borrowed).
        ranks: how many.
        partition: the partition, in words.
        sizes: samples of each rank.
        borrowed: rows that were borrowed.
        by_rank: what each rank came to; NaN where the run failed.
        bias: rank 0's value minus the value over all samples once. Far from 0: the number depends on the sharding.
        formula: the bias that the formula gives (mean of means, or padding); None where there is none to use.
        error: why the run failed, or "".
    """

    kind: str
    ranks: int
    partition: str
    sizes: tuple[int, ...]
    borrowed: int
    by_rank: tuple[float, ...]
    bias: float
    formula: float | None
    error: str = ""

    @property
    def value(self) -> float:
        """Rank 0's value."""
        return self.by_rank[0]


@dataclass(frozen=True)
class Finding:
    """One thing to know, in words.

    Attributes:
        kind: "mean of means", "not a mean", "partition", "ranks disagree", "fails", "idle rank", "padding",
            "precision".
        level: "fault" (the number is wrong now) or "warning" (it goes wrong if the data or the loader is like that).
        text: what was seen, with figures.
        fix: what to do.
    """

    kind: str
    level: str
    text: str
    fix: str


@dataclass(frozen=True, repr=False)
class MetricReport:
    """A metric's behaviour across ranks.

    Attributes:
        value: the metric over all samples, once each, in one call on one process: what every other row should give.
        samples: how many samples.
        reduction: how the ranks' values became one: "mean", "weighted", "gather" or "own".
        tolerance: how far a value may be off, relative to the largest of 1 and the value, and count as the same.
        rows: every partition that was run.
        headroom: the metric's own running sums, and how far they are from where their type stops.
        findings: what is wrong or may go wrong, most serious first; empty: nothing was found.
        nans: entries of the predictions, and of the targets, that hold a NaN.
    """

    value: float
    samples: int
    reduction: str
    tolerance: float
    rows: tuple[Row, ...]
    headroom: tuple[Headroom, ...]
    findings: tuple[Finding, ...]
    nans: tuple[int, int] = (0, 0)

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong now; warnings may remain."""
        return not any(finding.level == "fault" for finding in self.findings)

    @property
    def invariant(self) -> bool:
        """Whether every exact partition gave the same value on every rank."""
        rows = [row for row in self.rows if row.kind == "exact"]
        return all(not row.error and all(self.same(value) for value in row.by_rank) for row in rows)

    def same(self, value: float) -> bool:
        """Whether `value` is the report's value, within the tolerance."""
        return same(value, self.value, self.tolerance)

    def frame(self) -> pd.DataFrame:
        """One row a partition: kind, ranks, partition, sizes, borrowed, value, bias, formula, error."""
        import pandas as pd

        names = ("kind", "ranks", "partition", "sizes", "borrowed", "value", "bias", "formula", "error")
        return pd.DataFrame([{name: getattr(row, name) for name in names} for row in self.rows], columns=list(names))

    def summary(self) -> str:
        """The verdict in one sentence."""
        worst = max((abs(row.bias) for row in self.rows if not math.isnan(row.bias)), default=0.0)
        borrowed = [row for row in self.rows if row.kind == "padded" and not row.error]
        said = "the same under every partition"
        if not self.invariant:
            said = "depends on how samples are shared out"
        elif not all(self.same(row.value) for row in borrowed):
            said = "the same where each sample is there once, another one where a sampler borrows some"
        tried = sorted({row.ranks for row in self.rows}) or [1]
        return (
            f"{self.value:.6g} over {self.samples} samples; {said} ({len(self.rows)} runs on "
            f"{' and '.join(map(str, tried))} ranks, largest difference {worst:.3g})."
        )

    def text(self) -> str:
        """The report in words: verdict, findings with their fixes, headroom."""
        lines = [self.summary()]
        if any(self.nans):
            lines.append(self._nans())
        lines += [f"{f.level}: {f.text} Fix: {f.fix}" for f in self.findings]
        for room in self.headroom:
            if room.samples_left > 2**40:  # more than anyone will count
                continue
            lines.append(
                f"state {room.state} ({room.dtype}) is {room.value:.6g}; it stops at {room.stops_at:,.6g}, "
                f"{room.samples_left:,} samples from here"
            )
        if not self.findings:
            lines.append("Nothing found.")
        return "\n".join(lines)

    def _nans(self) -> str:
        """How many, and what the metric makes of them: it is a number, or there would be no report."""
        counts = zip(self.nans, ("predictions", "targets"), strict=True)
        held = [f"{n} of {self.samples} {what}" for n, what in counts if n]
        return (
            f"note: {' and '.join(held)} hold NaN, and the metric is a number all the same: it leaves them out or "
            "counts them as wrong (a comparison with NaN is false). Look where they come from."
        )

    def __repr__(self) -> str:
        """The verdict and how many findings there are."""
        return f"MetricReport({self.summary()} {len(self.findings)} findings)"

    def as_dict(self) -> dict[str, Any]:
        """The report as plain values, for JSON; a value that isn't a number is None."""
        plain: dict[str, Any] = _plain(asdict(self) | {"ok": self.ok, "invariant": self.invariant})
        return plain

    def plot(self) -> Picture:
        """Measured bias of every run beside the formula's."""
        from labkit.metrics.drawing import draw_report

        return draw_report(self)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle = self.plot()._repr_mimebundle_(**kwargs)
        import html

        words = "".join(f"<p style='margin:0.2em 0'>{html.escape(line)}</p>" for line in self.text().splitlines())
        return {"text/html": words + bundle["text/html"], "text/plain": self.text()}


def same(a: float, b: float, tolerance: float) -> bool:
    """Equal within `tolerance` of the larger of 1 and b; two NaN are equal."""
    if math.isnan(a) or math.isnan(b):
        return math.isnan(a) and math.isnan(b)
    return a == b or abs(a - b) <= tolerance * max(1.0, abs(b))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
