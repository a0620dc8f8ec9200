"""No process outlives its run: everything below a supervisor is found and ended, orphans included."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import tempfile
import time

import psutil

_DEATH_SIGNAL, _SUBREAPER = 1, 36  # PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER of prctl(2)


def adopt_orphans() -> None:
    """From now on a descendant whose parent died becomes a child of this process, not of init. Linux only."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_SUBREAPER, 1, 0, 0, 0)


def die_with(parent: int) -> None:
    """SIGKILL for this process as soon as `parent`, which started it, is gone. Linux only."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # gone before the call
        os._exit(1)


def children() -> list[int]:
    """Ids of this process's children, adopted ones included."""
    me = os.getpid()
    try:
        with open(f"/proc/self/task/{me}/children", encoding="ascii") as file:
            return [int(word) for word in file.read().split()]
    except OSError:  # not Linux, or a kernel without the file; without adoption all descendants are wanted
        return [child.pid for child in psutil.Process().children(recursive=sys.platform != "linux")]


def end_all(*, spare: frozenset[int] = frozenset(), within: float = 5.0) -> dict[int, int]:
    """Kill every descendant except `spare` and theirs, wait until they're gone; their wait statuses by id.

    A killed child's own children become this process's next ones, so the whole tree is reached level by level.
    """
    statuses: dict[int, int] = {}
    until = time.monotonic() + within
    while time.monotonic() < until and (left := [pid for pid in children() if pid not in spare]):
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for pid in left:
            with contextlib.suppress(ChildProcessError):
                statuses[pid] = _wait(pid, until)
    return statuses


def _wait(pid: int, until: float) -> int:
    pause = 0.0002
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done or time.monotonic() > until:
            return status
        time.sleep(pause)
        pause = min(pause * 1.5, 0.01)


def folder() -> str:
    """A new folder for a run's sockets, its path short enough for them: a Unix socket's has 107 characters at most."""
    base = tempfile.gettempdir()
    return tempfile.mkdtemp(prefix="labkit-", dir=base if len(base) <= 72 and os.path.isdir(base) else "/tmp")


def close_all_but(*keep: int) -> None:
    """Close every descriptor except standard ones and `keep`."""
    low = 3
    for fd in sorted(set(keep) - {0, 1, 2}):
        os.closerange(low, fd)
        low = fd + 1
    os.closerange(low, 4096)
