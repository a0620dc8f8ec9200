"""A metric report, drawn: what each run was off by, beside what the formula says."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure

from labkit import picture
from labkit.picture import Picture

if TYPE_CHECKING:
    from labkit.metrics.report import MetricReport

_COLOURS = {"exact": picture.SKY, "idle": picture.YELLOW, "padded": picture.ORANGE}
_HATCH = {"exact": "", "idle": "....", "padded": "////"}
_NAMES = {"exact": "each sample once", "idle": "one rank has none", "padded": "with borrowed samples"}


def draw_report(report: MetricReport) -> Picture:
    """A bar a run: its value minus the value over all samples; a diamond where the formula puts it."""
    rows = list(report.rows)
    figure = Figure(figsize=(9.6, 1.3 + 0.27 * len(rows)), layout="constrained")
    axes = figure.add_subplot()
    seen = set()
    for place, row in enumerate(rows):
        if math.isnan(row.bias):
            axes.text(0, place, "  failed" if row.error else "  not a number", va="center", fontsize=8)
        else:
            label = _NAMES[row.kind] if row.kind not in seen else None
            seen.add(row.kind)
            look: dict[str, Any] = {
                "color": _COLOURS[row.kind],
                "hatch": _HATCH[row.kind],
                "edgecolor": "black",
                "linewidth": 0.6,
            }
            axes.barh(place, row.bias, 0.62, label=label, **look)
        if row.formula is not None:
            label = "formula" if "formula" not in seen else None
            seen.add("formula")
            axes.plot(row.formula, place, "D", color="black", markerfacecolor="white", markersize=5, label=label)
    axes.axvline(0, color="black", linewidth=0.8)
    axes.set_yticks(range(len(rows)), [f"{row.ranks} ranks, {row.partition}" for row in rows], fontsize=8)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.grid(axis="x", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    reach = max([abs(row.bias) for row in rows if not math.isnan(row.bias)] + [report.tolerance])
    axes.set_xlim(-1.12 * reach, 1.12 * reach)
    axes.set_xlabel(f"value minus {report.value:.6g}, the value over all samples once")
    figure.suptitle("the same under every partition" if report.invariant else "depends on the partition", fontsize=11)
    figure.legend(loc="outside lower right", ncols=4, fontsize=9, frameon=False)
    findings = " ".join(f"{finding.level}: {finding.text}" for finding in report.findings)
    return Picture(figure, f"Metric audit. {report.summary()} {findings}".strip(), report.frame())
