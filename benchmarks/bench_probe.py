"""What watching costs: a loop of 5 ms steps under `probe`, against the same loop bare, workers included.

Both start their workers, let two batches go by, and are timed from there to the last step. The step spins, so that its
length is the same to microseconds; what is compared is everything else. Rounds are paired by rank, the k-th fastest
with the k-th fastest: a fetch from a worker varies more from run to run than watching costs.
"""

from __future__ import annotations

import time
from statistics import median

import torch
from torch.utils.data import DataLoader, TensorDataset

from benchmarks.harness import Row
from labkit.pipeline import probe

STEP, STEPS, WARMUP, ROUNDS = 0.005, 150, 2, 9


def step(batch: object) -> None:
    until = time.perf_counter() + STEP
    while time.perf_counter() < until:
        pass


def loader(workers: int) -> DataLoader[tuple[torch.Tensor, ...]]:
    rows = torch.rand((STEPS + WARMUP) * 16, 64)
    return DataLoader(TensorDataset(rows), batch_size=16, num_workers=workers)


def bare(workers: int) -> float:
    """Seconds of the loop without anything around it."""
    begin = 0.0
    for i, batch in enumerate(loader(workers)):
        step(batch)
        if i == WARMUP - 1:
            begin = time.perf_counter()
    return time.perf_counter() - begin


def watched(workers: int) -> float:
    """Seconds of the same loop under `probe`."""
    return probe(loader(workers), step, warmup=WARMUP).makespan / 1000


def rows() -> list[Row]:
    made = []
    for workers, name in ((0, "no workers"), (1, "1 worker")):
        peer = f"a bare loop of {STEPS} steps of {1000 * STEP:g} ms, {name}"
        times: dict[str, list[float]] = {"bare": [], "probe": []}
        bare(workers), watched(workers)
        for turn in range(ROUNDS):
            for what in ("bare", "probe") if turn % 2 else ("probe", "bare"):  # whoever comes first has no advantage
                times[what].append((bare if what == "bare" else watched)(workers))
        ratios = [a / b for a, b in zip(sorted(times["bare"]), sorted(times["probe"]), strict=True)]
        more = 1000 * (median(times["probe"]) - median(times["bare"])) / STEPS
        made.append(Row(peer, "steps/s", [STEPS / t for t in times["bare"]], []))
        rates = [STEPS / t for t in times["probe"]]
        made.append(
            Row(
                f"the same under probe ({1000 * more:.0f} us a step more)",
                "steps/s",
                rates,
                ratios,
                peer.split(",")[0],
                0.99,
            )
        )
    return made
