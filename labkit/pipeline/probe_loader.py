"""A stand-in for somebody's loader: the same batches, and watched workers. The loader itself stays as it was."""

from __future__ import annotations

import json
import shutil
import tempfile
import time
import warnings
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from torch.utils.data import DataLoader
from torch.utils.data._utils import signal_handling

from labkit.errors import LabkitError
from labkit.pipeline.probe_worker import EPOCH, FETCH, GOOD, RECORD, SEND, Hook, Log, Settings

_WAIT_S = 5.0  # torch's own interval: that often it looks whether a worker has died
_LOOK_S = 0.5  # that often, while no batch comes, we look whether one couldn't be sent: torch would wait for ever


@dataclass(frozen=True)
class Made:
    """One batch as the worker saw it. Moments in seconds of time.perf_counter; -1 where it isn't known.

    Attributes:
        worker: the worker's number.
        pid: its process id.
        start: it began on the batch.
        collate: the samples were there; collating begins.
        end: the batch was ready.
        cpu: seconds of processor time that the process spent meanwhile, all threads.
        own: the same, of the thread that prepares.
        delay: seconds that this thread was ready to run and had no core; 0 where nobody counts.
        asked: bytes read so far, whether from disk or cache.
        disk: bytes that came from a disk so far.
        sent: packed for the trip; the tensors are in shared memory.
        packing: seconds that packing took.
        packed: bytes that go through the pipe; tensors not included.
        index: the loader's number of the batch, in the order in which the batches were handed out.
    """

    worker: int
    pid: int
    start: float
    collate: float
    end: float
    cpu: float
    own: float
    delay: float
    asked: float
    disk: float
    sent: float = -1.0
    packing: float = -1.0
    packed: float = -1.0
    index: int = -1


@dataclass
class Watched:
    """A loader under watch.

    Attributes:
        loader: what to iterate in place of the loader that was given; the same object where it's no DataLoader.
        inner: the DataLoader whose workers are watched; None where there is none.
        folder: where the workers write.
        settings: what is set inside the workers.
        given: the loader that it stands for.
        iterator: the DataLoader's iterator of the pass that runs.
        deliveries: the worker of each batch that has arrived in this pass.
        passes: how many passes have begun since workers were last ended.
        deadline: when (time.perf_counter) a silent worker ends the pass.
        pids: process ids of the workers of the pass that runs or ran last, by worker.
        silent: a worker was still silent at the deadline.
    """

    loader: Any
    inner: DataLoader[Any] | None
    folder: Path
    settings: Settings = field(default_factory=Settings)
    given: Any = None
    iterator: Any = None
    deliveries: list[int] = field(default_factory=list)
    passes: int = 0
    deadline: float = float("inf")
    pids: dict[int, int] = field(default_factory=dict)
    silent: bool = False
    _here: list[bytes] = field(default_factory=list)
    _log: Log | None = None

    @property
    def workers(self) -> int | None:
        """Worker processes; 0 where batches are prepared in the trainer's process; None where it can't be seen."""
        return None if self.inner is None else self.inner.num_workers

    def begin(self, deadline: float = float("inf")) -> Any:
        """Start a pass: an iterator over the batches. A worker that is silent beyond `deadline` ends it."""
        self.deliveries.clear()
        self._here.clear()
        self.deadline = deadline
        self.passes = 1 if self.iterator is None else self.passes + 1
        return iter(self.loader)

    def hooked(self, iterator: Any) -> Any:
        """Note who made each batch that arrives. `iterator` is the DataLoader's own, as it was just made."""
        self.iterator = iterator
        if hasattr(iterator, "_dataset_fetcher"):
            self._forget()
            self._log = Log(self._here.append, counts=self.settings.counts)
            self._log.watch(iterator._dataset_fetcher)
            return iterator
        self.pids = {number: worker.pid for number, worker in enumerate(iterator._workers)}
        deliver, wait = iterator._process_data, iterator._try_get_data

        def delivered(data: Any, worker: int, *more: Any) -> Any:
            self.deliveries.append(worker)
            return deliver(data, worker, *more)

        def waited(timeout: float = _WAIT_S) -> Any:
            until = time.perf_counter() + timeout
            while True:
                left = min(until, self.deadline) - time.perf_counter()
                found = wait(min(_LOOK_S, max(0.0, left) + 0.01))
                now = time.perf_counter()
                if not found[0] and self.packing_error():
                    raise LabkitError("a batch was lost on its way")
                if not found[0] and now > self.deadline:
                    self.silent = True
                    raise LabkitError(
                        "no batch came within the time budget: a worker hangs, or needs a larger budget_s"
                    )
                if found[0] or now > until:
                    return found

        iterator._process_data, iterator._try_get_data = delivered, waited
        return iterator

    def end(self) -> None:
        """End the workers now, and give up the pass."""
        self._forget()
        iterator, self.iterator = self.iterator, None
        if self.inner is not None and hasattr(self.inner, "_iterator"):
            self.inner._iterator = None
        if iterator is None or not hasattr(iterator, "_shutdown_workers"):
            return
        # However a worker ends from now on, torch must not take it for a fault of the pass that is over.
        if iterator._worker_pids_set:
            signal_handling._remove_worker_pids(id(iterator))  # type: ignore[attr-defined]
            iterator._worker_pids_set = False
        if self.silent:  # it wouldn't hear a polite word
            for worker in iterator._workers:
                worker.terminate()
        iterator._shutdown_workers()
        for name in ("_process_data", "_try_get_data"):  # the hooks hold the iterator, and a fork would inherit it
            iterator.__dict__.pop(name, None)

    def _forget(self) -> None:
        """Close what watching in this very process keeps open; a worker's ends with the worker."""
        if self._log is not None:
            self._log.close()
            self._log = None

    def made(self) -> list[Made]:
        """The batches of the last pass in the order of arrival, one for each delivery."""
        if self.inner is None:
            return []
        if self.inner.num_workers == 0:
            return _rows(0, 0, self._here)
        waiting = {}
        for path in self.folder.glob("*-*[0-9]"):
            worker, pid = map(int, path.name.split("-"))
            blocks = _epochs(path.read_bytes())
            place = self.passes - 1 if self.inner.persistent_workers else 0
            if place < len(blocks) and (self.inner.persistent_workers or pid in self.pids.values()):
                waiting[worker] = iter(_rows(worker, pid, blocks[place]))
        rows: list[Made] = []
        for worker in self.deliveries:
            row = next(waiting.get(worker, iter(())), None)
            if row is None:  # a worker that never wrote: nothing can be matched any more
                return rows
            rows.append(row)
        return rows

    def states(self) -> list[dict[str, Any]]:
        """What each worker last said of itself: pid, threads, tasks, cores."""
        found = []
        for path in sorted(self.folder.glob("*.state")):
            worker, pid = map(int, path.stem.split("-"))
            lines = path.read_text(encoding="utf-8").splitlines()
            if lines and pid in self.pids.values():
                found.append({"worker": worker, **json.loads(lines[-1])})
        return found

    def packing_error(self) -> str:
        """What went wrong while a worker packed a batch; "" where nothing did."""
        for path in self.folder.glob("*.error"):
            return path.read_text(encoding="utf-8").splitlines()[0]
        return ""

    def close(self) -> None:
        """End the workers and remove what they wrote."""
        try:
            self.end()
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)


