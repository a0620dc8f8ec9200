"""Judging on a dask cluster: the workers that a hub runs already, each with a sandbox of its own.

The course key and the labs travel to the scheduler and its workers: use a cluster that is yours, over tls:// where
others share the network. A worker that dies costs nothing but time: dask gives its task to another one.
"""

from __future__ import annotations

import queue
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from distributed import Client, Future, WorkerPlugin, get_worker

from labkit.errors import LabkitError, UsageError
from labkit.grading.crew import Crew
from labkit.grading.labs import judge_digest
from labkit.grading.marks import Mark, Task, unjudged

PLUGIN = "labkit-grade"
CONNECT_S = 10.0
WORKERS_S = 60.0  # without a single worker, before the grading is given up
TRIES = 2


class Cluster:
    """Judge tasks on the workers of a scheduler.

    isolation: the report of the worker that gave the latest mark; {} before. Raises UsageError where none answers.
    """

    def __init__(self, address: str, setting: Mapping[str, Any]) -> None:
        self.isolation: dict[str, Any] = {}
        try:
            self._client = Client(address, timeout=CONNECT_S, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            said = " ".join(str(error).split())
            raise UsageError(f"--scheduler {address}: no scheduler answers there ({said})") from None
        self._name = f"{PLUGIN}-{uuid.uuid4().hex}"
        self._client.register_plugin(Judges(dict(setting), judge_digest()), name=self._name)

    def __enter__(self) -> Cluster:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.unregister_worker_plugin(self._name)
        self._client.close()

    def run(self, tasks: Sequence[Task]) -> Iterator[list[Mark]]:
        """See `grade.Judging`. A task whose worker died time after time gets a broken mark, which --resume tries again.

        Raises LabkitError where a worker runs another labkit, or none is left for a minute.
        """
        done: queue.SimpleQueue[Future] = queue.SimpleQueue()
        tries: dict[str, tuple[Task, int]] = {}

        def submit(task: Task, times: int) -> None:
            future = self._client.submit(judge, task, self._name, pure=False, key=f"{self._name}-{uuid.uuid4().hex}")
            tries[future.key] = (task, times)
            futures[future.key] = future
            future.add_done_callback(done.put)

        futures: dict[str, Future] = {}
        for task in tasks:
            submit(task, 1)
        seen = time.monotonic()
        while futures:
            try:
                future = done.get(timeout=5.0)
            except queue.Empty:
                if self._client.scheduler_info()["workers"]:
                    seen = time.monotonic()
                elif time.monotonic() - seen > WORKERS_S:
                    raise LabkitError("the cluster has no workers any more: start some, then --resume") from None
                continue
            task, times = tries[future.key]
            del futures[future.key]
            if future.status == "finished":
                mark, self.isolation = future.result()
                yield [mark]
            elif isinstance(error := future.exception(), LabkitError):
                raise error
            elif times < TRIES:
                submit(task, times + 1)
            else:
                yield [unjudged(task, f"the workers that judged it failed {times} times: {error}")]


class Judges(WorkerPlugin):  # type: ignore[misc]
    """On a worker: one grading process for each of its threads, started when it is needed."""

    def __init__(self, setting: dict[str, Any], digest: str) -> None:
        self._setting, self._digest = setting, digest

    def setup(self, worker: Any) -> None:
        """Lay the labs on the worker's disk."""
        self._place = tempfile.TemporaryDirectory(prefix="labkit-grade-")
        labs = {}
        for stem, text in self._setting["labs"].items():
            path = Path(self._place.name, f"{stem}.ipynb")
            path.write_text(text, "utf-8")
            labs[stem] = str(path)
        self._here = self._setting | {"labs": labs}
        self._mine = threading.local()
        self._crews: list[Crew] = []

    def teardown(self, worker: Any) -> None:
        """End the grading processes."""
        for crew in self._crews:
            crew.close()
        self._place.cleanup()

    def judge(self, task: Task) -> tuple[Mark, dict[str, Any]]:
        """The mark of one task, and how its answer was kept apart."""
        if judge_digest() != self._digest:
            raise LabkitError("a worker of the cluster runs another labkit than this one: install the same everywhere")
        if not hasattr(self._mine, "crew"):
            self._mine.crew = Crew(self._here, 1)
            self._crews.append(self._mine.crew)
        crew: Crew = self._mine.crew
        (mark,) = next(crew.run([task]))
        return mark, crew.isolation


def judge(task: Task, plugin: str) -> tuple[Mark, dict[str, Any]]:
    """Runs on a worker."""
    judges: Judges = get_worker().plugins[plugin]
    return judges.judge(task)
