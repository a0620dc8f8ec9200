"""Where a training process may be killed, and the killing: real signals, at a stated step and phase.

Works from outside the program: forward hooks tell micro-batches apart, the interpreter's audit events tell when a
checkpoint is about to be renamed, and a limit on file size makes the kernel end the process in the middle of a write.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

BEFORE_FORWARD = "before forward"
MID_ACCUMULATION = "mid-accumulation"
AFTER_STEP = "after the step"
DURING_SAVE = "during save"
BEFORE_PUBLISH = "before publish"
AFTER_SAVE = "after save"
DAMAGED = "damaged"

PHASES = (BEFORE_FORWARD, MID_ACCUMULATION, AFTER_STEP, DURING_SAVE, BEFORE_PUBLISH, AFTER_SAVE)
"""In the order in which a step passes them. `damaged` (after the save, then a byte is flipped) is asked for by name."""
ALL_PHASES = (*PHASES, DAMAGED)

QUIET, PATIENCE = 0.05, 2.0  # s without a change in the folder; s to wait for it


@dataclass(frozen=True)
class Kill:
    """One kill.

    Attributes:
        step: the update in which it falls, counted from 1: step 3 is the one that ends with 3 updates done.
        phase: one of `PHASES`, or `damaged`.
        bytes: for `during save`: file size at which the write is cut.
    """

    step: int
    phase: str
    bytes: int = 0

    def text(self) -> str:
        """`step 3, during save`."""
        return f"step {self.step}, {self.phase}"


@dataclass
class Killer:
    """Carries out one kill in this process; asked at every point that a step passes."""

    kill: Kill | None
    folder: Path
    armed: bool = False

    def at(self, step: int, phase: str) -> None:
        """This point was reached: die here if it is the one."""
        kill = self.kill
        if kill is None or kill.step != step:
            return
        if kill.phase == phase or (kill.phase == DAMAGED and phase == AFTER_SAVE):
            if phase == AFTER_STEP:
                settle(self.folder)
            die()
        if phase == AFTER_SAVE and kill.phase in (DURING_SAVE, BEFORE_PUBLISH):
            die()  # the save was over before the point came: nothing was written, or another rank writes

    def arm(self, step: int) -> None:
        """A save begins: set what will end it."""
        kill = self.kill
        if kill is None or kill.step != step:
            return
        if kill.phase == DURING_SAVE:
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.setrlimit(resource.RLIMIT_FSIZE, (kill.bytes, kill.bytes))
        elif kill.phase == BEFORE_PUBLISH and not self.armed:
            self.armed = True
            sys.addaudithook(_die_at_rename)


def _die_at_rename(event: str, _: tuple[Any, ...]) -> None:
    if event in ("os.rename", "os.link", "os.symlink"):
        os.kill(os.getpid(), signal.SIGKILL)


def die() -> NoReturn:
    """SIGKILL for this process, together with the other ranks: all have come to this point."""
    dist = sys.modules.get("torch.distributed")
    if dist is not None and dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1:
        with contextlib.suppress(RuntimeError):  # a rank that was faster is gone already
            dist.barrier()
    os.kill(os.getpid(), signal.SIGKILL)
    raise SystemExit  # not reached


def settle(folder: Path) -> None:
    """Let a background save end: wait until nothing changes in `folder`, where threads may still write."""
    if threading.active_count() == 1:
        return
    until, since, seen = time.monotonic() + PATIENCE, time.monotonic(), listing(folder)
    while time.monotonic() < until and time.monotonic() - since < QUIET:
        time.sleep(0.005)
        if (now := listing(folder)) != seen:
            seen, since = now, time.monotonic()


def listing(folder: Path) -> dict[str, tuple[int, int]]:
    """Size and time of change of every file below `folder`."""
    found = {}
    for path in sorted(folder.rglob("*")):
        with contextlib.suppress(OSError):
            held = path.lstat()
            if path.is_file():
                found[str(path.relative_to(folder))] = (held.st_size, held.st_mtime_ns)
    return found


def flip_a_byte(folder: Path, *, part: float = 0.5) -> str:
    """Flip one byte, at `part` of its length, in the largest of the files written last; its name and place."""
    files = listing(folder)
    if not files:
        return "no file"
    newest = max(changed for _, changed in files.values())
    last = [name for name, (size, changed) in files.items() if newest - changed < 5e6 and size]  # 5 ms: one save
    name = max(last or files, key=lambda one: files[one][0])
    path = folder / name
    data = bytearray(path.read_bytes())
    at = int(len(data) * part)
    data[at] ^= 0x40
    path.write_bytes(data)
    return f"byte {at} of {name}"
