"""Real loaders with one planted cause each, so that a diagnosis can be tried where the truth is known.

`planted("slow collate", seed=3)` gives a job whose sizes follow from the seed, a training step, and the same job with
the fault's remedy. The work is real: pictures are decoded, records are pickled, threads fight for cores. What is
simulated is said in the workload's note: the training step of most is a sleep that stands for a GPU step.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from torch.utils.data import DataLoader

from labkit.errors import UsageError

MakeLoader = Callable[[], DataLoader[Any]]


@dataclass(frozen=True)
class Workload:
    """One job with a known fault.

    Attributes:
        cause: what is wrong, in the words of `labkit.pipeline.CAUSES`; of a mixed job, what costs most.
        make_loader: a fresh DataLoader of the job as it is.
        step: trains on one batch.
        make_fixed: a fresh DataLoader of the same job, with the remedy for `cause`.
        note: what was planted and how, what stands for what, and the remedy.
        also: what else is wrong with it, and costs less; empty unless the job is mixed.
        sizes: what was drawn: counts, bytes, lengths in ms. Equal for equal (cause, seed, scale), but for lengths in
            ms, which are set against the speed of this machine, and what follows from them.
        held: what must live as long as the job does (a temporary folder).
    """

    cause: str
    make_loader: MakeLoader
    step: Callable[[Any], Any]
    make_fixed: MakeLoader
    note: str
    also: tuple[str, ...] = ()
    sizes: dict[str, float] = field(default_factory=dict)
    held: Any = field(default=None, repr=False, compare=False)

    def close(self) -> None:
        """Remove the job's temporary files, if it has any; its loaders can't be used after that."""
        if self.held is not None:
            self.held.close()


# kind -> module below labkit.pipeline and the function there that makes one; the order is that of the cause table.
MAKERS = {
    "too few workers": ("planted_supply", "too_few_workers"),
    "workers respawned each epoch": ("planted_records", "respawned"),
    "data set pickled to workers": ("planted_records", "pickled"),
    "copy-on-write growth": ("planted_records", "copy_on_write"),
    "prefetch memory": ("planted_batches", "prefetch_memory"),
    "thread oversubscription": ("planted_threads", "oversubscribed"),
    "slow collate": ("planted_batches", "slow_collate"),
    "transport-bound": ("planted_batches", "transport"),
    "workers pinned": ("planted_supply", "workers_pinned"),
    "shared memory exhausted": ("planted_batches", "shm_exhausted"),
    "head-of-line blocking": ("planted_supply", "head_of_line"),
    "slow storage": ("planted_storage", "slow_storage"),
    "decode-bound": ("planted_supply", "decode_bound"),
    "healthy": ("planted_healthy", "healthy"),
    "mixed": ("planted_mixed", "mixed"),
}
KINDS = tuple(MAKERS)


def planted(cause: str, *, seed: int = 0, scale: float = 1.0) -> Workload:
    """A job with `cause` planted in it, of sizes that follow from `seed`.

    Args:
        cause: one of `KINDS`: a cause of the stall doctor's vocabulary, "healthy", or "mixed" (two causes; the result
            names the one that costs most).
        seed: draws the sizes, and the shape where a cause has several.
        scale: stretches the number of batches; at 1 an epoch takes about 1 to 3 s on 2 cores.

    Raises:
        UsageError: no such cause, or scale isn't above 0.
        LabkitError: this machine can't show the cause; the text says what is missing.
    """
    if cause not in MAKERS:
        raise UsageError(f"planted() has no cause {cause!r}: choose from {', '.join(map(repr, MAKERS))}")
    if not scale > 0:
        raise UsageError(f"scale is {scale!r}: give a number above 0")
    from labkit.pipeline.planted_parts import Draw

    module, name = MAKERS[cause]
    make: Callable[[Draw, int], Workload] = getattr(importlib.import_module(f"labkit.pipeline.{module}"), name)
    return make(Draw(cause, seed, scale), seed)
