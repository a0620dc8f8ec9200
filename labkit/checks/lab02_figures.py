"""Lab 02's own figures: how they are drawn, their right values, and the mistakes they tell apart."""

from __future__ import annotations

import random
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from labkit.checks.lab02_recorded import CONTROLS
from labkit.checks.lab02_shown import REMEDIES, control_rows
from labkit.checks.registry import Figures
from labkit.pipeline.line import simulate
from labkit.pipeline.measured_draws import far_times, planted_of

MIB = 1 << 20

# measure.debt ------------------------------------------------------------------------------------------------------


def a_batch(done: Sequence[float], warmup: int) -> float:
    """ms a batch after the first `warmup` ones, from the times at which batches were done."""
    return (done[-1] - done[warmup - 1]) / (len(done) - warmup)


def debt_of(read: float, train: float, both: float) -> dict[str, float]:
    """The debt of a pipeline and its two parts, from ms a batch of the three passes."""
    supply = max(0.0, read - train)
    return {"debt": both - train, "supply": supply, "interference": both - train - supply}


def debt_truth(read_only: list[float], train_only: list[float], both: list[float], warmup: int) -> dict[str, float]:
    """The same from the times of three passes."""
    return debt_of(*(a_batch(done, warmup) for done in (read_only, train_only, both)))


def passes_of(rng: random.Random) -> tuple[list[float], list[float], list[float], int]:
    """Three short passes of a line with several workers, whose batches come in bursts; a slow start."""
    workers, train, batches = rng.randint(1, 4), float(rng.randint(6, 14)), rng.randint(6, 8)
    prepare = [round(train * workers * rng.uniform(0.5, 2.2), 1)] * batches
    warmup = rng.randint(1, 3)
    start = 40.0 + rng.randint(0, 20)
    read = simulate(prepare, 0.0, workers=workers, batches=batches)
    slower = round(train * rng.uniform(1.05, 1.4), 1)  # the workers take cores from the trainer
    both = simulate(prepare, slower, workers=workers, batches=batches)
    only = [start / 2 + train * (i + 1) for i in range(batches - 1)]
    read_only, together = ([round(start + t, 1) for t in line.train_end] for line in (read, both))
    return read_only, only, together, warmup


# measure.cached_control --------------------------------------------------------------------------------------------

PARTS = ("waiting", "contention", "copies")


def _draw_control(rng: random.Random) -> dict[str, Any]:
    return {"run": rng.randrange(len(CONTROLS)), "batches": rng.randint(17, 26)}


def control_parts(rows: Mapping[str, Sequence[float]], first: int = 1) -> dict[str, float]:
    """Waiting, contention and copies in ms a batch, from batch `first` on."""
    mean = {name: statistics.fmean(times[first:]) for name, times in rows.items()}
    return {
        "waiting": mean["wait"],
        "contention": mean["train"] - mean["cached_train"],
        "copies": mean["copy"] - mean["cached_copy"],
    }


def control_truth(figures: Mapping[str, Any]) -> dict[str, Any]:
    """The parts, and what lowers the largest."""
    parts = control_parts(control_rows(figures))
    return {"parts": parts, "remedy": REMEDIES[max(parts, key=lambda name: parts[name])]}


