"""Which targeted probes are worth their time: each question is asked only where the first experiments give a reason."""

from __future__ import annotations

import math

from labkit.pipeline.diagnosis_causes import LIMITS
from labkit.pipeline.diagnosis_memory import least_prefetch
from labkit.pipeline.diagnosis_record import Record


def short_of_batches(record: Record) -> bool:
    """The trainer waits between batches."""
    return record.seen and record.steady_loss >= LIMITS.loss / 2


def one_thread(record: Record) -> bool:
    """Workers have more threads than cores."""
    if not record.workers or not short_of_batches(record):
        return False
    return (record.threads or 1) > 1 or (record.tasks or 0) > 4


def all_cores(record: Record) -> bool:
    """Workers may not use every core."""
    if not record.workers or record.worker_cores is None or not short_of_batches(record):
        return False
    return len(record.worker_cores) < record.cores


def more_workers(record: Record) -> int:
    """How many workers might keep the trainer busy; 0 where more make no sense."""
    if not short_of_batches(record) or record.workers is None:
        return 0
    needed = math.ceil(record.mean_prepare / max(record.mean_train, 0.1) * 1.1)
    idle = record.blocked is not None and record.blocked >= LIMITS.blocked
    most = max(2, min(4 * record.cores, 16)) if idle else record.cores
    wanted = max(record.workers + 1, min(needed, most))
    return wanted if wanted <= most else 0


def canned(record: Record) -> bool:
    """Preparing is what limits, so the question is what remains without it."""
    if not record.workers or not short_of_batches(record):
        return False
    return record.mean_prepare / record.workers > 0.8 * record.mean_train


def in_one(record: Record) -> bool:
    """Sending and fetching cost more than preparing."""
    if not record.workers or not short_of_batches(record):
        return False
    sending = sum(record.sending) / len(record.sending) if record.sending else 0.0
    return sending + record.get_cost >= 2 * LIMITS.fetch_ms and record.get_cost >= 0.15 * record.mean_train


def fewer_ready(record: Record) -> int:
    """The prefetch_factor that is enough, where far more is held ready; 0 elsewhere."""
    if not record.seen or not record.workers or record.held < LIMITS.held_bytes:
        return 0
    least = least_prefetch(record)
    return least if least <= record.prefetch_factor / 2 else 0


def second_read(record: Record) -> bool:
    """Preparing reads, and waits."""
    if not short_of_batches(record) or record.asked is None or record.asked < LIMITS.read_bytes:
        return False
    return record.blocked is None or record.blocked >= LIMITS.blocked / 2


def kept_workers(record: Record) -> bool:
    """Epochs begin with a wait, and the workers are new each time."""
    return bool(record.workers) and not record.persistent and record.start_loss >= LIMITS.loss / 2


def pickled(record: Record) -> bool:
    """Starting is slow, and the data set travels to the workers as bytes."""
    return bool(record.workers) and record.method in ("spawn", "forkserver") and record.first_loss >= LIMITS.loss / 2
