"""What an answer may use, what it used, and how it is said that it went too far."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from labkit.errors import LabkitError, UsageError


@dataclass(frozen=True)
class Limits:
    """What one answer may use.

    Attributes:
        seconds: wall-clock time that the judge waits for it in all, its start included. The judge's own work, between
            two questions, doesn't count.
        cpu_s: processor time of all its processes together, in seconds.
        memory_mib: private memory of all its processes together, in MiB, beyond what the server shares with it.
        processes: processes and threads at any moment.
        files_mib: what it may write below /tmp, and again below /dev/shm, in MiB.
        output_kib: what it may print, in KiB.
    """

    seconds: float = 20.0
    cpu_s: float = 60.0
    memory_mib: int = 1024
    processes: int = 200
    files_mib: int = 64
    output_kib: int = 4096

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
                raise UsageError(f"limit {name} is {value!r}: give a number above 0")


class LimitHit(LabkitError):
    """A limit or the answer's own death ended it: nothing more can be asked of it.

    Attributes:
        what: "time", "cpu", "memory", "processes", "output", "size", "wire", "tampering" or "death".
        text: one sentence for the learner, such as "it took longer than 20 s and was stopped".
    """

    def __init__(self, what: str, text: str) -> None:
        self.what, self.text = what, text
        super().__init__(text)


@dataclass
class Usage:
    """What an answer used so far.

    Attributes:
        wall_s: seconds that the judge waited for it.
        cpu_s: processor time of its processes, in seconds; known when it has ended.
        peak_mib: most private memory seen at once, in MiB (looked at ten times a second); known when it has ended.
        output: the end of what it printed, 2,000 characters at most.
    """

    wall_s: float = 0.0
    cpu_s: float = 0.0
    peak_mib: float = 0.0
    output: str = ""


@dataclass(frozen=True)
class IsolationReport:
    """How answers are kept apart here.

    Attributes:
        way: "namespaces" (as root), "user namespace" (without), "landlock" (where namespaces aren't allowed) or "none".
        closed: what was tried from inside at the start and failed, as it must.
        open: what an answer can still do that it should not; empty in the two first ways.
    """

    way: str
    closed: tuple[str, ...] = ()
    open: tuple[str, ...] = ()

    def text(self) -> str:
        """One line for a terminal."""
        left = f"; still open: {', '.join(self.open)}" if self.open else ""
        return f"isolation: {self.way}, {len(self.closed)} ways out tried and closed{left}"


@dataclass(frozen=True)
class Program:
    """One learner's answer to one exercise.

    Attributes:
        lab: the pristine notebook.
        exercise: id, "pipeline.makespan".
        sources: answer cell's id -> code; a cell not named keeps its stub.
        learner: whose answer it is.
        figures: the learner's own numbers for the exercise, {} where it has none; `judge` fills them in.
        units: what each of them is, for display.
    """

    lab: Path
    exercise: str
    sources: Mapping[str, str]
    learner: str
    figures: Mapping[str, Any] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
