"""What `run` and `pool` accept, checked before anything starts."""

from __future__ import annotations

import inspect
import math
import numbers
import os
import sys
from collections.abc import Callable
from typing import Any

from labkit.errors import UsageError

MOST_RANKS = 64  # group membership is noted as 64 bits; and a full mesh of 64 ranks already has 2,016 connections
BACKENDS = ("gloo", "nccl")
RANK_MEMORY = 24 << 20  # bytes a rank needs before its function does anything


def check_group(ranks: Any, backend: Any) -> int:
    """The number of ranks, if this machine can start them.

    Raises:
        UsageError: the text names the value.
    """
    if inside := os.environ.get("LABKIT_RANKS_INSIDE"):
        raise UsageError(f"rank {inside} can't start ranks of its own: call labkit.ranks from outside, with more ranks")
    if isinstance(ranks, bool) or not isinstance(ranks, numbers.Integral):
        raise UsageError(f"ranks is {ranks!r}: a whole number from 1 to {MOST_RANKS} is needed")
    count = int(ranks)
    if not 1 <= count <= MOST_RANKS:
        raise UsageError(f"ranks is {count}: one machine runs 1 to {MOST_RANKS}; for more, torchrun -m labkit.ranks")
    if backend not in BACKENDS:
        raise UsageError(f"backend is {backend!r}: choose from {', '.join(BACKENDS)}")
    if backend == "nccl":
        _check_gpus(count)
    free = _free_memory()
    if count * RANK_MEMORY > free:
        most = free // RANK_MEMORY
        raise UsageError(f"ranks is {count}: {free >> 20} MiB of free memory hold {most} at most")
    return count


def check_call(fn: Any, args: tuple[Any, ...], timeout: Any) -> float:
    """The timeout, if `fn(rank, *args)` can be called at all.

    Raises:
        UsageError: the text names the value.
    """
    if not callable(fn):
        raise UsageError(f"fn is {fn!r}: a function fn(rank, *args) is needed")
    if isinstance(timeout, bool) or not isinstance(timeout, numbers.Real) or not 0 < float(timeout) < math.inf:
        raise UsageError(f"timeout is {timeout!r}: seconds above 0 are needed")
    check_signature(fn, args)
    return float(timeout)


def check_signature(fn: Callable[..., Any], args: tuple[Any, ...]) -> None:
    """Whether `fn(rank, *args)` can be called.

    Raises:
        UsageError: it can't; the text shows the signature.
    """
    name = getattr(fn, "__name__", type(fn).__name__)
    if inspect.iscoroutinefunction(fn) or inspect.isgeneratorfunction(fn) or inspect.isasyncgenfunction(fn):
        raise UsageError(f"{name} is a generator or async function: ranks call a plain one that returns its result")
    try:
        signature = inspect.signature(fn)
    except (TypeError, ValueError):  # some built-ins have none
        return
    try:
        signature.bind(0, *args)
    except TypeError as error:
        given = "rank" + "".join(f", args[{i}]" for i in range(len(args)))
        raise UsageError(f"{name}{signature} can't be called as {name}({given}): {error}") from None


def _check_gpus(ranks: int) -> None:
    import torch

    found = torch.cuda.device_count() if torch.distributed.is_nccl_available() else 0
    if found < ranks:
        raise UsageError(
            f"backend 'nccl' needs a GPU a rank: {ranks} asked, {found} found; backend='gloo' runs anywhere"
        )


def _free_memory() -> int:
    import psutil

    return int(psutil.virtual_memory().available)


def fork_works() -> bool:
    """Whether ranks can be forked from a warm server here; else each is started by exec, which takes seconds."""
    return sys.platform == "linux" and hasattr(os, "pidfd_open") and os.environ.get("LABKIT_RANKS_START") != "spawn"
