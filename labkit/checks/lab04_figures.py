"""The learner's own figures in lab 04: how they are drawn, the right value, and the values that mistakes give."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from labkit.checks.registry import Figures
from labkit.sharding import Plan, plan, plan_dispatch, plan_distributed_sampler
from labkit.sharding.planted import LOADERS, NOTHING, planted
from labkit.sharding.planted_draws import JOBS, alike_in

# sharding.set_epoch ------------------------------------------------------------------------------------------------


def _draw_restarts(rng: random.Random) -> dict[str, Any]:
    """A log of a job that was restarted with another seed: some of its orders are those of the first run."""
    ranks, first, apart, seed = rng.choice((3, 4)), rng.choice((3, 4)), rng.choice((1, 2)), rng.randint(3, 60)
    log = [(seed, epoch) for epoch in range(first)]
    log += [(seed + apart, epoch) for epoch in range(3)]
    if rng.random() < 0.5:
        log.append((seed + apart + 1, rng.randint(0, 3)))
    return {"samples": ranks * rng.randint(6, 8), "ranks": ranks, "log": log}


def orders_of(figures: Mapping[str, Any]) -> list[list[int]]:
    """What rank 0 reads in each line of the log."""
    return [
        [
            one
            for batch in plan_distributed_sampler(
                figures["samples"], figures["ranks"], shuffle=True, seed=seed, epoch=epoch
            ).per_rank[0]
            for one in batch
        ]
        for seed, epoch in figures["log"]
    ]


def repeats_in(orders: list[list[int]]) -> list[int]:
    """Lines whose order came before."""
    return [i for i, order in enumerate(orders) if order in orders[:i]]


def restarts_truth(figures: Mapping[str, Any]) -> dict[str, Any]:
    """Which lines repeat an order, and how many different samples rank 0 sees."""
    orders = orders_of(figures)
    return {"repeats": repeats_in(orders), "saw": len({one for order in orders for one in order})}


def restarts_parts(figures: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """For each of the two answers: the mistakes, by name."""
    log = [tuple(line) for line in figures["log"]]
    truth = restarts_truth(figures)
    orders = orders_of(figures)
    epochs, seeds = [epoch for _, epoch in log], [seed for seed, _ in log]
    share = len(orders[0])
    return {
        "repeats": {
            "what comparing the epoch numbers alone gives": [i for i, e in enumerate(epochs) if e in epochs[:i]],
            "what comparing the seeds alone gives": [i for i, s in enumerate(seeds) if s in seeds[:i]],
            "what comparing seed and epoch as a pair gives": [i for i, line in enumerate(log) if line in log[:i]],
            "every line whose order comes twice, the first time included": [
                i for i, order in enumerate(orders) if orders.count(order) > 1
            ],
            "the list without its last line": truth["repeats"][:-1],
        },
        "saw": {
            "the samples of one epoch": share,
            "every epoch's samples added up, although most come again": share * len(orders),
            "all samples of the data set": figures["samples"],
            "the different orders times a rank's share": share * len({tuple(order) for order in orders}),
            "one order too few": len({one for order in orders[:-1] for one in order}) - 1,
        },
    }


def _paired(truth: Mapping[str, Any], parts: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Any mistake in either answer must show, so each is paired with the truth of the others."""
    return {
        f"{name}: {phrase}": {**truth, name: value}
        for name, mistakes in parts.items()
        for phrase, value in mistakes.items()
    }


RESTARTS = Figures(
    _draw_restarts,
    restarts_truth,
    lambda figures: _paired(restarts_truth(figures), restarts_parts(figures)),
    {"samples": "in the data set", "ranks": "", "log": "(seed, what set_epoch was given) of each epoch, in turn"},
)


# sharding.dispatch -------------------------------------------------------------------------------------------------


