"""The server of a slot: torch loaded, one thread, no secret; forks a child for every answer and watches it.

It never holds a hidden input: what once was in its memory could be read in every child. A child's task, its inputs and
its answers pass it by, on a descriptor that it only hands on.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import select
import shutil
import signal
import sys
import tempfile
import time
from typing import Any

from labkit.grading.confine import escapes, landlock, place, seccomp, view
from labkit.grading.confine import syscalls as sys_
from labkit.grading.confine.confinement import Way
from labkit.grading.confine.limits import Limits
from labkit.grading.confine.watch import Watch, all_others, descendants
from labkit.ranks import tree
from labkit.ranks.protocol import Channel

HEAVY = ("pandas", "torch._dynamo", "torch.utils.data", "labkit.grading.confine.child", "labkit.ranks.server")
LOOK = 0.1  # s between two looks at what an answer uses
NAMES = ("namespaces", "user namespace", "landlock", "none")
NOWAY = (
    "nothing on this machine can confine an answer ({why}): grade where namespaces or Landlock are allowed, "
    "or accept the risk with unsafe=True (--unsafe)"
)


def main(words: list[str]) -> None:
    """Serve until the judge is gone.

    words: the channel to the judge (a descriptor), the way wished for, "unsafe" or ""; in the second start, inside the
    new namespaces, the way that was chosen and the user id that its children take on.
    """
    control = Channel.of(int(words[1]))
    if len(words) < 5:
        name = _choose(words[2], unsafe=bool(words[3]), control=control)
        if name in NAMES[:2]:
            user = name == NAMES[1]
            place.into(user=user, words=[*sys.orig_argv, name], judge=os.getppid())
        way = _settle(name)
    else:
        way = Way(words[4], uid=int(words[5]) if words[4] == NAMES[0] else 0, filter=seccomp.program())
    _serve_all(control, way)


def _choose(wish: str, *, unsafe: bool, control: Channel) -> str:
    """The best way that is possible here; tells the judge and ends where there is none."""
    why = {}
    for name in [wish] if wish else NAMES[: 4 if unsafe else 3]:
        if not (reason := _against(name)):
            return name
        why[name] = reason
    told = "; ".join(f"{name}: {reason}" for name, reason in why.items())
    control.send({"refused": NOWAY.format(why=told)})
    raise SystemExit(1)


def _against(name: str) -> str:
    """What speaks against a way; "" where it is possible."""
    if name == "none":
        return ""
    if name != "none" and sys_.ARCH not in ("x86_64", "aarch64"):
        return f"no seccomp filter for {sys_.ARCH}"
    if name == "landlock":
        return place.unreadable() if landlock.version() else "the kernel has no Landlock"
    if name == "namespaces" and os.geteuid():
        return "not root"
    return place.possible(user=name == "user namespace")


def _settle(name: str) -> Way:
    """A way that needs no namespaces: the server stays where it is."""
    tree.adopt_orphans()
    if name == "none":
        return Way(name)
    ports = landlock.only_ports(landlock.EPHEMERAL) if landlock.version() >= 4 else -1
    uid = place.outside_user() if os.geteuid() == 0 else 0
    return Way(name, uid=uid, read=tuple(view.readable()), ports=ports, filter=seccomp.program(shared=True))


def _serve_all(control: Channel, way: Way) -> None:
    for number in (signal.SIGINT, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    received = control.receive()
    if received is None:
        return
    warm_up(received[0]["imports"])
    server = Server(way)
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


def warm_up(imports: list[tuple[str, str]]) -> None:
    """Load what answers use, so that no child has to; start no thread."""
    import numpy as np
    import torch

    from labkit.ranks import counting

    for module, name in [*((module, "") for module in HEAVY), *imports]:
        with contextlib.suppress(Exception):  # the answer that needs it will say so
            getattr(importlib.import_module(module), name or "__name__")
    torch.set_num_threads(1)
    np.ones(2) @ np.ones(2)
    torch.nn.functional.mse_loss(torch.nn.Linear(2, 1)(torch.ones(3, 2)), torch.zeros(3, 1))
    counting.install()
    gc.collect()
    gc.freeze()  # the collector leaves these objects alone, so their pages stay shared with the children


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
        if self.way.namespaces:
            sys_.unshare(sys_.NEW_PID)
        pid = os.fork()
        if pid and self.way.namespaces:
            sys_.setns(self._home, sys_.NEW_PID)  # else no second one could be made
        if not pid:
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