def control_mistakes(figures: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """The parts as people's usual mistakes give them."""
    rows = control_rows(figures)
    truth, filled = control_parts(rows), control_parts(rows, first=0)
    mean = {name: statistics.fmean(times[1:]) for name, times in rows.items()}
    whole = sum(truth.values())
    return {
        "with batch 0, the fill, in the means": filled,
        "sums over all batches, not ms a batch": {k: v * (figures["batches"] - 1) for k, v in truth.items()},
        "the copies in full, as if those from memory were free": truth | {"copies": mean["copy"]},
        "the whole step as contention, though it takes cores without a loader, too": truth
        | {"contention": mean["train"]},
        "all of the difference as waiting": {"waiting": whole, "contention": 0.0, "copies": 0.0},
        "the rest after waiting as contention, copies included": truth
        | {"contention": whole - truth["waiting"], "copies": 0.0},
    }


def _control_wrong(figures: Mapping[str, Any]) -> dict[str, Any]:
    truth = control_truth(figures)
    return {name: truth | {"parts": parts} for name, parts in control_mistakes(figures).items()} | {
        f"the remedy {remedy}": truth | {"remedy": remedy} for remedy in REMEDIES.values() if remedy != truth["remedy"]
    }


CONTROL = Figures(
    _draw_control,
    control_truth,
    _control_wrong,
    {"run": "number of your recorded run", "batches": "batches, the first one is the fill"},
)


# measure.mystery ---------------------------------------------------------------------------------------------------


def _draw_mystery(rng: random.Random) -> dict[str, Any]:
    return {"job": rng.randrange(10_000)}


def mystery_truth(figures: Mapping[str, Any]) -> dict[str, str]:
    """The planted causes."""
    return planted_of(figures["job"])


def mystery_mistakes(figures: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """What one gets without looking."""
    truth = mystery_truth(figures)
    turned = dict(zip(truth, [*list(truth.values())[1:], truth["A"]], strict=True))
    return {"the same cause everywhere": dict.fromkeys(truth, truth["A"]), "the letters mixed up": turned}


MYSTERY = Figures(_draw_mystery, mystery_truth, mystery_mistakes, {"job": "number of your three loaders"})


# measure.fix -------------------------------------------------------------------------------------------------------

SHARE = 0.05
"""The most of an epoch after its first batch that the trainer may wait."""


def predicted_share(job: int, workers: int, prefetch_factor: int) -> float:
    """Share of an epoch after its first batch that the trainer waits, by the line."""
    prepare, train = far_times(job)
    line = simulate(prepare, train, batches=len(prepare), workers=workers, prefetch_factor=prefetch_factor)
    return line.stall / (line.makespan - line.fill)


def fitting(figures: Mapping[str, Any]) -> list[tuple[int, int]]:
    """Every (workers, prefetch_factor) within the limits that the line predicts to keep well below the share."""
    return [
        (w, f)
        for w in range(1, figures["cores"] + 1)
        for f in range(1, figures["memory"] // w + 1)
        if predicted_share(figures["job"], w, f) < SHARE / 5
    ]


def _draw_fix(rng: random.Random) -> dict[str, Any]:
    """A job for which neither torch's default nor a worker less will do, clearly."""
    while True:
        figures = {"job": rng.randrange(10_000), "cores": 3, "memory": rng.randint(12, 14)}
        default = predicted_share(figures["job"], 3, 2)
        fewer = min(predicted_share(figures["job"], 2, f) for f in range(1, figures["memory"] // 2 + 1))
        if fitting(figures) and default > 1.6 * SHARE and fewer > 1.6 * SHARE:
            return figures


def _fix_truth(figures: Mapping[str, Any]) -> dict[str, Any]:
    workers, factor = fitting(figures)[0]
    return {"num_workers": workers, "prefetch_factor": factor, "persistent_workers": True}


def _fix_mistakes(figures: Mapping[str, Any]) -> dict[str, Any]:
    truth = _fix_truth(figures)
    return {
        "torch's own prefetch_factor": truth | {"prefetch_factor": 2},
        "two workers": truth | {"num_workers": 2, "prefetch_factor": figures["memory"] // 2},
        "workers that end with the epoch": truth | {"persistent_workers": False},
    }


FIX = Figures(
    _draw_fix,
    _fix_truth,
    _fix_mistakes,
    {"job": "number of your loader", "cores": "workers at most", "memory": "batches ahead at most"},
)


# measure.memory ----------------------------------------------------------------------------------------------------


def _draw_memory(rng: random.Random) -> dict[str, Any]:
    while True:
        workers = rng.randint(2, 3)
        figures = {
            "batch_size": rng.choice((16, 24, 32)),
            "side": rng.choice((96, 112, 128)),
            "workers": workers,
            "prefetch_factor": rng.randint(2, 4),
            "shm": 64,
        }
        if largest_factor(figures) >= figures["prefetch_factor"] + 1:
            return figures


def batch_mib(figures: Mapping[str, Any]) -> float:
    """MiB of a batch: pictures of side x side, 3 channels, 4 bytes a number."""
    return float(figures["batch_size"] * 3 * figures["side"] ** 2 * 4 / MIB)


def held_mib(figures: Mapping[str, Any], factor: int | None = None) -> float:
    """MiB of shared memory while the trainer is busy: every credit's batch is ready, and one is being trained on."""
    return float(figures["workers"] * (factor or figures["prefetch_factor"]) + 1) * batch_mib(figures)


def largest_factor(figures: Mapping[str, Any]) -> int:
    """The largest prefetch_factor for which all batches, the one in training too, fit into `shm` MiB."""
    most = int(figures["shm"] / batch_mib(figures) + 1e-9)
    return (most - 1) // int(figures["workers"])


def memory_truth(figures: Mapping[str, Any]) -> dict[str, float]:
    """Both answers."""
    return {"held": held_mib(figures), "factor": largest_factor(figures)}


def memory_parts(figures: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """For each answer: the mistakes, by name."""
    one, w, f = batch_mib(figures), figures["workers"], figures["prefetch_factor"]
    return {
        "held": {
            "one batch": one,
            "without the batch that is being trained on": w * f * one,
            "prefetch_factor batches in all; it counts for each worker": (f + 1) * one,
            "pictures of 1 byte a number; a float32 takes 4": held_mib(figures) / 4,
            "one channel of three": held_mib(figures) / 3,
            "MB of a million bytes": held_mib(figures) * MIB / 1e6,
        },
        "factor": {
            "one too many: the batch in training needs room, too": int(figures["shm"] / one + 1e-9) // w,
            "batches in all, not for each worker": int(figures["shm"] / one + 1e-9) - 1,
        },
    }


def _memory_mistakes(figures: Mapping[str, Any]) -> dict[str, Any]:
    truth = memory_truth(figures)
    found: dict[str, Any] = {
        f"{name}: {phrase}": truth | {name: value}
        for name, mistakes in memory_parts(figures).items()
        for phrase, value in mistakes.items()
    }
    return found


MEMORY = Figures(
    _draw_memory,
    memory_truth,
    _memory_mistakes,
    {
        "batch_size": "pictures",
        "side": "pixels; 3 channels, float32",
        "workers": "num_workers",
        "prefetch_factor": "as set now",
        "shm": "MiB in /dev/shm, as Docker gives unless told",
    },
)
