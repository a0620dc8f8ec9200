"""Drawings of what a person says about a metric across ranks: their values, their function at work, their verdicts.

Each draws exactly the answer beside what is given or what real ranks did, and never the truth in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from labkit import picture
from labkit.metrics.across import Rows, gathered_rows
from labkit.picture import Picture
from labkit.sketching import nothing, or_nothing, plain_axes


@or_nothing
def sketch_ranks(counts: Sequence[int], right: Sequence[int], reported: float, pooled: float) -> Picture:
    """A block a rank, as wide as its samples and as high as its accuracy; a person's two means across them.

    The mean over all samples is the level at which the blocks' area would lie flat.
    """
    shares = [c / n for c, n in zip(right, counts, strict=True)]
    figure, axes = plain_axes("samples", "share right", "Your two means across the ranks")
    start = 0
    for rank, (n, share, hatch) in enumerate(zip(counts, shares, ("", "///", "..."), strict=False)):
        axes.bar(start, share, n, align="edge", color="white", edgecolor=picture.BLUE, hatch=hatch, linewidth=1.2)
        axes.text(start + n / 2, 0.04, f"rank {rank}\n{n}", ha="center", fontsize=9, bbox=_PAPER)
        start += n
    axes.axhline(reported, color=picture.RED, linestyle="--", label=f"your reported {reported:.3f}")
    axes.axhline(pooled, color="black", label=f"your pooled {pooled:.3f}")
    axes.set_ylim(0, max(1.0, reported, pooled) * 1.05)
    axes.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1, 1))
    table = pd.DataFrame({"rank": range(len(counts)), "samples": counts, "right": right, "share": shares})
    said = ", ".join(f"rank {r} {s:.3f} of {n}" for r, (n, s) in enumerate(zip(counts, shares, strict=True)))
    return Picture(figure, f"Shares right: {said}. You say reported {reported:.3f}, pooled {pooled:.3f}.", table)


@or_nothing
def sketch_mean(mean_over_ranks: Callable[[Any], Any], shards: Sequence[Sequence[float]]) -> Picture:
    """What a person's function gives on each of several real ranks, beside the rank's own mean."""
    found = [float(value) for value in mean_over_ranks([list(shard) for shard in shards])]
    own = [sum(shard) / len(shard) if shard else float("nan") for shard in shards]
    figure, axes = plain_axes("rank", "mean", f"Your function on {len(shards)} real ranks")
    places = range(len(shards))
    axes.bar(places, own, 0.6, color="white", edgecolor=picture.BLUE, hatch="///", label="the rank's own mean")
    axes.plot(places, found, "D", color=picture.RED, markersize=8, label="what your function gives there")
    axes.set_xticks(places, [f"{rank}\n{len(shard)} samples" for rank, shard in enumerate(shards)])
    axes.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1, 1))
    said = ", ".join(f"rank {rank} {value:.4g}" for rank, value in enumerate(found))
    table = pd.DataFrame({"rank": places, "samples": [len(s) for s in shards], "own mean": own, "yours": found})
    return Picture(figure, f"Your function gives {said}.", table)


@or_nothing
def sketch_rows(each_once: Callable[[Rows], Any], samples: int, batch_size: int, ranks: int) -> Picture:
    """Rows gathered from real ranks, in every step and late, each kept or removed by a person's function."""
    figure = Figure(figsize=(9.6, 2.6), layout="constrained")
    axes = figure.add_subplot()
    told, table = [], []
    for line, late in enumerate((False, True)):
        rows = gathered_rows(samples, batch_size, ranks, late=late)
        left = [tuple(row) for row in each_once(list(rows))]
        kept = len(left)
        for place, row in enumerate(rows):
            stays = row in left
            if stays:
                left.remove(row)
            axes.add_patch(_box(place, line, stays))
            axes.text(place + 0.5, line + 0.5, str(row[0]), ha="center", va="center", fontsize=9, bbox=_PAPER)
            table.append(("after the last step" if late else "in every step", place, row[0], stays))
        told.append(f"gathered {'late' if late else 'in every step'}: {len(rows)} rows, you keep {kept}")
    axes.set_xlim(0, len(rows))
    axes.set_ylim(2, 0)
    axes.set_yticks([0.5, 1.5], ["gathered in\nevery step", "gathered after\nthe last step"])
    axes.set_xlabel(f"rows in order, by sample id; hatched: removed ({samples} samples, {ranks} real ranks)")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.set_title("; ".join(told), fontsize=10, loc="left")
    frame = pd.DataFrame(table, columns=["gathered", "place", "id", "kept"])
    return Picture(figure, f"{samples} samples. " + "; ".join(told) + ".", frame)


