"""The vocabulary of causes, and every threshold of the rules in one place, each with its reason."""

from __future__ import annotations

from dataclasses import dataclass

HEALTHY, UNSURE = "healthy", "not enough evidence"
TOO_FEW, RESPAWNED, PICKLED = "too few workers", "workers respawned each epoch", "data set pickled to workers"
COPY_ON_WRITE, PREFETCH_MEMORY = "copy-on-write growth", "prefetch memory"
THREADS, COLLATE, TRANSPORT = "thread oversubscription", "slow collate", "transport-bound"
PINNED, SHARED_MEMORY = "workers pinned", "shared memory exhausted"
HEAD_OF_LINE, STORAGE, DECODE = "head-of-line blocking", "slow storage", "decode-bound"

CAUSES = (
    HEALTHY,
    UNSURE,
    TOO_FEW,
    RESPAWNED,
    PICKLED,
    COPY_ON_WRITE,
    PREFETCH_MEMORY,
    THREADS,
    COLLATE,
    TRANSPORT,
    PINNED,
    SHARED_MEMORY,
    HEAD_OF_LINE,
    STORAGE,
    DECODE,
)
"""What `diagnose` may answer: healthy, an abstention, and one name for each fault."""

MIB = 1 << 20


@dataclass(frozen=True)
class Limits:
    """Where the rules draw their lines. Shares are of an epoch's time unless said otherwise.

    Attributes:
        loss: waiting below this share isn't worth a change: run-to-run spread of a loader is about as large.
        fetch_ms: a fetch costs about this much whatever one does; below it, waiting is no fault.
        small_bytes: of a batch; up to here the trip of the bytes themselves costs next to nothing.
        fewest: batches below which a mean says little.
        busy: cores that others may keep busy; above it, times say more about them than about the loader.
        dominates: a part that takes this share of a whole is the part to work on.
        changed: a step without a loader that takes this many times as long as beside one wasn't on the same machine.
        faster: a targeted probe must lower the prepare time to this share of what it was; less could be chance.
        waits_for_core: a worker that waits for a core this share of its time has too little of it.
        blocked: a worker that neither computes nor waits for a core this share of its time waits for a device.
        read_bytes: bytes read for a batch, below which a wait has nothing to do with storage.
        floor: preparing within this multiple of a plain copy of the bytes can't be made much faster.
        copied_bytes: pages copied on write, all workers together; Python and torch by themselves copy less.
        held_bytes: memory of batches that wait; below it nobody runs out.
        transport: share of an epoch that sending must cost; big batches always cost some.
        room: share of the free shared memory that waiting batches may need.
        pickled_bytes: a pickled data set below this isn't what makes a start slow.
    """

    loss: float = 0.10
    fetch_ms: float = 1.0
    small_bytes: float = 1.0 * MIB
    fewest: int = 8
    busy: float = 0.35
    dominates: float = 0.5
    changed: float = 1.5
    faster: float = 0.87
    waits_for_core: float = 0.25
    blocked: float = 0.35
    read_bytes: float = 4096.0
    floor: float = 5.0
    copied_bytes: float = 40.0 * MIB
    held_bytes: float = 192.0 * MIB
    transport: float = 0.25
    room: float = 0.7
    pickled_bytes: float = 8.0 * MIB


LIMITS = Limits()


def digits(value: float, most: int = 3) -> str:
    """A figure for a person: `most` digits that count, thousands in full, never an exponent."""
    text = f"{value:.{most}g}"
    if "e" not in text:
        return text
    return f"{value:,.0f}" if abs(value) >= 1 else f"{value:.6f}"
