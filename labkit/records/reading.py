"""A record read again: also after a kill, also while it is being written."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labkit.errors import UsageError
from labkit.records import causes, evidence, healthiness, identity
from labkit.records.causes import Cause
from labkit.records.evidence import Evidence
from labkit.records.healthiness import Health
from labkit.records.identity import Identity, Reproduction

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Record:
    """What a run left behind.

    Attributes:
        rows: one a step, in order; of a step that was done again, the later one.
        identities: one a process that wrote it.
        evidence: of the spikes that were kept.
        starts: the first step of each process.
        repeated: steps that were done again after a restart.
        torn: lines that a kill cut off.
        folder: where it lies.
    """

    rows: tuple[Mapping[str, Any], ...]
    identities: tuple[Identity, ...]
    evidence: tuple[Evidence, ...]
    starts: tuple[int, ...]
    repeated: tuple[int, ...]
    torn: int
    folder: Path

    def frame(self) -> pd.DataFrame:
        """One row a step."""
        import pandas as pd

        return pd.DataFrame(list(self.rows))

    def health(self, metric: str = "loss") -> Health:
        """Is it healthy?"""
        return healthiness.judge(self.rows, max(len(self.starts), 1), self.repeated, metric)

    def reproduction(self, other: Record | Identity | None = None) -> Reproduction:
        """Can it be reproduced? Against another record; without one, the processes of this record among themselves.

        Raises:
            UsageError: a record has no identity.
        """
        mine = self._identity()
        if other is None:
            return identity.reproduction(self.identities[0], self.identities[-1])
        return identity.reproduction(mine, other._identity() if isinstance(other, Record) else other)

    def cause(self, step: int | None = None) -> Cause:
        """Why did it break? Of the spike in `step`, or of the first one kept.

        Raises:
            UsageError: no evidence was kept, or none of this step.
        """
        kept = [one for one in self.evidence if step is None or one.step == step]
        if not kept:
            there = ", ".join(str(one.step) for one in self.evidence) or "none"
            raise UsageError(f"no evidence of {'a spike' if step is None else f'step {step}'}: kept are {there}")
        return causes.judge(kept[0], self.evidence, self.starts[1:])

    def _identity(self) -> Identity:
        if not self.identities:
            raise UsageError(f"{self.folder} has no identity.json: it was not written by a Recorder")
        return self.identities[-1]


def read(folder: str | Path) -> Record:
    """Open a record.

    Raises:
        UsageError: there is none.
    """
    place = Path(folder)
    path = place / "steps.jsonl"
    if not path.exists():
        raise UsageError(f"{str(folder)!r} holds no steps.jsonl: give the folder of a Recorder")
    rows: dict[int, dict[str, Any]] = {}
    starts: list[int] = []
    repeated: list[int] = []
    torn, begins = 0, False
    with path.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            try:
                held = json.loads(line)
                if "run" in held:
                    begins = True
                    continue
                step = int(held["step"])
            except (ValueError, KeyError, TypeError):
                torn += bool(line.strip())
                continue
            if begins:
                starts.append(step)
                begins = False
            if step in rows:
                repeated.append(step)
            rows[step] = {k: float(v) if isinstance(v, str) else v for k, v in held.items()}
    return Record(
        tuple(rows[step] for step in sorted(rows)), _identities(place), tuple(evidence.read_all(place / "evidence")),
        tuple(starts), tuple(repeated), torn, place,
    )  # fmt: skip


def _identities(place: Path) -> tuple[Identity, ...]:
    path = place / "identity.json"
    if not path.exists():
        return ()
    held = json.loads(path.read_text(encoding="utf-8"))
    return tuple(Identity(**{**one, "command": tuple(one["command"])}) for one in held)
