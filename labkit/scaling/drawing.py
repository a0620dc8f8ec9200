"""Weak scaling, drawn: samples per second and efficiency over the number of ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from labkit import picture
from labkit.picture import Picture

if TYPE_CHECKING:
    from labkit.scaling.weak import WeakScaling


def draw_weak(study: WeakScaling) -> Picture:
    """Two panels; bars for the spread of the intervals, a dashed line for what perfect scaling would give."""
    counts = [one.ranks for one in study.benchmarks]
    places = range(len(counts))
    names = [str(count) for count in counts]
    figure = Figure(figsize=(9.6, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2)

    rates = [one.rate for one in study.benchmarks]
    low = [one.rate - one.spread[0] for one in study.benchmarks]
    high = [one.spread[1] - one.rate for one in study.benchmarks]
    left.bar(places, rates, 0.6, yerr=[low, high], capsize=4, color=picture.SKY, edgecolor="black", label="measured")
    left.plot(
        places,
        [rates[0] * count for count in counts],
        "D--",
        color="black",
        markerfacecolor="white",
        label="one rank times ranks",
    )
    left.set_ylabel("samples per second")

    values = [study.efficiency[count] for count in counts]
    reach = [study.efficiency_range[count] for count in counts]
    below = [value - least for value, (least, _) in zip(values, reach, strict=True)]
    above = [most - value for value, (_, most) in zip(values, reach, strict=True)]
    right.bar(places, values, 0.6, yerr=[below, above], capsize=4, color=picture.ORANGE, edgecolor="black", hatch="//")
    right.axhline(1, color="black", linestyle="--", linewidth=1)
    right.set_ylabel("weak-scaling efficiency T1 / TR")
    left.set_xticks(places, names)
    right.set_xticks(places, [f"{name}\n{value:.2f}" for name, value in zip(names, values, strict=True)])
    for axes in (left, right):
        axes.set_xlabel("ranks")
        axes.set_ylim(bottom=0)
        axes.spines[["top", "right"]].set_visible(False)
    left.legend(fontsize=9, frameon=False)
    alt = "Weak scaling. " + " ".join(line.rstrip(".") + "." for line in study.text().splitlines()[1:])
    return Picture(figure, alt, study.frame())
