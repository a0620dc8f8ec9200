"""More threads than cores: every worker runs torch with as many threads as it likes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import torch
from torch.utils.data import Dataset

from labkit.pipeline.planted import Workload
from labkit.pipeline.planted_parts import Draw, Step, cores, cost, need_cores
from labkit.pipeline.planted_records import context
from labkit.pipeline.planted_supply import STEP, loader


class Augmented(Dataset[torch.Tensor]):
    """Pictures made and changed by a chain of torch operations, each of them big enough for torch to split it."""

    def __init__(self, length: int, side: int, chain: int) -> None:
        self.length = length
        self.side = side
        self.chain = chain

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> torch.Tensor:
        """Noise, brightness and contrast, `chain` times over; a small view of the result."""
        made = torch.Generator().manual_seed(index)
        picture = torch.rand(3, self.side, self.side, generator=made)
        for _ in range(self.chain):
            picture = picture.mul(1.01).clamp_(0, 1).sqrt_()
        return picture[:, ::8, ::8].contiguous()


@dataclass(frozen=True)
class Threads:
    """A worker_init_fn that undoes what the DataLoader sets for its workers, one thread each."""

    count: int

    def __call__(self, worker: int) -> None:
        """Runs inside the worker."""
        torch.set_num_threads(self.count)


def oversubscribed(draw: Draw, seed: int) -> Workload:
    """Two workers, each with several threads, on few cores.

    The workers come from a fork server: in a fork of a process that has run parallel code, GNU OpenMP hangs.
    """
    need_cores(2, "thread oversubscription")
    side = 8 * draw.size(25, 0.12)
    dataset = Augmented(1, side, draw.size(12, 0.2))
    size = draw.size(12)
    torch_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    ms = cost(Augmented(size, side, dataset.chain), size)
    torch.set_num_threads(torch_threads)
    threads = draw.rng.choice((cores(), 3 * cores(), 4 * cores(), 6 * cores()))
    batches = draw.batches(1200 / ms)
    dataset = Augmented(batches * size, side, dataset.chain)
    step = Step(ms / 2 * draw.between(0.3, 1.0), seed=seed)
    make = partial(loader, dataset, batch_size=size, workers=2, multiprocessing_context=context("forkserver"))
    return Workload(
        cause="thread oversubscription",
        make_loader=partial(make, worker_init_fn=Threads(threads)),
        step=step,
        make_fixed=make,
        note=f"2 workers of {threads} torch threads each on {cores()} cores, set in worker_init_fn. {STEP} "
        "Remedy: one thread a worker, as the DataLoader sets by itself.",
        sizes={"batches": batches, "batch size": size, "threads": threads, "prepare ms": ms, "train ms": step.ms},
    )
