"""What the experiments of a diagnosis found: one record, which all rules read. Nothing is measured here."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from statistics import fmean

from labkit.pipeline.diagnosis_causes import LIMITS
from labkit.pipeline.remedy_replay import Plan, Replayed, replay, stretched


@dataclass(frozen=True)
class Trial:
    """A targeted experiment: loader and step together, one thing changed. Means in ms.

    Attributes:
        prepare: a worker's time on a batch.
        train: the step; None: as before.
        get_cost: from ready and asked for to in hand; None: as before.
        sending: packing a batch; None: as before.
        start: until the workers begin, in a first epoch; None: not looked at.
    """

    prepare: float
    train: float | None = None
    get_cost: float | None = None
    sending: float | None = None
    start: float | None = None

    def plan(self, base: Plan, prepare: float | None = None, **changes: object) -> Plan:
        """The epoch `base` as this trial has it, with `prepare` in place of the trial's own where given."""
        made = base.scaled(self.prepare if prepare is None else prepare, **changes)
        if self.train is not None:
            made = replace(made, train=stretched(made.train, self.train))
        if self.get_cost is not None:
            made = replace(made, get_cost=self.get_cost)
        if self.sending is not None:
            made = replace(made, sending=(self.sending,))
        if self.start is not None and "start" not in changes:
            # Kept workers first finish what an epoch before had asked of them; new ones begin at least this soon.
            made = replace(made, start=min(made.start, self.start))
        return made


