"""Lanes over time, drawn: `draw_lanes` takes plain rows, `draw_timeline` makes them from a Timeline."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from labkit import picture
from labkit.errors import UsageError
from labkit.picture import Picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from labkit.pipeline.timeline import Timeline

Lane: TypeAlias = tuple[str, Sequence[Sequence[Any]]]
"""A name, and its intervals: (start, end), (start, end, label) or (start, end, label, style)."""

# Each style says the same thing twice: by colour, and by hatch, edge or label.
STYLES: dict[str, dict[str, Any]] = {
    "prepare": {"facecolor": picture.SKY, "edgecolor": "black", "linewidth": 0.6},
    "train": {"facecolor": picture.ORANGE, "edgecolor": "black", "linewidth": 0.6},
    "wait": {"facecolor": "white", "edgecolor": picture.RED, "hatch": "////", "linewidth": 0.8},
    "blocked": {"facecolor": "#e8e8e8", "edgecolor": "#555555", "hatch": "....", "linewidth": 0.8, "linestyle": "--"},
    "queue": {"facecolor": picture.YELLOW, "edgecolor": "black", "linewidth": 0.6},
    "plain": {"facecolor": "#d0d0d0", "edgecolor": "black", "linewidth": 0.6},
}
_NAMES = {
    "prepare": "prepare",
    "train": "train",
    "wait": "trainer waits",
    "blocked": "worker blocked",
    "queue": "in queue",
}

_WIDTH = 9.6  # inches: 922 px on a screen, about what a notebook cell has
_CHARACTER = 5.8  # points, one digit at 9 pt and the air it needs
_MOST = 200  # batches that a picture holds; more would be thinner than a pixel


def draw_lanes(
    lanes: Iterable[Lane],
    *,
    marks: Iterable[tuple[float, str]] = (),
    title: str | None = None,
    unit: str = "ms",
    alt: str | None = None,
    table: pd.DataFrame | None = None,
) -> Picture:
    """Intervals on named lanes, top to bottom, over one time axis.

    Args:
        lanes: (name, intervals) pairs; an interval is (start, end[, label[, style]]) with a style of `STYLES`:
            "prepare", "train", "wait", "blocked", "queue" or "plain". A label may be a tuple: the first one that fits
            is written, none if none fits.
        marks: (time, label) pairs, drawn as vertical lines.
        title: one line above the picture.
        unit: the unit on the time axis.
        alt: what the picture shows, in words; made from the intervals where it isn't given.
        table: the numbers; one row an interval where it isn't given.

    Raises:
        UsageError: an interval isn't two finite numbers in order, or its style is unknown.
    """
    rows = [(name, [_interval(name, item) for item in items]) for name, items in lanes]
    if not rows:
        raise UsageError("lanes is empty: give at least one (name, intervals) pair")
    marks = [(float(time), str(label)) for time, label in marks]
    last = max([end for _, items in rows for _, end, _, _ in items] + [time for time, _ in marks], default=0.0) or 1.0

    figure = Figure(figsize=(_WIDTH, 1.25 + 0.5 * len(rows) + 0.2 * bool(marks)), layout="constrained")
    axes = figure.add_subplot()
    axes.set_xlim(0, last * 1.004)  # so that a bar or mark at the very end is drawn whole
    axes.set_ylim(len(rows) - 0.45, -0.55 - 0.35 * bool(marks))
    axes.set_yticks(range(len(rows)), [name for name, _ in rows])
    axes.tick_params(axis="y", length=0)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.set_xlabel(f"time ({unit})")
    axes.grid(axis="x", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    margin = 0.35 + 0.085 * max(len(name) for name, _ in rows)
    scale = (_WIDTH - margin) * 72 / last  # points for one unit of time
    for place, (_, items) in enumerate(rows):
        for start, end, label, style in items:
            axes.broken_barh([(start, end - start)], (place - 0.38, 0.76), **STYLES[style])
            _write(axes, (start + end) / 2, place, label, (end - start) * scale, style)
    for time, label in marks:
        axes.axvline(time, color="black", linewidth=1.2, linestyle=(0, (4, 2)))
        side = "right" if time > last / 2 else "left"
        axes.text(time, -0.66, f" {label} ", ha=side, va="center", fontsize=9)
    if title:
        axes.set_title(title, fontsize=11, loc="left")
    used = [style for style in STYLES if style in _NAMES and any(s == style for _, items in rows for *_, s in items)]
    if used:
        handles = [Patch(label=_NAMES[style], **STYLES[style]) for style in used]
        figure.legend(handles=handles, loc="outside lower right", ncols=len(handles), fontsize=9, frameon=False)
    if table is None:
        flat = [(name, s, e, _first(label), style) for name, items in rows for s, e, label, style in items]
        table = pd.DataFrame(flat, columns=["lane", "start", "end", "label", "style"])
    if alt is None:
        parts = [
            f"{name} {len(items)} intervals up to {max((i[1] for i in items), default=0):.6g}" for name, items in rows
        ]
        alt = f"{title or 'Lanes over time'} ({unit}): {'; '.join(parts)}."
        alt += "".join(f" {label} at {time:.6g}." for time, label in marks)
    return Picture(figure, alt, table)


def timeline_lanes(timeline: Timeline, batches: int | None = None) -> list[Lane]:
    """A timeline's first `batches` (all by default) as rows for `draw_lanes`: the workers' lanes, then the trainer."""
    count = min(len(timeline), batches or len(timeline))
    used = min(timeline.workers, count)
    workers: list[list[tuple[float, float, Any, str]]] = [[] for _ in range(used)]
    trainer: list[tuple[float, float, Any, str]] = []
    begin, ready, queued = timeline.prepare_start, timeline.prepare_end, timeline.queued
    for i in range(count):
        lane = workers[i % used]
        lane.append((begin[i], ready[i], str(i), "prepare"))
        if queued[i] > ready[i]:
            lane.append((ready[i], queued[i], "", "blocked"))
        start, wait = timeline.train_start[i], timeline.waits[i]
        if wait > 0:
            size = f"{wait:.3g}"
            labels = (f"first wait {size}" if i == 0 else f"wait {size}", f"wait {size}", size)
            trainer.append((start - wait, start, labels, "wait"))
        trainer.append((start, timeline.train_end[i], str(i), "train"))
    names = ["worker"] if timeline.workers == 1 else [f"worker {w}" for w in range(used)]
    return [*zip(names, workers, strict=True), ("trainer", trainer)]


def draw_timeline(timeline: Timeline, *, title: str | None = None, unit: str = "ms") -> Picture:
    """A timeline as a picture, its key figures in the title and the alt text, its numbers by batch in the table."""
    if title is None:
        title = f"overlapped {timeline.makespan:.5g} {unit}, serial {timeline.serial:.5g} {unit}"
    if len(timeline) > _MOST:
        title = f"{title} (the first {_MOST} of {len(timeline)} batches)"
    alt = f"Timeline, times in {unit}. {timeline.summary()}"
    if len(timeline) <= 8:
        alt += f" Waits by batch: {', '.join(f'{wait:.4g}' for wait in timeline.waits)}."
    return draw_lanes(
        timeline_lanes(timeline, _MOST), title=title, unit=unit, alt=alt, table=by_batch(timeline).head(_MOST)
    )


def by_batch(timeline: Timeline) -> pd.DataFrame:
    """A timeline's numbers, one row a batch."""
    names = ("prepare_start", "prepare_end", "queued", "train_start", "train_end")
    data: dict[str, Any] = {"batch": range(len(timeline))}
    data |= {name.replace("_", " "): getattr(timeline, name) for name in names}
    return pd.DataFrame({**data, "wait": timeline.waits, "blocked": timeline.blocked})


