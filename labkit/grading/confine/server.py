"""The server of a slot: forked from the nursery with torch loaded; forks a child for every answer and watches it.

It never holds a hidden input: what once was in its memory could be read in every child. A child's task, its inputs and
its answers pass it by, on a descriptor that it only hands on.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import tempfile
import time
from dataclasses import replace
from typing import Any

from labkit.grading.confine import escapes, place
from labkit.grading.confine import syscalls as sys_
from labkit.grading.confine.confinement import Way
from labkit.grading.confine.limits import Limits
from labkit.grading.confine.watch import Watch, all_others, descendants
from labkit.ranks import tree
from labkit.ranks.protocol import Channel

LOOK = 0.1  # s between two looks at what an answer uses


def serve(control: Channel, way: Way, uid: int, nursery: int) -> None:
    """Try the confinement out, say what it holds, then run answers until the judge is gone.

    uid: the user id that this slot's answers take on; 0 where they keep their own. nursery: the process it came from.
    """
    if way.namespaces:  # the nursery's id isn't known in here; its end takes this namespace along in any case
        sys_.prctl(sys_.PR_SET_PDEATHSIG, signal.SIGKILL)
        sys_.unshare(sys_.NEW_NS)
        sys_.mount("proc", "/proc", "proc", sys_.MS_NOSUID | sys_.MS_NODEV)
    else:
        tree.die_with(nursery)
        tree.adopt_orphans()
    tree.close_all_but(control.fileno(), *([way.ports] if way.ports >= 0 else []))
    server = Server(replace(way, uid=uid))
    try:
        closed, left = escapes.report(server)
    except RuntimeError as error:
        control.send({"refused": str(error)})
        return
    control.send({"way": way.name, "closed": closed, "open": left})
    while (received := control.receive()) is not None:
        message, fds = received
        if "answer" in message and not server.answer(control, Limits(**message["answer"]), fds):
            return


class Server:
    """Forks and watches the children of one slot, one at a time."""

    def __init__(self, way: Way) -> None:
        self.way = way
        self._home = os.open("/proc/self/ns/pid", os.O_RDONLY) if way.namespaces else -1
        self._since = time.time()
        self._others = all_others if way.namespaces else descendants

    def fork(self, limits: Limits, fds: list[int], folder: str, task: Any) -> int:
        """A confined child that does `task(wire, output)` and ends."""
        parent = os.getpid()
        if not (pid := place.fork_first(self._home)):
            task.run(self.way, limits, folder, fds, parent)
        return pid

    def answer(self, control: Channel, limits: Limits, fds: list[int]) -> bool:
        """Run one answer to its end, then tell the judge, who may go on. False once the judge is gone."""
        from labkit.grading.confine import child

        folder = self.folder()
        pid = self.fork(limits, fds, folder, child)
        for fd in fds:
            os.close(fd)
        watch = Watch(limits, self._others)
        pidfd = os.pidfd_open(pid)
        hit, there = self._attend(control, pidfd, watch)
        status, used = self.end(pid)
        os.close(pidfd)
        self.clear(folder)
        cpu_s = max(watch.cpu_s, used)
        control.send({"status": status, "hit": hit, "cpu_s": cpu_s, "peak_mib": watch.peak_mib})
        return there

    def _attend(self, control: Channel, pidfd: int, watch: Watch) -> tuple[list[str] | None, bool]:
        """Wait for the child's end, the judge's word or a limit; why it must end, and whether the judge is there."""
        poll = select.poll()
        poll.register(pidfd, select.POLLIN)
        poll.register(control, select.POLLIN)
        while True:
            ready = dict(poll.poll(LOOK * 1000))
            if control.fileno() in ready:
                return None, control.receive() is not None
            if pidfd in ready:
                return None, True
            if hit := watch.look():
                return hit, True

    def end(self, pid: int) -> tuple[int, float]:
        """Kill a child and all that it started; its wait status and processor time in seconds."""
        if not self.way.namespaces:
            _stop_all()
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)  # the first of its PID namespace: the kernel ends all others with it
        _, status, used = os.wait4(pid, 0)
        if not self.way.namespaces:
            tree.end_all(within=60.0)
        return status, used.ru_utime + used.ru_stime

    def folder(self) -> str:
        """Where the next child may write."""
        if self.way.namespaces:
            return "/tmp"
        folder = tempfile.mkdtemp(prefix="labkit-answer-")
        if self.way.uid:
            os.chown(folder, self.way.uid, self.way.uid)
        return folder

    def clear(self, folder: str) -> None:
        """Remove what a child left behind."""
        if self.way.namespaces:
            return
        shutil.rmtree(folder, ignore_errors=True)
        uid = self.way.uid or os.getuid()
        left = [entry for entry in os.scandir("/dev/shm") if _made_by(entry, uid, self._since)]
        used = _used("/dev/shm/") if left else set()  # other slots' answers may share memory at this moment
        for entry in left:
            if entry.path not in used:
                with contextlib.suppress(OSError):
                    os.unlink(entry.path)


def _stop_all() -> None:
    """Stop every process below this one, until none is new: a fork bomb grows faster than it can be killed."""
    stopped: set[int] = set()
    while new := set(descendants()) - stopped:
        for pid in new:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
        stopped |= new


def _made_by(entry: os.DirEntry[str], uid: int, since: float) -> bool:
    try:
        found = entry.stat(follow_symlinks=False)
    except OSError:
        return False
    return found.st_uid == uid and found.st_ctime >= since and not entry.is_dir(follow_symlinks=False)


def _used(below: str) -> set[str]:
    """Paths below a directory that a process has mapped or open."""
    found = set()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            with open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as file:
                found |= {below + line.split(below, 1)[1].rstrip("\n") for line in file if below in line}
            for fd in os.listdir(f"/proc/{pid}/fd"):
                with contextlib.suppress(OSError):
                    found.add(os.readlink(f"/proc/{pid}/fd/{fd}"))
    return found
