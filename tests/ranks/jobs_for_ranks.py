"""Functions that ranks run. In a module of their own: sent by name, every rank imports it, so it must be light."""

from __future__ import annotations

import os
import signal
import time

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader

FOREVER = 10_000


def total(rank: int, start: float = 0.0) -> float:
    value = torch.tensor([start + rank])
    dist.all_reduce(value)
    return value.item()


def as_array(rank: int) -> torch.Tensor:
    return torch.arange(3) * rank


def fails_on_one(rank: int) -> None:
    dist.barrier()
    if rank == 1:
        raise ValueError("no such batch")
    dist.barrier()


def place(rank: int) -> dict[str, str]:
    return {name: os.environ[name] for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK")}


def one_fault(rank: int, kind: str, notes: str) -> None:
    if kind == "workers":
        batches = iter(DataLoader(range(10_000), num_workers=1))
        next(batches)
        with open(f"{notes}/{os.getpid()}", "w") as file:
            file.write(str(batches._workers[0].pid))
    if kind != "early":
        dist.barrier()
    if rank == 1:
        if kind == "raise":
            raise ValueError(kind)
        if kind in ("kill", "workers", "early"):
            os.kill(os.getpid(), signal.SIGKILL)
        if kind == "exit":
            os._exit(0)
        if kind == "hang":
            time.sleep(FOREVER)
        if kind == "unequal":
            return
    dist.all_reduce(torch.ones(1))
