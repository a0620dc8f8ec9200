"""The line in torch, resumed from chosen parts of its state: run for real, and drawn."""

from __future__ import annotations

import copy
from collections.abc import Collection
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from labkit import picture
from labkit.errors import UsageError
from labkit.picture import Picture
from labkit.resume.line import StepRecord
from labkit.sketching import or_nothing

PARTS = (
    "model", "optimizer", "scheduler", "gradients", "loss", "step", "samplePosition", "sampleOrder", "rngState",
)  # fmt: skip
"""What a snapshot of the torch line may hold."""
WAYS = ("live", "copied")
"""live: what state_dict() returns, kept in memory. copied: a deep copy of it."""

Run = tuple[StepRecord, ...]


def resumed_with(
    seed: int, decay: float, at: int, until: int, parts: Collection[str], how: str
) -> tuple[Run, Run]:  # fmt: skip
    """Train the torch line, keep the named parts of its state in memory at step `at`, and go on to `until`; then
    resume a new line from what was kept.

    Returns:
        The updates after `at`, of the uninterrupted and of the resumed run.

    Raises:
        UsageError: a part or a way has no such name.
    """
    if unknown := [part for part in parts if part not in PARTS]:
        raise UsageError(f"parts holds {unknown[0]!r}: choose from {', '.join(PARTS)}")
    if how not in WAYS:
        raise UsageError(f"how is {how!r}: choose live or copied")
    from labkit.resume.line_torch import TorchLine

    line = TorchLine(seed, decay)
    for _ in range(at):
        line.advance()
    state = line.state()
    kept = copy.deepcopy(state) if how == "copied" else state
    whole = tuple(line.advance() for _ in range(until - at))
    return whole, _resume(TorchLine(0, decay), kept, parts, until - at)


def _resume(line: Any, kept: dict[str, Any], parts: Collection[str], updates: int) -> Run:
    from labkit.resume.line import rng_from_plain

    for name in ("model", "optimizer", "scheduler"):
        if name in parts:
            getattr(line, name).load_state_dict(kept[name])
    if "step" in parts:
        line.step = kept["step"]
    if "samplePosition" in parts:
        line.position = kept["samplePosition"]
    if "sampleOrder" in parts:
        line.order = list(kept["sampleOrder"])
    if "rngState" in parts:
        line.rng.setstate(rng_from_plain(kept["rngState"]))
    return tuple(line.advance() for _ in range(updates))


@or_nothing
def sketch_torch(seed: int, decay: float, at: int, parts: Any, how: Any, rates: Any) -> Picture:
    """A person's snapshot, resumed in real torch: learning rate and w beside the uninterrupted run; their two rates."""
    if parts is ... or how is ...:
        raise NotImplementedError
    whole, again = resumed_with(seed, decay, at, at + 20, parts, how)
    steps = range(at + 1, at + 21)
    figure = Figure(figsize=(9.6, 4.6), layout="constrained")
    top, low = figure.subplots(2, 1, sharex=True)
    for axes, name, label in ((top, "lr", "learning rate"), (low, "w", "w")):
        values = [[getattr(record, name) for record in run] for run in (whole, again)]
        axes.plot(steps, values[0], color=picture.BLUE, linewidth=4, alpha=0.5, label="uninterrupted")
        axes.plot(steps, values[1], color=picture.RED, linestyle="--", marker=".", label="from your snapshot")
        axes.set_ylabel(label)
        axes.spines[["top", "right"]].set_visible(False)
    said = "" if rates is ... or ... in list(rates) else f"{rates[0]:.6f}, {rates[1]:.6f}"
    if said:
        top.plot([at + 1, at + 2], list(rates), "D", color="black", fillstyle="none", label="yours, without scheduler")
    top.legend(fontsize=9, frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    low.set_xlabel("step (updates done)")
    apart = next((a.step for a, b in zip(whole, again, strict=True) if (a.w, a.b, a.lr) != (b.w, b.b, b.lr)), None)
    words = "w, b and rate stay the same" if apart is None else f"w, b or the rate differ from step {apart} on"
    figure.suptitle(f"{how}, {len(parts)} parts: {words}", fontsize=11, x=0.01, ha="left")
    frame = pd.DataFrame(
        {
            "step": list(steps),
            "rate": [r.lr for r in whole],
            "rate, resumed": [r.lr for r in again],
            "w": [r.w for r in whole],
            "w, resumed": [r.w for r in again],
        }
    )
    alt = f"Resumed at step {at} from {', '.join(parts)} ({how}): {words}."
    return Picture(figure, alt + (f" Your rates without the scheduler: {said}." if said else ""), frame)
