"""Functions that ranks run, in a module of their own: sent by name, and the same under torchrun."""

from __future__ import annotations

import os

import torch
import torch.distributed as dist


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
