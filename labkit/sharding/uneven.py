"""Ranks that take unequal numbers of steps under DistributedDataParallel: with torch's Join, and without."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

from labkit.errors import UsageError
from labkit.inputs import flag, whole


def uneven_steps(
    steps: Sequence[int] = (3, 2),
    *,
    join: bool = True,
    divide_by_initial_world_size: bool = True,
    timeout: float = 30,
) -> list[list[float]]:
    """Train on real ranks, rank r for steps[r] steps, and return every rank's gradients, step by step.

    In step k (from 1) a rank's own gradient is k, so the average over ranks that all take part is k too. With torch's
    `Join` a rank that has run out answers the others' all-reduces with zeros. By default the sum is still divided by
    the number of ranks at the start, so with steps (3, 2) the last gradient is 3 / 2 = 1.5; with
    divide_by_initial_world_size=False it is divided by the ranks still there, 3 / 1 = 3.0.

    Args:
        steps: how many steps each rank takes; as many ranks as entries.
        join: use `torch.distributed.algorithms.join.Join`; without it unequal steps end in an error.
        divide_by_initial_world_size: DistributedDataParallel's setting for Join.
        timeout: seconds for the run.

    Raises:
        UsageError: a value can't be used.
        RankError: without join, ranks took unequal numbers of steps.
    """
    from labkit.ranks import run

    if isinstance(steps, str | int) or not isinstance(steps, Sequence) or len(steps) < 2:
        raise UsageError(f"steps is {steps!r}: give how many steps each rank takes, such as (3, 2)")
    counts = [whole(f"steps[{i}]", count, 0) for i, count in enumerate(steps)]
    use, divide = flag("join", join), flag("divide_by_initial_world_size", divide_by_initial_world_size)
    return run(_train, counts, use, divide, ranks=len(counts), timeout=timeout)


def _train(rank: int, steps: list[int], join: bool, divide: bool) -> list[float]:
    import torch
    from torch.distributed.algorithms.join import Join
    from torch.nn.parallel import DistributedDataParallel

    layer = torch.nn.Linear(1, 1, bias=False)
    model = DistributedDataParallel(layer)
    around: Any = contextlib.nullcontext()
    if join:
        around = Join([model], divide_by_initial_world_size=divide)
    gradients = []
    with around:
        for step in range(1, steps[rank] + 1):
            model.zero_grad()
            model(torch.tensor([[float(step)]])).sum().backward()  # d(w * step)/dw = step
            assert layer.weight.grad is not None
            gradients.append(float(layer.weight.grad))
    return gradients
