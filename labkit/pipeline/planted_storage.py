"""Slow or cold storage: files that are really read, from a disk that is made slower when the page cache hasn't them."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from labkit.errors import LabkitError
from labkit.pipeline.packing.cache import cached as resident
from labkit.pipeline.packing.cache import evict
from labkit.pipeline.planted import Workload
from labkit.pipeline.planted_parts import Draw, Folder, Step
from labkit.pipeline.planted_supply import STEP, loader


def forget(path: Path) -> None:
    """Drop a file from the page cache."""
    fd = os.open(path, os.O_RDONLY)
    try:
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(fd)


def cached(path: Path) -> bool:
    """Whether all of a file is in the page cache. Asked by mincore: a read that must not wait begins to read ahead."""
    found = resident([path])
    return found.resident == found.pages


class Files(Dataset[torch.Tensor]):
    """One file a sample. A sample is the first numbers of its file; all of it is read.

    `latency_ms` and `rate` (bytes/s) are those of the storage that is simulated: a file that isn't in the page cache is
    read from the real disk, and as much time as the slower one would need is slept. Of its last `keep` files a worker
    leaves the pages in the cache, those of older ones go: the data set is bigger than memory. With keep=None all stay.
    """

    def __init__(
        self, paths: list[Path], *, latency_ms: float = 0.0, rate: float = 0.0, keep: int | None = None
    ) -> None:
        self.paths = paths
        self.latency_ms = latency_ms
        self.rate = rate
        self.keep = keep
        self._read: deque[Path] = deque()

    def __len__(self) -> int:
        return len(self.paths)

    def read(self, index: int) -> bytes:
        """All of one file, after the time that the simulated disk would need more."""
        path = self.paths[index]
        cold = self.rate > 0 and not cached(path)
        data = path.read_bytes()
        if cold:
            time.sleep(self.latency_ms / 1000 + len(data) / self.rate)
        if self.keep is not None:
            self._read.append(path)
            if len(self._read) > self.keep:
                forget(self._read.popleft())
        return data

    def __getitem__(self, index: int) -> torch.Tensor:
        """The first bytes, as numbers."""
        return torch.from_numpy(np.frombuffer(self.read(index), dtype=np.uint8, count=4096).copy())


def write_files(folder: Folder, cause: str, contents: list[bytes]) -> list[Path]:
    """One file each, all of them on the disk.

    Raises:
        LabkitError: the folder isn't on a disk, so that its files can't leave the page cache.
    """
    paths = []
    for i, content in enumerate(contents):
        paths.append(folder.path / f"{i:05d}")
        with paths[-1].open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())  # pages that aren't on the disk yet can't be dropped
    if evict(paths[:1]).state != "cold":
        folder.close()
        raise LabkitError(
            f"planted({cause!r}) needs a temporary folder on a disk, and {folder.path.parent} is in memory: "
            "set TMPDIR to one"
        )
    return paths


def cold_first(make: Callable[[], DataLoader[Any]], paths: list[Path]) -> DataLoader[Any]:
    """A loader, and none of its files in the page cache."""
    evict(paths)
    return make()


def slow_storage(draw: Draw, seed: int) -> Workload:
    """Reading takes longer than training; the seed picks a data set bigger than memory, or a first, cold epoch."""
    size = draw.size(8)
    batches = draw.batches(55)
    middle = draw.size(100_000)
    folder = Folder()
    lengths = [max(4096, draw.size(middle, 0.4)) for _ in range(batches * size)]
    paths = write_files(folder, "slow storage", [draw.numpy.bytes(length) for length in lengths])
    latency, rate = draw.about(2.5), draw.about(40e6)
    per_batch = size * (latency + 1000 * middle / rate)
    step = Step(per_batch / 2 * draw.between(0.25, 0.6), seed=seed)
    keep = None if seed % 2 else len(paths) // 5
    slow = Files(paths, latency_ms=latency, rate=rate, keep=keep)
    make = partial(loader, batch_size=size, workers=2, shuffle=True)
    shape = "the first epoch: nothing is in the page cache yet" if keep is None else "a data set bigger than memory"
    return Workload(
        cause="slow storage",
        make_loader=partial(cold_first, partial(make, slow), paths),
        step=step,
        make_fixed=partial(make, Files(paths)),
        note=f"{len(paths)} files of about {middle // 1000} kB, {shape}. Files that aren't in the page cache are read "
        f"from the disk, and a sleep makes it one of {latency:.1f} ms latency and {rate / 1e6:.0f} MB/s. {STEP} "
        "Remedy: the files staged on a fast local disk, and read once before.",
        sizes={"batches": batches, "batch size": size, "file bytes": middle, "train ms": step.ms},
        held=folder,
    )
