"""Landlock: which files a process may touch, which ports it may use, and nobody outside to signal. Linux 5.13 on."""

from __future__ import annotations

import ctypes
import os
import struct

from labkit.grading.confine.syscalls import syscall

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1, 2, 4, 8
_REFER = 1 << 13
_TRUNCATE, _IOCTL_DEV = 1 << 14, 1 << 15
_BY_VERSION = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}  # file rights known, by version
_BIND_TCP, _CONNECT_TCP = 1, 2
_ABSTRACT_SOCKETS, _SIGNALS = 1, 2
_BELOW_PATH, _PORT = 1, 2
READ = _EXECUTE | _READ_FILE | _READ_DIR
EPHEMERAL = range(32768, 61000)
"""Ports that Linux gives where none is asked for: torch's store and gloo use them."""


def version() -> int:
    """The version that the kernel offers; 0 where it has no Landlock."""
    try:
        return syscall("landlock_create_ruleset", None, ctypes.c_size_t(0), 1)
    except OSError:
        return 0


def rules(read: list[str], write: list[str], listed: list[str]) -> int:
    """A rule set, as a descriptor: `read` may be read and run, `write` written too, nothing else.

    listed: directories whose names may be seen, and the names below them; their files stay closed.

    Signals and abstract sockets of processes outside are closed too, where the kernel can (version 6).
    OSError where it has no Landlock.
    """
    known = version()
    rights = (1 << _BY_VERSION[min(known, 5)]) - 1 if known else 0
    scopes = _ABSTRACT_SOCKETS | _SIGNALS if known >= 6 else 0
    fields = [rights, 0, scopes][: 3 if known >= 6 else 2 if known >= 4 else 1]
    fd = _create(fields)
    for allowed, paths in ((READ, read), (rights, write), (_READ_DIR, listed)):
        for path in paths:
            _allow(fd, path, allowed & rights)
    return fd


def only_ports(ports: range) -> int:
    """A rule set, as a descriptor: of TCP, "any free port" may be bound, and `ports` bound and connected to."""
    # Every rule set denies to move files between directories, unless it allows that itself; the other one decides.
    fd = _create([_REFER, _BIND_TCP | _CONNECT_TCP])
    _allow(fd, "/", _REFER)
    for port, rights in ((0, _BIND_TCP), *((port, _BIND_TCP | _CONNECT_TCP) for port in ports)):
        syscall("landlock_add_rule", fd, _PORT, struct.pack("QQ", rights, port), 0)
    return fd


def _create(fields: list[int]) -> int:
    attributes = struct.pack(f"{len(fields)}Q", *fields)
    return syscall("landlock_create_ruleset", attributes, ctypes.c_size_t(len(attributes)), 0)


def _allow(fd: int, path: str, rights: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        if not os.path.isdir(path):  # rights on what is in a directory can't be given for a file
            rights &= _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
        syscall("landlock_add_rule", fd, _BELOW_PATH, struct.pack("=Qi", rights, place), 0)
    finally:
        os.close(place)


def restrict(fd: int) -> None:
    """Put a rule set in force for this process and all that it starts; needs no_new_privs. Can't be undone."""
    syscall("landlock_restrict_self", fd, 0)
