"""Is it healthy? A few signs, each a rule over the recorded steps; a rule with too little to go on says nothing."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from labkit.records.anomaly import SpikeDetector

SIGNS = {
    "not-finite": "a metric is not a number, or infinite",
    "spike": "a loss is far above the ones before it",
    "not-learning": "the loss at the end is no lower than at the beginning",
    "slower": "steps take longer at the end than at the beginning",
    "waiting": "much of the time is spent waiting for data",
    "gap": "steps are missing from the record",
    "repeated": "steps were done again after a restart",
}
"""Sign -> what it means."""

ENOUGH = 32  # steps before the beginning can be told from the end
SLOWER, WAITING = 1.5, 0.1  # times as long; share of the step
Rows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Sign:
    """One sign of trouble.

    Attributes:
        sign: a key of `SIGNS`.
        said: what was seen, figures included.
        steps: where; the first ones.
    """

    sign: str
    said: str
    steps: tuple[int, ...]


@dataclass(frozen=True)
class Health:
    """All signs of trouble in a record.

    Attributes:
        signs: none means that nothing was found, among what was recorded.
        steps: steps in the record, repeated ones once.
        runs: processes that wrote it; more than 1 means restarts.
        not_judged: signs for which too little was recorded.
    """

    signs: tuple[Sign, ...]
    steps: int
    runs: int
    not_judged: tuple[str, ...]

    @property
    def healthy(self) -> bool:
        """Whether no sign was found."""
        return not self.signs

    def text(self) -> str:
        """A line a sign."""
        lines = [f"{self.steps} steps in {self.runs} run{'s' * (self.runs != 1)}: {'healthy' if self.healthy else ''}"]
        lines[0] = lines[0].rstrip(": ") if not self.healthy else lines[0]
        lines += [f"{one.sign}: {one.said}" for one in self.signs]
        if self.not_judged:
            lines.append(f"not enough recorded to judge: {', '.join(self.not_judged)}")
        return "\n".join(lines)


def judge(rows: Rows, runs: int, repeated: Sequence[int], metric: str = "loss") -> Health:
    """Apply every rule. `rows` are in order of steps, each step once."""
    signs: list[Sign] = []
    silent: list[str] = []
    for name, rule in RULES.items():
        found = rule(rows, metric)
        if found is None:
            silent.append(name)
        elif isinstance(found, Sign):
            signs.append(found)
    if repeated:
        signs.append(Sign("repeated", f"{len(repeated)} steps were done again after a restart", tuple(repeated[:8])))
    return Health(tuple(signs), len(rows), runs, tuple(silent))


def _not_finite(rows: Rows, metric: str) -> Sign | bool | None:
    bad = [(r["step"], k) for r in rows for k, v in r.items() if isinstance(v, float) and not math.isfinite(v)]
    if not bad:
        return bool(rows) or None
    return Sign("not-finite", f"{bad[0][1]} is not finite from step {bad[0][0]} on", tuple(s for s, _ in bad[:8]))


def _spike(rows: Rows, metric: str) -> Sign | bool | None:
    detector, found = SpikeDetector(), []
    values = [(r["step"], float(r[metric])) for r in rows if metric in r]
    for step, value in values:
        if math.isfinite(value) and (spike := detector.add(value)) is not None:
            found.append((step, spike))
    if not found:
        return len(values) >= 17 or None
    step, worst = max(found, key=lambda one: one[1].score)
    said = f"{len(found)} in {metric}; the largest in step {step}: {worst.value:.4g}, usually {worst.usual:.4g}"
    return Sign("spike", said, tuple(step for step, _ in found[:8]))


def _not_learning(rows: Rows, metric: str) -> Sign | bool | None:
    values = [float(r[metric]) for r in rows if metric in r and math.isfinite(float(r[metric]))]
    if len(values) < ENOUGH:
        return None
    quarter = len(values) // 4
    first, last = statistics.median(values[:quarter]), statistics.median(values[-quarter:])
    if last < first:
        return True
    return Sign("not-learning", f"{metric} {first:.4g} in the first quarter, {last:.4g} in the last", ())


def _slower(rows: Rows, metric: str) -> Sign | bool | None:
    times = [r["seconds"] for r in rows[1:] if "seconds" in r]
    if len(times) < ENOUGH:
        return None
    quarter = len(times) // 4
    first, last = statistics.median(times[:quarter]), statistics.median(times[-quarter:])
    if last <= SLOWER * first:
        return True
    return Sign("slower", f"{1e3 * first:.3g} ms a step in the first quarter, {1e3 * last:.3g} ms in the last", ())


def _waiting(rows: Rows, metric: str) -> Sign | bool | None:
    pairs = [(r["wait"], r["seconds"]) for r in rows[1:] if "wait" in r and "seconds" in r]
    if len(pairs) < ENOUGH:
        return None
    share = sum(wait for wait, _ in pairs) / max(sum(seconds for _, seconds in pairs), 1e-12)
    return True if share <= WAITING else Sign("waiting", f"{share:.0%} of the time is spent waiting for data", ())


def _gap(rows: Rows, metric: str) -> Sign | bool | None:
    steps = [r["step"] for r in rows]
    if len(steps) < 3:
        return None
    stride = statistics.mode(b - a for a, b in itertools.pairwise(steps))
    gaps = [(a, b) for a, b in itertools.pairwise(steps) if b - a > stride]
    if not gaps:
        return True
    said = f"{len(gaps)} in the record; the first between steps {gaps[0][0]} and {gaps[0][1]}"
    return Sign("gap", said, tuple(a for a, _ in gaps[:8]))


RULES: dict[str, Callable[[Rows, str], Sign | bool | None]] = {
    "not-finite": _not_finite,
    "spike": _spike,
    "not-learning": _not_learning,
    "slower": _slower,
    "waiting": _waiting,
    "gap": _gap,
}
"""Each returns a sign, True where there is none, None where too little was recorded."""
