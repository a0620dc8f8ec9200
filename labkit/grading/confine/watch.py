"""What the processes of one answer use together, and whether that is too much."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from labkit.grading.confine.limits import Limits
from labkit.ranks import tree

_TICK, _PAGE_MIB = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGESIZE") / (1 << 20)
STALE = 0.5  # s after which private memory is counted anew: some ways to make a page private raise no fault
SPARE = 600.0  # s beyond its time before the server itself ends an answer: the judge, which counts, must have failed


@dataclass(frozen=True)
class _Seen:
    """One process: clock ticks that it and the children it waited for used, its threads, page faults and pages."""

    ticks: int
    threads: int
    faults: int
    pages: int


@dataclass
class Watch:
    """Looks at an answer's processes, ten times a second.

    What is private of a process's memory takes the kernel milliseconds to find out, so that is asked only when it may
    matter: since the last time it has grown by no more than the pages that came and the faults that were taken.

    Attributes:
        limits: what they may use together.
        processes: gives their ids.
        cpu_s, peak_mib: as in `Usage`; the peak within a quarter.
    """

    limits: Limits
    processes: Callable[[], list[int]]
    cpu_s: float = 0.0
    peak_mib: float = 0.0
    _since: float = field(default_factory=time.monotonic)
    _counted_at: float = field(default_factory=time.monotonic)
    _counted: dict[int, tuple[_Seen, float]] = field(default_factory=dict)  # as it was then, and its private MiB

    def look(self) -> list[str] | None:
        """What and why, where a limit is passed; None where all is well."""
        seen: dict[int, _Seen] = {}
        for pid in self.processes():
            with contextlib.suppress(OSError, ValueError, IndexError):
                seen[pid] = _look_at(pid)
        self.cpu_s = max(self.cpu_s, sum(one.ticks for one in seen.values()) / _TICK)
        limits = self.limits
        if time.monotonic() - self._counted_at > STALE or self._at_most(seen) > min(
            limits.memory_mib, 1.25 * self.peak_mib + 16
        ):
            memory = self._count(seen)
            self.peak_mib = max(self.peak_mib, memory)
            if memory > limits.memory_mib:
                return ["memory", f"its processes used more than {limits.memory_mib:,} MiB of memory together"]
        if sum(one.threads for one in seen.values()) > limits.processes:
            return ["processes", f"it had more than {limits.processes} processes and threads"]
        if self.cpu_s > limits.cpu_s:
            return ["cpu", f"it used more than {limits.cpu_s:g} s of processor time"]
        if time.monotonic() - self._since > limits.seconds + SPARE:
            return ["time", f"it took longer than {limits.seconds:g} s and was stopped"]
        return None

    def _at_most(self, seen: Mapping[int, _Seen]) -> float:
        """MiB that can be private by now."""
        total = 0.0
        for pid, now in seen.items():
            then, private = self._counted.get(pid, (replace(now, faults=0), 0.0))  # a fork has only what it faulted in
            total += private + (max(0, now.pages - then.pages) + max(0, now.faults - then.faults)) * _PAGE_MIB
        return total

    def _count(self, seen: Mapping[int, _Seen]) -> float:
        """MiB that are private, asked of the kernel."""
        self._counted, self._counted_at = {}, time.monotonic()
        for pid, now in seen.items():
            self._counted[pid] = now, 0.0
            with contextlib.suppress(OSError, ValueError, IndexError):  # it has ended, and has no memory any more
                self._counted[pid] = now, _private_mib(pid)
        return sum(private for _, private in self._counted.values())


def _look_at(pid: int) -> _Seen:
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        words = [*map(int, file.read().rpartition(")")[2].split()[1:])]
    return _Seen(ticks=sum(words[10:14]), threads=words[16], faults=words[6], pages=words[20])


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
