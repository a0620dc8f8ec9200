"""The steps that confine a freshly forked child, in the order in which each still can be done. None can be undone."""

from __future__ import annotations

import os
import resource
import signal
import tempfile
from dataclasses import dataclass

from labkit.grading.confine import landlock, place, seccomp, view
from labkit.grading.confine import syscalls as sys_
from labkit.grading.confine.limits import Limits
from labkit.ranks.tree import close_all_but, die_with

FILES, INODES = 512, 20_000  # open files of a process; files and directories below /tmp, and below /dev/shm
ENVIRON = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "LANG": "C.UTF-8",
    "HOME": "/tmp",
    "USER": "learner",
    "LOGNAME": "learner",
    "PYTHONDONTWRITEBYTECODE": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "GLOO_SOCKET_IFNAME": "lo",
    "CUDA_VISIBLE_DEVICES": "",
    "LABKIT_DEVICE": "cpu",
}


@dataclass(frozen=True)
class Way:
    """How this server confines its children.

    Attributes:
        name: see `IsolationReport.way`.
        uid: the user id a child takes on; 0 where it keeps its own.
        read: paths a child may read, where nothing is mounted for it.
        ports: a Landlock rule set for TCP, as a descriptor, where there is no network of its own; else -1.
        filter: the seccomp filter.
    """

    name: str
    uid: int = 0
    read: tuple[str, ...] = ()
    ports: int = -1
    filter: bytes = b""

    @property
    def namespaces(self) -> bool:
        """Whether children get namespaces of their own."""
        return self.name in ("namespaces", "user namespace")


def confine(way: Way, limits: Limits, folder: str, keep: tuple[int, ...], parent: int) -> None:
    """Confine this process, which was just forked.

    folder: where it may write; "/tmp" where that is its own. keep: descriptors that stay open. parent: the server.
    OSError where a step isn't possible: then nothing may run here.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN if number == signal.SIGPIPE else signal.SIG_DFL)
    os.setsid()
    if way.namespaces:  # the parent's id isn't known in here; the server's end takes its namespace along in any case
        sys_.prctl(sys_.PR_SET_PDEATHSIG, signal.SIGKILL)
        _own_namespaces(limits)
    else:
        die_with(parent)
    rules = [way.ports] if way.ports >= 0 else []
    close_all_but(*keep, *rules)
    _limit(limits)
    if way.name != "none":
        write = [folder, "/dev/shm", "/dev/null", "/dev/zero", "/dev/full"]
        if landlock.version() or not way.namespaces:
            read, listed = ([*way.read, "/proc", "/dev"], [str(view.PACKAGE)]) if way.read else (["/"], [])
            rules.append(landlock.rules(read, write, listed))
        _drop(way)
        sys_.prctl(sys_.PR_SET_NO_NEW_PRIVS, 1)
        for fd in rules:
            landlock.restrict(fd)
            os.close(fd)
    os.environ.clear()
    os.environ.update(ENVIRON, TMPDIR=folder)
    if way.read:  # a new interpreter looks for labkit in directories that it may list: the package's own isn't one
        os.mkdir(packages := os.path.join(folder, ".packages"))
        os.symlink(view.PACKAGE, os.path.join(packages, view.PACKAGE.name))
        os.environ["PYTHONPATH"] = packages
    tempfile.tempdir = None  # the server's own is remembered there
    os.chdir(folder)
    if way.filter:
        seccomp.install(way.filter)


def _own_namespaces(limits: Limits) -> None:
    """Mounts, network and System V objects that end with this process."""
    sys_.unshare(sys_.NEW_NS | sys_.NEW_NET | sys_.NEW_IPC)
    options = f"size={int(limits.files_mib * 1024)}k,nr_inodes={INODES},mode=1777"
    covered = [(path, os.open(path, os.O_PATH)) for path in view.below_tmp()]
    for where in ("/tmp", "/dev/shm"):
        sys_.mount("tmpfs", where, "tmpfs", sys_.MS_NOSUID | sys_.MS_NODEV, options)
    for path, fd in covered:  # an environment that lies below /tmp stays in view, read-only as before
        os.makedirs(path)
        sys_.bind(f"/proc/self/fd/{fd}", path)
        os.close(fd)
    sys_.mount("proc", "/proc", "proc", sys_.MS_NOSUID | sys_.MS_NODEV)
    sys_.loopback_up()


def _limit(limits: Limits) -> None:
    """What one process may use; the server watches the sums."""
    private, all_of_it = _now("VmData"), _now("VmSize")
    memory = int(limits.memory_mib) << 20
    wanted = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_NOFILE: FILES,
        resource.RLIMIT_NPROC: int(limits.processes),
        resource.RLIMIT_FSIZE: int(limits.files_mib * (1 << 20)),
        resource.RLIMIT_CPU: int(limits.cpu_s) + 1,
        resource.RLIMIT_DATA: private + memory,
        resource.RLIMIT_AS: all_of_it + memory + (4 << 30),  # threads and allocators reserve what they never touch
        resource.RLIMIT_MEMLOCK: 1 << 16,
        resource.RLIMIT_MSGQUEUE: 0,
        resource.RLIMIT_SIGPENDING: 4096,
    }
    for kind, most in wanted.items():
        _, hard = resource.getrlimit(kind)
        value = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (value, value))


def _now(field: str) -> int:
    """A size of this process from /proc, in bytes."""
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith(field + ":"))


def _drop(way: Way) -> None:
    """Give up user, groups and capabilities."""
    place.write("/proc/self/oom_score_adj", "1000")  # if the machine runs out of memory, then not the judge
    if way.name == "user namespace":
        sys_.unshare(sys_.NEW_USER)  # nested: it has no rights over the mounts and the network that were set up
        place.write("/proc/self/setgroups", "deny")
        place.write("/proc/self/uid_map", f"{place.LEARNER} 0 1")
        place.write("/proc/self/gid_map", f"{place.LEARNER} 0 1")
    sys_.drop_capabilities()
    if way.uid:
        place.become(way.uid)
    sys_.clear_capabilities()
