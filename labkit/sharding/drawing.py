"""A plan, drawn: a row for each rank, a box for each batch, borrowed samples hatched and starred."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from labkit import picture
from labkit.picture import Picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from labkit.sharding.planning import Plan

OWN: dict[str, Any] = {"facecolor": picture.SKY, "edgecolor": "black", "linewidth": 0.6}
BORROWED: dict[str, Any] = {"facecolor": "white", "edgecolor": picture.RED, "hatch": "////", "linewidth": 0.8}
MISSING: dict[str, Any] = {"facecolor": "#f2f2f2", "edgecolor": "#555555", "linestyle": "--", "linewidth": 0.8}

_WIDTH = 9.6  # inches: about what a notebook cell has
_CELLS = 40  # samples in a row that can each hold a readable label
_BOXES = 10  # batches in a row when a batch is one box, labelled with its first and last sample


def draw_plan(plan: Plan, *, title: str | None = None) -> Picture:
    """Which sample went to which rank. Long plans show their first steps and, where borrowing is, their last ones."""
    steps = max(plan.steps, default=0)
    widest = max((len(batch) for batches in plan.per_rank for batch in batches), default=1)
    cells = widest <= _CELLS // 2
    shown = _ends(steps, max(2, _CELLS // (widest + 1)) if cells else _BOXES)
    figure = Figure(figsize=(_WIDTH, 1.2 + 0.46 * plan.ranks), layout="constrained")
    axes = figure.add_subplot()
    size = float(widest) if cells else 4.0  # one cell is 1 wide; a box stands for any number of samples
    pitch = size + 0.6
    ticks, names = [], []
    column = 0.0
    before = -1
    for step in shown:
        if step != before + 1:
            axes.text(column + 0.2, (plan.ranks - 1) / 2, "...", ha="center", va="center", fontsize=12)
            column += 1.0
        for rank in range(plan.ranks):
            _batch(axes, plan, rank, step, column, size, cells)
        ticks.append(column + size / 2)
        names.append(str(step))
        column += pitch
        before = step
    axes.set_xlim(-0.3, max(column, 1.0))
    axes.set_ylim(plan.ranks - 0.45, -0.55)
    axes.set_yticks(range(plan.ranks), [f"rank {rank}" for rank in range(plan.ranks)])
    axes.set_xticks(ticks, names)
    axes.set_xlabel("step")
    axes.tick_params(length=0)
    axes.spines[["top", "right", "left", "bottom"]].set_visible(False)
    if not steps:
        axes.text(0.5, (plan.ranks - 1) / 2, "no rank takes a step", ha="center", va="center")
    axes.set_title(title or _title(plan), fontsize=11, loc="left")
    handles = [Patch(label="read once", **OWN)]
    if plan.duplicates:
        handles.append(Patch(label="borrowed: read again (*)", **BORROWED))
    if plan.hang_risk:
        handles.append(Patch(label="no batch: the others wait", **MISSING))
    figure.legend(handles=handles, loc="outside lower right", ncols=len(handles), fontsize=9, frameon=False)
    table = plan.frame() if len(plan.ids) <= 200 else None
    return Picture(figure, plan.summary(), table)


def _ends(steps: int, most: int) -> list[int]:
    """All steps, or the first and the last ones where there are more than `most`."""
    if steps <= most:
        return list(range(steps))
    tail = most // 2
    return [*range(most - tail), *range(steps - tail, steps)]


def _title(plan: Plan) -> str:
    parts = [f"{len(plan.ids)} samples on {plan.ranks} ranks"]
    parts.append("steps differ" if plan.hang_risk else f"{plan.steps[0]} steps each")
    if plan.duplicates:
        parts.append(f"{len(plan.duplicates)} borrowed")
    if plan.dropped:
        parts.append(f"{len(plan.dropped)} dropped")
    return ", ".join(parts)


def _batch(axes: Axes, plan: Plan, rank: int, step: int, x: float, size: float, cells: bool) -> None:
    if step >= plan.steps[rank]:
        axes.add_patch(Rectangle((x, rank - 0.32), size, 0.64, **MISSING))
        _label(axes, x + size / 2, rank, "no batch" if size >= 3 else "-", hatched=False)
        return
    ids, again = plan.per_rank[rank][step], plan.borrowed(rank, step)
    if cells:
        for place, (one, borrowed) in enumerate(zip(ids, again, strict=True)):
            style = BORROWED if borrowed else OWN
            axes.add_patch(Rectangle((x + place, rank - 0.32), 1.0, 0.64, **style))
            text = f"{one}{'*' * borrowed}"
            if len(text) <= 5:
                _label(axes, x + place + 0.5, rank, text, hatched=borrowed)
        axes.add_patch(Rectangle((x, rank - 0.32), len(ids), 0.64, fill=False, edgecolor="black", linewidth=1.2))
        return
    own = again.count(False)
    for start, end, borrowed in ((0, own, False), (own, len(ids), True)):
        if end > start:  # what is borrowed stands at a batch's end under every rule
            width = size * (end - start) / len(ids)
            left = x + size * start / len(ids)
            axes.add_patch(Rectangle((left, rank - 0.32), width, 0.64, **(BORROWED if borrowed else OWN)))
            text = f"{end - start}*" if borrowed else f"{ids[start]} ... {ids[end - 1]}"
            _label(axes, left + width / 2, rank, text, hatched=borrowed)


def _label(axes: Axes, x: float, y: float, text: str, *, hatched: bool) -> None:
    back = {"facecolor": "white", "edgecolor": "none", "pad": 0.8} if hatched else None
    axes.text(x, y, text, ha="center", va="center", fontsize=8, color="black", bbox=back)
