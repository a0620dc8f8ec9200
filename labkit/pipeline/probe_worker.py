"""What runs inside a loader's workers: it times each batch there and writes the times down, and changes nothing else.

Each worker appends records of a fixed size to a file of its own. A file, and not a queue or shared memory: it works
whichever way the worker was started, when /dev/shm is full, and it still says what a killed worker was doing.
"""

from __future__ import annotations

import contextlib
import json
import os
import struct
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

NUMBERS = 8  # at most, in a record
RECORD = struct.Struct(f"<bbq{NUMBERS}d")
FETCH, SEND, EPOCH = 1, 2, 3  # kinds of record
GOOD, ENDED, FAILED = 0, 1, 2  # how it went
_LOOKS = (1, 4)  # fetches after which the worker's threads and affinity are written down (they may be set late)


@dataclass(frozen=True)
class Settings:
    """How workers are watched, and what a targeted probe sets inside them over what the loader's own code sets.

    Attributes:
        counts: for each batch, read what the kernel counts: bytes read, waits for a core. A diagnosis needs them;
            they cost four reads of /proc a batch.
        threads: torch's threads in a worker; None leaves them.
        cores: the cores a worker may run on; None leaves them.
    """

    counts: bool = True
    threads: int | None = None
    cores: frozenset[int] | None = None


@dataclass
class Hook:
    """A `worker_init_fn`: calls the loader's own one, then watches the worker. Pickles for spawned workers."""

    folder: str
    inner: Callable[[int], None] | None = None
    settings: Settings = field(default_factory=Settings)

    def __call__(self, worker: int) -> None:
        """Runs in the worker, before its first batch."""
        if self.inner is not None:
            self.inner(worker)
        _impose(self.settings)
        path = Path(self.folder, f"{worker}-{os.getpid()}")
        file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        log = Log(lambda record: _append(file, record), path.with_suffix(".state"), counts=self.settings.counts)
        log.look()
        watch_fetchers(log)
        watch_sending(log)


class Log:
    """Times fetches and writes them down. `write` takes one packed record; `state` is where the worker's state goes."""

    def __init__(self, write: Callable[[bytes], None], state: Path | None = None, *, counts: bool = True) -> None:
        self.write = write
        self.state = state
        self.fetches = 0
        self.mark = 0.0
        self.io = _open("/proc/self/io") if counts else None
        self.schedule = _open("/proc/self/schedstat") if counts else None
        self.asked, self.disk = (0.0, 0.0) if self.io is not None else (-1.0, -1.0)

    def put(self, kind: int, how: int, index: int, *numbers: float) -> None:
        """Write one record down."""
        self.write(RECORD.pack(kind, how, index, *numbers, *(0.0,) * (NUMBERS - len(numbers))))

    def watch(self, fetcher: Any) -> Any:
        """Time this fetcher's `fetch` and, within it, the collate function."""
        fetch, collate = fetcher.fetch, fetcher.collate_fn

        def collated(samples: Any) -> Any:
            self.mark = time.perf_counter()
            return collate(samples)

        def fetched(index: Any) -> Any:
            self.mark = 0.0
            before = self._read()
            delay, cpu, own, start = self._delay(), time.process_time(), time.thread_time(), time.perf_counter()
            how = FAILED
            try:
                batch = fetch(index)
                how = GOOD
                return batch
            except StopIteration:
                how = ENDED
                raise
            finally:
                end = time.perf_counter()
                own, cpu = time.thread_time() - own, time.process_time() - cpu
                delay = max(0.0, self._delay() - delay)
                self._add(before)
                moments = start, self.mark or end, end
                self.put(FETCH, how, self.fetches, *moments, cpu, own, delay, self.asked, self.disk)
                self.fetches += 1
                if self.fetches in _LOOKS:
                    self.look()

        fetcher.fetch, fetcher.collate_fn = fetched, collated
        return fetcher

    def look(self) -> None:
        """Write down what this process looks like now: its threads, and the cores it may use."""
        if self.state is None:
            return
        about: dict[str, Any] = {"pid": os.getpid(), "time": time.perf_counter()}
        with contextlib.suppress(OSError, AttributeError):
            about["cores"] = sorted(os.sched_getaffinity(0))
            about["tasks"] = len(os.listdir("/proc/self/task"))
        if "torch" in sys.modules:
            about["threads"] = sys.modules["torch"].get_num_threads()
        with contextlib.suppress(OSError), self.state.open("a", encoding="utf-8") as file:
            file.write(json.dumps(about) + "\n")

    def close(self) -> None:
        """Close what it reads from; a fetch that is still watched is timed on, and counts nothing any more."""
        for file in (self.io, self.schedule):
            if file is not None:
                os.close(file)
        self.io = self.schedule = None

    def _delay(self) -> float:
        """Seconds that this process's first thread, which prepares, has so far been kept waiting for a core."""
        return 0.0 if self.schedule is None else int(os.pread(self.schedule, 100, 0).split()[1]) / 1e9

    def _add(self, before: tuple[float, float]) -> None:
        """Count what was read since `before`: within fetches alone, since a worker's queue of indices is read too."""
        if self.io is not None:
            asked, disk = self._read()
            self.asked, self.disk = self.asked + asked - before[0], self.disk + disk - before[1]

    def _read(self) -> tuple[float, float]:
        """Bytes that this process has asked for so far, and those that came from the disk; -1 where nobody counts."""
        if self.io is None:
            return -1.0, -1.0
        counts = dict(line.split(b": ") for line in os.pread(self.io, 400, 0).splitlines())
        return float(counts[b"rchar"]), float(counts[b"read_bytes"])