def watch(loader: Any, settings: Settings | None = None, **changes: Any) -> Watched:
    """A stand-in for `loader`, with `changes` to the DataLoader's settings (num_workers, persistent_workers, ...).

    The copy is shallow: data set, sampler and generator are the loader's own, so a pass moves them on as any pass does.
    """
    folder = Path(tempfile.mkdtemp(prefix="labkit-probe-"))
    watched = Watched(loader, None, folder, settings or Settings(), given=loader)
    inner = inner_of(loader)
    if inner is None:
        return watched
    stand_in = _copy(inner, watched, changes)
    watched.inner = watched.loader = stand_in
    if inner is not loader:  # accelerate keeps the DataLoader inside an object that poses as one
        watched.loader = object.__new__(type(loader))
        watched.loader.__dict__.update(loader.__dict__, base_dataloader=stand_in)
    return watched


def inner_of(loader: Any) -> DataLoader[Any] | None:
    """The DataLoader that makes the batches: the loader itself, or the one that it keeps inside; None for others."""
    base = vars(loader).get("base_dataloader") if hasattr(loader, "__dict__") else None
    if isinstance(base, DataLoader):
        return base
    return loader if isinstance(loader, DataLoader) and hasattr(loader, "_get_iterator") else None


def _copy(loader: DataLoader[Any], watched: Watched, changes: dict[str, Any]) -> DataLoader[Any]:
    made: Any = object.__new__(type(loader))
    made.__dict__.update(loader.__dict__)
    made.__dict__.update(changes)
    make: Any = type(loader)._get_iterator
    made.__dict__["_iterator"] = None
    made.__dict__["worker_init_fn"] = Hook(str(watched.folder), loader.worker_init_fn, watched.settings)

    def iterate() -> Any:
        with warnings.catch_warnings():
            if "num_workers" in changes:  # a trial with more workers than cores is meant
                warnings.filterwarnings("ignore", message="This DataLoader will create")
            return watched.hooked(make(made))

    made.__dict__["_get_iterator"] = iterate
    return made  # type: ignore[no-any-return]


def _epochs(written: bytes) -> list[list[bytes]]:
    """The records of one worker, split at each start of an epoch. A record cut short by a kill is left out."""
    blocks: list[list[bytes]] = []
    for place in range(0, len(written) - RECORD.size + 1, RECORD.size):
        record = written[place : place + RECORD.size]
        if record[0] == EPOCH:
            blocks.append([])
        elif blocks:
            blocks[-1].append(record)
    return blocks


def _rows(worker: int, pid: int, records: list[bytes]) -> list[Made]:
    """Fetches and the sending that belongs to each: both happen in the same order within a worker."""
    fetches: list[tuple[int, list[Any]]] = []
    sends: list[tuple[int, list[Any]]] = []
    for record in records:
        kind, how, index, *numbers = RECORD.unpack(record)
        if kind == FETCH:
            fetches.append((how, numbers))
        elif kind == SEND:
            sends.append((index, numbers))
    rows = []
    for place, (how, moments) in enumerate(fetches):
        if how != GOOD:
            continue
        row = Made(worker, pid, *moments)
        if place < len(sends):
            index, (begin, sent, size, *_) = sends[place]
            row = replace(row, sent=sent, packing=sent - begin, packed=size, index=index)
        rows.append(row)
    return rows
