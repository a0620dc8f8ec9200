"""Lab 08's runs of loaders: how far a DataLoader reads ahead, what a job leaves behind, a loader that is stopped."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping
from typing import Any


class CountedOrder:
    """A batch sampler that counts the batches it was asked for: how far a DataLoader has read ahead."""

    def __init__(self, batches: list[list[int]]) -> None:
        self.batches, self.asked = batches, 0

    def __iter__(self) -> Iterator[list[int]]:
        for batch in self.batches:
            self.asked += 1
            yield batch

    def __len__(self) -> int:
        return len(self.batches)


def epoch_batches(samples: int, batch_size: int, seed: int, epoch: int) -> list[list[int]]:
    """All batches of an epoch, as lists of sample ids: another order in every epoch, the same after every restart."""
    ids = list(range(samples))
    random.Random(f"{seed}/{epoch}").shuffle(ids)
    return [ids[i : i + batch_size] for i in range(0, samples, batch_size)]


def read_ahead(handed_out: int, workers: int, prefetch_factor: int, batch_size: int = 1) -> int:
    """Take `handed_out` batches from a real DataLoader with workers; how many it has asked its workers for by then."""
    from torch.utils.data import DataLoader

    count = handed_out + workers * prefetch_factor + 5
    order = CountedOrder(epoch_batches(count * batch_size, batch_size, 0, 0))
    data: Any = range(count * batch_size)
    loader: Any = DataLoader(data, batch_sampler=order, num_workers=workers, prefetch_factor=prefetch_factor)
    walk = iter(loader)
    for _ in range(handed_out):
        next(walk)
    return order.asked


# cursor.mismatch ---------------------------------------------------------------------------------------------------


def job_plan(job: Mapping[str, Any]) -> dict[str, tuple[str, int]]:
    """How each lettered checkpoint was saved, and after which update."""
    rng = random.Random(f"{job['seed']}/{job['accumulate']}/{job['batch_size']}")
    kinds = ["right", "fetched", "handed", "older", "updates"]
    plan = list(zip(kinds, sorted(rng.sample(range(4, 10), 5)), strict=True))
    updates = [update for _, update in plan]
    rng.shuffle(updates)
    plan = [(kind, update) for (kind, _), update in zip(plan, updates, strict=True)]
    rng.shuffle(plan)
    return dict(zip("ABCDE", plan, strict=True))


def leave_checkpoints(job: Mapping[str, Any]) -> tuple[list[dict[str, Any]], dict[str, dict[str, Any]]]:
    """Train with gradient accumulation from a real DataLoader with two workers, and save five checkpoints.

    Returns:
        The log, a row an update (`update`, the `batches` it applied, and `w` after it), and by letter the checkpoints
        that five programs would have saved: `w`, and the `cursor` that the program believed in.
    """
    from torch.utils.data import DataLoader

    accumulate, size = job["accumulate"], job["batch_size"]
    batches = epoch_batches(16 * accumulate * size, size, job["seed"], 0)
    order = CountedOrder(batches)
    data: Any = range(16 * accumulate * size)
    loader: Any = DataLoader(data, batch_sampler=order, num_workers=2, prefetch_factor=2)
    walk, plan = iter(loader), job_plan(job)
    w, log, saved, cursors = 0.0, [], {}, [0]
    for update in range(1, 11):
        total = 0.0
        for micro in range(accumulate):
            xs = [float(x) / len(data) for x in next(walk).tolist()]
            total += sum(2 * (w * x - 3 * x) * x for x in xs) / len(xs)
            if micro == 0:  # the update is under way: weights are still those of the update before
                for letter, (kind, at) in plan.items():
                    if kind == "handed" and at == update - 1:
                        saved[letter] = {"w": w, "cursor": at * accumulate + 1}
        w -= 0.4 * total / accumulate
        cursors.append(update * accumulate)
        log.append({"update": update, "batches": [*range(cursors[-2], cursors[-1])], "w": w})
        for letter, (kind, at) in plan.items():
            cursor = {
                "right": update * accumulate,
                "fetched": order.asked,
                "older": cursors[update - 1],
                "updates": update,
            }.get(kind)
            if at == update and cursor is not None:
                saved[letter] = {"w": w, "cursor": cursor}
    return log, dict(sorted(saved.items()))


# cursor.loader -----------------------------------------------------------------------------------------------------


class CountedData:
    """Samples that are their own ids; counts reads (in the process that reads: 0 workers)."""

    def __init__(self, samples: int) -> None:
        self.samples, self.reads = samples, 0

    def __len__(self) -> int:
        return self.samples

    def __getitem__(self, i: int) -> int:
        if not 0 <= i < self.samples:
            raise IndexError(i)
        self.reads += 1
        return i


Walk = dict[str, Any]


def walked(make: Callable[[Any, int, int, int], Any]) -> Callable[..., Walk]:
    """A training loop around a person's loader, killed at given places.

    The result takes (samples, batch_size, seed, workers, stops, total). Each stop is (taken, committed): the loop takes
    that many batches, commits the first ones, saves the loader's state as JSON, and is lost; a new loader goes on. The
    last one goes on until `total` batches are committed in all. It gives the batches committed (`applied`), those of
    a loop that nobody stopped (`whole`), walks that gave nothing (`empty`), and samples read after the last stop.
    """

    def walk(
        samples: int, batch_size: int, seed: int, workers: int, stops: list[list[int]], total: int
    ) -> dict[str, Any]:
        whole: Walk = {"applied": [], "empty": 0}
        _life(make(CountedData(samples), batch_size, seed, 0), total, total, whole)
        found: Walk = {"applied": [], "empty": 0}
        state, reads = None, 0
        for take, commit in [*stops, [total, total]]:
            data = CountedData(samples)
            loader = make(data, batch_size, seed, workers)
            if state is not None:
                loader.load_state_dict(json.loads(state))
            left = total - len(found["applied"])
            _life(loader, min(take, left), min(commit, left), found)
            state, reads = json.dumps(loader.state_dict()), data.reads
        return {**found, "whole": whole["applied"], "reads": reads}

    walk.__name__ = "walked"  # as cards call it
    return walk


def _life(loader: Any, take: int, commit: int, found: Walk) -> None:
    """Take batches, commit the first ones, stop in the middle of whatever comes then."""
    handed = 0
    while handed < take:
        before = handed
        for batch in loader:
            handed += 1
            if handed <= commit:
                found["applied"].append([int(i) for i in batch])
                loader.commit()
            if handed == take:
                return
        if handed == before:
            found["empty"] += 1
            if found["empty"] >= 3:  # it gives nothing any more
                return
