"""Pictures of length buckets: padding never without correlation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd
from matplotlib.figure import Figure

from labkit import picture
from labkit.picture import Picture
from labkit.pipeline.bucketing import Trade

if TYPE_CHECKING:
    from labkit.pipeline.bucketing_run import PaddedRun


def draw_pools(made: Mapping[tuple[int, bool], Trade]) -> Picture:
    """Padding on the left, correlation on the right, over the size of the pool; both orders of a pool's batches."""
    figure = Figure(figsize=(9.6, 3.1), layout="constrained")
    left, right = figure.subplots(1, 2)
    for mixed, style, colour, label in (
        (False, "o-", picture.BLUE, "batches in sorted order"),
        (True, "^--", picture.RED, "batches of a pool shuffled"),
    ):
        sizes = [pool for pool, way in made if way is mixed]
        mine = [made[pool, mixed] for pool in sizes]
        left.plot(sizes, [100 * one.padding for one in mine], style, color=colour, label=label, alpha=0.8)
        right.plot(sizes, [one.correlation for one in mine], style, color=colour, alpha=0.8)
    left.set_ylabel("padding, % of all positions")
    left.set_ylim(bottom=0)
    right.set_ylabel("correlation of neighbours")
    right.set_ylim(-1.05, 1.05)
    right.axhline(0, color="black", linewidth=0.6)
    for axes in (left, right):
        axes.set_xscale("log")
        axes.set_xticks(sorted({pool for pool, _ in made}), labels=[str(pool) for pool in sorted({p for p, _ in made})])
        axes.minorticks_off()
        axes.set_xlabel("batches in a pool")
        axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside upper left", ncols=2, fontsize=9, frameon=False)
    table = pd.DataFrame(
        {
            "batches in a pool": pool,
            "batches": "shuffled" if mixed else "sorted",
            "padding %": round(100 * one.padding, 2),
            "correlation": round(one.correlation, 2),
            "between %": round(100 * one.between),
            "samples ahead": one.ahead,
        }
        for (pool, mixed), one in made.items()
    )
    said = "; ".join(
        f"pool {pool} {'shuffled' if mixed else 'sorted'}: {one.text()}" for (pool, mixed), one in made.items()
    )
    return Picture(figure, f"{said}.", table)


def draw_batches(lengths: Sequence[int], batches: Sequence[Sequence[int]], title: str) -> Picture:
    """Batches as rows of bars: a sample's own length filled, its padding hatched. At most the first eight batches."""
    shown = [[lengths[one] for one in batch] for batch in batches[:8]]
    figure = Figure(figsize=(9.6, 3.0), layout="constrained")
    axes = figure.add_subplot()
    at = 0.0
    for number, batch in enumerate(shown):
        longest = max(batch, default=0)
        places = [at + i for i in range(len(batch))]
        own, rest = ("own length", "padding") if number == 0 else (None, None)
        line: dict[str, Any] = {"width": 0.9, "linewidth": 0.4}
        axes.bar(places, batch, color=picture.SKY, edgecolor="black", label=own, **line)
        padding = [longest - one for one in batch]
        axes.bar(places, padding, bottom=batch, color="white", edgecolor=picture.RED, hatch="////", label=rest, **line)
        axes.text(at + len(batch) / 2 - 0.5, longest, f"batch {number}", ha="center", va="bottom", fontsize=9)
        at += len(batch) + 1
    axes.set_xticks([])
    axes.margins(y=0.12)
    axes.set_ylabel("positions")
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title(title, fontsize=11, loc="left")
    figure.legend(loc="outside lower right", ncols=2, fontsize=9, frameon=False)
    rows = [
        {"batch": i, "lengths": " ".join(map(str, batch)), "padded to": max(batch, default=0)}
        for i, batch in enumerate(shown)
    ]
    return Picture(
        figure,
        f"{title}. Lengths of the first batches: {'; '.join(str(batch) for batch in shown)}.",
        pd.DataFrame(rows),
    )


def draw_run(run: PaddedRun, title: str) -> Picture:
    """The shape of every batch of a real epoch, in the order in which they came; a bar is as high as it was padded."""
    figure = Figure(figsize=(9.6, 2.8), layout="constrained")
    axes = figure.add_subplot()
    heights = [longest for _, longest in run.shapes]
    axes.bar(range(len(heights)), heights, width=0.9, color=picture.SKY, edgecolor="black", linewidth=0.4)
    axes.set_xlabel("batch, in the order of training")
    axes.set_ylabel("padded length")
    axes.spines[["top", "right"]].set_visible(False)
    found = run.figures
    axes.set_title(
        f"{title}: padding {100 * found.padding:.1f} %, correlation {found.correlation:.2f}; "
        f"{run.positions:,} positions, {1000 * run.seconds:.0f} ms of processor time in the steps, measured here",
        fontsize=10,
        loc="left",
    )
    table = pd.DataFrame({"batch": range(len(heights)), "samples": [n for n, _ in run.shapes], "padded to": heights})
    return Picture(figure, f"{title}: {run.text()}.", table)
