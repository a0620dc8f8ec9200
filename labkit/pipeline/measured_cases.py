"""Loaders that lab 02 measures: three with a planted cause, one to be fixed, and one whose memory is counted."""

from __future__ import annotations

import os
import random
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import torch

from labkit.pipeline.measured_draws import far_times, planted_of
from labkit.pipeline.measured_jobs import Asleep, Nap, loader_of
from labkit.pipeline.measurement import Measurement
from labkit.pipeline.planted import Workload, planted
from labkit.pipeline.probing import probe

_MIB = 1 << 20

# Two epochs --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Epoch:
    """One epoch as the trainer saw it. Times in ms.

    Attributes:
        first_wait: from asking for the iterator to the first batch.
        waits: before each later batch.
        train: each step.
        pids: process ids of the workers.
    """

    first_wait: float
    waits: tuple[float, ...]
    train: tuple[float, ...]
    pids: tuple[int, ...]

    @property
    def share(self) -> float:
        """Share of the time after the first batch came that the trainer waited."""
        return sum(self.waits) / (sum(self.waits) + sum(self.train))

    def text(self) -> str:
        """The epoch in a line."""
        later = statistics.median(self.waits)
        return (
            f"{len(self.train)} batches; first wait {self.first_wait:.0f} ms, later ones {later:.2g} (median), "
            f"{self.share:.1%} of the time; workers' process ids {', '.join(map(str, self.pids)) or 'none'}"
        )


def epochs(loader: Any, step: Callable[[Any], Any], count: int = 2) -> list[Epoch]:
    """Run `count` epochs of one loader, the way a training script does, and end its workers."""
    try:
        return [_epoch(loader, step) for _ in range(count)]
    finally:
        _end(loader)


def _epoch(loader: Any, step: Callable[[Any], Any]) -> Epoch:
    waits, train = [], []
    asked = time.perf_counter()
    batches = iter(loader)
    pids = tuple(worker.pid for worker in getattr(batches, "_workers", ()))
    for batch in batches:
        got = time.perf_counter()
        step(batch)
        done = time.perf_counter()
        waits.append(1000 * (got - asked))
        train.append(1000 * (done - got))
        asked = done
    return Epoch(waits[0], tuple(waits[1:]), tuple(train), pids)


def _end(loader: Any) -> None:
    """End persistent workers now, and not when somebody collects the garbage."""
    if getattr(loader, "_iterator", None) is not None:
        loader._iterator._shutdown_workers()
        loader._iterator = None


# measure.mystery ---------------------------------------------------------------------------------------------------

_SHAPE = {"healthy": 1, "too few workers": 1, "workers respawned each epoch": 0, "slow collate": 1}
"""Which of a plant's shapes: seeds that leave this remainder by 4."""


class Case:
    """A loader and a step that trains on its batches, to be measured."""

    def __init__(self, kind: str, seed: int) -> None:
        self._kind, self._seed = kind, seed

    @cached_property
    def _job(self) -> Workload:
        return planted(self._kind, seed=4 * self._seed + _SHAPE.get(self._kind, 0), scale=0.4)

    def make_loader(self) -> Any:
        """A fresh loader of the job."""
        return self._job.make_loader()

    def step(self, batch: Any) -> None:
        """Train on a batch."""
        self._job.step(batch)

    @cached_property
    def measured(self) -> Measurement:
        """One probed pass, taken when it is first asked for."""
        return probe(self.make_loader(), self.step, warmup=1, batches=40)

    @cached_property
    def epochs(self) -> list[Epoch]:
        """Two epochs of one loader, run when they are first asked for."""
        return epochs(self.make_loader(), self.step)

    def __repr__(self) -> str:
        """Nothing about the cause."""
        return "a loader and its step: .measured, .epochs, .make_loader(), .step"


class Cases(Mapping[str, Case]):
    """Three loaders by letter, drawn from a number that doesn't show what is wrong with them."""

    def __init__(self, job: int) -> None:
        rng = random.Random(f"measure/seeds/{job}")
        self._held = {letter: Case(kind, rng.randrange(1000)) for letter, kind in planted_of(job).items()}

    def __getitem__(self, letter: str) -> Case:
        return self._held[letter]

    def __iter__(self) -> Iterator[str]:
        return iter(self._held)

    def __len__(self) -> int:
        return len(self._held)

    def __repr__(self) -> str:
        return "three loaders, A to C; each has .measured (a probed pass) and .epochs (two of them)"


# measure.fix -------------------------------------------------------------------------------------------------------


def far_job(job: int) -> tuple[Callable[..., Any], Nap]:
    """A loader that reads from far away, by its settings, and the step that it feeds."""
    prepare, train = far_times(job)
    return partial(loader_of, Asleep(prepare)), Nap(train)


# measure.memory ----------------------------------------------------------------------------------------------------


class Canvas:
    """Pictures of float32 numbers, made in no time."""

    def __init__(self, samples: int, side: int) -> None:
        self.samples, self.side = samples, side

    def __getitem__(self, index: int) -> torch.Tensor:
        """A picture."""
        return torch.full((3, self.side, self.side), float(index))

    def __len__(self) -> int:
        """How many pictures."""
        return self.samples


def shared_mib(batch_size: int, side: int, workers: int, prefetch_factor: int, *, patience: float = 10.0) -> float:
    """MiB of shared memory that a real loader's batches hold while the trainer is busy with one of them.

    Counted from the open files of the trainer and its workers, so that other programs' memory isn't in it. Waits up to
    `patience` seconds for the workers to get as far as they will.

    Raises:
        OSError: there is no /proc here: this is no Linux.
    """
    ahead = workers * prefetch_factor
    data = Canvas((ahead + 4) * batch_size, side)
    before = set(_segments([os.getpid()]))
    loader = loader_of(data, batch_size=batch_size, num_workers=workers, prefetch_factor=prefetch_factor)
    batches: Any = iter(loader)
    try:
        batch = next(batches)
        batch = next(batches)  # the trainer has `batch` in hand from now on
        pids = [os.getpid(), *(worker.pid for worker in batches._workers)]
        held: dict[tuple[int, int], int] = {}
        end = time.monotonic() + patience
        while len(held) <= ahead and time.monotonic() < end:
            time.sleep(0.05)
            held = {key: size for key, size in _segments(pids).items() if key not in before}
        time.sleep(0.2)  # and no more come
        held = {key: size for key, size in _segments(pids).items() if key not in before}
        del batch
        return sum(held.values()) / _MIB
    finally:
        batches._shutdown_workers()


def _segments(pids: list[int]) -> dict[tuple[int, int], int]:
    """Bytes of each piece of shared memory that a process has open, by device and inode."""
    found = {}
    for pid in pids:
        for link in Path(f"/proc/{pid}/fd").iterdir():
            try:
                if os.readlink(link).startswith("/dev/shm/torch"):
                    about = os.stat(link)
                    found[about.st_dev, about.st_ino] = about.st_size
            except OSError:
                continue  # closed meanwhile
    return found
