"""Write golden.json, the vectors that both Python and JavaScript are tested against.

Run `python tests/pipeline/make_golden.py`. Nothing here uses labkit. The lines come from the SimPy oracle in data/ and
from the cases below, worked out by hand from DataLoader's rules; the jitter comes from mulberry32 as published, written
with plain integers.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ORACLE = HERE.parents[1] / "data" / "timeline_oracle.json"
GOLDEN = HERE / "golden.json"

# Credits: a worker may start batch i once its last batch is done and batch i - workers * prefetch_factor is delivered.
BY_HAND: list[dict[str, Any]] = [
    {
        "name": "two workers, one credit each: two prepare 14 in 14, so a trainer of 10 is kept busy",
        "prepare": [14, 14, 14, 14], "train": [10, 10, 10, 10], "depth": 0, "workers": 2, "get_cost": 0,
        "prepare_start": [0, 0, 14, 24], "prepare_end": [14, 14, 28, 38],
        "train_start": [14, 24, 34, 44], "train_end": [24, 34, 44, 54], "waits": [14, 0, 0, 0], "makespan": 54,
    },
    {
        "name": "two workers of 30 in step: two batches arrive together every 30, the trainer needs 20 for them",
        "prepare": [30] * 5, "train": [10] * 5, "depth": 2, "workers": 2, "get_cost": 0,
        "prepare_start": [0, 0, 30, 30, 60], "prepare_end": [30, 30, 60, 60, 90],
        "train_start": [30, 40, 60, 70, 90], "train_end": [40, 50, 70, 80, 100], "waits": [30, 0, 10, 0, 10],
        "makespan": 100,
    },
    {
        "name": "a fetch of 1: each batch costs the trainer 1 more, and a credit comes back after it",
        "prepare": [6] * 4, "train": [10] * 4, "depth": 1, "workers": 1, "get_cost": 1,
        "prepare_start": [0, 6, 12, 18], "prepare_end": [6, 12, 18, 24],
        "train_start": [7, 18, 29, 40], "train_end": [17, 28, 39, 50], "waits": [7, 1, 1, 1], "makespan": 50,
    },
    {
        "name": "one credit and a fetch of 1: the worker starts again only when its batch is delivered",
        "prepare": [6] * 3, "train": [10] * 3, "depth": 0, "workers": 1, "get_cost": 1,
        "prepare_start": [0, 7, 18], "prepare_end": [6, 13, 24],
        "train_start": [7, 18, 29], "train_end": [17, 28, 39], "waits": [7, 1, 1], "makespan": 39,
    },
    {
        "name": "one slow batch: three credits cover part of it",
        "prepare": [1, 1, 1, 41, 1, 1], "train": [10] * 6, "depth": 2, "workers": 1, "get_cost": 0,
        "prepare_start": [0, 1, 2, 3, 44, 45], "prepare_end": [1, 2, 3, 44, 45, 46],
        "train_start": [1, 11, 21, 44, 54, 64], "train_end": [11, 21, 31, 54, 64, 74], "waits": [1, 0, 0, 13, 0, 0],
        "makespan": 74,
    },
    {
        "name": "no limit on waiting batches",
        "prepare": [2, 2, 2], "train": [10, 10, 10], "depth": None, "workers": 1, "get_cost": 0,
        "prepare_start": [0, 2, 4], "prepare_end": [2, 4, 6],
        "train_start": [2, 12, 22], "train_end": [12, 22, 32], "waits": [2, 0, 0], "makespan": 32,
    },
]  # fmt: skip
JITTER = [(10.0, 6, 0.5, 7), (6.0, 4, 1.0, 0), (14.0, 4, 0.25, 4294967295), (3.7, 5, 0.0, 12345)]


def mulberry32(seed: int, count: int) -> list[float]:
    """Uniform numbers in [0, 1): Tommy Ettinger's mulberry32, every step modulo 2**32."""
    two32 = 2**32
    numbers = []
    for step in range(1, count + 1):
        a = (seed + step * 0x6D2B79F5) % two32
        t = (a ^ (a // 2**15)) * (a | 1) % two32
        t = t ^ ((t + (t ^ (t // 2**7)) * (t | 61)) % two32)
        numbers.append((t ^ (t // 2**14)) / two32)
    return numbers


def golden() -> dict[str, Any]:
    """The whole file as a dict."""
    oracle = json.loads(ORACLE.read_text())
    lines = [{"name": f"oracle {i}", "workers": 1, "get_cost": 0, **case} for i, case in enumerate(oracle)]
    jitter = [
        {"time": time, "batches": n, "amount": amount, "seed": seed,
         "times": [time * (1 + amount * (2 * u - 1)) for u in mulberry32(seed, n)]}
        for time, n, amount, seed in JITTER
    ]  # fmt: skip
    return {"lines": lines + BY_HAND, "jitter": jitter}


if __name__ == "__main__":
    GOLDEN.write_text(json.dumps(golden(), indent=1) + "\n")
    print(f"wrote {GOLDEN}")
