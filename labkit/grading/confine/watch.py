"""What the processes of one answer use together, and whether that is too much."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from labkit.grading.confine.limits import Limits
from labkit.ranks import tree

_TICK = os.sysconf("SC_CLK_TCK")
SPARE = 600.0  # s beyond its time before the server itself ends an answer: the judge, which counts, must have failed


@dataclass
class Watch:
    """Looks at an answer's processes, ten times a second.

    Attributes:
        limits: what they may use together.
        processes: gives their ids.
        cpu_s, peak_mib: as in `Usage`.
    """

    limits: Limits
    processes: Callable[[], list[int]]
    cpu_s: float = 0.0
    peak_mib: float = 0.0
    _since: float = field(default_factory=time.monotonic)

    def look(self) -> list[str] | None:
        """What and why, where a limit is passed; None where all is well."""
        pids = self.processes()
        threads = cpu = 0
        memory = 0.0
        for pid in pids:
            with contextlib.suppress(OSError, ValueError, IndexError):
                used, running = _cpu_and_threads(pid)
                cpu += used
                threads += running
                memory += _private_mib(pid)
        self.cpu_s = max(self.cpu_s, cpu / _TICK)
        self.peak_mib = max(self.peak_mib, memory)
        limits = self.limits
        if memory > limits.memory_mib:
            return ["memory", f"its processes used more than {limits.memory_mib:,} MiB of memory together"]
        if threads > limits.processes:
            return ["processes", f"it had more than {limits.processes} processes and threads"]
        if self.cpu_s > limits.cpu_s:
            return ["cpu", f"it used more than {limits.cpu_s:g} s of processor time"]
        if time.monotonic() - self._since > limits.seconds + SPARE:
            return ["time", f"it took longer than {limits.seconds:g} s and was stopped"]
        return None


def _cpu_and_threads(pid: int) -> tuple[int, int]:
    """Clock ticks that a process and the children it waited for used; its threads."""
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        words = file.read().rpartition(")")[2].split()
    return sum(map(int, words[11:15])), int(words[17])


def _private_mib(pid: int) -> float:
    """MiB that a process shares with no other, files in memory that it mapped included."""
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
        return sum(int(line.split()[1]) for line in file if line.startswith("Private_")) / 1024


def all_others() -> list[int]:
    """Every process of this PID namespace but this one and its first."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) not in (1, os.getpid())]


def descendants() -> list[int]:
    """Every process below this one; orphans count, because this process adopts them."""
    found, waiting = [], tree.children()
    while waiting:
        pid = waiting.pop()
        found.append(pid)
        with contextlib.suppress(OSError):
            for task in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as file:
                    waiting += [int(word) for word in file.read().split()]
    return found
