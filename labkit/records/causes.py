"""Why did it break? From the evidence of a spike to a cause, or an honest "not enough evidence"."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from labkit.records.evidence import Evidence

CAUSES = {
    "broken-batch": "the batch holds values that aren't finite",
    "unusual-batch": "the batch's values are far outside those of the batch before",
    "same-sample": "a sample was there in another spike too",
    "learning-rate": "the learning rate rose just before",
    "gradients": "the gradient norm rose before the loss did",
    "restart": "the run was resumed just before: audit the resume",
    "unknown": "not enough evidence",
}
"""Cause -> what it means, the strongest evidence first."""

OUTSIDE, ROSE, NEAR = 10.0, 1.5, 3  # times the range of the batch before; times its value before; steps


@dataclass(frozen=True)
class Cause:
    """What the evidence of one spike points to.

    Attributes:
        step: the spike's step.
        cause: a key of `CAUSES`: the strongest.
        said: the evidence for it, in words.
        also: other causes that the evidence allows.
        suspects: sample ids to look at.
        next_step: what to do to be sure.
    """

    step: int
    cause: str
    said: str
    also: tuple[str, ...]
    suspects: tuple[Any, ...]
    next_step: str

    def text(self) -> str:
        """The cause in a few lines."""
        lines = [f"step {self.step}: {self.cause}: {self.said}"]
        if self.also:
            lines.append(f"  also possible: {', '.join(self.also)}")
        if self.suspects:
            lines.append(f"  look at samples {', '.join(map(str, self.suspects[:16]))}")
        return "\n".join([*lines, f"  next: {self.next_step}"])


def judge(one: Evidence, all_evidence: Sequence[Evidence], starts: Sequence[int]) -> Cause:
    """The cause of one spike; `starts` are the first steps of resumed runs."""
    found: dict[str, str] = {}
    suspects: tuple[Any, ...] = one.ids
    bad = [(name, held["not finite"]) for name, held in one.summary.items() if held.get("not finite")]
    if bad:
        found["broken-batch"] = f"{bad[0][1]} values of {bad[0][0]} aren't finite"
    if unusual := _unusual(one.summary, one.before):
        found["unusual-batch"] = unusual
    shared = _shared(one, all_evidence)
    if shared:
        found["same-sample"] = f"sample {shared[0]} was in {_times(shared[0], all_evidence)} of the spikes kept"
        suspects = tuple(shared)
    if rose := _rose(one.rows, ("lr", "learning_rate")):
        found["learning-rate"] = f"from {rose[0]:.3g} to {rose[1]:.3g} within {len(one.rows)} steps"
    if rose := _rose(one.rows[:-1], ("grad_norm", "gradient_norm")):
        found["gradients"] = f"the gradient norm went from {rose[0]:.3g} to {rose[1]:.3g} before the spike"
    near = [start for start in starts if 0 <= one.step - start < NEAR]
    if near:
        found["restart"] = f"a resumed run began with step {near[0]}"
    names = [name for name in CAUSES if name in found]
    if not names:
        said = "the batch looks like the one before, and nothing that was recorded moved"
        return Cause(one.step, "unknown", said, (), suspects, NEXT["unknown"])
    return Cause(one.step, names[0], found[names[0]], tuple(names[1:]), suspects, NEXT[names[0]])


NEXT = {
    "broken-batch": "load evidence.batch() and find which sample holds them",
    "unusual-batch": "load evidence.batch() and compare its samples one by one",
    "same-sample": "train one step with and one without that sample",
    "learning-rate": "run the steps again from the last checkpoint with the old learning rate",
    "gradients": "clip gradients, or record them by layer to see where they begin",
    "restart": "labkit.resume.audit(program): the resumed run may not be the same run",
    "unknown": "record lr, grad_norm and ids as well, and run the step again from the last checkpoint",
}


def _unusual(summary: Mapping[str, Mapping[str, Any]], before: Mapping[str, Mapping[str, Any]]) -> str:
    for name, held in summary.items():
        other = before.get(name)
        if not other or "largest" not in held or "largest" not in other:
            continue
        usual = max(abs(other["smallest"]), abs(other["largest"]), 1e-12)
        most = max(abs(held["smallest"]), abs(held["largest"]))
        if most > OUTSIDE * usual:
            return f"{name} reaches {most:.4g}, in the batch before {usual:.4g}"
    return ""


def _shared(one: Evidence, all_evidence: Sequence[Evidence]) -> list[Any]:
    others = [set(map(str, other.ids)) for other in all_evidence if other.step != one.step]
    counts = Counter({i: sum(str(i) in held for held in others) for i in one.ids})
    return [i for i, times in counts.most_common() if times]


def _times(sample: Any, all_evidence: Sequence[Evidence]) -> int:
    return sum(str(sample) in set(map(str, other.ids)) for other in all_evidence)


def _rose(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> tuple[float, float] | None:
    for name in names:
        values = [float(row[name]) for row in rows if name in row]
        if len(values) >= 2 and values[-1] > ROSE * min(values[:-1]) > 0:
            return min(values[:-1]), values[-1]
    return None
