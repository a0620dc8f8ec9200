"""Makespans of a real DataLoader at many settings, against what the recurrence says."""

from __future__ import annotations

import itertools
import random
import statistics
import time
import warnings
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset

from benchmarks.doctor_runs import Row
from labkit.pipeline import probe, simulate
from labkit.pipeline.planted_parts import Draw, Photos, Step, cost, photos

BATCHES, TRAIN = 60, 8.0  # ms a step
SLEEPING = [
    {"work": "sleep", "workers": workers, "factor": factor, "spread": spread, "ratio": ratio}
    for workers, factor, spread, ratio in itertools.product((1, 2, 4), (1, 2, 4), (0.0, 0.6), (0.8, 1.3))
]
DECODING = [
    {"work": "decode", "workers": workers, "factor": factor, "spread": spread, "ratio": ratio}
    for workers, factor, spread, ratio in itertools.product((1, 2), (1, 2, 4), (0.15, 0.6), (0.6, 1.1))
]
SETTINGS = SLEEPING + DECODING


class Sleeps(Dataset[torch.Tensor]):
    """A sample that takes as long as was drawn for it; the sleep stands for whatever keeps a worker waiting."""

    def __init__(self, times: list[float]) -> None:
        self.times = times

    def __len__(self) -> int:
        return len(self.times)

    def __getitem__(self, index: int) -> torch.Tensor:
        time.sleep(self.times[index] / 1000)
        return torch.zeros(16)


def _job(setting: Row, seed: int) -> tuple[Dataset[Any], int, float]:
    """Data set, batch size and ms of a step. `ratio` is prepare / (workers x train): above 1 workers are too slow."""
    if setting["work"] == "sleep":
        rng = random.Random(f"settings/{seed}")
        mean = setting["ratio"] * TRAIN * min(setting["workers"], 2)
        shape = 1 / setting["spread"] ** 2 if setting["spread"] else 0
        times = [rng.gammavariate(shape, mean / shape) if shape else mean for _ in range(BATCHES)]
        return Sleeps(times), 1, TRAIN
    draw = Draw("settings", seed, 1.0)
    files = photos(draw, 120_000, 12)
    if setting["spread"] > 0.5:  # a few of them are three times as large
        files += photos(draw, 360_000, 4)
    dataset = Photos(draw.rng.sample(files, len(files)), 8 * BATCHES)
    return dataset, 8, cost(dataset, 8) / setting["workers"] / setting["ratio"]


def measured(index: int, seed: int) -> Row:
    """One setting, run: the makespan, what its own trace predicts, and what another run's trace predicts.

    The other run has one worker and one batch ahead, so nothing but the times of batches and fetches is taken from it.
    """
    setting = SETTINGS[index]
    dataset, size, train = _job(setting, seed)
    step = Step(train, jitter=0.05 if setting["spread"] else 0.0, seed=seed)

    def run(workers: int, factor: int) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # four sleeping workers on two cores are meant
            loader = DataLoader(dataset, batch_size=size, num_workers=workers, prefetch_factor=factor)
            return probe(loader, step, warmup=0)

    other = run(1, 1)
    seen = run(setting["workers"], setting["factor"])
    start = statistics.fmean(dict(zip(seen.worker[::-1], seen.prepare_start[::-1], strict=True)).values())
    transferred = simulate(
        [p + (start if i < setting["workers"] else 0) for i, p in enumerate(other.prepare)],
        other.train,
        workers=setting["workers"],
        prefetch_factor=setting["factor"],
        get_cost=other.fetch_cost,
    )
    plain = simulate(
        [p + (start if i < setting["workers"] else 0) for i, p in enumerate(seen.prepare)],
        seen.train,
        workers=setting["workers"],
        prefetch_factor=setting["factor"],
    )
    return {
        **setting,
        "achieved": seen.makespan,
        "predicted": seen.timeline().makespan,
        "no fetch": plain.makespan,
        "from another run": transferred.makespan,
        "fetch": seen.fetch_cost,
        "share": seen.wait_share,
    }
