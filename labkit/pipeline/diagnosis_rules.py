"""One small rule for each cause that costs time. It reads the record alone, and abstains where it lacks a figure."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

from labkit.pipeline.diagnosis_causes import (
    COLLATE,
    DECODE,
    HEAD_OF_LINE,
    LIMITS,
    MIB,
    PICKLED,
    PINNED,
    RESPAWNED,
    STORAGE,
    THREADS,
    TOO_FEW,
    TRANSPORT,
    digits,
)
from labkit.pipeline.diagnosis_record import Record
from labkit.pipeline.remedy_replay import replay
from labkit.words import counted


@dataclass(frozen=True)
class Opinion:
    """What one rule says.

    Attributes:
        cause: of `CAUSES`.
        holds: the cause is at work; None: the rule abstains.
        why: the figures that say so.
    """

    cause: str
    holds: bool | None
    why: str


Rule = Callable[[Record], Opinion]


def rule(cause: str, *, steady: bool = True) -> Callable[[Callable[[Record], tuple[bool | None, str]]], Rule]:
    """A rule for `cause`. Those about a steady loss need workers that can be seen, and a trainer that waits."""

    def of(judge: Callable[[Record], tuple[bool | None, str]]) -> Rule:
        @functools.wraps(judge)
        def rule(record: Record) -> Opinion:
            if not record.seen:
                return Opinion(cause, None, "how the loader prepares can't be seen")
            if steady and record.steady_loss < LIMITS.loss:
                return Opinion(cause, False, f"the trainer waits {record.steady_loss:.0%} of the time between batches")
            return Opinion(cause, *judge(record))

        return rule

    return of


def supply_ms(record: Record) -> float:
    """Ms between two batches that the workers can keep up, sending left out."""
    return record.mean_prepare / max(1, record.workers or 0)


def supply_is_short(record: Record) -> bool:
    """On average the workers need longer for a batch than the trainer."""
    return record.workers == 0 or supply_ms(record) > 0.9 * record.mean_train


@rule(TOO_FEW)
def too_few_workers(r: Record) -> tuple[bool | None, str]:
    """More workers supply more: cores are idle, or preparing waits for something that isn't a core or a disk."""
    workers = r.workers or 0
    if not supply_is_short(r):
        return (
            False,
            f"{counted(workers, 'worker')}: a batch each {digits(supply_ms(r))} ms, "
            f"a step takes {digits(r.mean_train)}",
        )
    if r.more_workers is None:
        return False, f"{counted(workers, 'worker')} for {r.cores} cores, which are busy"
    if r.with_more is None:
        return None, "there was no time to try more workers"
    if slow_storage(r).holds:
        return False, "workers wait for storage, and more of them would wait as well"
    more = r.with_more.prepare / r.more_workers
    words = (
        f"prepare {digits(r.mean_prepare)} ms with {counted(workers, 'worker')}, train "
        f"{digits(r.mean_train)} ms; "
        f"with {r.more_workers} workers prepare takes {digits(r.with_more.prepare)} ms, so a "
        f"batch each {digits(more)} ms"
    )
    return more <= LIMITS.faster * supply_ms(r), words


@rule(PINNED)
def workers_pinned(r: Record) -> tuple[bool | None, str]:
    """The workers' affinity leaves cores out, and preparing is faster without it."""
    if r.worker_cores is None:
        return None, "the workers' affinity can't be seen"
    if not r.workers:
        return False, "no workers"
    if len(r.worker_cores) >= min(r.cores, r.workers):
        return False, f"the workers may use {len(r.worker_cores)} of {r.cores} cores"
    places = ", ".join(map(str, r.worker_cores))
    words = f"{r.workers} workers may only run on core {places} of {r.cores} cores"
    if r.all_cores is None:
        return None, f"{words}; there was no time to try all cores"
    words += f"; prepare {digits(r.mean_prepare)} ms, with all cores {digits(r.all_cores.prepare)} ms"
    return r.all_cores.prepare <= LIMITS.faster * r.mean_prepare, words


@rule(THREADS)
def thread_oversubscription(r: Record) -> tuple[bool | None, str]:
    """The workers' threads are more than the cores, and preparing is faster with one thread in each."""
    if r.threads is None:
        return None, "the workers' threads can't be seen"
    if not r.workers:
        return False, "no workers"
    threads = max(r.threads, 1)
    if r.one_thread is None:
        enough = threads * r.workers <= r.cores or threads == 1
        words = f"{r.workers} workers with {threads} thread{'s' * (threads > 1)} on {r.cores} cores"
        return (False if enough else None), words
    words = (
        f"{r.workers} workers x {threads} threads on {r.cores} cores; prepare {digits(r.mean_prepare)} ms, "
        f"with one thread each {digits(r.one_thread.prepare)} ms"
    )
    return r.one_thread.prepare <= LIMITS.faster * r.mean_prepare, words


@rule(COLLATE)
def slow_collate(r: Record) -> tuple[bool | None, str]:
    """Joining samples takes most of the time, or samples are so small that handling them one by one does."""
    if r.collate is None or r.floor is None:
        return None, "the collate function can't be timed"
    joining = r.collate * r.mean_prepare
    each = (r.mean_prepare - joining) / max(1.0, r.batch_size)
    words = (
        f"collate {digits(joining)} of prepare {digits(r.mean_prepare)} ms, {digits(1000 * each)} "
        f"us a sample for the rest; "
        f"copying the batch takes {digits(r.floor, 2)} ms"
    )
    if r.mean_prepare < LIMITS.floor * r.floor or not supply_is_short(r):
        return False, words
    tiny = each < 0.05 and r.batch_size >= 64 and (r.asked or 0) < LIMITS.read_bytes
    return (r.collate >= LIMITS.dominates and joining > LIMITS.floor * r.floor) or tiny, words


