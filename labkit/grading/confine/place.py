"""Where answers run: namespaces of their own and a root that holds only what `view` names. Done once a slot."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import sys
from typing import NoReturn

from labkit.grading.confine import syscalls as sys_
from labkit.grading.confine import view

BASES = ("/mnt", "/media", "/srv", "/opt", "/run", "/tmp", "/var")
"""Directories that the new root may be built on; never one above a path that must stay visible."""
ALL = sys_.NEW_NS | sys_.NEW_UTS | sys_.NEW_IPC | sys_.NEW_NET | sys_.NEW_PID
ROOT_MIB = 4  # size of the root's own file system, which only holds directories and a few links
LEARNER = 1000
"""The user id of an answer inside a user namespace."""


def outside_user() -> int:
    """A user id that nobody else has on this machine while this process lives: limits by user then count alone."""
    return 0x70000000 + os.getpid()


def enter(*, user: bool) -> None:
    """New namespaces and a new root for this process and its next child; it can't be undone.

    user: in a user namespace, for which no privileges are needed.
    OSError where this system doesn't allow it. Call it in a process that is not needed otherwise, then fork.
    """
    if user:
        if os.geteuid() == 0:  # else it would stay root towards the system outside
            become(outside_user())
        uid, gid = os.geteuid(), os.getegid()
        sys_.unshare(sys_.NEW_USER | ALL)
        write("/proc/self/setgroups", "deny")
        write("/proc/self/uid_map", f"0 {uid} 1")
        write("/proc/self/gid_map", f"0 {gid} 1")
    else:
        sys_.unshare(ALL)
    socket.sethostname("labkit")


def fork_first(home: int) -> int:
    """`os.fork`, the child as the first process of a new PID namespace. home: this process's own, opened; -1: plain."""
    if home < 0:
        return os.fork()
    sys_.unshare(sys_.NEW_PID)
    if pid := os.fork():
        sys_.setns(home, sys_.NEW_PID)  # else no second one could be made
        return pid
    return 0


def become(uid: int) -> None:
    """Be this user, in no group but its own, for good. Needs root."""
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    sys_.prctl(sys_.PR_SET_DUMPABLE, 1)  # else /proc/self would stay root's


def write(path: str, text: str) -> None:
    """Write a file of /proc in one go."""
    fd = os.open(path, os.O_WRONLY)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)


def build_root() -> None:
    """In the first process of a new PID namespace: the root that answers see. OSError where it isn't allowed."""
    sys_.mount("", "/", flags=sys_.MS_REC | sys_.MS_PRIVATE)
    shown = [*view.programs(), *view.small_files()]
    base = next(b for b in BASES if os.path.isdir(b) and not any((p + "/").startswith(b + "/") for p in shown))
    sys_.mount("tmpfs", base, "tmpfs", sys_.MS_NOSUID | sys_.MS_NODEV, f"size={ROOT_MIB}m,mode=755")
    for name in ("proc", "tmp", "dev/shm"):
        os.makedirs(f"{base}/{name}", exist_ok=True)
    # The server's own, for what libraries write when they are imported; every child gets another one.
    sys_.mount("tmpfs", f"{base}/tmp", "tmpfs", sys_.MS_NOSUID | sys_.MS_NODEV, "size=16m,mode=755")
    for path in shown:
        _show(path, base)
    for path in view.devices():
        _point(base + path)
        sys_.bind(path, base + path, devices=True)
    for checks in sorted({str(view.CHECKS), os.path.realpath(view.CHECKS)}):
        _replace(checks, base)
    _file(f"{base}/etc/passwd", f"root:x:0:0::/:/bin/false\nlearner:x:{LEARNER}:{LEARNER}::/tmp:/bin/sh\n")
    _file(f"{base}/etc/group", f"root:x:0:\nlearner:x:{LEARNER}:\n")
    _file(f"{base}/etc/hosts", "127.0.0.1 localhost labkit\n::1 localhost\n")
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        os.symlink(f"/proc/self/fd/{number}", f"{base}/dev/{name}")
    os.symlink("/proc/self/fd", f"{base}/dev/fd")
    sys_.mount("proc", f"{base}/proc", "proc", sys_.MS_NOSUID | sys_.MS_NODEV)
    sys_.loopback_up()
    sys_.pivot_to(base)
    sys_.mount("", "/", flags=sys_.MS_REMOUNT | sys_.MS_BIND | sys_.MS_RDONLY | sys_.MS_NOSUID | sys_.MS_NODEV)


