"""What an audit returns: who read which sample, what came twice or never, and what is wrong with it."""

from __future__ import annotations

import json
from collections.abc import Hashable
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from labkit.sharding.findings import Finding, count, listed
from labkit.sharding.ledger import Ledger
from labkit.sharding.setup import Setup

if TYPE_CHECKING:
    import pandas as pd

    from labkit.picture import Picture


@dataclass(frozen=True, eq=False, repr=False)
class Coverage:
    """Who read which sample, on real ranks.

    Attributes:
        ledger: everything that was seen.
        findings: what is wrong, each with cause, evidence and fix; empty where nothing is.
        seconds: how long the audit took.
    """

    ledger: Ledger
    findings: tuple[Finding, ...]
    seconds: float

    @property
    def ranks(self) -> int:
        """How many ranks walked the loader."""
        return self.ledger.ranks

    @property
    def epochs(self) -> int:
        """How many epochs each walked."""
        return self.ledger.epochs

    @property
    def samples(self) -> int:
        """How many samples an epoch should cover: the data set's length, else how many were seen in all."""
        return self.ledger.samples

    @property
    def duplicates(self) -> tuple[Hashable, ...]:
        """Ids read once more in epoch 0, in that order; an id read three times is in it twice.

        `repeated(e)` has any epoch. Each one counts again in a metric that doesn't remove it.
        """
        return self.repeated(0)

    @property
    def missing(self) -> tuple[Hashable, ...]:
        """Ids that no rank read in epoch 0. `missed(e)`: any epoch. Many: a part of the data is never used."""
        return self.missed(0)

    @property
    def steps(self) -> tuple[int, ...]:
        """Steps of each rank in epoch 0. `steps_in(e)`: any epoch. Unequal: a collective in every step hangs."""
        return self.steps_in(0)

    @property
    def per_rank(self) -> list[list[list[Hashable]]]:
        """Epoch 0 as a plan has it: for each rank a list of its batches, each a list of ids."""
        return [[list(d.ids) for d in self.ledger.walks[0, rank]] for rank in range(self.ranks)]

    @property
    def causes(self) -> tuple[str, ...]:
        """The findings' causes, words of `labkit.sharding.CAUSES`; empty where nothing is wrong."""
        return tuple(finding.cause for finding in self.findings)

    @property
    def clean(self) -> bool:
        """Whether nothing was found."""
        return not self.findings

    @property
    def notes(self) -> tuple[str, ...]:
        """What limits what could be seen."""
        return self.ledger.notes

    @property
    def identity(self) -> str:
        """How samples are told apart: "index", "sample_id", "key", "value" or "content"."""
        return self.ledger.identity

    @property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """Ranks that share their data on purpose, given or seen; empty where every rank is on its own."""
        return self.ledger.groups

    @property
    def setups(self) -> tuple[Setup | None, ...]:
        """Each rank's loader, as its attributes describe it."""
        return self.ledger.setups

    def repeated(self, epoch: int) -> tuple[Hashable, ...]:
        """Ids read once more in an epoch."""
        return self.ledger.repeated(epoch)

    def missed(self, epoch: int) -> tuple[Hashable, ...]:
        """Ids that no rank read in an epoch; empty where nothing says what to expect."""
        return self.ledger.missing(epoch)

    def steps_in(self, epoch: int) -> tuple[int, ...]:
        """Steps of each rank in an epoch."""
        return self.ledger.steps(epoch)

    def ids(self, epoch: int, rank: int) -> tuple[Hashable, ...]:
        """The samples of a rank in an epoch, in order."""
        return self.ledger.ids(epoch, rank)

    def frame(self) -> pd.DataFrame:
        """One row for every sample of every step: epoch, rank, worker, reader, step, place, id, again.

        worker -1 is the rank's own process; reader is the rank that read it; again: some step of this epoch had it
        before.
        """
        import pandas as pd

        rows = [
            (d.epoch, d.rank, worker, reader, d.step, place, one, again)
            for d in self.ledger.deliveries
            for place, (one, worker, reader, again) in enumerate(
                zip(d.ids, d.workers, d.readers, self.ledger.again[d.epoch, d.rank, d.step], strict=True)
            )
        ]
        return pd.DataFrame(rows, columns=["epoch", "rank", "worker", "reader", "step", "place", "id", "again"])

    def counts(self) -> pd.DataFrame:
        """One row for every epoch, rank and worker that read something: samples seen, different ones, read again."""
        frame = self.frame()
        by = ["epoch", "rank", "worker"]
        if frame.empty:
            return frame[by].assign(seen=[], different=[], again=[])
        grouped = frame.groupby(by, sort=True)
        return grouped.agg(seen=("id", "size"), different=("id", "nunique"), again=("again", "sum")).reset_index()

    def orders(self) -> pd.DataFrame:
        """One row for every epoch and rank: steps, samples, and a fingerprint of the order (equal: the same order)."""
        import pandas as pd

        rows = [
            (epoch, rank, len(self.ledger.walks[epoch, rank]), len(ids), fingerprint(ids))
            for epoch in range(self.epochs)
            for rank in range(self.ranks)
            for ids in [self.ids(epoch, rank)]
        ]
        return pd.DataFrame(rows, columns=["epoch", "rank", "steps", "samples", "order"])

    def streams(self) -> pd.DataFrame:
        """One row for every generator of every reading process and epoch.

        Columns: epoch, rank, worker, generator, stood (equal: the same draws follow), drawn (whether reading a sample
        moved it).
        """
        import pandas as pd

        rows = [
            (s.epoch, s.rank, s.worker, name, f"{stood:016x}", name in s.drawn)
            for s in self.ledger.streams
            for name, stood in sorted(s.stood.items())
        ]
        return pd.DataFrame(rows, columns=["epoch", "rank", "worker", "generator", "stood", "drawn"])

    def summary(self) -> str:
        """The audit in one paragraph."""
        parts = [f"{count(self.samples, 'sample')} on {count(self.ranks, 'rank')}, {count(self.epochs, 'epoch')}."]
        for epoch in range(self.epochs):
            steps = self.steps_in(epoch)
            taken = f"{steps[0]} steps a rank" if len(set(steps)) == 1 else f"steps {listed(steps, 16)}"
            total = sum(self.ledger.counts(epoch).values())
            short = self.ledger.short(epoch)
            parts.append(
                f"Epoch {epoch}: {taken}, {total:,} reads, {len(self.repeated(epoch)):,} again, {short:,} missing."
            )
        if self.groups:
            how = "as given" if self.ledger.grouped_by == "given" else "as seen"
            parts.append(f"Ranks share data in groups, {how}: {', '.join(str(list(g)) for g in self.groups)}.")
        parts.append(f"Found: {listed(self.causes)}." if self.findings else "Nothing found.")
        return " ".join(parts)

    def text(self) -> str:
        """The audit in words: the summary, every finding with its evidence and fix, and what limits it."""
        lines = [self.summary(), *(finding.text() for finding in self.findings)]
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])

    def __repr__(self) -> str:
        """The summary, so that a bare `audit(...)` at the end of a cell says what it found."""
        return f"Coverage({self.summary()})"

    def as_dict(self) -> dict[str, Any]:
        """The audit as plain values: settings, every step's ids, what came twice or never, findings, notes."""
        epochs = range(self.epochs)
        return {
            "ranks": self.ranks,
            "epochs": self.epochs,
            "samples": self.samples,
            "identity": self.identity,
            "groups": [list(group) for group in self.groups],
            "steps": [list(self.steps_in(epoch)) for epoch in epochs],
            "duplicates": [list(self.repeated(epoch)) for epoch in epochs],
            "missing": [list(self.missed(epoch)) for epoch in epochs],
            "per_rank": [
                [[list(d.ids) for d in self.ledger.walks[epoch, rank]] for rank in range(self.ranks)]
                for epoch in epochs
            ],
            "findings": [finding.as_dict() for finding in self.findings],
            "notes": list(self.notes),
            "seconds": round(self.seconds, 3),
        }

    def to_json(self, indent: int | None = 2) -> str:
        """`as_dict` as JSON; ids that JSON doesn't have (tuples, bytes) as their text."""
        return json.dumps(self.as_dict(), indent=indent, default=str)

    def plot(self, epoch: int = 0) -> Picture:
        """The ledger of one epoch, drawn: a row a rank, a box a sample, what was read before hatched and starred.

        Raises:
            UsageError: there is no such epoch.
        """
        from labkit.errors import UsageError
        from labkit.sharding.ledger_drawing import draw_ledger

        if epoch not in range(self.epochs):
            raise UsageError(f"epoch is {epoch!r}: epochs 0 to {self.epochs - 1} were audited")
        return draw_ledger(self, epoch)


def fingerprint(ids: tuple[Hashable, ...]) -> str:
    """Eight hex digits that differ where the order differs."""
    return blake2b("\n".join(map(repr, ids)).encode(), digest_size=4).hexdigest()