@rule(STORAGE)
def slow_storage(r: Record) -> tuple[bool | None, str]:
    """Workers read, and wait for what they read."""
    if r.asked is None or r.blocked is None:
        return None, "reads can't be seen"
    words = f"{digits(r.asked / 1024, 4)} KiB read a batch, {digits((r.disk or 0) / 1024, 4)} of them from a disk; " + (
        f"of prepare {r.blocked:.0%} waiting, {r.computing:.0%} computing"
    )
    if r.second_read is not None:
        words += f"; read again, prepare takes {digits(r.second_read)} ms instead of {digits(r.mean_prepare)}"
    return r.asked >= LIMITS.read_bytes and r.blocked >= LIMITS.blocked, words


@rule(DECODE)
def decode_bound(r: Record) -> tuple[bool | None, str]:
    """Workers compute in the data set all the time, and no core is left for more of them."""
    if r.computing is None or r.starved is None or r.collate is None:
        return None, "the workers' processor time can't be seen"
    words = (
        f"of prepare {r.computing:.0%} computing, {r.starved:.0%} waiting for a core, {r.collate:.0%} collating; "
        f"{r.workers} workers on {r.cores} cores"
    )
    if any(other(r).holds for other in (workers_pinned, thread_oversubscription, slow_collate, too_few_workers)):
        return False, words
    busy = r.computing + r.starved
    return supply_is_short(r) and busy >= 1 - LIMITS.blocked and r.collate < LIMITS.dominates, words


@rule(TRANSPORT)
def transport_bound(r: Record) -> tuple[bool | None, str]:
    """Preparing would keep up, were it not for the bytes on their way."""
    if not r.workers:
        return False, "batches are prepared where they are used"
    sending = sum(r.sending) / len(r.sending) if r.sending else 0.0
    words = (
        f"{digits(r.batch_bytes / MIB)} MiB a batch: packing {digits(sending)} ms, fetching {digits(r.get_cost)} ms; "
        f"prepare {digits(r.mean_prepare)} ms"
    )
    if sending + r.get_cost < 2 * LIMITS.fetch_ms:
        return False, words
    free = replay(r.plan().scaled(r.mean_prepare, sending=(0.0,), get_cost=min(r.get_cost, LIMITS.fetch_ms)))
    return free.makespan <= (1 - LIMITS.transport) * r.replayed().makespan, words


@rule(HEAD_OF_LINE)
def head_of_line(r: Record) -> tuple[bool | None, str]:
    """The workers keep up on average, but a slow batch holds back finished ones."""
    if not r.in_order or (r.workers or 0) < 2:
        return False, "batches don't wait for each other's order"
    longest = max(r.prepare)
    words = (
        f"slowest batch {digits(longest)} ms, the mean {digits(r.mean_prepare)}; {r.workers} workers supply one each "
        f"{digits(supply_ms(r))} ms, a step takes {digits(r.mean_train)}"
    )
    if supply_ms(r) > 1.1 * r.mean_train:
        return False, words
    now, free = r.replayed(), replay(r.plan().scaled(r.mean_prepare, in_order=False))
    words += f"; out of order the same trace takes {digits(free.makespan, 4)} instead of {digits(now.makespan, 4)} ms"
    return free.makespan <= (1 - LIMITS.loss / 2) * now.makespan and longest > 3 * r.mean_prepare, words


@rule(RESPAWNED, steady=False)
def respawned(r: Record) -> tuple[bool | None, str]:
    """Each epoch starts workers anew, and that takes a good part of it."""
    if not r.workers or r.persistent:
        return False, "workers are kept between epochs" if r.workers else "no workers"
    if r.new_pids is None:
        return None, "the workers can't be seen"
    words = f"other workers in each epoch; its first batch takes {digits(r.later_wait, 4)} of {digits(r.epoch, 4)} ms"
    if r.start_kept is not None:
        words += f"; with workers kept they begin after {digits(r.start_kept)} instead of {digits(r.start)} ms"
    return r.new_pids and r.start_loss >= LIMITS.loss, words


@rule(PICKLED, steady=False)
def pickled_to_workers(r: Record) -> tuple[bool | None, str]:
    """Workers get the data set as bytes, many of them, and starting takes accordingly long."""
    if not r.workers or r.method not in ("spawn", "forkserver"):
        return False, f"workers are started by {r.method}: nothing is pickled" if r.workers else "no workers"
    if r.first_loss < LIMITS.loss:
        return False, f"starting takes {r.first_loss:.0%} of the first epoch"
    if r.pickled is None or r.pickling is None:
        return None, "the data set's pickled size can't be seen"
    words = (
        f"{digits(r.pickled / MIB)} MiB pickled to each of {r.workers} workers ({r.method}), "
        f"{digits(r.pickling)} ms for one; "
        f"iter() takes {digits(r.starting, 4)} ms, the first batch {digits(r.first_wait, 4)}"
    )
    if r.bare_start is None or r.again_start is None:
        return r.pickled >= LIMITS.pickled_bytes and r.pickling * r.workers >= 0.25 * r.first_start, words
    saved = r.again_start - r.bare_start
    words += (
        f"; workers begin after {digits(r.again_start, 4)} ms, with an empty data set after {digits(r.bare_start, 4)}"
    )
    much = saved >= LIMITS.loss * (r.epoch - r.later_wait + r.first_wait) and saved >= r.pickling / 2
    return r.pickled >= LIMITS.pickled_bytes and much, words


TIME_RULES: tuple[Rule, ...] = (
    pickled_to_workers,
    respawned,
    workers_pinned,
    thread_oversubscription,
    head_of_line,
    transport_bound,
    slow_collate,
    slow_storage,
    too_few_workers,
    decode_bound,
)
