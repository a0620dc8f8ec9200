"""Jobs that nothing is wrong with, of several shapes."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from functools import partial
from statistics import median
from typing import Any

import torch
from torch.utils.data import DataLoader, IterableDataset, TensorDataset, get_worker_info

from labkit.pipeline.planted import Workload
from labkit.pipeline.planted_parts import Draw, Photos, Step, cores, cost, decoded
from labkit.pipeline.planted_supply import STEP, decoding, loader


class Stream(IterableDataset[torch.Tensor]):
    """The photographs as a stream, dealt out among the workers."""

    def __init__(self, source: Photos) -> None:
        self.source = source

    def __iter__(self) -> Iterator[torch.Tensor]:
        info = get_worker_info()
        first, stride = (info.id, info.num_workers) if info else (0, 1)
        for index in range(first, len(self.source), stride):
            yield decoded(self.source.files[index % len(self.source.files)])


def healthy(draw: Draw, seed: int) -> Workload:
    """The seed picks the shape: spare workers, rows in memory, a stream, no workers and none needed, a real step."""
    shape = _real_step if seed % 8 == 4 else (_spare_workers, _rows_in_memory, _stream, _no_workers)[seed % 4]
    make, step, note, sizes = shape(draw, seed)
    stands = "" if shape is _real_step else f" {STEP}"
    return Workload("healthy", make, step, make, f"{note}{stands} Nothing to remedy.", sizes=sizes)


def _spare_workers(draw: Draw, seed: int) -> Any:
    workers = min(2, cores())
    dataset, size, ms = decoding(draw, batch_ms=15, epoch_ms=800, workers=workers)
    step = Step(max(ms / workers * draw.between(2.2, 4.0), 20 * _fetch_ms()), seed=seed)
    make = partial(loader, dataset, batch_size=size, workers=workers)
    sizes = {"batches": len(dataset) // size, "batch size": size, "prepare ms": ms, "train ms": step.ms}
    return make, step, f"JPEG decoding; {workers} workers have batches ready before the trainer asks.", sizes


def _rows_in_memory(draw: Draw, seed: int) -> Any:
    size, step = draw.size(32), Step(max(draw.about(15), 20 * _fetch_ms()), seed=seed)
    batches = draw.batches(100)
    dataset = TensorDataset(torch.rand(batches * size, draw.size(256)), torch.arange(batches * size))
    make = partial(loader, dataset, batch_size=size, workers=1, shuffle=True)
    return (
        make,
        step,
        "Rows of a tensor in memory, 1 worker.",
        {"batches": batches, "batch size": size, "train ms": step.ms},
    )


class Training:
    """A real step on the CPU: forward, backward and update of a small network, `times` over."""

    def __init__(self, columns: int, times: int) -> None:
        self.net = torch.nn.Sequential(torch.nn.Linear(columns, 512), torch.nn.ReLU(), torch.nn.Linear(512, 1))
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=1e-4)
        self.times = times

    def __call__(self, batch: list[torch.Tensor]) -> None:
        """Train on the batch."""
        for _ in range(self.times):
            self.optimizer.zero_grad()
            self.net(batch[0]).square().mean().backward()
            self.optimizer.step()


def _real_step(draw: Draw, seed: int) -> Any:
    size, columns = draw.size(64), draw.size(256)
    batches, times = draw.batches(90), draw.size(10)
    rows = torch.rand(batches * size, columns)
    once, fetch = _update_and_fetch_ms(rows[:size])
    times = max(times, math.ceil(40 * fetch / once))  # where processes wake up slowly, only a longer step hides a fetch
    batches = min(batches, max(30, int(5000 / (times * once))))
    dataset = TensorDataset(rows[: batches * size], torch.arange(batches * size))
    make = partial(loader, dataset, batch_size=size, workers=1, shuffle=True)
    sizes = {"batches": batches, "batch size": size, "updates": times, "fetch ms": fetch}
    return (
        make,
        Training(columns, times),
        "Rows of a tensor in memory, and a network that is trained on the CPU.",
        sizes,
    )


def _update_and_fetch_ms(rows: torch.Tensor) -> tuple[float, float]:
    """Medians: one update of the network on these rows, and the fetch of a batch like them from a worker after it."""
    train, updates = Training(rows.shape[1], 5), []

    def step(batch: list[torch.Tensor]) -> None:
        begin = time.perf_counter()
        train(batch)
        updates.append((time.perf_counter() - begin) / train.times)

    fetch = _fetch_ms(rows, step)
    return median(updates) * 1000, fetch


def _fetch_ms(rows: torch.Tensor | None = None, step: Callable[[list[torch.Tensor]], None] | None = None) -> float:
    """What fetching a small batch from a worker costs on this machine, where a step comes in between; the median."""
    rows = torch.rand(16, 16) if rows is None else rows
    step = step or Step(10)
    feed = iter(
        loader(TensorDataset(rows.repeat(12, 1), torch.arange(12 * len(rows))), batch_size=len(rows), workers=1)
    )
    fetches = []
    for _ in range(12):
        begin = time.perf_counter()
        batch = next(feed)
        fetches.append(time.perf_counter() - begin)
        step(batch)
    return median(fetches) * 1000


def _stream(draw: Draw, seed: int) -> Any:
    workers = min(2, cores())
    dataset, size, ms = decoding(draw, batch_ms=12, epoch_ms=800, workers=workers)
    step = Step(max(ms / workers * draw.between(2.2, 4.0), 20 * _fetch_ms()), seed=seed)
    make = partial(DataLoader, Stream(dataset), batch_size=size, num_workers=workers, persistent_workers=True)
    sizes = {"batches": len(dataset) // size, "batch size": size, "prepare ms": ms, "train ms": step.ms}
    return make, step, f"An iterable data set of JPEGs, {workers} workers.", sizes


def _no_workers(draw: Draw, seed: int) -> Any:
    size = draw.size(16)
    batches = draw.batches(60)
    dataset = TensorDataset(torch.rand(batches * size, draw.size(128)), torch.arange(batches * size))
    step = Step(max(12.0, cost(dataset, size) * draw.between(60, 120)), seed=seed)
    make = partial(loader, dataset, batch_size=size, workers=0, shuffle=True)
    sizes = {"batches": batches, "batch size": size, "train ms": step.ms}
    return make, step, "No workers, and hardly anything to prepare.", sizes
