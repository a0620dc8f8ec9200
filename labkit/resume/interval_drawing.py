"""Cost against interval, drawn."""

from __future__ import annotations

import math

from matplotlib.figure import Figure

from labkit import picture
from labkit.picture import Picture
from labkit.resume.interval import daly, exact_interval, expected_time, interval_frame, young


def draw(save_cost: float, mtbf: float, *, recovery: float, unit: str) -> Picture:
    """Saving, failures and both over the interval, on a logarithmic axis; three marks near the bottom."""
    frame = interval_frame(save_cost, mtbf, recovery=recovery)
    figure = Figure(figsize=(9.6, 4.2), layout="constrained")
    axes = figure.add_subplot()
    axes.semilogx(frame["interval"], 100 * frame["saving"], color=picture.BLUE, linestyle="--", label="saving")
    axes.semilogx(frame["interval"], 100 * frame["failures"], color=picture.RED, linestyle=":", label="failures")
    axes.semilogx(frame["interval"], 100 * frame["cost"], color="black", linewidth=2, label="both")
    said = []
    for name, marker, choose in (("Young", "^", young), ("Daly", "s", daly), ("exact", "o", exact_interval)):
        interval = choose(save_cost, mtbf)
        cost = 100 * (expected_time(interval, save_cost, mtbf, recovery=recovery) - 1)
        label = f"{name} {interval:.5g} {unit}: {cost:.3g} %"
        axes.plot([interval], [cost], marker, markersize=8, markerfacecolor="none", color=picture.GREEN, label=label)
        said.append(label)
    least = 100 * frame["cost"].min()
    if math.isfinite(least):
        axes.set_ylim(0, 5 * least)
    axes.set_xlabel(f"compute time between saves ({unit})")
    axes.set_ylabel("extra time (% of the compute time)")
    axes.grid(color="#dddddd", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(fontsize=9, frameon=False)
    axes.set_title(f"a save costs {save_cost:g}, a failure comes every {mtbf:g} {unit}", fontsize=11, loc="left")
    alt = (
        f"Extra time of a run over the interval between saves, in {unit}. A save costs {save_cost:g}, the mean time "
        f"between failures is {mtbf:g}, recovery takes {recovery:g}. {'; '.join(said)}."
    )
    return Picture(figure, alt, frame)
