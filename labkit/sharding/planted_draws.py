"""Jobs that draw random numbers on real ranks and workers. A number picks how a job seeds."""

from __future__ import annotations

import functools
import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


class Noise:
    """A data set of eight samples; sample i is (worker, a number from 0 to 999), drawn as `source` says."""

    def __init__(self, source: str, seed: int) -> None:
        import numpy as np

        self.source, self.generator = source, np.random.default_rng(seed)

    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> tuple[int, int]:
        import numpy as np
        import torch
        from torch.utils.data import get_worker_info

        info = get_worker_info()
        if self.source == "held":
            value = int(self.generator.integers(1000))
        elif self.source == "torch":
            value = int(torch.randint(1000, ()))
        else:
            value = int(np.random.randint(1000))  # noqa: NPY002  as such data sets do
        return (info.id if info else -1), value


@dataclass(frozen=True)
class _Seeding:
    """How a job seeds: its data set's source of numbers, what it sets at the start, and what every worker sets."""

    source: str
    start: str  # "same" or "by rank"
    worker: str = ""  # "", "id", "rank", "both": a constant, set anew in every worker that starts
    persistent: bool = False


JOBS: dict[tuple[str, ...], list[_Seeding]] = {
    (): [_Seeding("torch", "by rank"), _Seeding("numpy", "by rank")],
    ("ranks",): [_Seeding("torch", "same"), _Seeding("numpy", "same")],
    ("epochs",): [_Seeding("numpy", "same", "both")],
    ("epochs", "ranks"): [_Seeding("numpy", "by rank", "id")],
    ("epochs", "workers"): [_Seeding("numpy", "same", "rank"), _Seeding("held", "by rank")],
    ("ranks", "workers"): [_Seeding("held", "same", persistent=True)],
    ("workers",): [_Seeding("held", "by rank", persistent=True)],
    ("epochs", "ranks", "workers"): [_Seeding("held", "same")],
}
"""What draws alike -> jobs of which that is true."""


def alike_in(number: int) -> list[str]:
    """What draws the same numbers in job `number`: some of "epochs", "ranks", "workers". Known, not run."""
    return list(list(JOBS)[number % len(JOBS)])


def _noisy(number: int, rank: int) -> Any:
    import torch
    from torch.utils.data import DataLoader

    rng = random.Random(number)
    kinds = JOBS[tuple(alike_in(number))]
    job, seed = kinds[rng.randrange(len(kinds))], rng.randint(1, 9999)
    own = seed + 100 * rank if job.start == "by rank" else seed
    torch.manual_seed(own)

    options: dict[str, Any] = {"persistent_workers": job.persistent}
    if job.worker:
        options["worker_init_fn"] = functools.partial(_seed_worker, seed, rank, job.worker)
    data: Any = Noise(job.source, own)
    return DataLoader(data, batch_size=2, num_workers=2, collate_fn=list, **options)


def _seed_worker(seed: int, rank: int, by: str, worker: int) -> None:
    import numpy as np

    np.random.seed(seed + 10 * worker * (by != "rank") + 100 * rank * (by != "id"))  # noqa: NPY002


def _drawn(rank: int, jobs: dict[str, int]) -> list[tuple[str, int, int, list[str]]]:
    rows = []
    for name, number in jobs.items():
        loader = _noisy(number, rank)
        epochs: list[dict[int, list[int]]] = []
        for _ in range(2):
            epochs.append({0: [], 1: []})
            for batch in loader:
                for worker, value in batch:
                    epochs[-1][worker].append(value)
        for worker in (0, 1):
            rows.append((name, rank, worker, [" ".join(f"{v:03}" for v in one[worker][:3]) for one in epochs]))
    return rows


def draws(jobs: Mapping[str, int]) -> pd.DataFrame:
    """Run jobs on two real ranks with two real workers each, for two epochs.

    Returns one row for every job, rank and worker: the first three numbers that this worker drew in each epoch.
    """
    import pandas as pd

    from labkit.ranks import run

    by_rank = run(_drawn, dict(jobs), ranks=2)
    rows = [(name, rank, worker, *epochs) for mine in by_rank for name, rank, worker, epochs in mine]
    frame = pd.DataFrame(rows, columns=["job", "rank", "worker", "epoch 0", "epoch 1"])
    return frame.sort_values(["job", "rank", "worker"], ignore_index=True)


def alike_seen(frame: pd.DataFrame, job: str) -> list[str]:
    """What drew the same numbers in a real run of `draws`: some of "epochs", "ranks", "workers"."""
    drawn = {
        (row.rank, row.worker, epoch): row[epoch + 3]
        for row in frame[frame["job"] == job].itertuples(index=False)
        for epoch in (0, 1)
    }
    same = {
        "epochs": [drawn[r, w, 0] == drawn[r, w, 1] for r in (0, 1) for w in (0, 1)],
        "ranks": [drawn[0, w, e] == drawn[1, w, e] for w in (0, 1) for e in (0, 1)],
        "workers": [drawn[r, 0, e] == drawn[r, 1, e] for r in (0, 1) for e in (0, 1)],
    }
    return [name for name, all_of in same.items() if all(all_of)]
