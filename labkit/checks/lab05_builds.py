"""The rules by which lab 05 judges functions: a mean over real ranks, and rows counted once."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any

import numpy as np

from labkit.checks.evidence import Fault, Rule, number, same

Shards = list[list[float]]
Row = tuple[Any, int, int]


# metrics.sum_count -------------------------------------------------------------------------------------------------


def shard_inputs(rng: random.Random) -> list[tuple[Shards]]:
    """Values of every rank, smallest first: no process group, two ranks, four uneven ones, an idle one, large ones."""
    uneven = [[float(rng.randint(0, 9)) for _ in range(size)] for size in rng.sample(range(1, 9), 4)]
    idle: Shards = [[float(rng.randint(1, 9)) for _ in range(size)] for size in (3, 1, 4)]
    idle.insert(rng.randint(0, 3), [])
    fractions = [[rng.randint(1, 99) / 8 for _ in range(size)] for size in (1, 7, 2, 30)]
    return [
        ([[2.0, 4.0, 9.0]],),
        ([[1.0], [2.0, 3.0, 6.0]],),
        (uneven,),
        (idle,),
        (fractions,),
        ([[16_777_216.0], [1.0], [1.0], [1.0]],),
    ]


def _numbers_by_rank(found: Any, shards: Shards) -> Fault | None:
    if len(found) == len(shards) and all(number(value) for value in found):
        return None
    bad = next((f"rank {rank} gives {value!r}" for rank, value in enumerate(found) if not number(value)), repr(found))
    return Fault(bad[:120], "one number on every rank", next_step="return a float: total / count, or tensor.item().")


def _ranks_agree(found: list[float], shards: Shards) -> Fault | None:
    if all(same(value, found[0]) for value in found):
        return None
    said = ", ".join(f"{value:.4g}" for value in found)
    return Fault(
        f"ranks 0 to {len(found) - 1} give {said}",
        "the same number on every rank",
        "each rank gives a value of its own: nothing was added up over the ranks, or only rank 0 has the result.",
        "dist.all_reduce(tensor) leaves the ranks' sum in `tensor`, on every rank.",
    )


def _is_mean(found: list[float], shards: Shards) -> Fault | None:
    everyone = [value for shard in shards for value in shard]
    truth = sum(everyone) / len(everyone)
    if same(found[0], truth):
        return None
    return Fault(
        f"{found[0]:.10g}",
        "the sum of all ranks' values over how many there are",
        _mean_mistake(found[0], shards),
        "write down, for this input, what each rank knows by itself and which two numbers all of them need.",
    )


def _mean_mistake(value: float, shards: Shards) -> str:
    everyone = [one for shard in shards for one in shard]
    means = [sum(shard) / len(shard) for shard in shards if shard]
    rough = float(np.array(everyone, np.float32).sum(dtype=np.float32))
    if same(value, sum(means) / len(means)) or same(value, sum(means) / len(shards)):
        return "that is the mean of the ranks' means."
    if same(value, sum(everyone) / len(shards)):
        return "that is the total over the number of ranks; ranks hold different numbers of samples."
    if same(value, sum(everyone)):
        return "that is the total: it isn't divided."
    if max(map(abs, everyone)) >= 2**24 and abs(value - rough / len(everyone)) <= 4 / len(everyone):
        return "the sum went through float32, which can't hold 16,777,217."
    return ""


SUM_COUNT_RULES = [
    Rule("one number on every rank", _numbers_by_rank),
    Rule("every rank comes to the same", _ranks_agree),
    Rule("it is the mean over all samples, however they are shared out", _is_mean),
]


# metrics.padding ---------------------------------------------------------------------------------------------------


def row_inputs(rng: random.Random) -> list[tuple[list[Row]]]:
    """Gathered rows, smallest first: in every step or late, torch's and accelerate's padding, ids that aren't numbers.

    Targets and predictions repeat, so rows of different samples look alike.
    """
    from labkit.sharding.planning import plan, plan_distributed_sampler

    inputs: list[list[Row]] = [[(0, 1, 1)], [(0, 1, 1), (1, 1, 1), (0, 1, 1)]]
    for samples, batch_size, ranks in ((5, 1, 2), (7, 2, 3), (10, 4, 2), (3, 2, 4), (22, 3, 4)):
        ids: list[Any] = rng.sample(range(100), samples)
        if rng.random() < 0.4:
            ids = [f"image-{i:02}" for i in ids]
        of = {one: (one, rng.randint(0, 1), rng.randint(0, 1)) for one in ids}
        made = plan(ids, batch_size, ranks), plan_distributed_sampler(ids, ranks, batch_size)
        for one, late in zip(made, rng.sample((True, False), 2), strict=True):
            inputs.append([of[i] for i in gathered(one.per_rank, late)])
    return [(rows,) for rows in sorted(inputs, key=len)]


def gathered(per_rank: Sequence[Sequence[Sequence[Any]]], late: bool) -> list[Any]:
    """Ids in the order of a gather in every step, or of one after the last step."""
    if late:
        return [one for batches in per_rank for batch in batches for one in batch]
    return [one for step in zip(*per_rank, strict=True) for batch in step for one in batch]


def _rows_back(found: Any, rows: list[Row]) -> Fault | None:
    known = {_hashable(row) for row in rows}
    if type(found) in (list, tuple):
        strange = next((row for row in found if _hashable(row) not in known), None)
        if strange is None:
            return None
        return Fault(
            f"{strange!r} is in your result"[:120],
            "rows of the input, as they came in",
            next_step="return the (id, prediction, target) rows themselves.",
        )
    return Fault(f"{found!r}"[:120], "a list of rows", next_step="return a list of (id, prediction, target).")


def _hashable(row: Any) -> Any:
    return tuple(row) if isinstance(row, list | tuple) else repr(row)


def _none_missing(found: list[Row], rows: list[Row]) -> Fault | None:
    missing = {row[0] for row in rows} - {row[0] for row in found}
    if not missing:
        return None
    twice = [row[0] for row in rows]
    all_copies = all(twice.count(one) > 1 for one in missing)
    return Fault(
        f"no row left for sample {sorted(missing, key=repr)[0]!r} ({len(missing)} missing)",
        "a row for every sample",
        "samples that come twice are gone altogether; one of their rows must stay."
        if all_copies and len(missing) == sum(twice.count(one) > 1 for one in set(twice))
        else "a row went that isn't borrowed: different samples may look alike, and borrowed rows needn't stand last.",
        "what says that two rows are the same sample: their place, their values, or their id?",
    )


def _none_twice(found: list[Row], rows: list[Row]) -> Fault | None:
    ids = [row[0] for row in found]
    again = next((one for one in ids if ids.count(one) > 1), None)
    if again is None:
        return None
    return Fault(
        f"{ids.count(again)} rows for sample {again!r}",
        "one row for each sample",
        "nothing was removed." if len(found) == len(rows) else "a borrowed row is still there.",
        "keep a set of the ids you have seen, over all rows.",
    )


PADDING_RULES = [
    Rule("the result holds rows of the input", _rows_back),
    Rule("no sample is lost", _none_missing),
    Rule("no sample counts twice", _none_twice),
]


def right_share(rows: Sequence[Row]) -> float:
    """Accuracy over rows."""
    return sum(row[1] == row[2] for row in rows) / len(rows) if rows else math.nan
