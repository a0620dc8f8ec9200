"""Is the confinement in force? At its start a server sends one child through the ways out, each tried for real."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import resource
import select
import socket
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

from labkit.checks.registry import exercises
from labkit.grading.confine import place, view
from labkit.grading.confine.confinement import ENVIRON, Way, confine
from labkit.grading.confine.limits import Limits
from labkit.grading.confine.syscalls import ARCH, NEW_USER

if TYPE_CHECKING:
    from labkit.grading.confine.server import Server

TRY = Limits(seconds=10, memory_mib=64, processes=20, files_mib=1)
WITHOUT_NAMESPACES = {
    "see other processes",
    "leave files in /dev/shm",
    "send packets to other machines",
    "reach sockets in the file system",
    "use more memory in all than allowed, for up to 0.1 s a look",
}
"""What Landlock, seccomp and limits alone can't close: an answer's way out here that is reported, not refused."""
_libc = ctypes.CDLL(None, use_errno=True)


def report(server: Server) -> tuple[list[str], list[str]]:
    """What was tried and failed, and what an answer can do. RuntimeError where something is open that must not be."""
    if server.way.name == "none":
        return [], ["everything: nothing confines an answer here"]
    out, into = os.pipe()
    folder = server.folder()
    pid = server.fork(TRY, [into, -1], folder, _Try())
    os.close(into)
    ready, _, _ = select.select([out], [], [], TRY.seconds)
    with open(out, "rb") as said:
        text = said.read().decode(errors="replace") if ready else "it hung"
    server.end(pid)
    server.clear(folder)
    try:
        found = json.loads(text)
        closed, left = found["closed"], found["open"]
    except (ValueError, KeyError, TypeError):
        raise RuntimeError(f"the confinement could not be put in force: {text[-300:] or 'the child died'}") from None
    unexpected = [name for name in left if server.way.namespaces or name not in WITHOUT_NAMESPACES]
    if unexpected:
        raise RuntimeError(f"the confinement doesn't hold: an answer can {', '.join(unexpected)}")
    if not server.way.namespaces:
        left = [*left, "reach sockets in the file system", "connect to ports 32768 to 60999 of this machine"]
    return closed, left


class _Try:
    """The child that tries."""

    def run(self, way: Way, limits: Limits, folder: str, fds: list[int], parent: int) -> NoReturn:
        """Confine this process, then try every way out; never returns."""
        outside = _Outside(parent, os.stat("/dev/shm").st_dev)
        try:
            confine(way, limits, folder, (fds[0],), parent)
            tried = {name: _works(attempt, outside) for name, attempt in ATTEMPTS.items()}
            found = {
                "closed": [n for n, got in tried.items() if not got],
                "open": [n for n, got in tried.items() if got],
            }
            os.write(fds[0], json.dumps(found).encode())
        except BaseException as error:
            os.write(fds[0], f"{type(error).__name__}: {error}".encode())
        finally:
            os._exit(0)


class _Outside:
    """What the server knows of itself and a child must not reach."""

    def __init__(self, server: int, shm: int) -> None:
        self.server, self.shm = server, shm


def _works(attempt: Callable[[_Outside], object], outside: _Outside) -> bool:
    try:
        return bool(attempt(outside))
    except (OSError, MemoryError):
        return False


def _call(number: tuple[int, int], *args: Any) -> bool:
    return int(_libc.syscall(number[ARCH == "aarch64"], *args)) >= 0


def _write_outside(outside: _Outside) -> bool:
    for where in ("/", "/etc", "/usr", "/var/tmp", str(view.PACKAGE), sys.prefix):
        with contextlib.suppress(OSError):
            os.close(os.open(f"{where}/labkit-escape-{os.getpid()}", os.O_CREAT | os.O_WRONLY))
            os.unlink(f"{where}/labkit-escape-{os.getpid()}")
            return True
    return False


def _read_outside(outside: _Outside) -> bool:
    shown = view.programs()
    for where in ("/root", "/home", "/var/log", "/var/spool", "/srv", str(view.PACKAGE.parent)):
        with contextlib.suppress(OSError):
            entries = [os.path.join(where, name) for name in os.listdir(where)]
            if any(not any((path + "/").startswith(entry + "/") for path in shown) for entry in entries):
                return True
    return os.path.exists("/etc/shadow") and os.open("/etc/shadow", os.O_RDONLY) > 0


def _server_memory(outside: _Outside) -> bool:
    server = outside.server if _others() else 1
    if server == os.getpid():
        return False
    with open(f"/proc/{server}/mem", "rb"):
        return True


def _others() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]


def _signal(outside: _Outside) -> bool:
    if not _others():  # the server's number, if it exists in here at all, is somebody else's
        return False
    os.kill(outside.server, 0)
    return True


def _network(outside: _Outside) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.connect(("192.0.2.1", 9))
    return True


def _low_port(outside: _Outside) -> bool:
    if [name for _, name in socket.if_nameindex()] == ["lo"] and not _others():  # a network of its own
        return False
    with socket.socket() as sock:
        sock.settimeout(1)
        try:
            sock.connect(("127.0.0.1", 1))
        except ConnectionRefusedError:  # it got as far as asking
            return True
        except PermissionError:
            return False
    return True


def _knowledge(outside: _Outside) -> bool:
    with contextlib.suppress(OSError):
        return os.open(view.CHECKS / "lab01_figures.py", os.O_RDONLY) > 0
    return bool(exercises())


def _privileges(outside: _Outside) -> bool:
    with open("/proc/self/status", encoding="ascii") as file:
        status = dict(line.split(":", 1) for line in file)
    none = all(int(status[name], 16) == 0 for name in ("CapInh", "CapPrm", "CapEff", "CapAmb"))
    bound = os.getuid() == place.LEARNER or int(status["CapBnd"], 16) == 0 or os.getuid() != 0
    return not (none and bound and int(status["NoNewPrivs"]) == 1 and int(status["Seccomp"]) == 2)


def _become_root(outside: _Outside) -> bool:
    os.setuid(0)
    return True


def _limits(outside: _Outside) -> bool:
    data, processes = (resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_DATA, resource.RLIMIT_NPROC))
    if data == resource.RLIM_INFINITY or processes > TRY.processes:
        return True
    return len(bytearray(TRY.memory_mib << 21)) > 0  # twice of what it may


ATTEMPTS: dict[str, Callable[[_Outside], object]] = {
    "write outside its folder": _write_outside,
    "read files that are not the system's": _read_outside,
    "read the judges' knowledge": _knowledge,
    "read the server's memory": _server_memory,
    "signal the server": _signal,
    "see other processes": lambda outside: _others(),
    "inherit descriptors": lambda outside: len(os.listdir("/proc/self/fd")) > 5,  # 0, 1, 2, its pipe, this listing
    "inherit the environment": lambda outside: set(os.environ) - {*ENVIRON, "TMPDIR", "PYTHONPATH"},
    "keep privileges": _privileges,
    "become root": _become_root,
    "use more than its limits": _limits,
    "send packets to other machines": _network,
    "connect to services of this machine": _low_port,
    "leave files in /dev/shm": lambda outside: os.stat("/dev/shm").st_dev == outside.shm,
    "trace a process": lambda outside: _call((101, 117), 0, 0, 0, 0),
    "mount": lambda outside: _call((165, 40), b"tmpfs", b"/tmp", b"tmpfs", 0, None),
    "make namespaces": lambda outside: _call((272, 97), NEW_USER),
    "clone into namespaces": lambda outside: _call((435, 435), None, 0) or ctypes.get_errno() != 38,
    "make memory without a file": lambda outside: _call((319, 279), b"x", 0),
    "make System V objects": lambda outside: _call((29, 194), 0, 4096, 0o1600),
    "use io_uring": lambda outside: _call((425, 425), 1, None) or ctypes.get_errno() != 1,
    "load a BPF program": lambda outside: _call((321, 280), 0, None, 0) or ctypes.get_errno() != 1,
    "open a raw disk or the kernel's memory": lambda outside: any(
        os.path.exists(path) and os.open(path, os.O_RDONLY)
        for path in ("/dev/mem", "/dev/vda", "/dev/sda", "/dev/kmsg")
    ),
    "talk to the hypervisor": lambda outside: socket.socket(40, socket.SOCK_STREAM),  # AF_VSOCK
}
