"""The grading processes of this machine: every one always has a task, and none can hold up the others."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any

from labkit.checks.result import Result
from labkit.errors import LabkitError, UsageError
from labkit.grading.marks import Mark, Task, mark, unjudged

START_S = 180.0  # for a process to load torch on a slow disk
PATIENCE_S = 300.0  # for one exercise: all limits of the answer and the check's own experiments together take less
TRIES = 2  # of a task whose process died
COMMAND = (sys.executable, "-m", "labkit.grading.worker")


class Crew:
    """Judge tasks in `workers` processes, which live until the crew is closed.

    isolation: the report of the first process that was ready, as plain values; {} before.
    """

    def __init__(self, setting: Mapping[str, Any], workers: int) -> None:
        self._setting, self._count = setting, workers
        self._selector = selectors.DefaultSelector()
        self._workers: list[_Worker] = []
        self.isolation: dict[str, Any] = {}

    def run(self, tasks: Sequence[Task]) -> Iterator[list[Mark]]:
        """The marks of all tasks, as they come, in no set order; each task gives one.

        A process that dies or takes too long is replaced, and its task tried once more; then its mark is broken.
        Raises UsageError where no process can confine answers, LabkitError where none can start.
        """
        waiting = deque((task, 1) for task in tasks)
        left = len(tasks)
        while len(self._workers) < min(self._count, left):
            self._hire()
        while left:
            fresh: list[Mark] = []
            for worker in self._workers:
                if worker.idle and waiting:
                    worker.give(*waiting.popleft())
            for worker in self._ready():
                fresh += self._listen(worker, waiting)
            for worker in self._overdue():
                fresh += self._replace(worker, waiting, f"no verdict within {PATIENCE_S:g} s")
            left -= len(fresh)
            if fresh:
                yield fresh

    def close(self) -> None:
        """End all processes; one that is at work is killed."""
        for worker in self._workers:
            worker.dismiss()
        for worker in self._workers:
            worker.end()
        self._workers = []
        self._selector.close()

    def __enter__(self) -> Crew:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _hire(self) -> None:
        worker = _Worker(COMMAND, self._setting)
        self._workers.append(worker)
        self._selector.register(worker.out, selectors.EVENT_READ, worker)

    def _ready(self) -> list[_Worker]:
        return [key.data for key, _ in self._selector.select(timeout=1.0)]

    def _overdue(self) -> list[_Worker]:
        now = time.monotonic()
        return [worker for worker in self._workers if not worker.idle and now > worker.deadline]

    def _listen(self, worker: _Worker, waiting: deque[tuple[Task, int]]) -> list[Mark]:
        """What a process said, as marks."""
        messages = worker.read()
        if messages is None:
            return self._replace(worker, waiting, worker.obituary())
        fresh = []
        for message in messages:
            if "refused" in message:
                raise UsageError(message["refused"])
            if "isolation" in message:
                worker.begun = True
                self.isolation = self.isolation or message["isolation"]
                worker.way = message["isolation"]["way"]
            elif worker.task is not None:
                fresh.append(_as_mark(worker.task, message, worker.way))
                worker.task = None
        return fresh

    def _replace(self, worker: _Worker, waiting: deque[tuple[Task, int]], why: str) -> list[Mark]:
        """Another process in place of one that is of no use any more; the mark of its task, should that be lost."""
        self._selector.unregister(worker.out)
        self._workers.remove(worker)
        worker.end()
        if not worker.begun:
            raise LabkitError(f"a grading process could not start: {why}")
        self._hire()
        if worker.task is None:
            return []
        if worker.tries < TRIES:
            waiting.appendleft((worker.task, worker.tries + 1))
            return []
        return [unjudged(worker.task, f"the process that judged it ended {worker.tries} times: {why}")]


def _as_mark(task: Task, message: Mapping[str, Any], way: str) -> Mark:
    if "result" in message:
        return mark(task, Result.from_json(message["result"]), way)
    return unjudged(task, str(message.get("fault")))


class _Worker:
    """One process.

    begun: it said that it is ready. task: what it works on. deadline: by when it must have said something.
    """

    def __init__(self, command: Sequence[str], setting: Mapping[str, Any]) -> None:
        self._said = tempfile.TemporaryFile()  # noqa: SIM115  open as long as the process lives
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._said, bufsize=0, start_new_session=True
        )
        assert self._process.stdout is not None
        self.out = self._process.stdout
        self._unread = b""
        self.begun, self.way = False, ""
        self.task: Task | None = None
        self.tries = 0
        self.deadline = time.monotonic() + START_S
        self._say(setting)

    @property
    def idle(self) -> bool:
        return self.begun and self.task is None

    def give(self, task: Task, tries: int) -> None:
        self.task, self.tries = task, tries
        self.deadline = time.monotonic() + PATIENCE_S
        self._say(
            {
                "learner": task.learner,
                "lab": task.lab,
                "exercise": task.exercise.id,
                "sources": dict(task.sources),
            }
        )

    def _say(self, message: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it is dead; reading says so
            whole = json.dumps(message).encode() + b"\n"
            while whole:
                whole = whole[self._process.stdin.write(whole) or 0 :]

    def read(self) -> list[dict[str, Any]] | None:
        """The messages that have come; None where none will come any more."""
        data = os.read(self.out.fileno(), 1 << 20)
        if not data:
            return None
        *lines, self._unread = (self._unread + data).split(b"\n")
        return [json.loads(line) for line in lines]

    def obituary(self) -> str:
        """How it ended, and its last words."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(5)
        words = os.pread(self._said.fileno(), 1 << 16, 0).decode(errors="replace").strip().splitlines()
        code = self._process.returncode
        how = f"signal {-code}" if code is not None and code < 0 else f"exit status {code}"
        return f"{how}: {words[-1]}" if words else how

    def dismiss(self) -> None:
        """Tell it that nothing more comes."""
        with contextlib.suppress(OSError, ValueError):
            assert self._process.stdin is not None
            self._process.stdin.close()

    def end(self) -> None:
        """End it; its sandbox ends with it."""
        self.dismiss()
        if self.idle:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(10)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self.out.close()
        self._said.close()