def _interval(lane: str, item: Sequence[Any]) -> tuple[float, float, Any, str]:
    try:
        start, end, *rest = item
        start, end = float(start), float(end)
    except (TypeError, ValueError):
        raise UsageError(f"lane {lane!r} holds {item!r}: an interval is (start, end[, label[, style]])") from None
    if not (math.isfinite(start) and math.isfinite(end) and start <= end):
        raise UsageError(f"lane {lane!r} holds {start:g} to {end:g}: an interval's end comes at or after its start")
    label, style = (*rest, "", "plain")[:2] if len(rest) == 0 else (rest[0], rest[1] if len(rest) > 1 else "plain")
    if style not in STYLES:
        raise UsageError(f"style is {style!r}: choose one of {', '.join(STYLES)}")
    return start, end, label, style


def _first(label: Any) -> str:
    return str(label[0]) if isinstance(label, tuple) else str(label)


def _write(axes: Axes, x: float, y: float, label: Any, room: float, style: str) -> None:
    """The first form of the label that fits into `room` points; on hatched bars with a plain background behind it."""
    for text in label if isinstance(label, tuple) else (str(label),):
        if text and len(text) * _CHARACTER + 2 <= room:
            back = {"facecolor": "white", "edgecolor": "none", "pad": 1.0} if "hatch" in STYLES[style] else None
            axes.text(x, y, text, ha="center", va="center", fontsize=9, color="black", bbox=back)
            return