@or_nothing
def sketch_pooled(rank_0: Mapping[str, Any], rank_1: Mapping[str, Any], f1: float, auc: float) -> Picture:
    """Both ranks' samples by score, positives filled, with the threshold; a person's F1 and AUC in the title."""
    figure, axes = plain_axes("score", "", f"You say F1 {f1:.3f} and AUC {auc:.3f} for all of these", height=2.4)
    table = []
    for line, rank in enumerate((rank_0, rank_1)):
        for score, label in zip(rank["scores"], rank["labels"], strict=True):
            look = picture.BLUE if label else "white"
            axes.plot(score, line, "o" if label else "s", color=look, markeredgecolor="black", markersize=9)
            table.append((line, score, label))
    axes.plot([], [], "o", color=picture.BLUE, markeredgecolor="black", label="positive")
    axes.plot([], [], "s", color="white", markeredgecolor="black", label="negative")
    axes.axvline(0.5, color="black", linestyle="--", linewidth=1, label="threshold")
    axes.set_yticks([0, 1], ["rank 0", "rank 1"])
    axes.set_ylim(1.6, -0.6)
    axes.set_xlim(0, 1)
    axes.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1, 1))
    alt = f"Scores of {len(table)} samples on two ranks, threshold 0.5. You say F1 {f1:.3f} and AUC {auc:.3f}."
    return Picture(figure, alt, pd.DataFrame(table, columns=["rank", "score", "label"]))


@or_nothing
def sketch_counters(counters: Mapping[str, Mapping[str, Any]], shows: Mapping[str, Any]) -> Picture:
    """What was added to each counter, and what a person says it shows, on a scale of powers of ten."""
    said = {letter: int(shows[letter]) for letter in counters if shows[letter] is not ...}
    if not said:
        raise NotImplementedError
    added = {letter: counters[letter]["adds"] * counters[letter]["updates"] for letter in said}
    figure, axes = plain_axes("count", "", "What was added, and what you say is shown")
    axes.set_xscale("log")
    for place, letter in enumerate(said):
        axes.barh(place - 0.2, added[letter], 0.36, color="white", edgecolor="black")
        axes.barh(place + 0.2, max(said[letter], 1), 0.36, color=picture.SKY, edgecolor="black", hatch="///")
        axes.text(added[letter], place - 0.2, f" {added[letter]:,}", va="center", fontsize=8)
        axes.text(max(said[letter], 1), place + 0.2, f" {said[letter]:,}", va="center", fontsize=8)
    axes.set_yticks(range(len(said)), [f"{k}: {counters[k]['dtype']}, +{counters[k]['adds']}" for k in said])
    axes.set_xlim(1, 40 * max(*added.values(), *said.values()))
    axes.set_ylim(len(said) - 0.4, -0.6)
    axes.bar(0, 0, color="white", edgecolor="black", label="added")
    axes.bar(0, 0, color=picture.SKY, edgecolor="black", hatch="///", label="shown, you say")
    axes.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1, 1))
    words = ", ".join(f"{k} shows {said[k]:,} of {added[k]:,}" for k in said)
    table = pd.DataFrame({"counter": said.keys(), "added": added.values(), "shown, you say": said.values()})
    return Picture(figure, f"You say: {words}.", table)


@or_nothing
def sketch_gather(samples: int, rows: Mapping[str, Any], mean: float) -> Picture:
    """The rows that a person says three programs have, beside the number of samples; their mean in the title."""
    said = {letter: int(rows[letter]) for letter in rows if rows[letter] is not ...}
    if not said:
        raise NotImplementedError
    figure, axes = plain_axes("program", "rows", f"Rows you expect; program D: you say the mean is {mean:g}")
    for place, count in enumerate(said.values()):
        axes.bar(place, min(count, samples), 0.55, color=picture.SKY, edgecolor="black")
        if count > samples:
            axes.bar(place, count - samples, 0.55, samples, color=picture.ORANGE, edgecolor="black", hatch="////")
        axes.text(place, count, str(count), ha="center", va="bottom", fontsize=9)
    axes.axhline(samples, color="black", linestyle="--", linewidth=1, label=f"{samples} samples")
    axes.set_xticks(range(len(said)), list(said))
    axes.bar(0, 0, color=picture.ORANGE, edgecolor="black", hatch="////", label="more than there are")
    axes.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1, 1))
    words = ", ".join(f"{letter} {count} rows" for letter, count in said.items())
    table = pd.DataFrame({"program": said.keys(), "rows, you say": said.values()})
    return Picture(figure, f"{samples} samples. You say: {words}; program D reports {mean:g}.", table)


