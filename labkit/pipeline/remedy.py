"""What to do about a cause, and what the recurrence says it will bring."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from labkit.pipeline import diagnosis_causes as causes
from labkit.pipeline.diagnosis_causes import LIMITS, MIB
from labkit.pipeline.diagnosis_memory import least_prefetch
from labkit.pipeline.diagnosis_record import Record
from labkit.pipeline.probe_worker import Settings
from labkit.pipeline.remedy_replay import Plan, replay


@dataclass(frozen=True)
class Remedy:
    """One piece of advice.

    Attributes:
        advice: what to change.
        plan: the epoch afterwards, as the recurrence needs it.
        gain: how many times as fast an epoch becomes, predicted; about 1 where the advice saves memory instead.
        saves: bytes that it saves; 0 where it saves time.
        changes: settings of the DataLoader that `apply` can change by itself; empty: the code has to change.
        settings: what `apply` can set in the workers by itself.
        base: the epoch as it is; None: as the record has it.
        first_epoch: the gain is in the epoch that starts the workers: the first one where they are kept.
    """

    advice: str
    plan: Plan
    gain: float
    saves: float = 0.0
    changes: Mapping[str, Any] = field(default_factory=dict)
    settings: Settings | None = None
    base: Plan | None = None
    first_epoch: bool = False

    @property
    def applies_itself(self) -> bool:
        """`apply` needs no repaired loader."""
        return bool(self.changes) or self.settings is not None


def remedy(cause: str, record: Record) -> Remedy:
    """The advice for a cause that a rule has found in the record."""
    return _OF[cause](record)


def _timed(record: Record, plan: Plan, advice: str, **more: Any) -> Remedy:
    base = record.plan()
    if more.get("first_epoch"):
        base = replace(base, start=record.first_start if record.again_start is None else record.again_start)
    return Remedy(advice, plan, replay(base).makespan / replay(plan).makespan, base=base, **more)


def _without(record: Record, left: float) -> Plan:
    """The epoch when `left` ms of preparing remain: the rest as it was when workers had nothing to prepare."""
    trial = record.canned
    if trial is None:
        return record.plan().scaled(left)
    if trial.train is not None:  # a step gets no slower by workers that do less: something else ran then
        trial = replace(trial, train=min(trial.train, record.mean_train))
    return trial.plan(record.plan(), prepare=max(trial.prepare, left))


def _workers(r: Record) -> Remedy:
    workers, factor = r.more_workers or 0, r.prefetch_factor or 2
    start = r.start if r.persistent else r.start * workers / r.workers if r.workers else 0.0
    assert r.with_more is not None
    plan = r.with_more.plan(r.plan(), workers=workers, prefetch_factor=factor, start=start)
    kept: dict[str, Any] = {} if r.workers else {"persistent_workers": True, "prefetch_factor": factor}
    words = "" if r.workers else ", persistent_workers=True"
    return _timed(r, plan, f"num_workers={workers}{words}", changes={"num_workers": workers, **kept})


def _pinned(r: Record) -> Remedy:
    import os

    cores = frozenset(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else frozenset()
    advice = "let the workers use every core: take the affinity out of worker_init_fn, or widen the process's"
    assert r.all_cores is not None
    return _timed(r, r.all_cores.plan(r.plan()), advice, settings=Settings(cores=cores))


def _threads(r: Record) -> Remedy:
    assert r.one_thread is not None
    plan = r.one_thread.plan(r.plan())
    advice = "one thread in each worker: torch.set_num_threads(1) in worker_init_fn, OMP_NUM_THREADS=1"
    return _timed(r, plan, advice, settings=Settings(threads=1))


def _collate(r: Record) -> Remedy:
    left = r.floor or 0.0
    asks = (r.asked or 0) >= LIMITS.read_bytes or (1 - (r.collate or 0)) * r.mean_prepare / max(1, r.batch_size) > 0.05
    if asks:
        left += (1 - (r.collate or 0)) * r.mean_prepare * (1 - (r.starved or 0.0))
    advice = "join samples in one operation: index a whole batch (__getitems__, batch_size=None), or torch.stack once"
    return _timed(r, _without(r, left), advice)


def _storage(r: Record) -> Remedy:
    busy = ((r.computing or 0) + (r.starved or 0)) * r.mean_prepare
    left = min(busy, r.second_read) if r.second_read is not None and r.second_read < r.mean_prepare else busy
    advice = "read from local or packed files (few large reads): labkit pack, a local copy, or a cache that stays warm"
    return _timed(r, _without(r, left), advice)


def _decode(r: Record) -> Remedy:
    starved = 1 - (r.starved or 0.0)  # with idle cores nobody waits for one
    left = (r.collate or 0) * r.mean_prepare * starved + (r.floor or 0.0)
    advice = "decode once, beforehand: store decoded or smaller samples; every core is busy, so more workers won't help"
    return _timed(r, _without(r, left), advice)


def _transport(r: Record) -> Remedy:
    base = r.plan()
    if r.in_one is not None:
        made = r.mean_prepare * min(1.0, r.computing or 1.0)  # what packing in the same process took away is back
        plan = r.in_one.plan(base, prepare=made + r.in_one.prepare)
        if replay(plan).makespan <= LIMITS.faster * replay(base).makespan:
            return _timed(r, plan, "send each batch as one tensor, joined in collate_fn: it goes through shared memory")
    part = 0.25
    plan = replace(base, sending=[d * part for d in base.sending], get_cost=base.get_cost * part)
    advice = "send a quarter of the bytes: uint8 instead of float32, converted after the trip; or prepare on the device"
    return _timed(r, plan, advice)


def _unordered(r: Record) -> Remedy:
    return _timed(r, replace(r.plan(), in_order=False), "in_order=False", changes={"in_order": False})


def _kept(r: Record) -> Remedy:
    start = r.start_kept if r.start_kept is not None else 0.0
    return _timed(r, replace(r.plan(), start=start), "persistent_workers=True", changes={"persistent_workers": True})


def _unpickled(r: Record) -> Remedy:
    # pickling happens in iter(), one worker after the other; each reads it back by itself
    guess = max(0.0, r.first_start - (r.pickling or 0.0) * ((r.workers or 1) + 1) / 2)
    plan = replace(r.plan(), start=guess if r.bare_start is None else r.bare_start)
    advice = "keep paths and offsets in the data set and open the data in the worker, or start workers by fork"
    return _timed(r, plan, advice, first_epoch=True)


def _copy_on_write(r: Record) -> Remedy:
    saves = r.copied or 0.0  # so far; it goes on until each worker has copied all it reads
    advice = "keep the samples in arrays (NumPy, torch, Arrow) instead of lists and dicts of Python objects"
    return Remedy(advice, r.plan(), 1.0, saves)


def _prefetch(r: Record) -> Remedy:
    least = least_prefetch(r)
    saves = r.held * (1 - least / r.prefetch_factor)
    changes = {"prefetch_factor": least}
    base = r.plan()
    plan = base if r.fewer_ready is None else r.fewer_ready.plan(base, start=base.start, **changes)
    return _timed(r, plan, f"prefetch_factor={least}", saves=saves, changes=changes)


SHARED_MEMORY_FULL = Remedy(
    "give /dev/shm more room (docker run --shm-size=1g), or lower batch_size, prefetch_factor or num_workers",
    Plan((0.0,), (0.0,)),
    1.0,
)
"""The advice where the loader failed before anything could be measured."""


def _shared_memory(r: Record) -> Remedy:
    need = max(64.0, r.held * 2 / MIB)
    advice = f"give /dev/shm {need:.0f} MiB (docker --shm-size={need:.0f}m), or lower prefetch_factor or num_workers"
    return Remedy(advice, r.plan(), 1.0, max(0.0, r.held - (r.shm_free or 0.0)), {"prefetch_factor": 1})


_OF: dict[str, Callable[[Record], Remedy]] = {
    causes.TOO_FEW: _workers,
    causes.PINNED: _pinned,
    causes.THREADS: _threads,
    causes.COLLATE: _collate,
    causes.STORAGE: _storage,
    causes.DECODE: _decode,
    causes.TRANSPORT: _transport,
    causes.HEAD_OF_LINE: _unordered,
    causes.RESPAWNED: _kept,
    causes.PICKLED: _unpickled,
    causes.COPY_ON_WRITE: _copy_on_write,
    causes.PREFETCH_MEMORY: _prefetch,
    causes.SHARED_MEMORY: _shared_memory,
}