@dataclass(frozen=True)
class Record:
    """Times in ms, sizes in bytes, shares from 0 to 1. None: it couldn't be seen, and rules that need it abstain.

    Attributes:
        workers: worker processes; 0: the trainer's process prepares; None: the loader hides how it prepares.
        prefetch_factor: batches handed out ahead, per worker.
        persistent: workers outlive the epoch.
        in_order: batches are delivered in the order in which they were handed out.
        method: how worker processes are started.
        batches: batches of an epoch; those seen where the loader has no length.
        batch_size: samples in a batch.
        batch_bytes: bytes in a batch's arrays.
        cores: cores that this process may use.
        prepare: a worker's time on each batch that was seen.
        sending: packing it for the trip.
        train: each step.
        waits: the trainer's waits, the first of an epoch left out.
        get_cost: from ready and asked for to in hand, the mean.
        first_wait: from iter() to the first batch, in the first epoch.
        later_wait: the same in a later epoch.
        starting: the part of `first_wait` inside iter().
        start: until the workers begin on their first batches, in a later epoch.
        first_start: the same in the first epoch.
        new_pids: another epoch has other worker processes.
        collate: share of prepare that joins samples.
        computing: share of prepare in which the preparing thread computes.
        starved: share of prepare in which it is ready to run and has no core.
        all_threads: processor time of all the worker's threads, as a share of prepare; above 1: several at once.
        asked: bytes read for a batch, from disk or cache.
        disk: bytes of them that came from a disk.
        reading_ms: ms a batch between ready and sent; `sending` says the same by batch.
        cached_train: the step on batches held in memory, no loader running; the mean.
        read_only: ms a batch when nobody trains.
        trainer_computing: share of the pass in which the trainer's process computes.
        others: cores that other programs keep busy.
        threads: torch's threads in a worker.
        tasks: threads that a worker has, all libraries together.
        worker_cores: cores that the workers may use, all together.
        floor: a plain copy of a batch's bytes.
        copied: bytes that the workers shared with the trainer at first and have for themselves by now, all together.
        shm_free: free shared memory while nothing runs.
        memory_free: main memory that can be had.
        one_thread: with one thread in each worker.
        all_cores: with workers that may use every core.
        more_workers: how many workers the probe with more of them had.
        with_more: with these.
        canned: with workers that send one and the same batch, so that nothing is left to prepare.
        in_one: with workers that send the bytes of a batch as one tensor.
        fewer_ready: with the least prefetch_factor that keeps the trainer busy: pages are used again sooner.
        bare_start: `first_start` when hardly anything is pickled.
        again_start: `first_start` once more, with everything.
        start_kept: `start` of a later epoch when workers are kept.
        pickled: bytes of the pickled data set.
        pickling: ms to pickle it once, and to read it back.
        second_read: prepare for batches read a second time; the mean.
        packing_failed: what went wrong in packing a batch, "" where nothing did.
    """

    workers: int | None
    prefetch_factor: int
    persistent: bool
    in_order: bool
    method: str
    batches: int
    batch_size: float
    batch_bytes: float
    cores: int
    prepare: tuple[float, ...]
    sending: tuple[float, ...]
    train: tuple[float, ...]
    waits: tuple[float, ...]
    get_cost: float
    first_wait: float
    later_wait: float
    starting: float
    start: float
    first_start: float
    new_pids: bool | None = None
    collate: float | None = None
    computing: float | None = None
    starved: float | None = None
    all_threads: float | None = None
    asked: float | None = None
    disk: float | None = None
    cached_train: float | None = None
    read_only: float | None = None
    trainer_computing: float | None = None
    others: float | None = None
    threads: int | None = None
    tasks: int | None = None
    worker_cores: tuple[int, ...] | None = None
    floor: float | None = None
    copied: float | None = None
    shm_free: float | None = None
    memory_free: float | None = None
    one_thread: Trial | None = None
    all_cores: Trial | None = None
    more_workers: int | None = None
    with_more: Trial | None = None
    canned: Trial | None = None
    in_one: Trial | None = None
    fewer_ready: Trial | None = None
    bare_start: float | None = None
    again_start: float | None = None
    start_kept: float | None = None
    pickled: float | None = None
    pickling: float | None = None
    second_read: float | None = None
    packing_failed: str = ""

    @property
    def seen(self) -> bool:
        """The worker's side could be seen."""
        return self.workers is not None and bool(self.prepare)

    @property
    def mean_prepare(self) -> float:
        """Ms a batch in a worker."""
        return fmean(self.prepare) if self.prepare else math.nan

    @property
    def mean_train(self) -> float:
        """Ms a step."""
        return fmean(self.train)

    @property
    def mean_wait(self) -> float:
        """Ms the trainer waits before a batch, the first of an epoch left out."""
        return fmean(self.waits) if self.waits else 0.0

    @property
    def blocked(self) -> float | None:
        """Share of prepare in which the thread neither computes nor waits for a core: it waits for something else."""
        if self.computing is None or self.starved is None:
            return None
        return max(0.0, 1.0 - self.computing - self.starved)

    @property
    def fetch_price(self) -> float:
        """Ms that a fetch costs here whatever one does: as much as that of one ready tensor, if batches are small."""
        if self.in_one is None or self.in_one.get_cost is None or self.batch_bytes > LIMITS.small_bytes:
            return LIMITS.fetch_ms
        return max(LIMITS.fetch_ms, self.in_one.get_cost)

    @property
    def held(self) -> float:
        """Bytes of the batches that are out at a time, when every one of them is ready."""
        return (self.workers or 0) * self.prefetch_factor * self.batch_bytes

    @property
    def epoch(self) -> float:
        """Ms of a later epoch, as it was measured: its first wait, and all other batches at the pace seen."""
        return self.later_wait + self.batches * self.mean_train + (self.batches - 1) * self.mean_wait

    @property
    def steady_loss(self) -> float:
        """Waiting between batches, beyond the price of a fetch, as a share of the epoch."""
        over = [max(0.0, wait - self.fetch_price) for wait in self.waits]
        return fmean(over) * (self.batches - 1) / self.epoch if over else 0.0

    @property
    def start_loss(self) -> float:
        """Waiting for a later epoch's first batch, beyond preparing it, as a share of the epoch."""
        fill = self.mean_prepare if self.prepare else 0.0
        return max(0.0, self.later_wait - fill - self.fetch_price) / self.epoch

    @property
    def first_loss(self) -> float:
        """The same in the first epoch, as a share of that epoch."""
        fill = self.mean_prepare if self.prepare else 0.0
        epoch = self.epoch - self.later_wait + self.first_wait
        return max(0.0, self.first_wait - fill - self.fetch_price) / epoch

    def plan(self) -> Plan:
        """A later epoch, for the recurrence."""
        return Plan(
            prepare=self.prepare,
            sending=self.sending or (0.0,),
            train=self.train,
            get_cost=self.get_cost,
            start=self.start,
            workers=self.workers or 0,
            prefetch_factor=max(1, self.prefetch_factor),
            in_order=self.in_order,
            batches=min(self.batches, 20_000),
        )

    def replayed(self) -> Replayed:
        """That epoch, by the recurrence."""
        return replay(self.plan())
