"""Causes in the batch itself: put together sample by sample, sent at great cost, or held in great numbers."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from torch.utils.data import Dataset, default_collate

from labkit.errors import LabkitError
from labkit.pipeline.planted import Workload
from labkit.pipeline.planted_parts import Draw, Step, cores, cost
from labkit.pipeline.planted_supply import STEP, loader


class Rows(Dataset[torch.Tensor]):
    """Rows of a tensor in memory, one at a time."""

    def __init__(self, rows: torch.Tensor) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> torch.Tensor:
        """One row."""
        return self.rows[index]


class IndexedRows(Rows):
    """The remedy: all rows of a batch by one indexing operation."""

    def __getitems__(self, indices: Sequence[int]) -> torch.Tensor:
        """The batch."""
        return self.rows[torch.as_tensor(indices)]


class Sentences(Dataset[list[int]]):
    """Token ids as Python lists of different lengths."""

    def __init__(self, sentences: list[list[int]]) -> None:
        self.sentences = sentences

    def __len__(self) -> int:
        return len(self.sentences)

    def __getitem__(self, index: int) -> list[int]:
        """One sentence."""
        return self.sentences[index]


def pad_by_hand(sentences: list[list[int]]) -> torch.Tensor:
    """Fill a tensor element by element, as a first version does."""
    longest = max(map(len, sentences))
    batch = torch.zeros(len(sentences), longest, dtype=torch.long)
    for row, sentence in enumerate(sentences):
        for column, token in enumerate(sentence):
            batch[row, column] = token
    return batch


def pad(sentences: list[list[int]]) -> torch.Tensor:
    """The remedy: pad the lists, make one tensor."""
    longest = max(map(len, sentences))
    return torch.tensor([sentence + [0] * (longest - len(sentence)) for sentence in sentences])


def as_is(batch: Any) -> Any:
    """A collate function that leaves the batch alone."""
    return batch


def slow_collate(draw: Draw, seed: int) -> Workload:
    """Batches put together element by element; the seed picks rows of a table or sentences to be padded."""
    workers = min(2, cores())
    if seed % 2:
        size = draw.size(64)
        batches = draw.batches(2400 / (size * 0.12))  # ms of both workers / ms of a batch
        lengths = [draw.size(40, 0.5) for _ in range(batches * size)]
        dataset = Sentences([draw.numpy.integers(1, 30_000, length).tolist() for length in lengths])
        make = partial(loader, dataset, batch_size=size, workers=workers)
        faulty, fixed = partial(make, collate_fn=pad_by_hand), partial(make, collate_fn=pad)
        what, remedy = "Sentences padded token by token", "pad lists, then make one tensor"
        ms = cost(dataset, size, pad_by_hand)
    else:
        size = draw.size(6000)
        batches = draw.batches(1600 / (size * 0.001))
        rows = torch.rand(batches * size, draw.size(12))
        ms = cost(Rows(rows), size, default_collate)
        make = partial(loader, batch_size=size, workers=workers)
        faulty, fixed = partial(make, Rows(rows)), partial(make, IndexedRows(rows), collate_fn=as_is)
        what, remedy = f"{size} rows fetched one by one and stacked", "index all rows of a batch at once"
    step = Step(ms / workers * draw.between(0.2, 0.6), seed=seed)
    return Workload(
        cause="slow collate",
        make_loader=faulty,
        step=step,
        make_fixed=fixed,
        note=f"{what}, by {workers} workers. {STEP} Remedy: {remedy}.",
        sizes={"batches": batches, "batch size": size, "prepare ms": ms, "train ms": step.ms},
    )


class Volumes(Dataset[Any]):
    """Big samples that cost nothing to make: views of one array."""

    def __init__(self, length: int, numbers: int, *, tensors: bool) -> None:
        self.length = length
        self.base = np.arange(numbers + 64, dtype=np.float32)
        self.tensors = tensors

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> Any:
        """A view."""
        view = self.base[index % 64 : index % 64 + len(self.base) - 64]
        return torch.from_numpy(view) if self.tensors else view


class Graphs(Dataset[list[torch.Tensor]]):
    """Samples of many small tensors, as graphs and detections are."""

    def __init__(self, length: int, parts: int) -> None:
        self.length = length
        self.rows = torch.arange(parts * 8.0).reshape(parts, 8)

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> list[torch.Tensor]:
        """Its tensors, one by one."""
        return [row + index for row in self.rows]


def flat(graphs: list[list[torch.Tensor]]) -> torch.Tensor:
    """The remedy for many small tensors: one tensor of all."""
    return torch.stack([torch.stack(parts) for parts in graphs])


def transport(draw: Draw, seed: int) -> Workload:
    """Batches that are quick to make and slow to send; the seed picks many bytes or many tensors."""
    workers = min(2, cores())
    if seed % 2:
        size, parts = draw.size(8), draw.size(20)
        batches = draw.batches(50)
        dataset: Any = Graphs(batches * size, parts)
        what = f"{size * parts} small tensors a batch, each sent in a piece of shared memory of its own"
        fixed_by, remedy = flat, "one tensor a batch"
        sizes = {"tensors": size * parts}
    else:
        size, numbers = draw.size(12), draw.size(250_000)
        batches = draw.batches(70)
        dataset = Volumes(batches * size, numbers, tensors=False)
        what = f"{size * numbers * 4 / 1e6:.0f} MB a batch, as NumPy arrays: pickled through a pipe"
        fixed_by, remedy = None, "one tensor a batch, which goes through shared memory"
        sizes = {"bytes": size * numbers * 4}
    step = Step(draw.about(3), seed=seed)
    make = partial(loader, dataset, batch_size=size, workers=workers)
    return Workload(
        cause="transport-bound",
        make_loader=partial(make, collate_fn=as_is),
        step=step,
        make_fixed=partial(make, collate_fn=fixed_by),
        note=f"{what}; {workers} workers. {STEP} Remedy: {remedy}.",
        sizes={"batches": batches, "batch size": size, "train ms": step.ms, **sizes},
    )


def shared(samples: list[torch.Tensor]) -> Any:
    """One tensor of all samples in new shared memory, as a worker makes it."""
    made: Any = torch.stack(samples)
    return made.share_memory_()


def prefetch_memory(draw: Draw, seed: int) -> Workload:
    """A prefetch factor many times what the line needs, of big batches."""
    workers = min(2, cores())
    size, numbers = draw.size(8), draw.size(250_000)
    factor = draw.rng.choice((16, 24, 32))
    batches = draw.batches(2.4 * workers * factor)
    dataset = Volumes(batches * size, numbers, tensors=True)
    # Where pages of shared memory are dear, sending would be the greater fault if the step weren't longer there.
    step = Step(max(draw.about(12, 0.15), 1.5 * cost(dataset, size, shared)), seed=seed)
    make = partial(loader, dataset, batch_size=size, workers=workers)
    held = workers * factor * size * numbers * 4
    return Workload(
        cause="prefetch memory",
        make_loader=partial(make, prefetch_factor=factor),
        step=step,
        make_fixed=partial(make, prefetch_factor=2),
        note=f"Batches of {size * numbers * 4 / 1e6:.0f} MB and {workers} workers with prefetch_factor {factor}: "
        f"{held / 1e6:.0f} MB wait in shared memory, and nobody needs them. {STEP} Remedy: prefetch_factor=2.",
        sizes={"batches": batches, "batch size": size, "bytes held": held, "train ms": step.ms},
    )


_NEW_NAMESPACE, _NEW_USER, _PRIVATE = 0x00020000, 0x10000000, 0x4000 | 0x40000  # of unshare(2) and mount(2)


@dataclass(frozen=True)
class SmallShm:
    """A worker_init_fn after which this worker's /dev/shm holds `limit` bytes, as a container's does.

    The worker goes to a mount namespace of its own, so that no other process sees anything. Root may; others may where
    user namespaces are allowed.
    """

    limit: int

    def __call__(self, worker: int) -> None:
        """Runs inside the worker."""
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.unshare(_NEW_NAMESPACE if os.geteuid() == 0 else _NEW_NAMESPACE | _NEW_USER):
            raise OSError(ctypes.get_errno(), "no mount namespace of its own for this worker")
        libc.mount(b"none", b"/", None, _PRIVATE, None)
        if libc.mount(b"tmpfs", b"/dev/shm", b"tmpfs", 0, f"size={self.limit}".encode()):
            raise OSError(ctypes.get_errno(), "can't limit /dev/shm for this worker")


def can_limit_shm() -> bool:
    """Whether a child of this process can have a small /dev/shm of its own. Tries it, in a fork."""
    if not sys.platform.startswith("linux"):
        return False
    if not (pid := os.fork()):
        try:
            SmallShm(1 << 20)(0)
            os._exit(0)
        except BaseException:
            os._exit(1)
    return os.waitpid(pid, 0)[1] == 0


def shm_exhausted(draw: Draw, seed: int) -> Workload:
    """Batches ahead need more shared memory than there is."""
    if not can_limit_shm():
        raise LabkitError(
            "planted('shared memory exhausted') needs Linux and root, or user namespaces: no worker here can have a "
            "/dev/shm of its own, and filling everybody's isn't an option"
        )
    workers = min(2, cores())
    size, numbers = draw.size(8), draw.size(120_000)
    factor = draw.rng.choice((6, 8, 10))
    batches = draw.batches(8.0 * workers * factor)
    dataset = Volumes(batches * size, numbers, tensors=True)
    step = Step(draw.about(12, 0.15), seed=seed)
    limit = int(4.6 * size * numbers * 4)  # each worker's: four batches and a bit
    make = partial(loader, dataset, batch_size=size, workers=workers, worker_init_fn=SmallShm(limit))
    return Workload(
        cause="shared memory exhausted",
        make_loader=partial(make, prefetch_factor=factor),
        step=step,
        make_fixed=partial(make, prefetch_factor=2),
        note=f"Each of {workers} workers has a /dev/shm of {limit / 1e6:.0f} MB, as small containers do, and "
        f"prefetch_factor {factor} puts {factor} batches of {size * numbers * 4 / 1e6:.1f} MB there. {STEP} "
        "Remedy: prefetch_factor=2.",
        sizes={
            "batches": batches,
            "batch size": size,
            "bytes": size * numbers * 4,
            "limit": limit,
            "train ms": step.ms,
        },
    )
