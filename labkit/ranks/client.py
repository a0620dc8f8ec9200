"""The caller's side: the server's life, and one group of ranks behind a channel."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import pickle
import select
import shutil
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

from labkit.errors import LabkitError, UsageError
from labkit.ranks.errors import LOST, RankError
from labkit.ranks.inputs import fork_works
from labkit.ranks.protocol import Channel, blob, nameless, read_blob
from labkit.ranks.stacks import with_source
from labkit.ranks.tree import folder

SLACK = 30.0  # s beyond a job's timeout before the supervisor itself counts as lost
ONE_THREAD = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


class Process(Protocol):
    """What is asked of a server's process; subprocess.Popen has it."""

    def poll(self) -> int | None:
        """Its exit status, None while it runs."""

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end; subprocess.TimeoutExpired where that takes longer (seconds)."""

    def kill(self) -> None:
        """End it."""


def _exec_server(control: Channel, said: int) -> Process:
    return _exec("labkit.ranks.server", [control], said)


_start: Callable[[Channel, int], Process] = _exec_server


def start_servers_with(start: Callable[[Channel, int], Process]) -> None:
    """Start this process's fork server another way than by exec.

    start: given the server's end of its channel and a file for its stderr, starts a process that runs
        `labkit.ranks.server.main` on the channel. For a process that is itself forked from one with torch loaded.
    """
    global _start
    _start = start


class Server:
    """A fork server of this process."""

    def __init__(self) -> None:
        mine, theirs = Channel.pair()
        self.said = nameless()
        self.process = _start(theirs, self.said)
        theirs.close()
        self.control = mine
        self.lock = threading.Lock()  # one question and its answer at a time
        if self.control.receive() is None:
            self.close()
            raise LabkitError(f"the ranks' server could not start: {self.last_words()}")

    def last_words(self) -> str:
        """The last line it or a supervisor wrote to stderr."""
        lines = os.pread(self.said, 1 << 16, 0).decode(errors="replace").split("\n")
        return next((line for line in reversed(lines) if line.strip()), "killed from outside")

    @property
    def alive(self) -> bool:
        """Whether its process still runs."""
        return self.process.poll() is None

    def bring_in(self, modules: Sequence[str]) -> None:
        """Import modules there, so that ranks have them at once."""
        with self.lock:
            self.control.send({"import": list(modules)})
            received = self.control.receive()
        if received is None:
            raise LabkitError(f"the ranks' server ended: {self.last_words()}; call again")
        answer = received[0]
        if not answer["imported"]:
            raise UsageError(f"module {answer['name']!r} can't be imported for ranks: {answer['why']}")
        if answer["threads"] > 1:
            stop()  # a process with threads must not be forked
            raise UsageError(f"importing {', '.join(modules)} starts threads: import it inside the function")

    def close(self) -> None:
        """End it, and all ranks with it."""
        self.control.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


_server: Server | None = None
_starting = threading.Lock()
_said_spawn = False


def server() -> Server:
    """This process's server, started on first use."""
    global _server
    with _starting:
        if _server is None or not _server.alive:
            if _server is not None:
                _server.close()
                os.close(_server.said)
            _server = Server()
        return _server


def stop() -> None:
    """End the fork server and every pool. The next run starts a new one; a normal exit calls this too."""
    global _server
    with _starting:
        old, _server = _server, None
        if old is not None:
            old.close()
            os.close(old.said)


def _forget() -> None:
    """In a forked child of the caller: the server is the parent's; drop our copy of its descriptor."""
    global _server, _starting
    _starting = threading.Lock()
    if _server is not None:
        _server.control.close()
        _server = None


atexit.register(stop)
os.register_at_fork(after_in_child=_forget)