def watch_fetchers(log: Log) -> None:
    """Time every fetcher that this process makes from now on: one an epoch. For use in a worker process only."""
    from torch.utils.data import _DatasetKind

    create: Any = _DatasetKind.create_fetcher

    def created(*arguments: Any) -> Any:
        log.put(EPOCH, GOOD, 0, time.perf_counter())
        return log.watch(create(*arguments))

    setattr(_DatasetKind, "create_fetcher", staticmethod(created))  # noqa: B010


def watch_sending(log: Log) -> None:
    """Time the packing of each batch for the trip to the trainer: tensors are copied to shared memory there."""
    import multiprocessing.queues as queues

    pickler: Any = getattr(queues, "_ForkingPickler")  # noqa: B009

    class Timed(pickler):  # type: ignore[misc]
        @classmethod
        def dumps(cls, thing: Any, protocol: Any = None) -> Any:
            index = thing[0] if isinstance(thing, tuple) and thing and isinstance(thing[0], int) else None
            start, how, size = time.perf_counter(), FAILED, 0
            try:
                packed = pickler.dumps(thing, protocol)
                how, size = GOOD, len(packed)
                return packed
            except BaseException as error:
                _note(log, f"{type(error).__name__}: {error}")
                raise
            finally:
                if index is not None:
                    log.put(SEND, how, index, start, time.perf_counter(), size)

    setattr(queues, "_ForkingPickler", Timed)  # noqa: B010


def _note(log: Log, error: str) -> None:
    if log.state is not None:
        with contextlib.suppress(OSError), log.state.with_suffix(".error").open("a", encoding="utf-8") as file:
            file.write(error + "\n")


def _append(file: int, record: bytes) -> None:
    with contextlib.suppress(OSError):  # a full disk must not end the training that is being watched
        os.write(file, record)


def _open(path: str) -> int | None:
    try:
        return os.open(path, os.O_RDONLY)
    except OSError:
        return None


def _impose(settings: Settings) -> None:
    """Set what a targeted probe asks for, and keep the loader's own code from setting it back."""
    if settings.cores is not None and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, settings.cores)
        os.sched_setaffinity = lambda *_: None
    if settings.threads is not None:
        import torch

        torch.set_num_threads(settings.threads)
        torch.set_num_threads = lambda *_: None
