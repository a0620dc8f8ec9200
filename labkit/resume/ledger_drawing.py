"""A recovery ledger, drawn: its parts end to end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from labkit import picture
from labkit.picture import Picture
from labkit.resume.ledger import PARTS

if TYPE_CHECKING:
    from labkit.resume.ledger import RecoveryLedger

_LOOKS = {
    "detect": (picture.YELLOW, "...."),
    "restart": (picture.ORANGE, "////"),
    "load": (picture.SKY, ""),
    "replay": (picture.PURPLE, "xxxx"),
}


def draw(ledger: RecoveryLedger) -> Picture:
    """One bar from the kill to where the run had stood."""
    figure = Figure(figsize=(9.6, 2.2), layout="constrained")
    axes = figure.add_subplot()
    start = 0.0
    for name in PARTS:
        colour, hatch = _LOOKS[name]
        length = 1000 * getattr(ledger, name)
        axes.barh(
            [0], [length], left=start, height=0.6, color=colour, hatch=hatch, edgecolor="black",
            label=f"{name} {length:.0f} ms",
        )  # fmt: skip
        start += length
    axes.set_yticks([])
    axes.set_xlabel("time since the kill (ms), measured on this machine")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.set_title(f"killed at step {ledger.killed_at}, resumed from {ledger.resumed_from}", fontsize=11, loc="left")
    figure.legend(loc="outside lower center", ncols=4, fontsize=9, frameon=False)
    return Picture(figure, " ".join(ledger.text().split()) + ".", ledger.frame())
