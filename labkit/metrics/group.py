"""The process group, where there is one: add up or collect what the ranks hold. Without one, a rank is alone."""

from __future__ import annotations

from typing import Any

import numpy as np


def ranks() -> int:
    """How many ranks the process group has; 1 without one."""
    dist = _group()
    return dist.get_world_size() if dist else 1


def rank() -> int:
    """This rank's number; 0 without a process group."""
    dist = _group()
    return dist.get_rank() if dist else 0


def add_up(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The sum over all ranks, on every rank: one all-reduce of `values.nbytes` bytes. int64 and float64 stay so.

    A rank's own array isn't changed.
    """
    dist = _group()
    if dist is None:
        return values.copy()
    import torch

    tensor = torch.from_numpy(values.copy()).to(_device(dist))
    dist.all_reduce(tensor)
    total: np.ndarray[Any, Any] = tensor.cpu().numpy()
    return total


def collect(values: Any) -> list[Any]:
    """Every rank's `values` (anything that can be pickled), on every rank, in rank order. Sizes may differ."""
    dist = _group()
    if dist is None:
        return [values]
    everyone: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(everyone, values)
    return everyone


def _group() -> Any:
    import torch.distributed as dist

    return dist if dist.is_available() and dist.is_initialized() else None


def _device(dist: Any) -> str:
    return "cuda" if dist.get_backend() == "nccl" else "cpu"
