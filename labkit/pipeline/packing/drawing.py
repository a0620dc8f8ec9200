"""Pictures of passes over packs."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from labkit import picture
from labkit.picture import Picture
from labkit.pipeline.packing.manifest import FORMATS

if TYPE_CHECKING:
    from labkit.pipeline.packing.passes import Passes


def draw_passes(made: Passes) -> Picture:
    """A dot a pass, cold above warm, with the median as a line; formats from top to bottom."""
    formats = [name for name in FORMATS if any(one.format == name for one in made.passes)]
    figure = Figure(figsize=(9.6, 1.1 + 0.75 * len(formats)), layout="constrained")
    axes = figure.add_subplot()
    said = []
    for row, format in enumerate(formats):
        for cold, shift, marker, colour in ((True, -0.15, "o", picture.BLUE), (False, 0.29, "^", picture.RED)):
            times = made.times(format, cold=cold)
            middle = statistics.median(times)
            state = "/".join(sorted(made.states[cold]))
            label = f"page cache {state}" if row == 0 else None
            axes.plot(times, [row + shift] * len(times), marker, color=colour, alpha=0.75, label=label, markersize=6)
            axes.plot([middle, middle], [row + shift - 0.15, row + shift + 0.15], color="black", linewidth=2)
            axes.text(middle, row + shift - 0.15, f"{middle:.0f}", va="bottom", ha="center", fontsize=8)
            said.append(f"{format} {'cold' if cold else 'warm'} {middle:.0f} ({min(times):.0f} to {max(times):.0f})")
    axes.set_yticks(range(len(formats)), formats)
    axes.set_ylim(len(formats) - 0.4, -0.6)
    axes.set_xlim(0, 1.12 * max(1000 * one.seconds for one in made.passes))
    axes.set_xlabel("ms for one pass over all samples; line and number: median")
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title("The same samples in the same order, measured here", fontsize=11, loc="left")
    figure.legend(loc="outside lower right", ncols=2, fontsize=9, frameon=False)
    return Picture(figure, f"Median ms of a pass (least to most): {', '.join(said)}.", made.frame())
