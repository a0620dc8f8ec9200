"""Causes in how batches are supplied: too few workers, workers on one core, a slow batch in front, costly decoding."""

from __future__ import annotations

import os
from functools import partial
from typing import Any

import numpy as np
from torch.utils.data import DataLoader, Dataset

from labkit.pipeline.planted import Workload
from labkit.pipeline.planted_parts import (
    Arrays,
    Draw,
    Photos,
    Pinned,
    Step,
    cores,
    cost,
    decoded,
    encoded,
    need_cores,
    photos,
)

STEP = "The training step is a sleep that stands for a GPU step."


def loader(dataset: Dataset[Any], *, batch_size: int, workers: int, **more: Any) -> DataLoader[Any]:
    """A DataLoader over the data set in order; its workers, if any, live as long as it does."""
    if workers:
        more.setdefault("persistent_workers", True)
    return DataLoader(dataset, batch_size=batch_size, num_workers=workers, **more)


def decoding(draw: Draw, *, batch_ms: float, epoch_ms: float, workers: int) -> tuple[Photos, int, float]:
    """Photographs, a batch size at which a batch takes about `batch_ms`, and what it takes on this machine.

    `epoch_ms` is about what preparing all of them takes with `workers`.
    """
    files = photos(draw, draw.about(150_000))
    batch_size = draw.size(batch_ms / 1.4)  # 1.4 ms: a photograph of that size on the machine that the kit is built on
    batches = draw.batches(epoch_ms * max(1, workers) / batch_ms)
    dataset = Photos(files, batches * batch_size)
    return dataset, batch_size, cost(dataset, batch_size)


def too_few_workers(draw: Draw, seed: int) -> Workload:
    """Decoding keeps one process busy while another core is idle."""
    need_cores(2, "too few workers")
    workers = seed % 2
    dataset, size, ms = decoding(draw, batch_ms=25, epoch_ms=1500, workers=1)
    step = Step(ms * draw.between(0.35, 0.7), seed=seed)
    return Workload(
        cause="too few workers",
        make_loader=partial(loader, dataset, batch_size=size, workers=workers),
        step=step,
        make_fixed=partial(loader, dataset, batch_size=size, workers=2),
        note=f"JPEG decoding with {workers} worker{'s' * (workers != 1)}, one core busy and the others idle. {STEP} "
        "Remedy: 2 workers.",
        sizes={"batches": len(dataset) // size, "batch size": size, "prepare ms": ms, "train ms": step.ms},
    )


def decode_bound(draw: Draw, seed: int) -> Workload:
    """As many workers as cores, all of them busy decoding."""
    count = max(1, cores())
    dataset, size, ms = decoding(draw, batch_ms=30, epoch_ms=1500, workers=count)
    step = Step(ms * draw.between(0.1, 0.6) / count, seed=seed)
    fixed = Arrays(dataset)
    return Workload(
        cause="decode-bound",
        make_loader=partial(loader, dataset, batch_size=size, workers=count),
        step=step,
        make_fixed=partial(loader, fixed, batch_size=size, workers=count),
        note=f"JPEG decoding with {count} workers on {cores()} cores: all cores are busy. {STEP} "
        "Remedy: the pictures decoded and cut down once, beforehand.",
        sizes={"batches": len(dataset) // size, "batch size": size, "prepare ms": ms, "train ms": step.ms},
    )


def workers_pinned(draw: Draw, seed: int) -> Workload:
    """Two workers whose affinity names the same core."""
    need_cores(2, "workers pinned")
    dataset, size, ms = decoding(draw, batch_ms=25, epoch_ms=1500, workers=1)
    core = draw.rng.choice(sorted(os.sched_getaffinity(0)))
    step = Step(ms * draw.between(0.3, 0.7), seed=seed)
    return Workload(
        cause="workers pinned",
        make_loader=partial(loader, dataset, batch_size=size, workers=2, worker_init_fn=Pinned(core)),
        step=step,
        make_fixed=partial(loader, dataset, batch_size=size, workers=2),
        note=f"2 workers decode JPEGs, and worker_init_fn sets the affinity of both to core {core}. {STEP} "
        "Remedy: affinity left alone.",
        sizes={
            "batches": len(dataset) // size,
            "batch size": size,
            "prepare ms": ms,
            "train ms": step.ms,
            "core": core,
        },
    )


class WithScans(Photos):
    """Photographs, and at the places in `scans` a big scan that takes many times as long to decode."""

    def __init__(self, files: list[bytes], length: int, scans: dict[int, bytes]) -> None:
        super().__init__(files, length)
        self.scans = scans

    def __getitem__(self, index: int) -> Any:
        """Decode it, whatever its size."""
        return decoded(self.scans[index]) if index in self.scans else super().__getitem__(index)


def head_of_line(draw: Draw, seed: int) -> Workload:
    """Now and then one sample takes many times as long, and finished batches wait behind it."""
    need_cores(2, "head-of-line blocking")
    workers, factor = 2, draw.rng.choice((1, 2, 2))
    blocks = draw.numpy.integers(0, 255, (300, draw.size(400), 3), dtype=np.uint8)
    scan = encoded(np.kron(blocks, np.ones((10, 10, 1), dtype=np.uint8)), "PNG", compress_level=1)
    slow = cost(Photos([scan], 1), 1)
    # The queue covers workers * factor steps of such a wait; a scan takes two to three times as long as that.
    step_ms = slow / (draw.between(2.0, 3.0) * workers * factor)
    every = draw.size(slow / step_ms * 1.3)  # so that on average there is time enough for all
    files = photos(draw, draw.about(100_000))
    size = max(1, round(draw.between(0.35, 0.5) * step_ms / cost(Photos(files, len(files)), 4) * 4))
    batches = draw.batches(1500 / step_ms)
    places = [b * size + draw.rng.randrange(size) for b in range(every // 2, batches, every)]
    dataset = WithScans(files, batches * size, dict.fromkeys(places, scan))
    make = partial(loader, dataset, batch_size=size, workers=workers, prefetch_factor=factor)
    return Workload(
        cause="head-of-line blocking",
        make_loader=make,
        step=Step(step_ms, seed=seed),
        make_fixed=partial(make, in_order=False),
        note=f"Every {every} batches one picture is a {len(scan) >> 10} KiB PNG scan of {slow:.0f} ms; with "
        f"{workers} workers and prefetch_factor {factor} batches behind it are finished and wait for their turn. "
        f"{STEP} Remedy: in_order=False.",
        sizes={"batches": batches, "batch size": size, "slow ms": slow, "train ms": step_ms, "every": every},
    )
