"""The few system calls that Python has no name for. Linux only; every failure is an OSError that names the call."""

from __future__ import annotations

import ctypes
import fcntl
import os
import platform
import socket
import struct

NEW_NS, NEW_UTS, NEW_IPC = 0x00020000, 0x04000000, 0x08000000
NEW_USER, NEW_PID, NEW_NET = 0x10000000, 0x20000000, 0x40000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 1, 2, 4, 32, 4096, 16384, 1 << 18
MNT_DETACH = 2
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_CAPBSET_DROP, PR_SET_SECUREBITS, PR_SET_NO_NEW_PRIVS = 1, 4, 24, 28, 38
PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 47, 4, 22, 2
_NO_ROOT_LOCKED = 0b10101111  # no file gains capabilities, no id change does, and neither can be undone; ambient too

ARCH = platform.machine()
NUMBERS = {  # name -> (x86_64, aarch64)
    "pivot_root": (155, 41),
    "capset": (126, 91),
    "mount_setattr": (442, 442),
    "landlock_create_ruleset": (444, 444),
    "landlock_add_rule": (445, 445),
    "landlock_restrict_self": (446, 446),
}
_AT_RECURSIVE, _AT_FDCWD = 0x8000, -100
_MOUNT_ATTR_RDONLY, _MOUNT_ATTR_NOSUID, _MOUNT_ATTR_NODEV = 1, 2, 4

_libc = ctypes.CDLL(None, use_errno=True)


def number(name: str) -> int:
    """The number of a call on this processor. OSError where it isn't known."""
    if ARCH not in ("x86_64", "aarch64"):
        raise OSError(f"{name} is not known on {ARCH}")
    return NUMBERS[name][ARCH == "aarch64"]


def syscall(name: str, *args: object) -> int:
    """A call by number."""
    return _checked(name, _libc.syscall(number(name), *args))


def _checked(name: str, result: int) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{name}: {os.strerror(code)}")
    return result


def unshare(flags: int) -> None:
    """New namespaces for this process; a new PID namespace for its next child."""
    _checked("unshare", _libc.unshare(flags))


def setns(fd: int, kind: int) -> None:
    """Enter the namespace behind a descriptor."""
    _checked("setns", _libc.setns(fd, kind))


def mount(source: str, target: str, kind: str = "", flags: int = 0, data: str = "") -> None:
    """See mount(2)."""
    words = [word.encode() or None for word in (source, target, kind)]
    _checked(f"mount {target}", _libc.mount(*words, ctypes.c_ulong(flags), data.encode() or None))


def bind(source: str, target: str, *, devices: bool = False) -> None:
    """Show `source`, with all that is mounted below it, at `target`, read-only (a device's node stays usable)."""
    mount(source, target, flags=MS_BIND | MS_REC)
    if devices:
        return
    flags = _MOUNT_ATTR_RDONLY | _MOUNT_ATTR_NOSUID | _MOUNT_ATTR_NODEV
    attributes = struct.pack("4Q", flags, 0, 0, 0)
    syscall("mount_setattr", _AT_FDCWD, target.encode(), _AT_RECURSIVE, attributes, ctypes.c_size_t(32))


def pivot_to(root: str) -> None:
    """Make the mount at `root` this process's root and let go of the old one."""
    os.chdir(root)
    syscall("pivot_root", b".", b".")
    _checked("umount2", _libc.umount2(b".", MNT_DETACH))
    os.chdir("/")


def prctl(option: int, *args: int) -> int:
    """See prctl(2)."""
    words = [ctypes.c_ulong(arg) for arg in (*args, 0, 0, 0, 0)[:4]]
    return _checked(f"prctl {option}", _libc.prctl(option, *words))


def drop_capabilities() -> None:
    """Give up every capability, for this process and all that it starts."""
    last = int(_text("/proc/sys/kernel/cap_last_cap") or 40)
    try:
        prctl(PR_SET_SECUREBITS, _NO_ROOT_LOCKED)
        for capability in range(last + 1):
            prctl(PR_CAPBSET_DROP, capability)
        prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL)
    except PermissionError:  # without CAP_SETPCAP there is none to drop
        pass


def clear_capabilities() -> None:
    """Empty the capability sets that are in force; after it nothing privileged can be done."""
    header = struct.pack("Ii", 0x20080522, 0)
    syscall("capset", ctypes.c_char_p(header), ctypes.c_char_p(bytes(24)))


def loopback_up() -> None:
    """Switch the loopback interface of this network namespace on: gloo talks over it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        request = struct.pack("16sH14x", b"lo", 1 | 64)  # IFF_UP | IFF_RUNNING
        fcntl.ioctl(sock, 0x8914, request)  # SIOCSIFFLAGS


def _text(path: str) -> str:
    try:
        with open(path, encoding="ascii") as file:
            return file.read()
    except OSError:
        return ""
