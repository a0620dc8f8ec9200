"""The learner's own figures in lab 03: how they are drawn, the right value, and the values that mistakes give."""

from __future__ import annotations

import functools
import math
import random
from collections.abc import Mapping
from typing import Any

from labkit.checks.registry import Figures
from labkit.pipeline.bucketing import Trade, bucketed, lognormal_lengths, trade
from labkit.pipeline.tokenising import Costs

# packing.read_modes ------------------------------------------------------------------------------------------------

SLACK = 1.6
"""Bytes that a job may read, over those that it wants: headers and whole blocks fit in, a shard too many does not."""


def _draw_modes(rng: random.Random) -> dict[str, Any]:
    """Three jobs on one data set; one of each way of reading, and each state of the page cache at least once."""
    shard, shards = rng.randint(20, 28), rng.randint(5, 7)
    size = rng.choice((rng.randint(2600, 3400), rng.randint(5200, 6400)))
    samples = shard * shards
    memory = rng.choice((64, 128, 256))
    places = [
        {"data_gb": memory // rng.randint(3, 8), "epoch": 0},
        {"data_gb": memory // rng.randint(3, 8), "epoch": rng.randint(2, 9)},
        {"data_gb": memory * rng.randint(2, 5), "epoch": rng.randint(2, 9)},
    ]
    rng.shuffle(places)
    start = (shards - 2) * shard + shard - rng.randint(2, 3)
    count = rng.randint(2 * shards, 3 * shards)
    jobs = [
        {"reads": "all", "opens": shards, "kb": _budget(samples, size)},
        {"reads": "single", "count": count, "opens": shards, "kb": _budget(count, size)},
        {"reads": "restart", "start": start, "opens": 2, "kb": _budget(samples - start, size)},
    ]
    rng.shuffle(jobs)
    return {
        "samples": samples, "record_bytes": size, "shard_samples": shard, "memory_gb": memory,
        "jobs": {name: job | place for name, job, place in zip("ABC", jobs, places, strict=True)},
    }  # fmt: skip


def _budget(samples: int, size: int) -> int:
    return math.ceil(SLACK * samples * size / 1000)


def cold_of(figures: Mapping[str, Any]) -> dict[str, bool]:
    """For each job whether it finds its data out of the page cache: the first epoch does, and data larger than it."""
    jobs = figures["jobs"].items()
    return {name: job["epoch"] == 0 or job["data_gb"] > figures["memory_gb"] for name, job in jobs}


def _modes_truth(figures: Mapping[str, Any]) -> dict[str, bool]:
    return cold_of(figures)


def modes_mistakes(figures: Mapping[str, Any]) -> dict[str, dict[str, bool]]:
    """Rules of thumb about the page cache, by what each says of the three jobs."""
    jobs, memory = figures["jobs"].items(), figures["memory_gb"]
    return {
        "the rule 'always cold'": {name: True for name, _ in jobs},
        "the rule 'always warm'": {name: False for name, _ in jobs},
        "the rule 'only the first epoch is cold'": {name: job["epoch"] == 0 for name, job in jobs},
        "the rule 'only what doesn't fit is cold'": {name: job["data_gb"] > memory for name, job in jobs},
    }


MODES = Figures(
    _draw_modes,
    _modes_truth,
    modes_mistakes,
    {
        "record_bytes": "of each sample",
        "memory_gb": "that the page cache may use",
        "jobs": "opens and kb: at most so many files opened, so many kB read",
    },
)


# packing.random_access ---------------------------------------------------------------------------------------------

BLOCK, RECORD, UNIT = 64 * 1024, 10_240, 512
"""A streaming reader's request; what tarfile asks for; what a tar archive is padded to."""


def _draw_access(rng: random.Random) -> dict[str, Any]:
    shard, shards, size = rng.randint(50, 80), rng.randint(3, 4), rng.randint(3000, 6000)
    want = rng.randint(1, shards - 1) * shard + rng.randint(shard // 3, 2 * shard // 3)
    restart = rng.randint(1, shards - 1) * shard + rng.randint(shard // 4, shard - 5)
    return {"samples": shard * shards, "shard_samples": shard, "record_bytes": size, "want": want, "restart": restart}


def tar_entry(size: int) -> int:
    """Bytes of one sample in a tar archive: its header, and its content filled up to whole units."""
    return UNIT + -(-size // UNIT) * UNIT


def through_bytes(figures: Mapping[str, Any], records: int) -> int:
    """Bytes that a reader without an index asks for to get the first `records` records of a tar shard.

    It sees that a sample is complete only when the next one has come, in tarfile's records and in whole blocks.
    """
    entry = tar_entry(figures["record_bytes"])
    end = -(-(figures["shard_samples"] * entry + 2 * UNIT) // RECORD) * RECORD  # the archive's end, filled up
    needed = -(-min((records + 1) * entry, end) // RECORD) * RECORD
    return int(min(-(-needed // BLOCK) * BLOCK, end))


def tfrecord_through(figures: Mapping[str, Any], records: int) -> int:
    """As `through_bytes`, of a TFRecord shard: a record is its content and 60 bytes of lengths, names and checksums."""
    entry = figures["record_bytes"] + 60
    return int(min(-(-records * entry // BLOCK) * BLOCK, figures["shard_samples"] * entry))


def access_truth(figures: Mapping[str, Any]) -> dict[str, float]:
    """Bytes without and with an index for one record of a tar shard, and what a restart throws away."""
    shard = figures["shard_samples"]
    return {
        "through": through_bytes(figures, figures["want"] % shard + 1),
        "direct": tar_entry(figures["record_bytes"]),
        "again": figures["restart"] % shard,
        "on_average": (shard - 1) / 2,
    }


def access_parts(figures: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """For each value: the mistakes, by name."""
    shard, size = figures["shard_samples"], figures["record_bytes"]
    truth = access_truth(figures)
    tfrecord = tfrecord_through(figures, figures["want"] % shard + 1)
    return {
        "through": {
            "the bytes with an index": truth["direct"],
            "the whole pack up to the record": (figures["want"] + 1) * tar_entry(size),
            "the content alone, without headers, filling and blocks": (figures["want"] % shard + 1) * size,
            f"the shard up to the record; a reader asks for {BLOCK:,} bytes at a time": (
                (figures["want"] % shard + 1) * tar_entry(size)
            ),
            **({"the row of tfrecord": tfrecord} if tfrecord != truth["through"] else {}),
        },
        "direct": {
            "the content alone: a tar member has a header, and is filled up": size,
            "the bytes without an index": truth["through"],
        },
        "again": {
            "counted from the start of the pack: the shards before aren't opened": figures["restart"],
            "what is left of the shard, and not what was already used": shard - figures["restart"] % shard,
            "a whole shard": shard,
            "one too many: the wanted sample itself isn't thrown away": figures["restart"] % shard + 1,
        },
        "on_average": {
            "a whole shard": shard,
            "half a shard, as if the worker could die after the last sample of a shard and still need it": shard / 2,
            "your own restart, and not the mean over all places": figures["restart"] % shard,
        },
    }


def _access_mistakes(figures: Mapping[str, Any]) -> dict[str, Any]:
    truth = access_truth(figures)
    return {
        f"{name}: {phrase}": truth | {name: value}
        for name, mistakes in access_parts(figures).items()
        for phrase, value in mistakes.items()
    }


ACCESS = Figures(
    _draw_access,
    access_truth,
    _access_mistakes,
    {
        "record_bytes": "of each sample",
        "want": "the sample that is wanted alone",
        "restart": "the first sample that the restarted worker still needs",
    },
)


# bucketing.trade ---------------------------------------------------------------------------------------------------

POOLS = (1, 2, 5, 10, 20, 40, 80)


def _draw_trade(rng: random.Random) -> dict[str, Any]:
    """Lengths and a limit that pools of 10 to 40 keep: in smaller ones the figures of neighbours go up and down."""
    while True:
        figures = {"samples": 960, "batch_size": 12, "seed": rng.randint(1, 999), "padding_at_most": rng.randint(6, 18)}
        if 10 <= least_pool(figures) <= 40:
            return figures


@functools.lru_cache(maxsize=2000)
def _trade(seed: int, pool: int, mixed: bool) -> Trade:
    lengths = lognormal_lengths(960, seed=seed)
    return trade(lengths, bucketed(lengths, 12, pool=pool, seed=seed, shuffle_batches=mixed))


def trade_of(figures: Mapping[str, Any], pool: int, *, mixed: bool = False) -> Trade:
    """Both figures, for the learner's own lengths."""
    return _trade(figures["seed"], pool, mixed)


def least_pool(figures: Mapping[str, Any]) -> int:
    """The smallest of POOLS whose padding is within the limit; where none is, twice the largest."""
    fits = (pool for pool in POOLS if 100 * trade_of(figures, pool).padding <= figures["padding_at_most"])
    return next(fits, 2 * POOLS[-1])


def trade_truth(figures: Mapping[str, Any]) -> dict[str, Any]:
    """The pool, its two figures, and what shuffling the batches changes."""
    pool = least_pool(figures)
    found = trade_of(figures, pool)
    return {"pool": pool, "padding": round(100 * found.padding, 1), "correlation": round(found.correlation, 2),
            "changes": "correlation"}  # fmt: skip


def _trade_mistakes(figures: Mapping[str, Any]) -> dict[str, Any]:
    truth = trade_truth(figures)
    next_pool = POOLS[min(POOLS.index(truth["pool"]) + 1, len(POOLS) - 1)]
    return {
        "a share, and not percent": truth | {"padding": round(truth["padding"] / 100, 3)},
        "everything sorted": truth | {"pool": POOLS[-1]},
        "the next larger pool": truth | {"pool": next_pool},
        "the correlation of unsorted batches": truth | {"correlation": round(trade_of(figures, 1).correlation, 2)},
        "both change": truth | {"changes": "both"},
    }


TRADE = Figures(
    _draw_trade,
    trade_truth,
    _trade_mistakes,
    {"batch_size": "samples", "padding_at_most": "% of all positions", "seed": "of the lengths and of the shuffle"},
)


# tokenise.break_even -----------------------------------------------------------------------------------------------


def _draw_break_even(rng: random.Random) -> dict[str, Any]:
    """Two stores: ids that are cheap to read again, and ids so wide that they may never pay."""
    while True:
        read_text, tokenise = rng.randint(20, 60), rng.randint(60, 240)
        narrow = {"write_ids": rng.randint(300, 1500), "read_ids": rng.randint(5, read_text - 5)}
        wide_read = rng.randint(read_text + 10, 2 * (read_text + tokenise))
        wide = {"write_ids": rng.randint(400, 2000), "read_ids": wide_read}
        figures = {"read_text": read_text, "tokenise": tokenise, "narrow": narrow, "wide": wide}
        even = {name: costs_of(figures, name).break_even() for name in ("narrow", "wide")}
        parts = list(break_even_parts(figures, "narrow").values())
        apart = len(set(map(str, parts))) == len(parts)  # each mistake can be named
        if apart and 3 <= (even["narrow"] or 0) <= 12 and (even["wide"] is None or 4 <= even["wide"] <= 40):
            return figures


def costs_of(figures: Mapping[str, Any], name: str) -> Costs:
    """The costs of one of the two stores."""
    return Costs(figures["read_text"], figures["tokenise"], **figures[name])


def break_even_truth(figures: Mapping[str, Any]) -> dict[str, Any]:
    """The least number of epochs for each store, or "never"."""
    return {name: costs_of(figures, name).break_even() or "never" for name in ("narrow", "wide")}


def break_even_parts(figures: Mapping[str, Any], name: str) -> dict[str, Any]:
    """What mistakes give for one store, by name."""
    costs = costs_of(figures, name)
    text, tokenise, write, ids = costs.read_text, costs.tokenise, costs.write_ids, costs.read_ids
    saved = text + tokenise - ids
    parts: dict[str, Any] = {
        "tokenising alone, as if reading cost nothing": math.floor((tokenise + write) / tokenise) + 1,
    }
    if saved > 0:
        parts |= {
            "the writing alone: the first reading and tokenising are paid too": math.floor(write / saved) + 1,
            "the epoch before: it has not paid yet": max(1, math.floor((text + tokenise + write) / saved)),
            "never, although an epoch is cheaper": "never",
        }
    else:
        parts["a number, although no epoch is cheaper"] = math.floor((text + tokenise + write) / tokenise) + 1
    if tokenise > ids:
        parts["reading the text again forgotten"] = math.floor((text + tokenise + write) / (tokenise - ids)) + 1
    return {phrase: value for phrase, value in parts.items() if value != break_even_truth(figures)[name]}


def _break_even_mistakes(figures: Mapping[str, Any]) -> dict[str, Any]:
    truth = break_even_truth(figures)
    return {
        f"{name}: {phrase}": truth | {name: value}
        for name in ("narrow", "wide")
        for phrase, value in break_even_parts(figures, name).items()
    }


BREAK_EVEN = Figures(
    _draw_break_even,
    break_even_truth,
    _break_even_mistakes,
    dict.fromkeys(("read_text", "tokenise", "narrow", "wide"), "ms for 1,000 texts"),
)
