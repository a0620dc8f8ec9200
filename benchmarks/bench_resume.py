"""Seeking to a sample, against skipping to it; the cost of a record a step against 1 % of a 5 ms step."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

import torch
from torch.utils.data import DataLoader, Dataset

from benchmarks.harness import Rival, Row, race
from labkit.records import Recorder
from labkit.resume import CommittedLoader

SAMPLE, SKIPPED, BATCH = 10**9, 200_000, 100
STEP = 0.005  # s of a training step, against which the record is held


class Numbers(Dataset[int]):
    def __init__(self, samples: int) -> None:
        self.samples = samples

    def __len__(self) -> int:
        return self.samples

    def __getitem__(self, i: int) -> int:
        return i


def committed_seek() -> list[int]:
    """To sample 10^9 of a shuffled stream, and the ids of the batch there."""
    loader = _LOADER
    loader.seek(SAMPLE)
    return loader.ids(loader.cursor)


def skip_with_accelerate() -> object:
    """accelerate draws the indices of every skipped batch; 5,000 times fewer samples, or it would take minutes."""
    from accelerate import skip_first_batches

    loader = DataLoader(Numbers(2 * SKIPPED), batch_size=BATCH)
    return next(iter(skip_first_batches(loader, SKIPPED // BATCH)))


def record_steps(count: int) -> None:
    """The record alone: no step around it."""
    batch, loss = torch.zeros(64), torch.tensor(1.0)
    recorder = _RECORDERS[0]
    for step in range(count):
        recorder.step(step, loss=loss, lr=0.1, grad_norm=1.0 + step % 7, wait=0.0, batch=batch, ids=batch)


_LOADER = CommittedLoader(Numbers(3 * SAMPLE), BATCH, seed=1)
_RECORDERS: list[Recorder] = []


def rows() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        _RECORDERS[:] = [Recorder(Path(folder) / "alone")]
        many = 2_000
        peer = "1 ms, spent waiting"
        seeks = race(
            [
                Rival(peer, 1, lambda: _spin(0.001)),
                Rival("CommittedLoader.seek to sample 1,000,000,000, and its batch", 1, committed_seek, peer, 1),
                Rival(f"accelerate skip_first_batches, to sample {SKIPPED:,}", 1, skip_with_accelerate, peer),
            ],
            rounds=5,
            unit="seeks/s",
        )
        budget = f"1 % of a {1e3 * STEP:g} ms step, spent waiting"
        records = race(
            [
                Rival(budget, 200, lambda: _spin(200 * STEP / 100)),
                Rival("Recorder.step, five metrics, ids and a batch", many, lambda: record_steps(many), budget, 1),
                Rival("limit: one os.write of the line", many, lambda: _write_lines(folder, many), budget),
            ],
            rounds=7,
            unit="steps/s",
        )
        _RECORDERS[0].close()
    return seeks + records


def _spin(seconds: float) -> None:
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        pass


def _write_lines(folder: str, count: int) -> None:
    line = b'{"step": 12345, "seconds": 0.005012, "loss": 1.0, "lr": 0.1, "grad_norm": 1.0, "wait": 0.0}\n'
    fd = os.open(f"{folder}/lines", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    for _ in range(count):
        os.write(fd, line)
    os.close(fd)