def _draw_traffic(rng: random.Random) -> dict[str, Any]:
    """A last round that dispatch fills to a multiple of the ranks, and shard mode to full batches."""
    while True:
        ranks, batch = rng.choice((3, 4)), rng.randint(3, 6)
        samples = ranks * batch * rng.randint(2, 4) + rng.randint(1, ranks * batch - 1)
        rest = samples % (ranks * batch)
        if rest % ranks and -(-rest // ranks) < batch:
            return {
                "samples": samples,
                "batch_size": batch,
                "ranks": ranks,
                "sample_bytes": 512 * rng.randint(2, 12),
            }


def traffic_truth(figures: Mapping[str, Any]) -> dict[str, int]:
    """Reads and bytes of the three modes, by the exact plans."""
    samples, batch, ranks = figures["samples"], figures["batch_size"], figures["ranks"]
    sent = plan_dispatch(samples, batch, ranks)
    rows = sum(map(len, (one for batches in sent.per_rank for one in batches)))
    return {
        "shard_reads": sum(map(len, plan(samples, batch, ranks).per_rank[0])),
        "dispatch_reads": rows,
        "broadcast": rows * figures["sample_bytes"] * (ranks - 1),
        "scatter": rows * figures["sample_bytes"] * (ranks - 1) // ranks,
    }


def traffic_parts(figures: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    """For each of the four answers: the mistakes, by name."""
    samples, ranks, size = figures["samples"], figures["ranks"], figures["sample_bytes"]
    truth = traffic_truth(figures)
    return {
        "shard_reads": {
            "what all ranks read together": truth["shard_reads"] * ranks,
            "all samples": samples,
            "the samples without what is borrowed": samples // ranks,
        },
        "dispatch_reads": {
            "the samples without what is borrowed": samples,
            "what a rank reads in shard mode": truth["shard_reads"],
            "what all ranks read in shard mode": truth["shard_reads"] * ranks,
        },
        "broadcast": {
            "what rank 0 hands on and what the others receive, added up: each byte counted twice": 2
            * truth["broadcast"],
            "what one rank receives": truth["broadcast"] // (ranks - 1),
            "what scatter sends": truth["scatter"],
            "one copy for rank 0, too: it has the samples already": truth["dispatch_reads"] * size * ranks,
        },
        "scatter": {
            "what rank 0 hands on and what the others receive, added up: each byte counted twice": 2 * truth["scatter"],
            "what one rank receives": truth["scatter"] // (ranks - 1),
            "what broadcast sends": truth["broadcast"],
            "every sample once, rank 0's own included": truth["dispatch_reads"] * size,
        },
    }


TRAFFIC = Figures(
    _draw_traffic,
    traffic_truth,
    lambda figures: _paired(traffic_truth(figures), traffic_parts(figures)),
    {
        "samples": "in the data set",
        "batch_size": "samples in a batch of one rank",
        "ranks": "",
        "sample_bytes": "bytes of one sample",
    },
)


# sharding.predict --------------------------------------------------------------------------------------------------

OPTIONS = ("split_batches", "even_batches", "drop_last")


def _draw_settings(rng: random.Random) -> dict[str, Any]:
    """Four settings over the same samples and ranks: each ends its data in another way."""
    while True:
        ranks, batch = rng.choice((2, 3, 4)), rng.randint(2, 5)
        samples = rng.randint(2 * ranks * batch + 1, 4 * ranks * batch - 1)
        shared = ranks * rng.randint(2, 3)
        settings: list[dict[str, Any]] = [
            {"batch_size": batch},
            {"batch_size": batch, "even_batches": False},
            {"batch_size": batch, "drop_last": True, "even_batches": rng.random() < 0.5},
            {"batch_size": shared, "split_batches": True, "even_batches": False},
        ]
        whole, short, dropping, split = (_plan(samples, ranks, one) for one in settings)
        full = samples // (ranks * batch) * ranks * batch
        telling = samples - full > batch and samples % ranks and samples % batch
        if telling and short.hang_risk and whole.duplicates and split.hang_risk and len(dropping.dropped) > batch:
            rng.shuffle(settings)
            return {"samples": samples, "ranks": ranks, "settings": dict(zip("ABCD", settings, strict=True))}


def _plan(samples: int, ranks: int, setting: Mapping[str, Any]) -> Plan:
    flags = {name: setting[name] for name in OPTIONS if name in setting}
    return plan(samples, setting["batch_size"], ranks, **flags)


def _claim(found: Plan) -> dict[str, Any]:
    return {
        "duplicates": len(found.duplicates),
        "dropped": len(found.dropped),
        "steps": list(found.steps),
        "hang": found.hang_risk,
    }


def settings_truth(figures: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """For each setting: duplicates, dropped, steps of each rank, and whether a collective in every step hangs."""
    return {
        name: _claim(_plan(figures["samples"], figures["ranks"], setting))
        for name, setting in figures["settings"].items()
    }


def settings_parts(figures: Mapping[str, Any], name: str) -> dict[str, dict[str, Any]]:
    """One setting's claim as people's usual mistakes give it."""
    samples, ranks, setting = figures["samples"], figures["ranks"], figures["settings"][name]
    size = setting["batch_size"] // ranks if setting.get("split_batches") else setting["batch_size"]
    stride = plan_distributed_sampler(samples, ranks, size, drop_last=bool(setting.get("drop_last")))
    parts = {
        "what even_batches=True gives": _claim(_plan(samples, ranks, {**setting, "even_batches": True})),
        "what even_batches=False gives": _claim(_plan(samples, ranks, {**setting, "even_batches": False})),
        "what it is without split_batches": _claim(_plan(samples, ranks, {**setting, "split_batches": False})),
        "what torch's DistributedSampler does: it deals out single samples": _claim(stride),
    }
    if setting.get("drop_last"):
        kept = samples // size * size
        parts["what dropping the short batch alone gives; a round that isn't full is left out whole"] = _claim(
            plan(kept, size, ranks, even_batches=False)
        ) | {"dropped": samples - kept}
    return parts


def settings_mistakes(figures: Mapping[str, Any]) -> dict[str, Any]:
    """Each mistake, made wherever it can be made."""
    truth = settings_truth(figures)
    parts = {name: settings_parts(figures, name) for name in truth}
    phrases = {phrase for mistakes in parts.values() for phrase in mistakes}
    found: dict[str, Any] = {
        phrase: {name: parts[name].get(phrase, truth[name]) for name in truth} for phrase in sorted(phrases)
    }
    found["what it is if nothing is ever handed out twice"] = {n: one | {"duplicates": 0} for n, one in truth.items()}
    found["what it is if nothing is ever dropped"] = {n: one | {"dropped": 0} for n, one in truth.items()}
    return found


SETTINGS = Figures(
    _draw_settings,
    settings_truth,
    settings_mistakes,
    {"samples": "in the data set", "ranks": "", "settings": "a flag that isn't named has accelerate's default"},
)


# sharding.worker_seeds ---------------------------------------------------------------------------------------------


def _draw_jobs(rng: random.Random) -> dict[str, Any]:
    kinds = rng.sample(range(len(JOBS)), 4)
    return {"jobs": {name: len(JOBS) * rng.randint(1, 90) + kind for name, kind in zip("ABCD", kinds, strict=True)}}


def jobs_truth(figures: Mapping[str, Any]) -> dict[str, list[str]]:
    """What draws alike in each job."""
    return {name: alike_in(number) for name, number in figures["jobs"].items()}


def jobs_mistakes(figures: Mapping[str, Any]) -> dict[str, dict[str, list[str]]]:
    """Rules of thumb that get at least one job wrong."""
    truth = jobs_truth(figures)
    words = ("epochs", "ranks", "workers")
    others = {name: [word for word in words if word not in alike] for name, alike in truth.items()}
    return {
        "that every job is sound": {name: [] for name in truth},
        "that everything is alike everywhere": {name: list(words) for name in truth},
        "the opposite: what differs": others,
        "a look at rank 0 alone": {name: [w for w in alike if w != "ranks"] for name, alike in truth.items()},
        "a look at epoch 0 alone": {name: [w for w in alike if w != "epochs"] for name, alike in truth.items()},
        "a look at worker 0 alone": {name: [w for w in alike if w != "workers"] for name, alike in truth.items()},
    }


SEEDS = Figures(_draw_jobs, jobs_truth, jobs_mistakes, {"jobs": "four jobs, by their number in the collection"})


# sharding.audit ----------------------------------------------------------------------------------------------------


def _draw_loaders(rng: random.Random) -> dict[str, Any]:
    kinds = rng.sample(range(len(LOADERS)), 4)
    numbers = {name: len(LOADERS) * rng.randint(1, 90) + kind for name, kind in zip("ABCD", kinds, strict=True)}
    return {"ranks": rng.choice((3, 4)), "loaders": numbers}


def loaders_truth(figures: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """What is planted in each loader, and its ids read again and by nobody in epoch 0."""
    return {name: planted(number, figures["ranks"]) for name, number in figures["loaders"].items()}


def loaders_mistakes(figures: Mapping[str, Any]) -> dict[str, Any]:
    """What a person says who looks at one thing alone."""
    truth = loaders_truth(figures)

    def by(rule: Any) -> dict[str, Any]:
        return {name: one | {"cause": rule(one)} for name, one in truth.items()}

    return {
        "that nothing is wrong anywhere": by(lambda one: NOTHING),
        "padding wherever ids come again": by(lambda one: "padding" if one["again"] else NOTHING),
        "missing wherever ids are read by nobody": by(lambda one: "missing" if one["missing"] else NOTHING),
        "again and missing exchanged": {
            name: one | {"again": one["missing"], "missing": one["again"]} for name, one in truth.items()
        },
    }


AUDIT = Figures(
    _draw_loaders, loaders_truth, loaders_mistakes, {"ranks": "", "loaders": "four loaders, by their number"}
)
