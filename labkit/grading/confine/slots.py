"""The judge's side: the servers, one a slot, and the handle of an answer that runs in one of them."""

from __future__ import annotations

import contextlib
import os
import queue
import select
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

from labkit.errors import LabkitError, UsageError
from labkit.grading.confine.handle import ConfinedAnswer
from labkit.grading.confine.limits import IsolationReport, Limits, Program
from labkit.grading.confine.view import preloaded
from labkit.inputs import whole
from labkit.ranks.protocol import Channel

START = 120.0  # s for a server to load torch on a slow disk
WAYS = ("namespaces", "user namespace", "landlock", "none")
_MAIN = "from labkit.grading.confine.server import main; main(sys.argv)"
_ENVIRON = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "LANG": "C.UTF-8",
    "HOME": "/tmp",
    "MPLCONFIGDIR": "/tmp/labkit-matplotlib",
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "GLOO_SOCKET_IFNAME": "lo",
    "CUDA_VISIBLE_DEVICES": "",
    "LABKIT_DEVICE": "cpu",
}


class Slots:
    """Places to run answers in, each with a server of its own.

    Args:
        count: how many answers may run at the same time, 1 or more.
        unsafe: run answers although nothing can confine them here; the report then says way "none".
        way: one of `WAYS` to insist on it; "" for the best that is possible here.

    Raises:
        UsageError: count or way can't be used; or nothing can confine an answer here and `unsafe` wasn't given.
    """

    def __init__(self, count: int, *, unsafe: bool = False, way: str = "") -> None:
        self.count = whole("count", count, 1)
        if way not in ("", *WAYS):
            raise UsageError(f"way is {way!r}: choose from {', '.join(WAYS)}")
        if way == "none" and not unsafe:
            raise UsageError("way 'none' confines nothing: say unsafe=True too")
        self.unsafe, self._way = unsafe, way
        self.report = IsolationReport("none")
        self._servers: list[Server] = []
        self._free: queue.SimpleQueue[Server] = queue.SimpleQueue()

    def __enter__(self) -> Slots:
        try:
            self._servers = [Server(self._way, unsafe=self.unsafe) for _ in range(self.count)]
            for server in self._servers:
                server.wait_until_ready()
                self._free.put(server)
            self.report = self._servers[0].report
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End all servers, and whatever still runs below them."""
        for server in self._servers:
            server.close()
        self._servers = []

    @contextlib.contextmanager
    def answer(self, program: Program, limits: Limits | None = None) -> Iterator[ConfinedAnswer]:
        """An answer at work, in the next free slot; waits for one. Every process of it is gone when this ends.

        Any number of threads may ask. Raises UsageError where the lab has no such exercise or answer cell.
        """
        server = self._free.get()
        try:
            if not server.alive:
                server.close()
                fresh = Server(self._way, unsafe=self.unsafe)
                self._servers[self._servers.index(server)] = server = fresh
                server.wait_until_ready()
            with ConfinedAnswer(server.control, program, limits or Limits()) as answer:
                yield answer
        finally:
            self._free.put(server)


class Server:
    """A process that was started by exec with an empty environment, and forks one child an answer."""

    def __init__(self, way: str, *, unsafe: bool) -> None:
        self.control, theirs = Channel.pair()
        self.report = IsolationReport("none")
        self._said = tempfile.TemporaryFile()  # noqa: SIM115  open as long as the server lives
        root = str(Path(__file__).parents[3])
        code = f"import sys; sys.path.append({root!r}); {_MAIN}"
        words = [str(theirs.fileno()), way, "unsafe" if unsafe else ""]
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-s", "-c", code, *words],
            env=_ENVIRON,
            cwd="/",
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._said,
            start_new_session=True,
        )
        theirs.close()
        self.control.send({"imports": preloaded()})

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return self._process.poll() is None

    def wait_until_ready(self) -> None:
        """Returns when torch is loaded and the confinement has been tried out. LabkitError where that fails."""
        ready, _, _ = select.select([self.control], [], [], START)
        received = self.control.receive() if ready else None
        if received is None:
            raise LabkitError(f"the grading server could not start: {self._last_words()}")
        message = received[0]
        if "refused" in message:
            raise UsageError(message["refused"])
        self.report = IsolationReport(message["way"], tuple(message["closed"]), tuple(message["open"]))

    def _last_words(self) -> str:
        lines = os.pread(self._said.fileno(), 1 << 16, 0).decode(errors="replace").split("\n")
        return next((line for line in reversed(lines) if line.strip()), "no reason was given")

    def close(self) -> None:
        """End it and everything below it."""
        with contextlib.suppress(OSError):
            self.control.sock.shutdown(socket.SHUT_RDWR)
        self.control.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._said.close()
