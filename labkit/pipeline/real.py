"""The same line on a real `torch.utils.data.DataLoader`: real worker processes, real queues, real delivery.

Only two things are simulated: preparing a batch is a sleep inside its worker process, and training on one is a sleep in
the main process, standing for a step that runs on a GPU while the CPU waits. So workers don't compete for cores, and
the figures show the loader alone.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from torch.utils.data import DataLoader, Dataset, Sampler, get_worker_info

from labkit.pipeline.inputs import Times, columns
from labkit.pipeline.line import settings

Seconds: TypeAlias = float
Made: TypeAlias = tuple[int, Seconds, Seconds, int, int]  # id, prepare start, prepare end, worker, process id


@dataclass(frozen=True)
class LineRun:
    """One epoch on a real DataLoader. Times in ms; 0 is when a worker starts on the first batch; index i is batch i.

    Attributes:
        asked_prepare: the sleep asked for in the worker, per batch.
        asked_train: the sleep asked for in the trainer, per batch.
        prepare: what preparing each batch took. Above what was asked: sleeps overshoot, or the machine is busy.
        train: what training on each batch took, likewise.
        prepare_start: when a worker starts on each batch.
        prepare_end: when the worker has it ready; sending it comes after.
        train_start: when the trainer has each batch in hand.
        train_end: when training on each batch ends.
        waits: train_start minus the train_end before it: the trainer's time without work. About 0.2 ms is the price of
            a fetch; much more means that the batch wasn't ready.
        makespan: when training on the last batch ends; the sum of all waits and train times.
        ids: the ids in the order of arrival. In order and each once, or the loader is wrong.
        worker: the worker that prepared each batch, 0 to workers - 1.
        pids: process ids of the workers, by worker.
        workers: worker processes.
        prefetch_factor: batches handed out ahead, per worker.
    """

    asked_prepare: tuple[float, ...]
    asked_train: tuple[float, ...]
    prepare: tuple[float, ...]
    train: tuple[float, ...]
    prepare_start: tuple[float, ...]
    prepare_end: tuple[float, ...]
    train_start: tuple[float, ...]
    train_end: tuple[float, ...]
    waits: tuple[float, ...]
    makespan: float
    ids: tuple[int, ...]
    worker: tuple[int, ...]
    pids: tuple[int, ...]
    workers: int
    prefetch_factor: int

    def __len__(self) -> int:
        """How many batches."""
        return len(self.ids)


class Sleeps(Dataset[Made]):
    """Batch i takes `prepare[i]` ms of sleep to prepare; a negative id takes none (the warm-up)."""

    def __init__(self, prepare: list[float]) -> None:
        self.prepare = prepare

    def __getitem__(self, index: int) -> Made:
        """Sleep, and say who prepared the batch and when; the clock is one for all processes of a machine."""
        begin = time.perf_counter()
        if index >= 0:
            time.sleep(self.prepare[index] / 1000)
        info = get_worker_info()
        return index, begin, time.perf_counter(), info.id if info else 0, os.getpid()

    def __len__(self) -> int:
        """How many batches."""
        return len(self.prepare)


class _Order(Sampler[int]):
    """Hands out whatever ids it holds at the start of an epoch: the warm-up's first, then the run's."""

    def __init__(self, ids: range) -> None:
        self.ids = ids

    def __iter__(self) -> Iterator[int]:
        return iter(self.ids)

    def __len__(self) -> int:
        return len(self.ids)


def run_line(
    prepare: Times, train: Times, *, batches: int | None = None, workers: int = 1, prefetch_factor: int = 2
) -> LineRun:
    """Run the line on a real DataLoader and return what each batch took. Lasts about as long as the line does.

    Workers are started and warmed up first, so that the start of processes isn't in the figures.

    Args:
        prepare: ms to prepare a batch: one number for all, or one per batch.
        train: ms to train on a batch, likewise.
        batches: how many batches; needed when both times are numbers.
        workers: worker processes (`num_workers`), 1 or more.
        prefetch_factor: batches handed out ahead, per worker.

    Raises:
        UsageError: a value can't be used; the text names it.
    """
    prepare, train = columns(prepare, train, batches)
    settings(None, workers, prefetch_factor)
    with warnings.catch_warnings():  # more workers than cores is fine here: they sleep
        warnings.filterwarnings("ignore", message="This DataLoader will create")
        return _run(list(prepare), list(train), workers, prefetch_factor)


def _run(prepare: list[float], train: list[float], workers: int, prefetch_factor: int) -> LineRun:
    order = _Order(range(-2 * workers * prefetch_factor, 0))
    loader: DataLoader[Made] = DataLoader(
        Sleeps(prepare),
        batch_size=None,
        sampler=order,
        collate_fn=_as_is,
        num_workers=workers,
        prefetch_factor=prefetch_factor,
        persistent_workers=True,
    )
    try:
        pids = {made[3]: made[4] for made in loader}
        order.ids = range(len(prepare))
        made, taken, ended = _epoch(loader, train)
    finally:
        _end_workers(loader)
    zero = min(m[1] for m in made)
    begin, ready = _ms([m[1] for m in made], zero), _ms([m[2] for m in made], zero)
    start, end = _ms(taken, zero), _ms(ended, zero)
    return LineRun(
        asked_prepare=tuple(prepare),
        asked_train=tuple(train),
        prepare=tuple(b - a for a, b in zip(begin, ready, strict=True)),
        train=tuple(b - a for a, b in zip(start, end, strict=True)),
        prepare_start=begin,
        prepare_end=ready,
        train_start=start,
        train_end=end,
        waits=tuple(b - a for a, b in zip((0.0, *end[:-1]), start, strict=True)),
        makespan=end[-1],
        ids=tuple(m[0] for m in made),
        worker=tuple(m[3] for m in made),
        pids=tuple(pids[w] for w in sorted(pids)),
        workers=workers,
        prefetch_factor=prefetch_factor,
    )


def _epoch(loader: DataLoader[Made], train: list[float]) -> tuple[list[Made], list[Seconds], list[Seconds]]:
    """One epoch: what arrived, when the trainer had it, when it was done with it."""
    made, taken, ended = [], [], []
    for step, batch in zip(train, loader, strict=True):
        taken.append(time.perf_counter())
        time.sleep(step / 1000)
        ended.append(time.perf_counter())
        made.append(batch)
    return made, taken, ended


def _as_is(made: Any) -> Any:
    return made


def _ms(moments: list[Seconds], zero: Seconds) -> tuple[float, ...]:
    return tuple((moment - zero) * 1000 for moment in moments)


def _end_workers(loader: Any) -> None:
    """End the loader's workers now. Left to the garbage collector, an error's traceback would keep them alive."""
    if loader._iterator is not None:
        loader._iterator._shutdown_workers()
        loader._iterator = None