class Ranks:
    """A group of ranks that waits for jobs."""

    def __init__(self, ranks: int, backend: str) -> None:
        self.ranks, self.owner = ranks, os.getpid()
        mine, theirs = Channel.pair()
        self.folder = folder()  # whoever is left at the end removes it: supervisor, server, or this process
        self.server: Server | None = None
        self.process: subprocess.Popen[bytes] | None = None  # the supervisor, where there is no server
        if fork_works():
            self.server = server()
            if not self.server.control.send(
                {"ranks": ranks, "backend": backend, "folder": self.folder}, [theirs.fileno()]
            ):
                shutil.rmtree(self.folder, ignore_errors=True)
                raise LabkitError("the ranks' server ended just now: call again")
        else:
            _say_spawn()
            self.process = _exec("labkit.ranks.spawning", [theirs], None, str(ranks), backend, self.folder)
        theirs.close()
        self.channel = mine
        self.open = True

    @property
    def waiting(self) -> bool:
        """Whether the ranks are there for another job; between jobs their channel says something only at its end."""
        supported = self.server is None or self.server.alive
        return self.open and supported and not select.select([self.channel], [], [], 0)[0]

    def call(self, data: bytes, timeout: float, *, last: bool) -> list[Any]:
        """Run packed `data` on all ranks and return the results by rank; shows what the ranks printed.

        Raises:
            RankError: a rank raised, died, hung, or made unequal collectives; every process of the group is gone.
        """
        file = blob(data)
        try:
            self.channel.send({"timeout": timeout, "last": last}, [file])
            received = self._answer(timeout + SLACK)
        except BaseException:  # an interrupt: end the ranks, then pass it on
            self.close()
            raise
        finally:
            os.close(file)
        if received is None:
            self.close()
            raise RankError(self._why_lost(), rank=-1, step=0, cause="lost")
        fds = received[1]
        report = json.loads(read_blob(fds[0]))
        blobs = [read_blob(fd) for fd in fds[1:]]
        if report["last"]:
            self.close()
        if report["heavy"] and self.process is None:
            server().control.send({"later": report["heavy"]})
        show(report["printed"])
        if found := report["verdict"]:
            traceback = with_source(report["traceback"])
            raise RankError(
                found["line"], rank=found["rank"], step=found["step"], cause=found["cause"], traceback=traceback
            )
        return [_load(rank, data) for rank, data in enumerate(blobs)]

    def _why_lost(self) -> str:
        if self.server is None:
            return LOST
        where = "process that watched the ranks" if self.server.alive else "ranks' server"
        return f"the {where} ended during the run: {self.server.last_words()}; run again"

    def _answer(self, seconds: float) -> tuple[dict[str, Any], list[int]] | None:
        ready, _, _ = select.select([self.channel], [], [], seconds)
        return self.channel.receive() if ready else None

    def close(self) -> None:
        """End the ranks; returns when all their processes are gone."""
        if not self.open:
            return
        self.open = False
        if self.owner != os.getpid():  # a forked copy of the caller: the ranks aren't its own
            self.channel.close()
            return
        with contextlib.suppress(OSError):
            self.channel.sock.shutdown(1)
        while (left := self._answer(10.0)) is not None:
            for fd in left[1]:
                os.close(fd)
        self.channel.close()
        shutil.rmtree(self.folder, ignore_errors=True)
        if self.process is not None:
            self.process.wait()


def _exec(module: str, channels: list[Channel], said: int | None, *words: str) -> subprocess.Popen[bytes]:
    """A fresh interpreter with nothing of the caller's but these channels; Ctrl-C in a terminal doesn't reach it."""
    root = str(Path(__file__).parents[2])
    environ = {**os.environ, **ONE_THREAD}
    environ["PYTHONPATH"] = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
    environ.setdefault("PYTHONHASHSEED", "0")
    environ["GLOO_SOCKET_IFNAME"] = "lo" if sys.platform == "linux" else "lo0"  # without it gloo looks up our host name
    fds = [channel.fileno() for channel in channels]
    return subprocess.Popen(
        [sys.executable, "-P", "-m", module, *map(str, fds), *words],
        env=environ,
        pass_fds=fds,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL if said is None else said,
        start_new_session=True,
    )


def _say_spawn() -> None:
    global _said_spawn
    if not _said_spawn:
        _said_spawn = True
        warnings.warn("labkit.ranks: no fork server here, so every run starts its ranks anew: seconds", stacklevel=5)


def show(printed: list[str]) -> None:
    """Each rank's prints, in order, each line with its rank."""
    for rank, text in enumerate(printed):
        for line in text.splitlines():
            print(f"rank {rank} | {line}")


def _load(rank: int, data: bytes) -> Any:
    try:
        return pickle.loads(data)  # from a child that ran the caller's own code
    except Exception as error:
        line = f"rank {rank}: its result can't be read here: {type(error).__name__}: {error}"
        raise RankError(line, rank=rank, step=0, cause="unsendable") from None
