"""`metrics.pooled`: the learner's own two ranks, and evidence from two real ones."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from typing import Any

from labkit.checks.evidence import Fault, judged, named_mistake
from labkit.checks.registry import Figures
from labkit.checks.result import Evidence
from labkit.checks.shapes import choices_fault, numbers_fault, wrong_ones

ROWS_NEEDED = {
    "accuracy": False,
    "macro F1": False,
    "mean squared error": False,
    "perplexity": False,
    "R2": False,
    "Pearson correlation": False,
    "AUC": True,
    "average precision": True,
    "median error": True,
    "Spearman correlation": True,
}
"""Whether a metric needs every prediction in one place; if not, a few sums of every rank are enough."""

RATIOS_OF_SUMS = ("macro F1", "perplexity", "R2", "Pearson correlation")


def _draw_pooled(rng: random.Random) -> dict[str, Any]:
    """Two ranks' scores and labels, whose own metrics are far from the pooled ones; and six metrics."""
    while True:
        ranks = []
        scores = rng.sample(range(5, 96), 13)
        for size, positives in ((7, rng.randint(2, 3)), (6, rng.randint(2, 3))):
            labels = [1] * positives + [0] * (size - positives)
            rng.shuffle(labels)
            ranks.append({"scores": [scores.pop() / 100 for _ in range(size)], "labels": labels})
        sums = rng.sample([m for m, needed in ROWS_NEEDED.items() if not needed and m not in RATIOS_OF_SUMS], 1)
        sums += rng.sample(RATIOS_OF_SUMS, 2)
        names = sums + rng.sample([m for m, needed in ROWS_NEEDED.items() if needed], 3)
        rng.shuffle(names)
        figures = {"rank_0": ranks[0], "rank_1": ranks[1], "metrics": names}
        parts, truth = pooled_parts(figures), pooled_truth(figures)
        apart = all(abs(wrong - truth[name]) > 0.01 for name in parts for wrong in parts[name].values())
        if apart and 0.1 < truth["f1"] < 0.95:
            return figures


def _own(figures: Mapping[str, Any], rank: str) -> tuple[float, float, int, tuple[int, int, int]]:
    """A rank's F1, AUC, size and (tp, fp, fn)."""
    from labkit.metrics.confusion import ConfusionCounts
    from labkit.metrics.ranking import auc

    scores, labels = figures[rank]["scores"], figures[rank]["labels"]
    said = [score >= 0.5 for score in scores]
    tp = sum(s and t == 1 for s, t in zip(said, labels, strict=True))
    fp = sum(s and t == 0 for s, t in zip(said, labels, strict=True))
    fn = sum(not s and t == 1 for s, t in zip(said, labels, strict=True))
    return ConfusionCounts.of(tp, fp, fn).f1(), auc(scores, labels), len(scores), (tp, fp, fn)


def pooled_truth(figures: Mapping[str, Any]) -> dict[str, Any]:
    """F1 and AUC over both ranks' samples, to three digits; and which metrics need rows."""
    both = {
        name: [*figures["rank_0"][name], *figures["rank_1"][name]] for name in ("scores", "labels")
    }  # as if one rank had all
    f1, auc, _, _ = _own({"both": both}, "both")
    return {"f1": round(f1, 3), "auc": round(auc, 3), "needs_rows": {m: ROWS_NEEDED[m] for m in figures["metrics"]}}


