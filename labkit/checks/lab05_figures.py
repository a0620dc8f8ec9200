"""The learner's own figures in lab 05: how they are drawn, the right value, and the values that mistakes give."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from typing import Any

from labkit.checks.registry import Figures
from labkit.metrics import bias

# metrics.mean_of_means ---------------------------------------------------------------------------------------------


def _draw_means(rng: random.Random) -> dict[str, Any]:
    """Three ranks of unequal size; the two means are at least 1.5 points apart."""
    while True:
        counts = [10 * n for n in rng.sample(range(2, 16), 3)]
        right = [n * rng.randint(50, 95) // 100 for n in counts]
        truth = means_truth({"counts": counts, "right": right})
        if abs(truth["reported"] - truth["pooled"]) >= 0.015:
            return {"counts": counts, "right": right}


def means_truth(figures: Mapping[str, Any]) -> dict[str, float]:
    """The mean of the ranks' accuracies, and the accuracy, to three digits."""
    shares = [c / n for c, n in zip(figures["right"], figures["counts"], strict=True)]
    return {
        "reported": round(sum(shares) / len(shares), 3),
        "pooled": round(bias.pooled_mean(figures["counts"], shares), 3),
    }


def means_parts(figures: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """For each of the two answers: the mistakes, by name."""
    counts, right = figures["counts"], figures["right"]
    shares = [c / n for c, n in zip(right, counts, strict=True)]
    truth = means_truth(figures)
    inverse = [1 / n for n in counts]
    return {
        "reported": {
            "the accuracy over all samples": truth["pooled"],
            "the middle one of the three": round(sorted(shares)[1], 3),
            "the mean of the right counts over the largest rank": round(sum(right) / 3 / max(counts), 3),
        },
        "pooled": {
            "the mean of the ranks' accuracies": truth["reported"],
            "the accuracy of the largest rank": round(shares[counts.index(max(counts))], 3),
            "a mean in which small ranks weigh more": round(
                sum(w * s for w, s in zip(inverse, shares, strict=True)) / sum(inverse), 3
            ),
        },
    }


def _means_mistakes(figures: Mapping[str, Any]) -> dict[str, Any]:
    truth = means_truth(figures)
    return {
        f"{name}: {phrase}": truth | {name: value}
        for name, mistakes in means_parts(figures).items()
        for phrase, value in mistakes.items()
    }


MEANS = Figures(
    _draw_means,
    means_truth,
    _means_mistakes,
    {"counts": "samples of rank 0, 1, 2", "right": "of these, predicted right"},
)


# metrics.precision -------------------------------------------------------------------------------------------------

BITS = {"float32": 24, "float16": 11, "bfloat16": 8}


def _draw_precision(rng: random.Random) -> dict[str, Any]:
    """Five counters: two that stop at their own place, one in float32 that stops, one that doesn't, one in int64."""
    counters = [
        {"dtype": "float32", "adds": 1, "updates": rng.randint(17_000_000, 60_000_000)},
        {"dtype": "float32", "adds": rng.choice((8, 16, 32)), "updates": rng.randint(2_200_000, 12_000_000)},
        {"dtype": "float16", "adds": rng.choice((2, 4, 8, 16)), "updates": rng.randint(2_100, 3_900)},
        {"dtype": "bfloat16", "adds": rng.choice((16, 32, 64, 128)), "updates": rng.randint(300, 2_000)},
        {"dtype": "int64", "adds": rng.choice((1, 8, 64)), "updates": rng.randint(20_000_000, 90_000_000)},
    ]
    rng.shuffle(counters)
    return {"counters": dict(zip("ABCDE", counters, strict=True))}


def _shows(counter: Mapping[str, Any]) -> int:
    total = int(counter["adds"] * counter["updates"])
    bits = BITS.get(counter["dtype"])
    return total if bits is None else min(total, counter["adds"] * 2**bits)


def precision_truth(figures: Mapping[str, Any]) -> dict[str, int]:
    """What each counter shows after its updates: a power of two as step stops at step * 2^p."""
    return {letter: _shows(counter) for letter, counter in figures["counters"].items()}


def precision_mistakes(figures: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    """What people's rules give."""
    counters = figures["counters"].items()
    totals = {k: c["adds"] * c["updates"] for k, c in counters}
    return {
        "what the counters would show if every type counted exactly": totals,
        "what you get if every type stops at 16,777,216": {k: min(totals[k], 2**24) for k, _ in counters},
        "what you get if the step didn't matter: a type stops at its own 2^p": {
            k: min(totals[k], 2 ** BITS[c["dtype"]]) if c["dtype"] in BITS else totals[k] for k, c in counters
        },
        "what you get if only float32 stops": {
            k: _shows(c) if c["dtype"] == "float32" else totals[k] for k, c in counters
        },
    }


PRECISION = Figures(
    _draw_precision,
    precision_truth,
    precision_mistakes,
    {"counters": "its type, what an update adds, how many updates"},
)


# metrics.gather_pitfalls -------------------------------------------------------------------------------------------


def _draw_gather(rng: random.Random) -> dict[str, Any]:
    """A data set whose last step is short, so that samples are borrowed on two ranks."""
    while True:
        figures = {"samples": rng.randint(9, 39), "batch_size": rng.choice((2, 4, 5, 8)), "ranks": 2}
        n, b = figures["samples"], figures["batch_size"]
        if 1 <= n % (2 * b) <= 2 * b - 2 and n > 2 * b:
            return figures


def gather_truth(figures: Mapping[str, Any]) -> dict[str, Any]:
    """Rows that programs A, B and C have, and the mean that D reports, to three digits."""
    from labkit.metrics.programs import predict_programs

    found = predict_programs(figures["samples"], figures["batch_size"], figures["ranks"])
    return {
        "rows": {letter: len(found[letter].values) for letter in "ABC"},
        "mean": round(found["D"].mean, 3),
    }


def gather_parts(figures: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """For rows and mean: the mistakes, by name."""
    from labkit.metrics.programs import predict_programs

    n, b, ranks = figures["samples"], figures["batch_size"], figures["ranks"]
    padded = math.ceil(n / (b * ranks)) * b * ranks
    all_means = predict_programs(padded, b, ranks)["D"].values[:-ranks]  # the full steps, which nothing is cut from
    last = predict_programs(n, b, ranks)["D"].values[len(all_means) :]
    uncut = _uncut_means(n, b, ranks)
    truth = round(predict_programs(n, b, ranks)["D"].mean, 3)
    found = {
        "rows": {
            "as if accelerate always removed the borrowed rows": {"A": n, "B": n, "C": n},
            "as if accelerate never removed them": {"A": padded, "B": padded, "C": padded},
            "as if only the late gather kept them": {"A": n, "B": n, "C": padded},
            "as if only the stream kept them": {"A": n, "B": padded, "C": n},
            "as if each rank were padded to its own batch only": {
                "A": n,
                "B": math.ceil(n / b) * b,
                "C": math.ceil(n / b) * b,
            },
        },
        "mean": {
            "the mean over all samples": round((n - 1) / 2, 3),
            "the mean of all rank means, none cut": round(sum(uncut) / len(uncut), 3),
            "the full steps alone": round(sum(all_means) / len(all_means), 3) if all_means and last else None,
        },
    }
    return {
        name: {phrase: v for phrase, v in mistakes.items() if v is not None and not (name == "mean" and v == truth)}
        for name, mistakes in found.items()
    }


def _uncut_means(n: int, b: int, ranks: int) -> list[float]:
    from labkit.sharding.planning import plan

    batches = [batch for one in plan(n, b, ranks).per_rank for batch in one]
    return [sum(batch) / len(batch) for batch in batches]


def _gather_mistakes(figures: Mapping[str, Any]) -> dict[str, Any]:
    truth = gather_truth(figures)
    return {
        f"{name}: {phrase}": truth | {name: value}
        for name, mistakes in gather_parts(figures).items()
        for phrase, value in mistakes.items()
    }


GATHER = Figures(
    _draw_gather,
    gather_truth,
    _gather_mistakes,
    {"samples": "in all; sample i has the value i", "batch_size": "of one rank", "ranks": ""},
)


# metrics.bytes -----------------------------------------------------------------------------------------------------


def _draw_bytes(rng: random.Random) -> dict[str, Any]:
    samples, ranks = 100 * rng.randint(20, 90), rng.choice((2, 3, 4))
    return {"samples": samples, "ranks": ranks, "budget": 12 * samples + 200}


def bytes_truth(figures: Mapping[str, Any]) -> dict[str, Any]:
    """The ways that give right values in the budget, and the bytes of one evaluation each way."""
    return {
        "ways": {"mean loss": "reduce", "F1": "reduce", "AUC": "gather"},
        "gathered": 12 * figures["samples"],
        "reduced": 24 * figures["ranks"],
    }


def bytes_parts(figures: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    """For the two predictions: the mistakes, by name."""
    n, r = figures["samples"], figures["ranks"]
    return {
        "gathered": {
            "every row sent to every rank": 12 * n * r,
            "the scores alone": 4 * n,
            "the targets alone": 8 * n,
            "one rank's rows": 12 * n // r,
            "eight bytes for each of two numbers": 16 * n,
        },
        "reduced": {
            "one rank's numbers": 24,
            "three bytes a rank": 3 * r,
            "three numbers a sample": 24 * n,
            "four bytes a number": 12 * r,
        },
    }


def _bytes_mistakes(figures: Mapping[str, Any]) -> dict[str, Any]:
    truth = bytes_truth(figures)
    found: dict[str, Any] = {
        f"{name}: {phrase}": truth | {name: value}
        for name, mistakes in bytes_parts(figures).items()
        for phrase, value in mistakes.items()
    }
    for way in ("gather", "reduce"):
        found[f"all {way}"] = truth | {"ways": dict.fromkeys(truth["ways"], way)}
    return found


BYTES = Figures(
    _draw_bytes,
    bytes_truth,
    _bytes_mistakes,
    {"samples": "over all ranks", "ranks": "", "budget": "bytes handed over for all three metrics together, at most"},
)


# metrics.audit -----------------------------------------------------------------------------------------------------


def _draw_audit(rng: random.Random) -> dict[str, Any]:
    return {"job": rng.randint(1000, 9999)}


def audit_truth(figures: Mapping[str, Any]) -> dict[str, str]:
    """What is wrong with each suspect."""
    from labkit.metrics.suspects import planted

    return planted(figures["job"])


def audit_mistakes(figures: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """What people's rules give."""
    truth = audit_truth(figures)
    return {
        "that every suspect that moves is a mean of means": {
            k: "mean of means" if v == "not a mean" else v for k, v in truth.items()
        },
        "that what gives the same on every exact partition is right": {
            k: "nothing" if v in ("padding", "precision") else v for k, v in truth.items()
        },
        "that nothing is wrong anywhere": dict.fromkeys(truth, "nothing"),
    }


AUDIT = Figures(_draw_audit, audit_truth, audit_mistakes, {"job": "number of your line-up"})
