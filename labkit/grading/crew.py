"""The grading processes of this machine: every one always has a task, and none can hold up the others."""

from __future__ import annotations

import contextlib
import json
import os
import select
import selectors
import signal
import socket
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
from labkit.ranks.protocol import Channel

START_S = 180.0  # to load torch on a slow disk
PATIENCE_S = 300.0  # for one exercise: all limits of the answer and the check's own experiments together take less
TRIES = 2  # of a task whose process died
COMMAND = (sys.executable, "-m", "labkit.grading.worker")


class Crew:
    """Judge tasks in `workers` processes, which live until the crew is closed.

    isolation: the report of the first process that was ready, as plain values; {} before.
    """

    def __init__(self, setting: Mapping[str, Any], workers: int) -> None:
        self._setting, self._count = setting, workers
        self._foreman: _Foreman | None = None
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
            for key, _ in self._selector.select(timeout=1.0):
                fresh += self._listen(key.data, waiting)
            now = time.monotonic()
            for worker in [one for one in self._workers if not one.idle and now > one.deadline]:
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
        if self._foreman is not None:
            self._foreman.close()
        self._selector.close()

    def __enter__(self) -> Crew:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _hire(self) -> None:
        if self._foreman is None or not self._foreman.alive:
            if self._foreman is not None:
                self._foreman.close()
            self._foreman = _Foreman(unsafe=self._setting["unsafe"])
        worker = _Worker(self._foreman, self._setting)
        self._workers.append(worker)
        self._selector.register(worker.wire, selectors.EVENT_READ, worker)

    def _listen(self, worker: _Worker, waiting: deque[tuple[Task, int]]) -> list[Mark]:
        """What a process said, as marks."""
        messages = worker.read()
        if messages is None:
            return self._replace(worker, waiting, "")
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
        self._selector.unregister(worker.wire)
        self._workers.remove(worker)
        how = worker.end()
        if not worker.begun:
            raise LabkitError(f"a grading process could not start: {why or how}")
        self._hire()
        if worker.task is None:
            return []
        if worker.tries < TRIES:
            waiting.appendleft((worker.task, worker.tries + 1))
            return []
        return [unjudged(worker.task, f"the process that judged it ended {worker.tries} times: {why or how}")]


def _as_mark(task: Task, message: Mapping[str, Any], way: str) -> Mark:
    if "result" in message:
        return mark(task, Result.from_json(message["result"]), way)
    return unjudged(task, str(message.get("fault")))


class _Foreman:
    """The process that forks the grading processes; see `labkit.grading.worker`."""

    def __init__(self, *, unsafe: bool) -> None:
        self._said = tempfile.TemporaryFile()  # noqa: SIM115  open as long as the process lives
        self._channel, theirs = Channel.pair()
        self._process = subprocess.Popen(
            [*COMMAND, str(theirs.fileno()), *(["unsafe"] if unsafe else [])],
            stdin=subprocess.DEVNULL,
            stdout=self._said,
            stderr=self._said,
            pass_fds=[theirs.fileno()],
            start_new_session=True,
        )
        theirs.close()

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def ask(self, message: Mapping[str, Any], fds: Sequence[int] = ()) -> dict[str, Any]:
        """Its reply; LabkitError where it is gone, with its last words."""
        self._channel.send(dict(message), list(fds))
        ready, _, _ = select.select([self._channel], [], [], START_S)
        received = self._channel.receive() if ready else None
        if received is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(5)
            raise LabkitError(
                f"a grading process could not start: {_ending(self._process.returncode, self._said.fileno())}"
            )
        return received[0]

    def close(self) -> None:
        self._channel.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(5)
        self._process.kill()
        self._process.wait()
        self._said.close()


class _Worker:
    """One process.

    begun: it said that it is ready. task: what it works on. deadline: by when it must have said something.
    """

    def __init__(self, foreman: _Foreman, setting: Mapping[str, Any]) -> None:
        self._foreman = foreman
        self._said = tempfile.TemporaryFile()  # noqa: SIM115  open as long as the process lives
        self.wire, theirs = socket.socketpair()
        self._unread = b""
        self.begun, self.way = False, ""
        self.task: Task | None = None
        self.tries = 0
        try:
            self._pid: int = foreman.ask({"hire": True}, [theirs.fileno(), self._said.fileno()])["pid"]
        finally:
            theirs.close()
        self.deadline = time.monotonic() + START_S
        self._say(setting)

    @property
    def idle(self) -> bool:
        return self.begun and self.task is None

    def give(self, task: Task, tries: int) -> None:
        self.task, self.tries = task, tries
        self.deadline = time.monotonic() + PATIENCE_S
        told = {"learner": task.learner, "lab": task.lab, "exercise": task.exercise.id, "sources": dict(task.sources)}
        self._say(told)

    def _say(self, message: Mapping[str, Any]) -> None:
        with contextlib.suppress(ConnectionError):  # it is dead; reading says so
            self.wire.sendall(json.dumps(message).encode() + b"\n")

    def read(self) -> list[dict[str, Any]] | None:
        """The messages that have come; None where none will come any more."""
        try:
            data = self.wire.recv(1 << 20)
        except ConnectionError:
            data = b""
        if not data:
            return None
        *lines, self._unread = (self._unread + data).split(b"\n")
        return [json.loads(line) for line in lines]

    def dismiss(self) -> None:
        """Tell it that nothing more comes."""
        with contextlib.suppress(OSError):
            self.wire.shutdown(socket.SHUT_WR)

    def end(self) -> str:
        """End it, and its sandbox with it; how it ended, and its last words."""
        self.dismiss()
        if self.idle:  # its end of the wire closes when it has cleared up
            self.wire.settimeout(10)
            with contextlib.suppress(OSError):
                self.wire.recv(1)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._pid, signal.SIGKILL)
        try:
            how = _ending(self._foreman.ask({"bury": self._pid})["status"], self._said.fileno())
        except LabkitError as error:
            how = str(error)
        self.wire.close()
        self._said.close()
        return how


def _ending(code: int | None, said: int) -> str:
    """How a process ended, and its last words."""
    words = os.pread(said, 1 << 16, 0).decode(errors="replace").strip().splitlines()
    how = f"signal {-code}" if code is not None and code < 0 else f"exit status {code}"
    return f"{how}: {words[-1]}" if words else how