def _show(path: str, base: str) -> None:
    if os.path.islink(path):
        os.makedirs(os.path.dirname(base + path), exist_ok=True)
        os.symlink(os.readlink(path), base + path)
        return
    if os.path.isdir(path):
        os.makedirs(base + path, exist_ok=True)
    else:
        _point(base + path)
    sys_.bind(path, base + path)


def _replace(checks: str, base: str) -> None:
    """A directory of checks in which only what answers may see exists; no compiled copies of the rest either."""
    sys_.mount("tmpfs", base + checks, "tmpfs", sys_.MS_NOSUID | sys_.MS_NODEV, f"size={ROOT_MIB}m,mode=755")
    for name in view.visible_checks():
        _point(f"{base}{checks}/{name}")
        sys_.bind(f"{checks}/{name}", f"{base}{checks}/{name}")
    sys_.mount(
        "", base + checks, flags=sys_.MS_REMOUNT | sys_.MS_BIND | sys_.MS_RDONLY | sys_.MS_NOSUID | sys_.MS_NODEV
    )


def _point(path: str) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o644))


def _file(path: str, text: str) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def possible(*, user: bool) -> str:
    """Why answers can't be given namespaces of their own here; "" where they can. Tried out in a child."""
    out, into = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(out)
        try:
            enter(user=user)
            if inner := os.fork():
                os._exit(os.waitstatus_to_exitcode(os.waitpid(inner, 0)[1]))
            build_root()
            os._exit(0)
        except BaseException as error:
            os.write(into, str(error)[:500].encode() or b"failed")
        finally:
            os._exit(1)
    os.close(into)
    with open(out, "rb") as said:
        why = said.read().decode(errors="replace")
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return why or (f"exit status {code}" if code else "")


def unreadable() -> str:
    """What another user than root can't read of Python or labkit; "" where all is well, or this isn't root."""
    if os.geteuid():
        return ""
    wanted = [*view.programs(), sys.executable, str(view.PACKAGE)]
    pid = os.fork()
    if not pid:
        with contextlib.suppress(BaseException):
            become(outside_user())
            os._exit(next((i + 1 for i, path in enumerate(wanted) if not os.access(path, os.R_OK)), 0))
        os._exit(255)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return (
        f"{[*wanted, 'a user id to give it'][min(code, len(wanted) + 1) - 1]} is readable for root alone"
        if code
        else ""
    )


def into(*, user: bool, words: list[str], judge: int) -> NoReturn:
    """Start the server anew, as the first process of new namespaces, and wait for its end; never returns.

    words: the command line of the server. judge: the process without which it must not go on.
    """
    caller = os.pidfd_open(judge)
    enter(user=user)
    outside = outside_user()
    pid = os.fork()
    if not pid:
        sys_.prctl(sys_.PR_SET_PDEATHSIG, signal.SIGKILL)
        build_root()
        os.execv(sys.executable, [*words, str(outside)])
    _watch(pid, caller)
    sys.exit(0)


def _watch(pid: int, caller: int) -> None:
    """Return when the server has ended; end it as soon as the judge has."""
    poll = select.poll()
    inner = os.pidfd_open(pid)
    poll.register(caller, select.POLLIN)
    poll.register(inner, select.POLLIN)
    if inner not in dict(poll.poll()):
        os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