def pooled_parts(figures: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """For F1 and AUC: the mistakes, by name."""
    (f0, a0, n0, (t0, p0, m0)), (f1, a1, n1, (t1, p1, m1)) = (_own(figures, rank) for rank in ("rank_0", "rank_1"))
    precision = (_share(t0, t0 + p0) + _share(t1, t1 + p1)) / 2
    recall = (_share(t0, t0 + m0) + _share(t1, t1 + m1)) / 2
    return {
        "f1": {
            "the mean of the ranks' F1": round((f0 + f1) / 2, 3),
            "the ranks' F1, weighted by samples": round((n0 * f0 + n1 * f1) / (n0 + n1), 3),
            "F1 of the mean precision and recall": round(_share(2 * precision * recall, precision + recall), 3),
        },
        "auc": {
            "the mean of the ranks' AUC": round((a0 + a1) / 2, 3),
            "the ranks' AUC, weighted by samples": round((n0 * a0 + n1 * a1) / (n0 + n1), 3),
        },
    }


def needs_mistakes(figures: Mapping[str, Any]) -> dict[str, dict[str, bool]]:
    """Rules of thumb about which metrics need every row."""
    names = figures["metrics"]
    return {
        "the rule 'every metric needs all rows'": dict.fromkeys(names, True),
        "the rule 'sums are always enough'": dict.fromkeys(names, False),
        "the rule 'whatever isn't a plain mean needs all rows'": {
            m: ROWS_NEEDED[m] or m in RATIOS_OF_SUMS for m in names
        },
    }


def _pooled_mistakes(figures: Mapping[str, Any]) -> dict[str, Any]:
    truth = pooled_truth(figures)
    found: dict[str, Any] = {
        f"{name}: {phrase}": truth | {name: value}
        for name, mistakes in pooled_parts(figures).items()
        for phrase, value in mistakes.items()
    }
    return found | {rule: truth | {"needs_rows": said} for rule, said in needs_mistakes(figures).items()}


def _share(part: float, of: float) -> float:
    return part / of if of else 0.0


POOLED = Figures(
    _draw_pooled,
    pooled_truth,
    _pooled_mistakes,
    {"rank_0": "its scores and labels", "rank_1": "its scores and labels", "metrics": "for needs_rows"},
)


def pooled_evidence(value: Any, figures: Mapping[str, Any]) -> Iterator[Evidence]:
    """F1 and AUC over all ranks' samples, and which metrics need rows; two real ranks say the same."""
    yield judged("two numbers", numbers_fault(value, ("f1", "auc")))
    names = figures["metrics"]
    said = value.get("needs_rows")
    yield judged("every metric has an answer", choices_fault(said, names, (True, False)))

    truth = pooled_truth(figures)
    real = _pooled_on_ranks(figures)
    for name, called in (("f1", "F1"), ("auc", "AUC")):
        fault = None
        if abs(value[name] - truth[name]) > 0.00051:
            mistake = named_mistake(round(value[name], 3), pooled_parts(figures)[name])
            fault = Fault(
                f"{name} = {value[name]:.4g}",
                f"{called} of all samples of both ranks together",
                f"that is {mistake}." if mistake else "",
                "add tp, fp and fn of the ranks, then take the ratio."
                if name == "f1"
                else "a pair of a positive and a negative may lie on two ranks: pool the scores first.",
            )
        held = f"{value[name]:.3f}; two real ranks came to {real[name]:.3f}"
        yield judged(f"{called} is that of all samples", fault, held=held)

    fault = None
    if wrong := wrong_ones(said, truth["needs_rows"]):
        rule = named_mistake({k: said[k] for k in names}, needs_mistakes(figures))
        fault = Fault(
            f"{len(wrong)} of {len(names)} are not so",
            "True exactly where no fixed set of sums gives the metric",
            f"that is {rule}." if rule else "",
            "for each metric: write it as a formula of sums over samples. If you can, sums are enough.",
        )
    yield judged("rows are gathered only where they must be", fault, held=f"{len(names)} metrics")


def _pooled_on_ranks(figures: Mapping[str, Any]) -> dict[str, float]:
    from labkit import ranks

    f1, auc = ranks.run(_pool, [dict(figures["rank_0"]), dict(figures["rank_1"])], ranks=2)[0]
    return {"f1": f1, "auc": auc}


def _pool(rank: int, shards: list[dict[str, Any]]) -> tuple[float, float]:
    import numpy as np

    from labkit.metrics import ConfusionCounts, Predictions, auc

    scores, labels = np.array(shards[rank]["scores"]), shards[rank]["labels"]
    counts = ConfusionCounts(2)
    counts.update((scores >= 0.5).astype(np.int64), labels)
    kept = Predictions(auc)
    kept.update(scores, labels, ids=[(rank, i) for i in range(len(labels))])
    return counts.all_reduce().f1(), float(kept.all_gather().compute())
