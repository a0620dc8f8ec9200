"""What a store says about its saves, its loads and itself."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Saved:
    """A save that succeeded: durable, and read back against its checksums.

    Attributes:
        step: of the training.
        sequence: its place among all saves of the store; the highest is the newest.
        files: how many files it has, the manifest not counted.
        bytes: their size in all.
        seconds: from the call to the end of cleaning up. Large for an async save: that is work in the background.
        not_tidied: why old checkpoints weren't removed; "" where they were. Not empty again and again: space runs out.
    """

    step: int
    sequence: int
    files: int
    bytes: int
    seconds: float
    not_tidied: str


@dataclass(frozen=True)
class PassedOver:
    """A checkpoint that wasn't loaded, although it is newer than the one that was.

    Attributes:
        sequence: its place among all saves.
        step: of the training; None where the manifest itself is damaged.
        reason: what is wrong with it.
    """

    sequence: int
    step: int | None
    reason: str

    def __str__(self) -> str:
        """One line."""
        step = "" if self.step is None else f" (step {self.step})"
        return f"save {self.sequence}{step}: {self.reason}"


@dataclass(frozen=True)
class Loaded:
    """A checkpoint, verified.

    Attributes:
        state: what was saved; tensors on the CPU.
        step: updates that were done when it was saved.
        sequence: its place among all saves.
        passed_over: newer ones that don't verify, newest first. Not empty: work was lost, and here is why.
    """

    state: Any
    step: int
    sequence: int
    passed_over: tuple[PassedOver, ...]


@dataclass(frozen=True)
class Entry:
    """One checkpoint of a store.

    Attributes:
        sequence: its place among all saves.
        step: of the training; None where the manifest is damaged.
        files: how many.
        bytes: their size.
        fault: what is wrong with it; "" where it verifies.
    """

    sequence: int
    step: int | None
    files: int
    bytes: int
    fault: str


@dataclass(frozen=True)
class StoreReport:
    """Every checkpoint of a store, read against its checksums.

    Attributes:
        place: where it is.
        entries: the checkpoints, newest first.
        unfinished: saves that were begun and never published. More than the one under way: leftovers of a crash, which
            the next save removes.
    """

    place: str
    entries: tuple[Entry, ...]
    unfinished: int

    @property
    def ok(self) -> bool:
        """Whether all of them verify. True for a store that is empty."""
        return all(not entry.fault for entry in self.entries)

    def frame(self) -> pd.DataFrame:
        """One row a checkpoint: save, step, files, bytes, verdict."""
        import pandas as pd

        rows = [(e.sequence, e.step, e.files, e.bytes, e.fault or "verified") for e in self.entries]
        made = pd.DataFrame(rows, columns=["save", "step", "files", "bytes", "verdict"])
        return made.astype({"step": "Int64"})

    def text(self) -> str:
        """One line a checkpoint, and what a load would take."""
        if not self.entries:
            return f"{self.place} holds no checkpoint; unfinished saves: {self.unfinished}"
        lines = []
        for entry in self.entries:
            step = "?" if entry.step is None else entry.step
            lines.append(f"save {entry.sequence}, step {step}, {entry.bytes} bytes: {entry.fault or 'verified'}")
        good = next((entry for entry in self.entries if not entry.fault), None)
        lines.append(f"load takes save {good.sequence}" if good else "load would find none that verifies")
        lines.append(f"unfinished saves: {self.unfinished}")
        return "\n".join(lines)

    def as_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {**asdict(self), "ok": self.ok}

    def to_json(self) -> str:
        """Everything, as JSON."""
        return json.dumps(self.as_dict())
