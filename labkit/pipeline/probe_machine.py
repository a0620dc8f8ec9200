"""What the machine does meanwhile: cores that others keep busy, memory that is a worker's own, room in /dev/shm."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from pathlib import Path

SHM = Path("/dev/shm")


class Busy:
    """How many cores other programs kept busy between `begin` and `others`. Linux; elsewhere nothing is known."""

    def __init__(self) -> None:
        self.pids: tuple[int, ...] = ()
        self.start: tuple[float, float, float] | None = None

    def begin(self, workers: Iterable[int]) -> None:
        """From now on; `workers` are processes of one's own."""
        self.pids = (os.getpid(), *workers)
        self.start = self._now()

    def others(self) -> float | None:
        """Cores, on average since `begin`; None where it can't be seen or the time was too short to tell."""
        now = self._now()
        if self.start is None or now is None or now[0] - self.start[0] < 0.2:
            return None
        wall, busy, own = (b - a for a, b in zip(self.start, now, strict=True))
        return max(0.0, (busy - own) / wall)

    def _now(self) -> tuple[float, float, float] | None:
        """Moment, seconds that all cores have been busy, seconds that one's own processes have run."""
        try:
            tick = os.sysconf("SC_CLK_TCK")
            fields = [int(x) for x in Path("/proc/stat").read_bytes().split(b"\n", 1)[0].split()[1:]]
            own = sum(_ran(pid) for pid in self.pids)
        except (OSError, ValueError, AttributeError):
            return None
        idle = fields[3] + fields[4]
        return time.perf_counter(), (sum(fields[:8]) - idle) / tick, own / tick


def _ran(pid: int) -> float:
    """Clock ticks that a process has run, the children that it has waited for included; 0 for one that is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return 0.0
    return float(sum(map(int, fields[11:15])))


def memory(pid: int) -> tuple[float, float] | None:
    """Bytes that this process has for itself, and those it shares; None where it can't be seen. Takes a millisecond.

    When a forked process writes to a page that it shared until then, it gets a copy: the one grows, the other falls.
    """
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    kib = {name: int(rest.split()[0]) for name, _, rest in (line.partition(":") for line in lines[1:])}
    own, shared = (sum(kib.get(f"{kind}_{state}", 0) for state in ("Clean", "Dirty")) for kind in ("Private", "Shared"))
    return own * 1024.0, shared * 1024.0


def shm_room() -> tuple[float, float] | None:
    """Bytes free and in all in /dev/shm, through which workers hand tensors over; None where there is none."""
    try:
        room = os.statvfs(SHM)
    except OSError:
        return None
    return float(room.f_bavail * room.f_frsize), float(room.f_blocks * room.f_frsize)
