"""What ranks could leave behind, counted for this test session alone: its processes carry a mark."""

from __future__ import annotations

import os
import time
import uuid
from pathlib import Path

MARK = f"LABKIT_TEST_MARK={uuid.uuid4().hex}"


def marked() -> set[int]:
    """Ids of all processes, zombies aside, that inherited the mark; a zombie has no environment any more."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if MARK.encode() in path.read_bytes():
                found.add(int(path.parent.name))
        except OSError:
            continue
    return found


def zombies_below(pid: int) -> list[int]:
    found = []
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        try:
            stat = Path(f"/proc/{child}/stat").read_text()
        except OSError:
            continue
        if stat.rpartition(")")[2].split()[0] == "Z":
            found.append(int(child))
    return found


def gone(pids: set[int], within: float = 20.0) -> set[int]:
    """Those of `pids` that still run after at most `within` seconds."""
    until = time.monotonic() + within
    while (left := pids & marked()) and time.monotonic() < until:
        time.sleep(0.05)
    return left


def descriptors(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))
