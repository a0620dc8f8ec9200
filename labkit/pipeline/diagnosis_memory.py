"""Rules for causes that cost memory, not time: they end a run hours later, while the trainer never waits."""

from __future__ import annotations

from dataclasses import replace

from labkit.pipeline.diagnosis_causes import COPY_ON_WRITE, LIMITS, MIB, PREFETCH_MEMORY, SHARED_MEMORY, digits
from labkit.pipeline.diagnosis_record import Record
from labkit.pipeline.diagnosis_rules import Rule, rule
from labkit.pipeline.remedy_replay import replay

_SHM_WORDS = ("shared memory", "bus error", "no space left", "/dev/shm", "unable to allocate", "unable to mmap")


def speaks_of_shared_memory(text: str) -> bool:
    """An error that a full /dev/shm causes, by its words."""
    return any(words in text.lower() for words in _SHM_WORDS)


@rule(SHARED_MEMORY, steady=False)
def shared_memory_exhausted(r: Record) -> tuple[bool | None, str]:
    """Batches that wait need more shared memory than there is, or nearly."""
    if not r.workers:
        return False, "nothing goes through shared memory"
    if speaks_of_shared_memory(r.packing_failed):
        return True, r.packing_failed
    if r.shm_free is None:
        return None, "/dev/shm can't be seen"
    words = (
        f"{r.workers} workers x {r.prefetch_factor} batches x {digits(r.batch_bytes / MIB)} MiB = "
        f"{digits(r.held / MIB, 4)} MiB; "
        f"{r.shm_free / MIB:.5g} MiB free in /dev/shm"
    )
    return r.held > LIMITS.room * r.shm_free, words


@rule(PREFETCH_MEMORY, steady=False)
def prefetch_memory(r: Record) -> tuple[bool | None, str]:
    """Far more batches are held ready than it takes to keep the trainer busy."""
    if not r.workers:
        return False, "no batch is held ready"
    least = least_prefetch(r)
    words = (
        f"{r.workers} workers x {r.prefetch_factor} batches x {digits(r.batch_bytes / MIB)} MiB = "
        f"{digits(r.held / MIB, 4)} MiB "
        f"held ready; prefetch_factor {least} keeps the trainer as busy"
    )
    return r.held >= LIMITS.held_bytes and least <= r.prefetch_factor / 2, words


@rule(COPY_ON_WRITE, steady=False)
def copy_on_write(r: Record) -> tuple[bool | None, str]:
    """Workers gain memory of their own by reading what they share: counting references writes to its pages."""
    if not r.workers:
        return False, "no workers"
    if r.method != "fork":
        return False, f"workers started by {r.method} share no pages with the trainer"
    if r.copied is None:
        return None, "the workers' own memory can't be seen"
    words = (
        f"over {len(r.train)} batches the workers copied {digits(r.copied / MIB)} MiB of pages "
        f"that they had shared with "
        "the trainer"
    )
    return r.copied >= LIMITS.copied_bytes, words


def least_prefetch(r: Record) -> int:
    """The least prefetch_factor at which the recorded epoch takes no longer, within 2 %."""
    now = r.replayed().makespan
    factor = 1
    while factor < r.prefetch_factor and replay(replace(r.plan(), prefetch_factor=factor)).makespan > 1.02 * now:
        factor += 1
    return factor


MEMORY_RULES: tuple[Rule, ...] = (shared_memory_exhausted, copy_on_write, prefetch_memory)
