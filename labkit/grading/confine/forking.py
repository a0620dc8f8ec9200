"""The ranks' fork server of an answer: forked from the answer's own process, which has torch loaded already."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
import traceback

from labkit.ranks import tree
from labkit.ranks.protocol import Channel


class Forked:
    """A forked process behind the few methods of subprocess.Popen that are needed."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._status: int | None = None

    def poll(self) -> int | None:
        """Its exit status, None while it runs."""
        if self._status is None:
            with contextlib.suppress(ChildProcessError):
                done, status = os.waitpid(self.pid, os.WNOHANG)
                self._status = os.waitstatus_to_exitcode(status) if done else None
        return self._status

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end; subprocess.TimeoutExpired where that takes longer (seconds)."""
        until = time.monotonic() + (1e9 if timeout is None else timeout)
        while (status := self.poll()) is None:
            if time.monotonic() > until:
                raise subprocess.TimeoutExpired("the ranks' server", timeout or 0.0)
            time.sleep(0.001)
        return status

    def kill(self) -> None:
        """End it."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)


def start(control: Channel, said: int) -> Forked:
    """Fork a server of ranks. control: its end of the channel. said: the file for its stderr."""
    pid = os.fork()
    if pid:
        return Forked(pid)
    try:
        os.setsid()
        null = os.open(os.devnull, os.O_RDWR)
        for fd, to in ((null, 0), (null, 1), (said, 2)):
            os.dup2(fd, to)
        tree.close_all_but(control.fileno())
        from labkit.ranks.server import main

        main(control, warm=True)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(0)
