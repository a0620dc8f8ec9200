"""Runs lives: one process each on one rank, forked from a process that has torch loaded; a group of ranks otherwise."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from labkit import ranks as real
from labkit.errors import UsageError
from labkit.ranks import RankError
from labkit.resume.kill import DAMAGED, flip_a_byte
from labkit.resume.programs import Life, live

_WARM = ("torch._dynamo", "labkit.resume.auditing_leaves")  # slow to import, needed by every life
_MAYBE = ("accelerate", "torchdata.stateful_dataloader", "safetensors.torch")  # only where the caller has them


def run_lives(program: Any, chains: Sequence[Sequence[Life]], *, ranks: int, timeout: float) -> list[list[str]]:
    """Run every chain of lives in order; how each life ended: `killed`, `ended`, `raised` or `hung`.

    A chain stops after a life that raised or hung.
    """
    with contextlib.suppress(UsageError):  # a version that starts threads when imported: then every life imports it
        real.warm_up(*_WARM, *(name for name in _MAYBE if name in sys.modules))
    if ranks == 1:
        total = timeout * sum(map(len, chains)) + 30
        found: list[list[str]] = real.run(_drive, program, chains, timeout, ranks=1, timeout=total)[0]
        return found
    return [_chain(chain, lambda life: _on_ranks(program, life, ranks, timeout)) for chain in chains]


def _chain(chain: Sequence[Life], one: Callable[[Life], str]) -> list[str]:
    ends = []
    for life in chain:
        ends.append(one(life))
        if ends[-1] in ("raised", "hung"):
            break
        if life.kill is not None and life.kill.phase == DAMAGED:
            flip_a_byte(Path(life.folder), part=life.kill.bytes / 100)
    return ends


def _on_ranks(program: Any, life: Life, ranks: int, timeout: float) -> str:
    try:
        real.run(_live, ranks, program, life, ranks=ranks, timeout=timeout)
    except RankError as error:
        if error.cause == "died" or (
            life.kill is not None and error.cause in ("raised", "unequal") and _cut(life, ranks)
        ):
            return "killed"
        return "hung" if error.cause in ("hung", "unequal") else "raised"
    return "ended"


def _cut(life: Life, ranks: int) -> bool:
    """Whether nobody raised by himself: a rank that waits for a killed one raises as well."""
    from labkit.resume.programs import read_notes

    said = [note for rank in range(ranks) for note in read_notes(life.notes, rank) if note["kind"] == "raised"]
    return all("onnection" in note["text"] or "peer" in note["text"] for note in said)


def _live(rank: int, ranks: int, program: Any, life: Life) -> None:
    live(rank, ranks, program, life)


def _drive(rank: int, program: Any, chains: Sequence[Sequence[Life]], timeout: float) -> list[list[str]]:
    """In the only rank: no process group is needed, every life is a fork of this process."""
    import torch.distributed as dist

    dist.destroy_process_group()
    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"):
        os.environ.pop(name, None)
    return [_chain(chain, lambda life: _forked(program, life, timeout)) for chain in chains]


def _forked(program: Any, life: Life, timeout: float) -> str:
    from labkit.ranks.tree import die_with

    parent = os.getpid()
    sys.stdout.flush()
    pid = os.fork()
    if not pid:
        code = 1
        with contextlib.suppress(BaseException):
            os.setpgid(0, 0)
            die_with(parent)
            live(0, 1, program, life)
            code = 0
        os._exit(code)
    status = _wait(pid, timeout)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)  # its DataLoader workers
    if status is None:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, 0)
        return "hung"
    if os.WIFSIGNALED(status):
        return "killed"
    return "ended" if os.WEXITSTATUS(status) == 0 else "raised"


def _wait(pid: int, timeout: float) -> int | None:
    until, pause = time.monotonic() + timeout, 0.0005
    while time.monotonic() < until:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return status
        time.sleep(pause)
        pause = min(pause * 1.3, 0.01)
    return None
