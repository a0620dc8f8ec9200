"""Runs of the line, drawn: the path of one, and two with the place where they part."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from labkit import picture
from labkit.errors import UsageError
from labkit.picture import Picture
from labkit.resume.line_report import Report
from labkit.resume.reconciliation import COMPONENTS, Divergence, reconcile

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_run(report: Report) -> Picture:
    """Slope and intercept over the steps, and the error below, on a logarithmic scale."""
    _need_steps(report, "the run")
    frame = report.frame()
    figure = Figure(figsize=(9.6, 4.6), layout="constrained")
    top, low = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    top.plot(frame["step"], frame["w"], color=picture.BLUE, label="w (3 is right)")
    top.plot(frame["step"], frame["b"], color=picture.RED, linestyle="--", label="b (2 is right)")
    top.set_ylabel("parameter")
    top.legend(fontsize=9, frameon=False)
    low.semilogy(frame["step"], frame["mse"], color="black")
    low.set_ylabel("mean squared error")
    low.set_xlabel("step (updates done)")
    for axes in (top, low):
        axes.grid(color="#dddddd", linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
    alt = "The line over its updates. " + ". ".join(report.text().splitlines()) + "."
    return Picture(figure, alt, frame[["step", "w", "b", "mse", "ids"]])


def draw_two(a: Report, b: Report) -> Picture:
    """Two runs: where w goes in each, how far apart they are, and from which step on each component differs."""
    _need_steps(a, "the first run")
    _need_steps(b, "the second run")
    found = reconcile(a, b)
    one, two = a.frame(), b.frame()
    both = one.merge(two, on="step", suffixes=(" A", " B"))
    both["gap in w"] = (both["w B"] - both["w A"]).abs()
    figure = Figure(figsize=(9.6, 6.6), layout="constrained")
    top, middle, low = figure.subplots(3, 1, sharex=True, height_ratios=(3, 2, 3))
    top.plot(one["step"], one["w"], color=picture.BLUE, linewidth=3, alpha=0.55, label=f"A: {_name(a)}")
    top.plot(two["step"], two["w"], color=picture.RED, linestyle="--", label=f"B: {_name(b)}")
    top.set_ylabel("w")
    top.legend(fontsize=9, frameon=False, loc="lower right")
    apart = both[both["gap in w"] > 0]
    if len(apart):
        middle.semilogy(apart["step"], apart["gap in w"], color="black", marker=".", markersize=4)
    else:
        middle.text(0.5, 0.5, "w is the same, bit for bit", transform=middle.transAxes, ha="center", va="center")
        middle.set_yticks([])
    middle.set_ylabel("|w of B - w of A|")
    for place, name in enumerate(COMPONENTS):
        _band(low, place, name, found, (int(both["step"].min()), int(both["step"].max())))
    low.set_yticks(range(len(COMPONENTS)), COMPONENTS)
    low.set_ylim(len(COMPONENTS) - 0.4, -0.6)
    low.tick_params(axis="y", length=0)
    low.set_xlabel("step (updates done)")
    for axes in (top, middle, low):
        axes.spines[["top", "right"]].set_visible(False)
        if found is not None:
            axes.axvline(found.step, color="black", linewidth=1.2, linestyle=(0, (4, 2)))
    if a.resumed_from != b.resumed_from:
        top.axvline(max(a.resumed_from or 0, b.resumed_from or 0) + 0.5, color="#888888", linewidth=1, linestyle=":")
    if found is None:
        alt = f"Two runs of the line over steps {both['step'].min()} to {both['step'].max()}: the same, bit for bit."
        title = "same state at every step that both hold"
    else:
        alt = f"Two runs of the line. {' '.join(found.text().split())}"
        title = f"they part at step {found.step}: {found.component}"
    top.set_title(title, fontsize=11, loc="left")
    return Picture(figure, alt, both[["step", "ids A", "ids B", "w A", "w B", "gap in w", "rng A", "rng B"]])


def _band(axes: Axes, place: int, name: str, found: Divergence | None, span: tuple[int, int]) -> None:
    """One component's row: plain while it is the same, hatched from its first difference on."""
    start, end = span[0] - 0.5, span[1] + 0.5
    parts = None if found is None else found.first[name]
    until = end if parts is None else parts - 0.5
    if until > start:
        axes.broken_barh([(start, until - start)], (place - 0.35, 0.7), facecolor="#e8e8e8", edgecolor="#888888")
    if parts is not None:
        axes.broken_barh(
            [(until, end - until)], (place - 0.35, 0.7), facecolor="white", edgecolor=picture.RED, hatch="////"
        )
        axes.text(
            until + 0.4,
            place,
            f"from {parts}",
            fontsize=9,
            va="center",
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.0},
        )


def _name(report: Report) -> str:
    start = "from the start" if report.resumed_from is None else f"resumed at {report.resumed_from}"
    return f"{start}{f', {report.fault}' if report.fault else ''}"


def _need_steps(report: Report, name: str) -> None:
    if not report.records:
        raise UsageError(f"{name} did no update: there is nothing to draw; give a larger steps")
