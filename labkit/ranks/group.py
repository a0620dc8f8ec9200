"""One group of ranks: started, given jobs, watched so that a job which can't end well ends early, and ended."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

import psutil

from labkit.ranks import board as boards
from labkit.ranks import tree, verdict
from labkit.ranks.child import DUMP_SIGNAL, Place, listener
from labkit.ranks.errors import LOST
from labkit.ranks.protocol import Channel, nameless, read_blob

Start: TypeAlias = Callable[[Place], int]  # starts a rank's process, returns its id

MOST_OUTPUT = 4 << 20  # bytes kept of one rank's prints
GRACE = 0.03  # s from the first exception to the verdict, when all other ranks wait in a collective
DOUBT = 0.4  # s for other ranks' exceptions to come in, or for the reason behind a broken connection
_EXIT, CALLER = "exit", "caller"  # what woke the supervisor, besides a rank's words and prints
IDLE = 0.5  # s without a sign of life from a rank while another has already ended


@dataclass
class Rank:
    """A rank as its supervisor sees it."""

    number: int
    pid: int
    jobs: Channel
    output: int
    dump: int
    printed: bytearray = field(default_factory=bytearray)
    result: int | None = None
    failure: verdict.Failure | None = None
    sign: tuple[int, float] = (0, 0.0)  # what moved last: its board's clock, its CPU time
    sign_at: float = 0.0
    ended: bool = False  # told to end, after its result came


class Group:
    """All ranks of one run or pool, in this process's care."""

    def __init__(self, ranks: int, backend: str, start: Start, folder: str) -> None:
        board = nameless()
        self.board = boards.attach(board, ranks)
        sock, port = listener()
        self.ranks: list[Rank] = []
        self.selector = selectors.DefaultSelector()
        self.heavy: set[str] = set()  # slow imports that a rank made by itself
        self.whole = True  # no rank has left the process group
        for number in range(ranks):
            mine, theirs = Channel.pair()
            read, write = os.pipe()
            dump = nameless()
            pid = start(
                Place(
                    number,
                    ranks,
                    backend,
                    theirs.fileno(),
                    write,
                    dump,
                    board,
                    sock.fileno(),
                    port,
                    os.getpid(),
                    folder,
                )
            )
            theirs.close()
            os.close(write)
            os.set_blocking(read, False)
            rank = Rank(number, pid, mine, read, dump)
            self.ranks.append(rank)
            self.selector.register(mine, selectors.EVENT_READ, rank)
            self.selector.register(read, selectors.EVENT_READ, rank)
            if hasattr(os, "pidfd_open"):
                self.selector.register(os.pidfd_open(pid), selectors.EVENT_READ, _EXIT)
        sock.close()
        os.close(board)

    def job(self, call: int, timeout: float, gone: Callable[[], bool]) -> verdict.Verdict | None:
        """Run one call on all ranks. None when all went well; `gone` says whether the caller still wants it."""
        deadline = time.monotonic() + timeout
        for rank in self.ranks:
            rank.result = rank.failure = None
            rank.printed.clear()
            rank.jobs.send({"job": True}, [call])
        first_failure = 0.0
        while not gone():
            self._listen(min(self._pace(), max(0.0, deadline - time.monotonic())))
            if found := self._deaths():
                return found
            failures = {r.number: r.failure for r in self.ranks if r.failure}
            finished = {r.number for r in self.ranks if r.result is not None}
            if failures:
                now = time.monotonic()
                first_failure = first_failure or now
                found = self._judge(failures, finished, now - first_failure)
            elif finished or self._stuck():
                found = verdict.unequal(self.board, finished, in_trouble=self._stuck())
            if found:
                return found
            if len(finished) == len(self.ranks):
                return None
            if finished and self._idle():
                self._dismiss(finished)
            if time.monotonic() >= deadline:
                return verdict.hung(self.board, finished, timeout, time.monotonic_ns())
        return verdict.Verdict(LOST, -1, 0, "lost")

    def stacks(self) -> dict[int, str]:
        """Where each rank stands, as its own fault handler writes it; the ranks are about to be killed."""
        for rank in self.ranks:
            with contextlib.suppress(ProcessLookupError):
                os.kill(rank.pid, DUMP_SIGNAL)
        time.sleep(0.1)
        return self.dumps()

    def dumps(self) -> dict[int, str]:
        """What fault handlers wrote: of crashes, or after `stacks`."""
        return {r.number: read_blob(r.dump, close=False).decode(errors="replace") for r in self.ranks}

    def end(self, *, kindly: bool) -> None:
        """End all ranks and everything they started; `kindly` lets their exit handlers run for a moment first."""
        until = time.monotonic() + 0.5
        if kindly:
            for rank in self.ranks:
                rank.jobs.send({"end": True})
            while time.monotonic() < until and any(r.pid in tree.children() for r in self.ranks):
                self._listen(0.01)
                for rank in self.ranks:
                    with contextlib.suppress(ChildProcessError):
                        os.waitpid(rank.pid, os.WNOHANG)
        tree.end_all()
        self._drain()

    def printed(self) -> list[str]:
        """What each rank printed since the job began."""
        self._drain()
        return [r.printed.decode("utf-8", "replace") for r in self.ranks]

    def _listen(self, seconds: float) -> None:
        for key, _ in self.selector.select(seconds):
            if key.data == _EXIT:  # `_deaths` asks which process it was
                self.selector.unregister(key.fileobj)
                os.close(key.fd)
            elif key.data == CALLER:
                continue
            elif key.fileobj == key.data.output:
                self._read(key.data)
            else:
                self._hear(key.data)

    def _hear(self, rank: Rank) -> None:
        received = rank.jobs.receive()
        if received is None:
            self.selector.unregister(rank.jobs)
            return
        message, fds = received
        if "done" in message:
            rank.result = fds[0]
            self.heavy |= set(message["heavy"])
            self.whole = self.whole and message["group"]
        else:
            said = json.loads(read_blob(fds[0]))
            rank.failure = verdict.Failure(message["failed"], **said)

    def _read(self, rank: Rank) -> bool:
        try:
            data = os.read(rank.output, 1 << 16)
        except BlockingIOError:
            return False
        if not data:
            self.selector.unregister(rank.output)
            os.close(rank.output)
            rank.output = -1
        room = MOST_OUTPUT - len(rank.printed)
        rank.printed += data[: max(0, room)]
        if 0 <= room < len(data):
            rank.printed += f"\n... cut: a rank may print {MOST_OUTPUT >> 20} MiB\n".encode()
        return bool(data)

    def _drain(self) -> None:
        for rank in self.ranks:
            for _ in range(1000):
                if rank.output < 0 or not self._read(rank):
                    break

    def _deaths(self) -> verdict.Verdict | None:
        for rank in self.ranks:
            if rank.ended:
                continue
            try:
                pid, status = os.waitpid(rank.pid, os.WNOHANG)
            except ChildProcessError:
                pid, status = rank.pid, -1
            if not pid:
                continue
            rank.ended = True
            if rank.result is None:
                return verdict.died(self.board, rank.number, status)
        return None

    def _judge(self, failures: dict[int, verdict.Failure], finished: set[int], age: float) -> verdict.Verdict | None:
        """A verdict once the first cause is clear."""
        certain = not all(f.consequence for f in failures.values())
        at_work = [n for n in range(len(self.ranks)) if n not in failures and n not in finished]
        waiting = bool((self.board["op"][at_work] != 0).all())
        if at_work and age < (GRACE if certain and waiting else DOUBT):
            return None
        if certain:
            return verdict.raised(self.board, failures)
        if found := verdict.unequal(self.board, finished, in_trouble=True):
            return found
        return verdict.left_early(self.board, finished, failures) if finished else verdict.raised(self.board, failures)

    def _pace(self) -> float:
        early = any(r.result is not None or r.failure for r in self.ranks)
        return 0.02 if early else 0.2

    def _stuck(self) -> bool:
        """Every rank has been inside one collective for a while."""
        waits = time.monotonic_ns() - int(self.board["since"].max())
        return waits > 0.3e9 and bool((self.board["op"] != 0).any())

    def _idle(self) -> bool:
        """No rank that still runs has made a step or used the processor for a while."""
        now, idle = time.monotonic(), True
        for rank in self.ranks:
            if rank.result is not None or rank.failure:
                continue
            with contextlib.suppress(psutil.Error):
                times = psutil.Process(rank.pid).cpu_times()
                sign = (int(self.board["since"][rank.number]), times.user + times.system)
                if sign != rank.sign:
                    rank.sign, rank.sign_at = sign, now
            idle = idle and now - rank.sign_at > IDLE
        return idle

    def _dismiss(self, finished: set[int]) -> None:
        """End ranks that have finished: whoever still waits for them finds the connection closed, and says where."""
        for number in finished:
            if not self.ranks[number].ended:
                self.ranks[number].ended = True
                self.ranks[number].jobs.send({"end": True})
