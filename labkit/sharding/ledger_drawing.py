"""An audit, drawn: a row for each rank, a box for each sample; what was read before is hatched and starred."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from labkit.picture import Picture
from labkit.sharding.drawing import BORROWED, MISSING, OWN

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from labkit.sharding.coverage import Coverage
    from labkit.sharding.ledger import Delivery

_WIDTH = 9.6  # inches: about what a notebook cell has
_CELLS = 40  # samples in a row that can each hold a readable label
_BOXES = 9  # batches in a row when a batch is one box
_ROWS = 200  # rows of the table that a reader still looks at


def draw_ledger(coverage: Coverage, epoch: int) -> Picture:
    """What every rank's steps got in one epoch. Long epochs show their first and their last steps."""
    ledger = coverage.ledger
    walks = [ledger.walks[epoch, rank] for rank in range(coverage.ranks)]
    steps = max(map(len, walks), default=0)
    widest = max((len(d.ids) for walk in walks for d in walk), default=1) or 1
    cells = widest <= _CELLS // 2
    shown = _ends(steps, max(2, _CELLS // (widest + 1)) if cells else _BOXES)
    figure = Figure(figsize=(_WIDTH, 1.25 + 0.5 * coverage.ranks), layout="constrained")
    axes = figure.add_subplot()
    size = float(widest) if cells else 4.4
    column, before, ticks = 0.0, -1, []
    for step in shown:
        if step != before + 1:
            axes.text(column + 0.2, (coverage.ranks - 1) / 2, "...", ha="center", va="center", fontsize=12)
            column += 1.0
        for rank, walk in enumerate(walks):
            if step < len(walk):
                _batch(axes, walk[step], ledger.again[epoch, rank, step], column, size, cells)
            else:
                axes.add_patch(Rectangle((column, rank - 0.32), size, 0.64, **MISSING))
                _label(axes, column + size / 2, rank, "no batch" if size >= 3 else "-", hatched=False)
        ticks.append(column + size / 2)
        column += size + 0.6
        before = step
    axes.set_xlim(-0.3, max(column, 1.0))
    axes.set_ylim(coverage.ranks - 0.4, -0.6)
    axes.set_yticks(range(coverage.ranks), [_rank_name(coverage, rank) for rank in range(coverage.ranks)])
    axes.set_xticks(ticks, [str(step) for step in shown])
    axes.set_xlabel(f"step of epoch {epoch}")
    axes.tick_params(length=0)
    axes.spines[["top", "right", "left", "bottom"]].set_visible(False)
    if not steps:
        axes.text(0.5, (coverage.ranks - 1) / 2, "no rank takes a step", ha="center", va="center")
    again, short = len(coverage.repeated(epoch)), ledger.short(epoch)
    axes.set_title(_title(coverage, again, short), fontsize=11, loc="left")
    handles = [Patch(label="read for the first time", **OWN)]
    if any(map(any, (ledger.again[key] for key in ledger.again if key[0] == epoch))):
        handles.append(Patch(label="read again (*)", **BORROWED))
    if len(set(map(len, walks))) > 1:
        handles.append(Patch(label="no batch: the others wait", **MISSING))
    figure.legend(handles=handles, loc="outside lower right", ncols=len(handles), fontsize=9, frameon=False)
    frame = coverage.frame()
    table = frame[frame["epoch"] == epoch] if len(frame) <= _ROWS * coverage.epochs else coverage.counts()
    return Picture(figure, f"Ledger of epoch {epoch}. {coverage.summary()}", table)


def _ends(steps: int, most: int) -> list[int]:
    """All steps, or the first and the last ones where there are more than `most`."""
    if steps <= most:
        return list(range(steps))
    tail = most // 2
    return [*range(most - tail), *range(steps - tail, steps)]


def _title(coverage: Coverage, again: int, short: int) -> str:
    found = ", ".join(coverage.causes) if coverage.findings else "nothing found"
    return f"{coverage.samples:,} samples on {coverage.ranks} ranks: {again:,} read again, {short:,} missing; {found}"


def _rank_name(coverage: Coverage, rank: int) -> str:
    group = next((i for i, ranks in enumerate(coverage.groups) if rank in ranks and len(ranks) > 1), None)
    return f"rank {rank}" if group is None else f"rank {rank} (group {group})"


def _batch(axes: Axes, delivery: Delivery, again: tuple[bool, ...], x: float, size: float, cells: bool) -> None:
    ids, rank = delivery.ids, delivery.rank
    if cells:
        for place, (one, seen) in enumerate(zip(ids, again, strict=True)):
            axes.add_patch(Rectangle((x + place, rank - 0.32), 1.0, 0.64, **(BORROWED if seen else OWN)))
            text = f"{one}{'*' * seen}"
            if len(text) <= 5:
                _label(axes, x + place + 0.5, rank, text, hatched=seen)
        width = max(len(ids), 0.15)  # an empty batch is a thin line
    else:
        repeats = sum(again)
        style = BORROWED if repeats * 2 > len(ids) else OWN
        axes.add_patch(Rectangle((x, rank - 0.32), size, 0.64, **style))
        text = f"{_brief(ids)}{f', {repeats}*' if repeats else ''}"
        _label(axes, x + size / 2, rank, text, hatched=style is BORROWED)
        width = size
    axes.add_patch(Rectangle((x, rank - 0.32), width, 0.64, fill=False, edgecolor="black", linewidth=1.2))
    workers = sorted({worker for worker in delivery.workers if worker >= 0})
    if workers:
        axes.text(
            x, rank - 0.34, f"w{','.join(map(str, workers))}", fontsize=6.5, ha="left", va="bottom", color="black"
        )


def _brief(ids: tuple[Hashable, ...]) -> str:
    text = f"{ids[0]} ... {ids[-1]}" if len(ids) > 1 else str(ids[0]) if ids else "empty"
    return text if len(text) <= 12 else f"{len(ids)} samples"


def _label(axes: Axes, x: float, y: float, text: str, *, hatched: bool) -> None:
    back = {"facecolor": "white", "edgecolor": "none", "pad": 0.8} if hatched else None
    axes.text(x, y, text, ha="center", va="center", fontsize=8, color="black", bbox=back)
