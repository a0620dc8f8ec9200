"""Lab 04's own real runs: what a check measures on real ranks and workers, held to what is known of the job."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from labkit.checks import lab04_figures as own
from labkit.sharding.planted import NOTHING, mystery
from labkit.sharding.planted_draws import alike_seen, draws


def orders_on_ranks(figures: Mapping[str, Any]) -> list[list[int]]:
    """What torch's DistributedSampler gives rank 0 in each line of the log, on real ranks."""
    from labkit.ranks import run

    seen = run(_walk, figures["samples"], [tuple(line) for line in figures["log"]], ranks=figures["ranks"])
    assert seen[0] == own.orders_of(figures), "torch deals out other orders than the plan"
    return list(seen[0])


def _walk(rank: int, samples: int, log: list[tuple[int, int]]) -> list[list[int]]:
    from torch.utils.data import DistributedSampler

    orders = []
    for seed, epoch in log:
        sampler: Any = DistributedSampler(range(samples), seed=seed)  # type: ignore[arg-type]
        sampler.set_epoch(epoch)
        orders.append(list(sampler))
    return orders


def traffic_on_ranks(figures: Mapping[str, Any]) -> dict[str, int]:
    """Reads and bytes of the three modes, counted in a real run."""
    from labkit.sharding import compare_dispatch

    report = compare_dispatch(
        figures["samples"], figures["batch_size"], figures["ranks"], sample_bytes=figures["sample_bytes"]
    )
    shard, broadcast, scatter = report.modes
    counted = {
        "shard_reads": shard.reads[0],
        "dispatch_reads": broadcast.reads[0],
        "broadcast": sum(broadcast.payload[1:]),
        "scatter": sum(scatter.payload[1:]),
    }
    assert counted == own.traffic_truth(figures), (counted, own.traffic_truth(figures))
    return counted


def alike_on_ranks(figures: Mapping[str, Any]) -> dict[str, list[str]]:
    """What drew the same numbers in a real run of the four jobs."""
    drawn = draws(figures["jobs"])
    seen = {name: alike_seen(drawn, name) for name in figures["jobs"]}
    assert seen == own.jobs_truth(figures), (seen, own.jobs_truth(figures))
    return seen


def audited(figures: Mapping[str, Any], name: str) -> dict[str, Any]:
    """What an audit of one of the four loaders finds on real ranks."""
    from labkit.sharding import audit

    coverage = audit(mystery(figures["loaders"][name]), ranks=figures["ranks"])
    found = {
        "cause": coverage.causes[0] if coverage.causes else NOTHING,
        "again": len(coverage.duplicates),
        "missing": len(coverage.missing),
    }
    assert found == own.loaders_truth(figures)[name], (found, own.loaders_truth(figures)[name])
    return found