@or_nothing
def sketch_bytes(samples: int, ranks: int, ways: Mapping[str, str], gathered: int, reduced: int) -> Picture:
    """A person's ways on real ranks, now: bytes handed over for each metric, beside the bytes they predicted."""
    from labkit.metrics.ways import evaluate

    predicted = {"gather": float(gathered), "reduce": float(reduced)}
    found = evaluate(samples, ranks, ways)
    figure, axes = plain_axes("bytes handed over by all ranks", "", f"Your ways on {ranks} real ranks")
    axes.set_xscale("log")
    for place, one in enumerate(found):
        axes.barh(place, one.payload, 0.5, color=picture.SKY, edgecolor="black")
        verdict = "as over all samples" if not one.wrong else f"{one.value - one.right:+.3f} off"
        axes.text(one.payload, place, f"  {one.payload:,}; value {one.value:.3f}, {verdict}", va="center", fontsize=9)
        axes.plot(max(predicted[one.way], 1), place, "D", color=picture.RED, markersize=7)
    axes.plot([], [], "D", color=picture.RED, label="bytes you predicted")
    axes.set_yticks(range(len(found)), [f"{one.metric}: {one.way}" for one in found])
    axes.set_ylim(len(found) - 0.4, -0.6)
    axes.set_xlim(1, 10_000 * max(one.payload for one in found))
    axes.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1, 1))
    words = ", ".join(f"{one.metric} by {one.way} {one.payload:,} bytes, {one.value:.4f}" for one in found)
    names = ["metric", "way", "value", "over all samples", "bytes", "you predicted"]
    rows = [(o.metric, o.way, o.value, o.right, o.payload, predicted[o.way]) for o in found]
    return Picture(figure, f"On {ranks} real ranks: {words}.", pd.DataFrame(rows, columns=names))


@or_nothing
def sketch_lineup(suspects: Mapping[str, Any], verdicts: Mapping[str, str]) -> Picture:
    """For each suspect with a verdict, a fresh audit: how far off it is with each sample once, and with borrowing."""
    said = {letter: verdict for letter, verdict in verdicts.items() if type(verdict) is str and letter in suspects}
    if not said:
        raise NotImplementedError
    figure, axes = plain_axes("suspect and your verdict", "largest bias (points)", "Fresh audits, and your verdicts")
    figure.set_size_inches(9.6, 3.0)
    table = []
    for place, (letter, verdict) in enumerate(said.items()):
        report = suspects[letter].audit()
        exact, padded = (_worst(report, kind) for kind in ("exact", "padded"))
        axes.bar(place - 0.2, exact, 0.36, color=picture.SKY, edgecolor="black")
        axes.bar(place + 0.2, padded, 0.36, color=picture.ORANGE, edgecolor="black", hatch="////")
        for shift, value in ((-0.2, exact), (0.2, padded)):
            axes.text(place + shift, value, f"{value:.2f}", ha="center", va="bottom", fontsize=9)
        table.append((letter, verdict, exact, padded))
    axes.set_xticks(range(len(said)), [f"{letter}\n{verdict}" for letter, verdict in said.items()])
    axes.bar(0, 0, color=picture.SKY, edgecolor="black", label="each sample once")
    axes.bar(0, 0, color=picture.ORANGE, edgecolor="black", hatch="////", label="with borrowed samples")
    axes.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1, 1))
    words = "; ".join(f"{a} ({v}): {e:.2f} with each sample once, {p:.2f} with borrowed" for a, v, e, p in table)
    names = ["suspect", "your verdict", "largest bias, each sample once", "with borrowed samples"]
    return Picture(figure, f"Largest bias in points. {words}.", pd.DataFrame(table, columns=names))


@or_nothing
def sketch_audit(mean_over_ranks: Callable[[list[float]], Any], samples: int = 61) -> Picture:
    """A person's own mean, as an accuracy, audited on up to four real ranks."""
    import numpy as np

    from labkit.metrics.auditing import audit

    targets = np.arange(samples) * 7 % 3 % 2
    predictions = np.where(np.arange(samples) < samples // 2, targets, np.arange(samples) % 2)

    def accuracy(given: Any, true: Any) -> float:
        return float(mean_over_ranks([float(a == b) for a, b in zip(given, true, strict=True)]))

    try:
        mean_over_ranks([1.0])
    except NotImplementedError:
        return nothing("nothing to draw yet: mean_over_ranks is still open")
    return audit(accuracy, predictions, targets, ranks=4, reduction="own").plot()


def _worst(report: Any, kind: str) -> float:
    return 100 * max((abs(row.bias) for row in report.rows if row.kind == kind and row.bias == row.bias), default=0.0)


_PAPER = {"facecolor": "white", "edgecolor": "none", "pad": 1.0}


def _box(place: int, line: int, stays: bool) -> Any:
    from matplotlib.patches import Rectangle

    face, hatch = (picture.SKY, "") if stays else ("white", "////")
    return Rectangle((place + 0.05, line + 0.12), 0.9, 0.76, facecolor=face, edgecolor="black", hatch=hatch)
