"""The Jupyter server's side of forked kernels: one parent process, and a handle a kernel that looks like a `Popen`."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from types import MappingProxyType
from typing import Any

from labkit.errors import LabkitError
from labkit.hub.kernel_parent import SETTLED

PATIENCE = 60.0
"""Seconds to wait for a parent to load torch and fork: beyond, the caller starts an ordinary kernel."""


class NoFork(LabkitError):
    """A kernel can't be forked; the text says why, for a notice."""


class ForkedKernel:
    """A forked kernel, with the methods of `subprocess.Popen` that a kernel provisioner uses.

    Attributes:
        pid: its process id, and that of its process group.
        returncode: None while it runs; then its exit code, negative for a signal. Where the parent has gone too, -9.
    """

    stdin = stdout = stderr = None

    def __init__(self, pid: int, ended: Future[int]) -> None:
        self.pid, self._ended = pid, ended

    @property
    def returncode(self) -> int | None:
        """See the class."""
        return self._ended.result() if self._ended.done() else None

    def poll(self) -> int | None:
        """Exit code, or None while it runs."""
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end. Raises subprocess.TimeoutExpired after `timeout` seconds."""
        try:
            return self._ended.result(timeout)
        except TimeoutError:
            raise subprocess.TimeoutExpired(f"kernel {self.pid}", timeout or 0) from None

    def send_signal(self, number: int) -> None:
        """Send a signal to it; nothing where it has ended."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        """SIGTERM."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """SIGKILL."""
        self.send_signal(signal.SIGKILL)


class Parent:
    """One parent process and the connection to it. Thread-safe; start it early and the first kernel starts at once."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        self._environment = os.environ.copy()
        self._process = subprocess.Popen(
            [sys.executable, "-Xfrozen_modules=off", "-m", "labkit.hub.kernel_parent", str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            cwd="/",  # the folder that the server stands in may go away, or hold a file named torch.py
        )
        theirs.close()
        self._control = ours
        self._lock = threading.Lock()
        self._numbers = itertools.count()
        self._asked: dict[int, Future[int]] = {}
        self._kernels: dict[int, Future[int]] = {}
        self.ready: Future[int] = Future()
        threading.Thread(target=self._listen, name="labkit-kernel-parent", daemon=True).start()

    @property
    def alive(self) -> bool:
        """Whether it can still fork."""
        return self._process.poll() is None

    def fork(
        self, argv: Sequence[str], env: Mapping[str, str], cwd: str, streams: Mapping[int, int] = MappingProxyType({})
    ) -> ForkedKernel:
        """Fork a kernel. Blocks until it is there: for milliseconds, or while the parent is still loading.

        argv: as for ipykernel_launcher, its name first. env: its whole environment.
        streams: stream (1 or 2) -> the open descriptor it is to have; without one it prints where this process prints.
        Raises NoFork: the parent died, is too slow, or can't give this kernel what it asks.
        """
        differs = next((name for name in SETTLED if env.get(name) != self._environment.get(name)), None)
        if differs is not None:
            raise NoFork(f"{differs} is {env.get(differs)!r} for this kernel, and takes effect only in a new process")
        if not os.path.isdir(cwd):
            raise NoFork(f"there is no directory {cwd}")
        answer: Future[int] = Future()
        with self._lock:
            number = next(self._numbers)
            self._asked[number] = answer
            message = {"fork": number, "argv": list(argv), "env": dict(env), "cwd": cwd, "streams": list(streams)}
            try:
                data = json.dumps(message).encode() + b"\n"
                sent = socket.send_fds(self._control, [data], list(streams.values()))
                self._control.sendall(data[sent:])
            except OSError:
                raise NoFork("the parent of forked kernels has died") from None
        try:
            pid = answer.result(PATIENCE)
        except TimeoutError:
            self.stop()
            raise NoFork(f"the parent of forked kernels gave no answer for {PATIENCE:g} s") from None
        return ForkedKernel(pid, self._kernels[pid])

    def stop(self) -> None:
        """End the parent and all its kernels."""
        with contextlib.suppress(OSError):
            self._control.shutdown(socket.SHUT_RDWR)
        deadline = time.monotonic() + 5
        while self.alive and time.monotonic() < deadline:
            time.sleep(0.02)
        self._process.kill()
        self._process.wait()

    def _listen(self) -> None:
        held = b""
        with contextlib.suppress(OSError):
            while part := self._control.recv(1 << 16):
                *lines, held = (held + part).split(b"\n")
                for line in lines:
                    self._take(json.loads(line))
        gone = NoFork("the parent of forked kernels has died")
        with self._lock:
            for answer in (*self._asked.values(), *([] if self.ready.done() else [self.ready])):
                answer.set_exception(gone)
            self._asked.clear()
        for ended in self._kernels.values():  # kernels end with their parent
            if not ended.done():
                ended.set_result(-signal.SIGKILL)

    def _take(self, message: dict[str, Any]) -> None:
        if "ready" in message:
            self.ready.set_result(message["ready"])
        elif "forked" in message:
            self._kernels[message["pid"]] = Future()
            self._asked.pop(message["forked"]).set_result(message["pid"])
        elif "refused" in message:
            self._asked.pop(message["refused"]).set_exception(NoFork(message["why"]))
        elif "ended" in message:
            self._kernels[message["ended"]].set_result(message["code"])


_parent: Parent | None = None
_starting = threading.Lock()


def parent() -> Parent:
    """This process's parent of kernels, started at the first call and again where it died. Does not wait for it."""
    global _parent
    with _starting:
        if _parent is None or not _parent.alive:
            _parent = Parent()
        return _parent
