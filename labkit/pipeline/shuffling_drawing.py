"""Pictures of shuffled epochs."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from matplotlib.figure import Figure

from labkit import picture
from labkit.picture import Picture
from labkit.pipeline.shuffling import Shuffle


def draw_shuffles(shuffles: Sequence[Shuffle]) -> Picture:
    """A cloud of points a shuffle: where a sample is stored against when it is trained on, quality and price above."""
    figure = Figure(figsize=(min(9.6, 3.4 * len(shuffles) + 0.6), 3.4), layout="constrained")
    for axes, one in zip(figure.subplots(1, len(shuffles), squeeze=False)[0], shuffles, strict=True):
        size = max(0.4, min(9.0, 6000 / len(one.order)))
        axes.scatter(range(len(one.order)), one.order, s=size, color=picture.BLUE, linewidths=0)
        title = f"{one.name}\nquality {one.quality:.2f}\n{one.shard_reads:,} shard reads, {one.held:,} held"
        axes.set_title(title, fontsize=9, loc="left")
        axes.set_xlabel("place in training", fontsize=9)
        axes.set_ylabel("stored place" if axes.get_subplotspec().is_first_col() else "", fontsize=9)
        axes.tick_params(labelsize=8)
        axes.spines[["top", "right"]].set_visible(False)
    rows = [
        {"shuffle": one.name, "quality": round(one.quality, 3), "shard reads": one.shard_reads, "held": one.held}
        for one in shuffles
    ]
    return Picture(figure, f"{'. '.join(one.text() for one in shuffles)}.", pd.DataFrame(rows))
