"""What lab 02 draws for a learner: causes to find, and the times of a loader to be fixed. Light: no torch here."""

from __future__ import annotations

import random

PLANTS = (
    "healthy",
    "too few workers",
    "workers respawned each epoch",
    "slow collate",
    "head-of-line blocking",
    "transport-bound",
)
"""Causes that show in counts, process ids and order, on a busy machine too."""


def planted_of(job: int) -> dict[str, str]:
    """Which cause each loader of a job has."""
    return dict(zip("ABC", random.Random(f"measure/{job}").sample(PLANTS, 3), strict=True))


def far_times(job: int) -> tuple[list[float], float]:
    """ms to prepare each batch of an epoch, one of them slow, and ms of a step."""
    rng = random.Random(f"fix/{job}")
    train = float(rng.randint(34, 40))
    prepare = [train * rng.uniform(1.8, 2.2)] * 28
    prepare[rng.randint(16, 20)] += train * rng.uniform(5.0, 8.0)
    return prepare, train
