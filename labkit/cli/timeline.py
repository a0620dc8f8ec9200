"""`labkit timeline`: numbers in, the line as text or JSON out."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from labkit.errors import UsageError

if TYPE_CHECKING:
    from labkit.pipeline import Timeline

WIDTH = 72  # characters of a drawn lane
MOST_BATCHES = 1_000_000  # a mistyped number must not take all memory
SHOWN = 24  # waits that are listed, and batches that are drawn, before it becomes unreadable


def times(name: str, text: str) -> float | list[float]:
    """One number, or several separated by commas."""
    parts = text.split(",")
    values = []
    for index, part in enumerate(parts):
        try:
            values.append(float(part))
        except ValueError:
            place = f"{name}[{index}]" if len(parts) > 1 else name
            raise UsageError(f"{place} is {part!r}: give a number, or numbers with commas such as 6,6,14") from None
    return values if len(values) > 1 else values[0]


def as_data(line: Timeline) -> dict[str, Any]:
    """The line as plain JSON values."""
    if not math.isfinite(line.makespan):
        raise OverflowError  # JSON has no infinity
    sums = {name: getattr(line, name) for name in ("depth", "workers", "serial", "makespan", "fill", "stall")}
    columns = (
        "prepare",
        "train",
        "prepare_start",
        "prepare_end",
        "queued",
        "train_start",
        "train_end",
        "waits",
        "blocked",
    )
    return {"batches": len(line), **sums, **{name: list(getattr(line, name)) for name in columns}}


def as_text(line: Timeline) -> str:
    """The sums, the waits, and the lanes drawn with characters."""
    waits = ", ".join(f"{wait:.6g}" for wait in line.waits[:SHOWN]) + (", ..." if len(line) > SHOWN else "")
    depth = "no limit on waiting batches" if line.depth is None else f"depth {line.depth}"
    lines = [
        f"{len(line)} batch{'es' * (len(line) > 1)}, {line.workers} worker{'s' * (line.workers > 1)}, {depth}",
        f"serial      {line.serial:.6g}",
        f"overlapped  {line.makespan:.6g}",
        f"waits       {waits}",
        f"fill        {line.fill:.6g}  (the first wait)",
        f"stall       {line.stall:.6g}  (all later waits)",
    ]
    if len(line) <= SHOWN and line.workers <= 8 and line.makespan > 0:
        lines += ["", *_lanes(line), "digits: number of the batch (its last digit), . waits, x blocked by a full queue"]
    return "\n".join(lines)


def _lanes(line: Timeline) -> list[str]:
    workers = [_lane() for _ in range(min(line.workers, len(line)))]
    trainer, scale, end = _lane(), WIDTH / line.makespan, 0.0
    for batch in range(len(line)):
        digit = str(batch % 10)
        worker = workers[batch % line.workers]
        _fill(worker, line.prepare_end[batch] * scale, line.queued[batch] * scale, "x")
        _fill(worker, line.prepare_start[batch] * scale, line.prepare_end[batch] * scale, digit)
        _fill(trainer, end * scale, line.train_start[batch] * scale, ".")
        end = line.train_end[batch]
        _fill(trainer, line.train_start[batch] * scale, end * scale, digit)
    rows = [(f"worker {number}" if len(workers) > 1 else "prepare", lane) for number, lane in enumerate(workers)]
    drawn = [f"{name:9} |{''.join(lane)}|" for name, lane in [*rows, ("train", trainer)]]
    return [*drawn, f"{'':9} 0{f'{line.makespan:.6g}':>{WIDTH + 1}}"]


def _lane() -> list[str]:
    return [" "] * WIDTH


def _fill(lane: list[str], start: float, end: float, sign: str) -> None:
    """Write `sign` from `start` to `end`; what lasts longer than nothing gets a character at least."""
    first, last = round(start), round(end)
    if end > start:
        last = max(last, first + 1)
    for place in range(min(first, WIDTH - 1), min(last, WIDTH)):
        lane[place] = sign
