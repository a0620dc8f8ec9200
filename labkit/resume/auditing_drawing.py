"""An audit, drawn: every kill is a square, step against phase; the letter says what differed after it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from labkit.picture import GREEN, ORANGE, SKY, Picture

if TYPE_CHECKING:
    from labkit.resume.auditing_report import ResumeReport, Scenario

SAME: dict[str, Any] = {"facecolor": GREEN, "alpha": 0.55, "edgecolor": "black"}
HARMLESS: dict[str, Any] = {"facecolor": SKY, "hatch": "..", "edgecolor": "black"}
OTHER: dict[str, Any] = {"facecolor": ORANGE, "hatch": "//", "edgecolor": "black"}


def draw(report: ResumeReport) -> Picture:
    """Squares for all killed runs; rows are phases, columns steps."""
    rows: dict[str, list[Scenario]] = {}
    for one in report.scenarios:
        first = one.kills[0]
        gap = one.kills[1].step - first.step if len(one.kills) > 1 else 0
        place = f" {first.bytes} %" if first.phase == "damaged" else ""
        rows.setdefault(f"{first.phase}{place}" + (f", again {gap} later" if gap else ""), []).append(one)
    columns = max((one.kills[0].step for one in report.scenarios), default=1)
    figure = Figure(figsize=(min(9.6, max(7.4, 3.4 + 0.55 * columns)), 1.4 + 0.42 * len(rows)), layout="constrained")
    axes = figure.add_subplot()
    for y, held in enumerate(rows.values()):
        for one in held:
            found = one.difference
            style = SAME if found is None else OTHER if found.lasting else HARMLESS
            x = one.kills[0].step
            axes.add_patch(Rectangle((x - 0.42, y - 0.42), 0.84, 0.84, **style))
            if found is not None:
                axes.text(x, y, found.component[:3], ha="center", va="center", fontsize=8, backgroundcolor="white")
    axes.set_xlim(0.4, columns + 0.6)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_yticks(range(len(rows)), list(rows))
    axes.set_xticks(range(1, columns + 1))
    axes.set_xlabel("step of the first kill")
    axes.tick_params(length=0)
    axes.spines[["top", "right", "left", "bottom"]].set_visible(False)
    handles = [
        Patch(**SAME, label="goes on the same"),
        Patch(**HARMLESS, label="differs, changes nothing"),
        Patch(**OTHER, label="goes on otherwise"),
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=3, frameon=False, fontsize=9)
    bad = [one for one in report.scenarios if one.difference is not None and one.difference.lasting]
    what = sorted({one.difference.component for one in bad if one.difference is not None})
    same = len(report.scenarios) - len(bad)
    alt = f"{len(report.scenarios)} killed runs of {report.steps} steps: {same} go on the same"
    alt += f", {len(bad)} otherwise ({', '.join(what)} first)." if bad else "."
    return Picture(figure, alt, report.frame())
