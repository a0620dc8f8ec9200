"""Lab 08's jobs whose contract is at stake: one resumed on other ranks, and seeded twins of four programs."""

from __future__ import annotations

import functools
import math
import random
from collections.abc import Mapping
from typing import Any

from labkit.resume.contract_tost import margin_from, tost

PROMISES = ("bitwise", "sample-exact", "statistical")
STEPS = 12
NAMES = ("batch_size", "accumulate", "cursor")


# contract.ranks ----------------------------------------------------------------------------------------------------


def resume_on_ranks(job: Mapping[str, Any], four: Mapping[str, Any], two: Mapping[str, Any]) -> dict[str, Any]:
    """The uninterrupted run on four real ranks, and two that go on from its checkpoint, on four and on two.

    Args:
        job: batch_size and accumulate on four ranks, and the checkpoint's step, in updates.
        four: batch_size, accumulate and cursor (batches of one rank) of the run on four ranks.
        two: the same on two.

    Returns:
        For `whole`, `four` and `two`: `samples`, the sorted ids of each update from the checkpoint on, over all ranks;
        `weights` in the end; and `attained` for the resumed two: bitwise, sample-exact or none.
    """
    if any(plan[name] is ... for plan in (four, two) for name in NAMES):
        raise NotImplementedError
    from labkit import ranks

    at, seed = job["step"], job["seed"]
    plan = {"batch_size": job["batch_size"], "accumulate": job["accumulate"], "cursor": 0}
    whole = _gathered(ranks.run(_train, seed, plan, None, STEPS, at, ranks=4))
    saved = whole.pop("saved")
    found: dict[str, Any] = {"whole": {**whole, "samples": whole["samples"][at:]}}
    for name, count, chosen in (("four", 4, four), ("two", 2, two)):
        wanted = {key: int(chosen[key]) for key in NAMES}
        run = _gathered(ranks.run(_train, seed, wanted, saved, STEPS - at, 0, ranks=count))
        found[name] = {**run, "attained": _attained(found["whole"], run)}
    return found


def _train(
    rank: int, seed: int, plan: Mapping[str, int], saved: tuple[list[float], list[float]] | None, updates: int, at: int
) -> tuple[list[list[int]], list[float], tuple[list[float], list[float]]]:
    """One rank's part: the ids of each update, the weights in the end, and weights and momentum after update `at`."""
    import torch
    import torch.distributed as dist

    ranks, size = dist.get_world_size(), plan["batch_size"]
    draw = torch.Generator().manual_seed(seed)
    x = torch.randn(1024, 8, generator=draw)
    y = x @ torch.randn(8, generator=draw) + 0.1 * torch.randn(1024, generator=draw)
    w, v = torch.zeros(8, requires_grad=True), torch.zeros(8)
    if saved is not None:
        w, v = torch.tensor(saved[0], requires_grad=True), torch.tensor(saved[1])
    cursor, ids, kept = plan["cursor"], [], (w.tolist(), v.tolist())
    for update in range(updates):
        total, read = torch.zeros(8), []
        for _ in range(plan["accumulate"]):
            first = (cursor * ranks + rank) * size
            batch = [i % 1024 for i in range(first, first + size)]
            cursor += 1
            loss = ((x[batch] @ w - y[batch]) ** 2).mean() / (plan["accumulate"] * ranks)
            total += torch.autograd.grad(loss, w)[0]
            read += batch
        dist.all_reduce(total)
        with torch.no_grad():
            v = 0.9 * v + total
            w -= 0.05 * v
        ids.append(read)
        if update + 1 == at:
            kept = (w.tolist(), v.tolist())
    return ids, w.tolist(), kept


def _gathered(parts: list[Any]) -> dict[str, Any]:
    updates = len(parts[0][0])
    samples = [sorted(i for ids, _, _ in parts for i in ids[update]) for update in range(updates)]
    return {"samples": samples, "weights": parts[0][1], "saved": parts[0][2]}


def _attained(whole: Mapping[str, Any], run: Mapping[str, Any]) -> str:
    if whole["samples"] != run["samples"]:
        return "none"
    if whole["weights"] == run["weights"]:
        return "bitwise"
    near = all(
        math.isclose(a, b, rel_tol=1e-3, abs_tol=1e-5) for a, b in zip(whole["weights"], run["weights"], strict=True)
    )
    return "sample-exact" if near else "none"


# contract.statistical ----------------------------------------------------------------------------------------------

VERDICTS = ("equivalent", "different", "undecided")
KINDS = {  # runs a side, and by how much the learning rate is off after the resume
    "right": (12, 1.0),
    "few": (2, 1.0),
    "schedule": (20, 6.0),
    "slight": (200, 1.4),
}
UPDATES = 60


def final_losses(seed: int, runs: int, *, resumed: bool, factor: float = 1.0) -> list[float]:
    """Final losses of `runs` real trainings of a noisy line; after half of each the rate is off by `factor`.

    The loss is that of the weights against the true line, averaged over x in [-2, 2].
    """
    import numpy as np

    draw = np.random.default_rng([seed, resumed])
    w, b = np.zeros(runs), np.zeros(runs)
    for update in range(UPDATES):
        x = draw.uniform(-2, 2, (runs, 4))
        y = 3 * x + 2 + draw.normal(0, 1, (runs, 4))
        rate = 0.15 * 0.985**update * (factor if resumed and update >= UPDATES // 2 else 1.0)
        error = w[:, None] * x + b[:, None] - y
        w, b = w - rate * 2 * (error * x).mean(1), b - rate * 2 * error.mean(1)
    return [float(loss) for loss in (w - 3) ** 2 * 4 / 3 + (b - 2) ** 2]


def kinds_of(seed: int) -> dict[str, str]:
    """Which kind of program each letter is."""
    kinds = list(KINDS)
    random.Random(f"twins/{seed}").shuffle(kinds)
    return dict(zip("ABCD", kinds, strict=True))


def twins(job: Mapping[str, Any]) -> dict[str, dict[str, list[float]]]:
    """Four programs by letter: final losses of their uninterrupted and of their resumed runs."""
    found = {}
    for number, (letter, kind) in enumerate(kinds_of(job["seed"]).items()):
        runs, factor = KINDS[kind]
        seed = 10 * job["seed"] + number
        found[letter] = {
            "straight": final_losses(seed, runs, resumed=False),
            "resumed": final_losses(seed, runs, resumed=True, factor=factor),
        }
    return found


@functools.lru_cache(maxsize=4096)
def margin_of(seed: int) -> float:
    """A margin declared beforehand, from 40 uninterrupted runs that are used for nothing else, for 12 runs a side."""
    return float(f"{1.3 * margin_from(final_losses(7_000_000 + seed, 40, resumed=False), runs=12):.2g}")


def verdict(a: list[float], b: list[float], margin: float) -> str:
    """What the interval of the difference says about the margin."""
    low, high = tost(a, b, margin=margin).interval
    if -margin < low and high < margin:
        return "equivalent"
    return "different" if low > margin or high < -margin else "undecided"


def significant(a: list[float], b: list[float]) -> bool:
    """Whether a two-sided t-test at 0.05 finds a difference: the interval at 0.95 leaves 0 out."""
    found = tost(a, b, margin=1.0, alpha=0.025)
    return found.interval[0] > 0 or found.interval[1] < 0


__all__ = ("NAMES", "PROMISES", "VERDICTS", "margin_of", "resume_on_ranks", "significant", "twins", "verdict")
