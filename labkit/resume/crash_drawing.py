"""Crash states, drawn as a grid: crash points across, outcomes down."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from labkit import picture
from labkit.picture import Picture

if TYPE_CHECKING:
    from labkit.resume.crash_trial import CrashReport

_LOOKS = {
    "wrong": (picture.RED, "xxxx"),
    "lost": (picture.ORANGE, "////"),
    "refused": (picture.YELLOW, "...."),
    "kept": (picture.SKY, ""),
    "newer": (picture.GREEN, ""),
    "nothing yet": ("#e8e8e8", ""),
}
_MOST = 48  # columns in which a number can still be read


def draw_grid(report: CrashReport) -> Picture:
    """A field for each crash point and outcome with the number of states; faults above the line, hatched."""
    shown = list(zip(report.points, report.counts, strict=True))[:_MOST]
    width = max(9.6, 2.2 + 0.27 * len(shown))
    figure = Figure(figsize=(width, 4.2), layout="constrained")
    axes = figure.add_subplot()
    for column, (_, counts) in enumerate(shown):
        for row, outcome in enumerate(_LOOKS):
            count = counts.get(outcome, 0)
            colour, hatch = _LOOKS[outcome] if count else ("white", "")
            field = Rectangle(
                (column - 0.5, row - 0.5), 1, 1, facecolor=colour, hatch=hatch, edgecolor="#999999", linewidth=0.5
            )
            axes.add_patch(field)
            if count:
                back = {"facecolor": "white", "edgecolor": "none", "pad": 0.6} if hatch else None
                axes.text(column, row, str(count), ha="center", va="center", fontsize=8, color="black", bbox=back)
    axes.axhline(2.5, color="black", linewidth=1.2)
    axes.set_xlim(-0.5, len(shown) - 0.5)
    axes.set_ylim(len(_LOOKS) - 0.5, -0.5)
    axes.set_yticks(range(len(_LOOKS)), list(_LOOKS))
    axes.set_xticks(range(len(shown)), [_short(last) for (_, last), _ in shown], rotation=90, fontsize=7)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set_xlabel("the last operation called before the crash")
    more = "" if len(report.points) <= _MOST else f" (the first {_MOST} of {len(report.points)} points)"
    axes.set_title(f"{report.title}: states by what a load finds{more}", fontsize=11, loc="left")
    return Picture(figure, " ".join(report.text().split()) + ".", report.frame())


def _short(label: str) -> str:
    label = re.sub(r"-[0-9a-f]{16}$", "", label)  # the part of an attempt's name that is drawn at random
    return label if len(label) <= 24 else f"{label[:15]}…{label[-8:]}"
