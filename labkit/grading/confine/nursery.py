"""The nursery: one process with torch loaded, one thread and no secret, from which the server of every slot is forked.

It is started by exec with an empty environment and never holds a hidden input: what once was in its memory could be
read in every answer. On its channel come {"imports": [...]} and then, for each slot, {"slot": true} with the slot's end
of a channel of its own; what it can't do it says on that channel.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import pkgutil
import select
import signal
import sys
import traceback

from labkit.grading.confine import landlock, place, seccomp, view
from labkit.grading.confine import syscalls as sys_
from labkit.grading.confine.confinement import Way
from labkit.ranks import tree
from labkit.ranks.protocol import Channel

HEAVY = ("pandas", "torch._dynamo", "labkit.grading.confine.child", "labkit.grading.confine.server")
TOPICS = ("metrics", "pipeline", "ranks", "records", "resume", "scaling", "sharding")
NAMES = ("namespaces", "user namespace", "landlock", "none")
NOWAY = (
    "nothing on this machine can confine an answer ({why}): grade where namespaces or Landlock are allowed, "
    "or accept the risk with unsafe=True (--unsafe)"
)
_USERS = 256  # a user id has 32 bits
_NEXT_USER = 1 << 22  # process ids are smaller, so that no two slots' answers share a user id


def main(words: list[str]) -> None:
    """Serve until whoever started it is gone.

    words: the channel (a descriptor), the way wished for, "unsafe" or ""; in the second start, inside the new
    namespaces, the way that was chosen and the first user id for answers.
    """
    control = Channel.of(int(words[1]))
    if len(words) < 5:
        name = _choose(words[2], unsafe=bool(words[3]))
        if name not in NAMES:
            _refuse_all(control, name)
            return
        if name in NAMES[:2]:
            place.into(user=name == NAMES[1], words=[*sys.orig_argv, name], judge=os.getppid())
        way = _settle(name)
    else:
        way = Way(words[4], uid=int(words[5]) if words[4] == NAMES[0] else 0, filter=seccomp.program())
    serve(control, way)


def _choose(wish: str, *, unsafe: bool) -> str:
    """The best way that is possible here, or a sentence that says why there is none."""
    why = {}
    for name in [wish] if wish else NAMES[: 4 if unsafe else 3]:
        if not (reason := _against(name)):
            return name
        why[name] = reason
    return NOWAY.format(why="; ".join(f"{name}: {reason}" for name, reason in why.items()))


def _refuse_all(control: Channel, why: str) -> None:
    while (received := control.receive()) is not None:
        for fd in received[1]:
            Channel.of(fd).send({"refused": why})


def _against(name: str) -> str:
    """What speaks against a way; "" where it is possible."""
    if name == "none":
        return ""
    if sys_.ARCH not in ("x86_64", "aarch64"):
        return f"no seccomp filter for {sys_.ARCH}"
    if name == "landlock":
        return place.unreadable() if landlock.version() else "the kernel has no Landlock"
    if name == "namespaces" and os.geteuid():
        return "not root"
    return place.possible(user=name == "user namespace")


def _settle(name: str) -> Way:
    """A way that needs no namespaces: the nursery stays where it is."""
    if name == "none":
        return Way(name)
    ports = landlock.only_ports(landlock.EPHEMERAL) if landlock.version() >= 4 else -1
    uid = place.outside_user() if os.geteuid() == 0 else 0
    return Way(name, uid=uid, read=tuple(view.readable()), ports=ports, filter=seccomp.program(shared=True))


def warm_up(imports: list[tuple[str, str]]) -> None:
    """Load what answers use, so that no child has to; start no thread."""
    from labkit.ranks import counting, server

    for module, name in [*((module, "") for module in (*HEAVY, *topics())), *imports]:
        with contextlib.suppress(Exception):  # the answer that needs it will say so
            getattr(importlib.import_module(module), name or "__name__")
    counting.install()
    server.warm_up()


def topics() -> list[str]:
    """Every module of the packages that answers work with: an answer's process, and its ranks, then import none."""
    packages = [f"labkit.{name}" for name in TOPICS]
    places = [str(view.PACKAGE / name) for name in TOPICS]
    found = [name for place, package in zip(places, packages, strict=True)
             for _, name, _ in pkgutil.iter_modules([place], f"{package}.")]  # fmt: skip
    return [name for name in found if not name.endswith("__main__")]


def serve(control: Channel, way: Way) -> None:
    """Load everything, then fork a server for each slot that is asked for."""
    for number in (signal.SIGINT, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    received = control.receive()
    if received is None:
        return
    tree.adopt_orphans()
    warm_up(received[0]["imports"])
    home = os.open("/proc/self/ns/pid", os.O_RDONLY) if way.namespaces else -1
    poll = select.poll()
    poll.register(control, select.POLLIN)
    slots: dict[int, int] = {}  # pidfd -> process id
    made = 0
    while True:
        ready = [fd for fd, _ in poll.poll()]
        for pidfd in [fd for fd in ready if fd in slots]:
            poll.unregister(pidfd)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(slots.pop(pidfd), 0)
            os.close(pidfd)
            tree.end_all(spare=frozenset(slots.values()))  # left over only where no namespace ends with the slot
        if control.fileno() not in ready:
            continue
        if (received := control.receive()) is None:
            return
        pid = _fork_slot(way, made, received[1][0], home)
        os.close(received[1][0])
        made += 1
        pidfd = os.pidfd_open(pid)
        slots[pidfd] = pid
        poll.register(pidfd, select.POLLIN)


def _fork_slot(way: Way, number: int, channel: int, home: int) -> int:
    """The server of a slot, the first process of a PID namespace of its own where there are namespaces."""
    from labkit.grading.confine import server

    parent = os.getpid()
    if pid := place.fork_first(home):
        return pid
    try:
        uid = way.uid + number % _USERS * _NEXT_USER if way.uid else 0
        server.serve(Channel.of(channel), way, uid, parent)
    except BaseException:
        traceback.print_exc()  # the judge shows its last line
    finally:
        os._exit(0)
