"""What an audit found: the declared contract, its verdict, and each fault with where it shows first."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from labkit.resume.auditing_compare import Difference
from labkit.resume.contract_tost import Equivalence
from labkit.resume.kill import Kill

if TYPE_CHECKING:
    import pandas as pd

    from labkit.picture import Picture


@dataclass(frozen=True)
class ResumeFinding:
    """One way in which a resumed run isn't the continuous one.

    Attributes:
        component: the first part that differs, such as optimizer, rng, order, cursor, sample ids, schedule, scaler,
            ema, gradients; `checkpoint` where a checkpoint can't be loaded, is lost or damaged; `program` where
            training itself raises or hangs, or two uninterrupted runs differ.
        said: what was seen, in a sentence.
        leaf: which value; empty where no single one is to blame.
        rank: on which rank.
        step: after how many steps.
        expected: the continuous run's value, short.
        seen: the resumed run's value, short.
        kin: whose value it is instead (another step's, another rank's), where the continuous run had such a one.
        kills: the kills of the first run that showed it; two where it takes two.
        times: how many of the killed runs showed it.
        only_twice: whether it showed only after a second kill.
    """

    component: str
    said: str
    leaf: str
    rank: int
    step: int
    expected: str
    seen: str
    kin: str
    kills: tuple[Kill, ...]
    times: int
    only_twice: bool

    def text(self) -> str:
        """The finding in a few lines."""
        lines = [f"{self.component}: {self.said}"]
        if self.kills:
            kills = "; then ".join(kill.text() for kill in self.kills)
            twice = ", only after a second kill" if self.only_twice else ""
            lines.append(f"  - first seen after a kill in {kills}; in {self.times} of the killed runs{twice}")
        return "\n".join(lines)


@dataclass(frozen=True)
class Scenario:
    """One run that was killed and resumed.

    Attributes:
        kills: where; one or two.
        difference: the first bitwise difference; None where there is none.
        inexact: the same by the sample-exact contract: floats may differ by rounding.
    """

    kills: tuple[Kill, ...]
    difference: Difference | None
    inexact: Difference | None


@dataclass(frozen=True)
class ResumeReport:
    """A program audited.

    Attributes:
        contract: what was declared: bitwise, sample-exact or statistical.
        kept: whether it held in every killed run.
        attained: the strongest contract that held: bitwise, sample-exact, or none.
        findings: each fault once, the one that shows earliest first.
        harmless: differences at the start of a resumed process that were gone soon and changed nothing.
        scenarios: every killed run.
        equivalence: what TOST found, where the contract is statistical.
        ranks: how many.
        steps: how long the continuous run was.
        lives: processes that were started (on several ranks: groups).
        unseen: parts of the state that can't be looked into, by name.
        seconds: how long the audit took.
    """

    contract: str
    kept: bool
    attained: str
    findings: tuple[ResumeFinding, ...]
    harmless: tuple[str, ...]
    scenarios: tuple[Scenario, ...]
    equivalence: Equivalence | None
    ranks: int
    steps: int
    lives: int
    unseen: tuple[str, ...] = field(default=())
    seconds: float = 0.0

    @property
    def first(self) -> ResumeFinding | None:
        """The finding to look at first."""
        return self.findings[0] if self.findings else None

    def text(self) -> str:
        """The report for a terminal."""
        phases = Counter(one.kills[0].phase for one in self.scenarios if len(one.kills) == 1)
        twice = sum(len(one.kills) == 2 for one in self.scenarios)
        told = ", ".join(f"{phase} {n}" for phase, n in phases.items())
        lines = [
            f"contract {self.contract}: {'kept' if self.kept else 'BROKEN'} (attained: {self.attained})",
            f"{self.steps} steps, {self.ranks} rank{'s' * (self.ranks > 1)}, {len(self.scenarios)} killed runs "
            f"({told}; twice {twice}), {self.lives} processes, {self.seconds:.1f} s",
        ]
        if self.equivalence is not None:
            lines.append(self.equivalence.text())
        lines += [one.text() for one in self.findings]
        lines += [f"harmless: {one}" for one in self.harmless]
        if self.unseen:
            lines.append(f"not looked into: {', '.join(self.unseen)}")
        return "\n".join(lines)

    def as_dict(self) -> dict[str, Any]:
        """The report as plain values."""
        return {
            "contract": self.contract,
            "kept": self.kept,
            "attained": self.attained,
            "findings": [asdict(one) for one in self.findings],
            "harmless": list(self.harmless),
            "equivalence": None if self.equivalence is None else asdict(self.equivalence),
            "ranks": self.ranks,
            "steps": self.steps,
            "killed_runs": len(self.scenarios),
            "lives": self.lives,
            "unseen": list(self.unseen),
            "seconds": self.seconds,
        }

    def frame(self) -> pd.DataFrame:
        """One row a killed run: its kills, and the first difference."""
        import pandas as pd

        rows = []
        for one in self.scenarios:
            found = one.difference
            rows.append(
                {
                    "step": one.kills[0].step,
                    "phase": one.kills[0].phase,
                    "second kill": one.kills[1].text() if len(one.kills) > 1 else "",
                    "component": "" if found is None else found.component,
                    "rank": None if found is None else found.rank,
                    "at step": None if found is None else found.step,
                    "lasting": found is not None and found.lasting,
                }
            )
        columns = ["step", "phase", "second kill", "component", "rank", "at step", "lasting"]
        return pd.DataFrame(rows, columns=columns)

    def plot(self) -> Picture:
        """Every kill as a square: step against phase, and what differed after it."""
        from labkit.resume.auditing_drawing import draw

        return draw(self)

    def _repr_html_(self) -> str:
        from html import escape

        return f"<pre>{escape(self.text())}</pre>"
