"""Drawings of what a person says about cursors and contracts: their cursor, their loader stopped, their verdicts.

Each draws exactly the answer beside what is given or what a real run did, and never the truth in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle

from labkit import picture
from labkit.picture import Picture
from labkit.sketching import or_nothing, plain_axes

_PAPER = {"facecolor": "white", "edgecolor": "none", "pad": 1.0}


@or_nothing
def sketch_cursor(handed_out: int, older: int, cursor: int, asked: int) -> Picture:
    """The batches of a run, with a person's cursor and how far they say the workers were asked."""
    cursor, asked = int(cursor), int(asked)
    last = max(cursor, asked, handed_out) + 1
    figure = Figure(figsize=(9.6, 2.1), layout="constrained")
    axes = figure.add_subplot()
    rows = []
    for batch in range(last):
        said = "applied" if batch < cursor else "asked for, not applied" if batch < asked else "not asked for"
        face, hatch = {"applied": (picture.SKY, ""), "asked for, not applied": ("white", "////")}.get(
            said, ("white", "")
        )
        axes.add_patch(Rectangle((batch, 0), 0.9, 1, facecolor=face, hatch=hatch, edgecolor="black", linewidth=0.8))
        axes.text(batch + 0.45, 0.5, str(batch), ha="center", va="center", fontsize=8, bbox=_PAPER)
        rows.append((batch, said))
    _mark(axes, handed_out - 0.55, 1.3, f"in the forward pass: {handed_out - 1}")
    _mark(axes, older, -0.55, f"older: {older}")
    _mark(axes, cursor, -1.1, f"your cursor: {cursor}")
    axes.set_xlim(-0.5, last + 0.5)
    axes.set_ylim(-1.4, 1.7)
    axes.set_axis_off()
    axes.set_title("Filled: applied, you say. Hatched: asked for and not applied.", fontsize=10, loc="left")
    alt = (
        f"{handed_out} batches are handed out. You say the cursor is {cursor} and {asked} batches were asked for, so "
        f"{max(asked - cursor, 0)} are on their way."
    )
    return Picture(figure, alt, pd.DataFrame(rows, columns=["batch", "you say"]))


@or_nothing
def sketch_gaps(
    log: Sequence[Mapping[str, Any]], saved: Mapping[str, Mapping[str, Any]], gaps: Mapping[str, Any]
) -> Picture:
    """For each checkpoint the batches before its cursor, and what a person says is lost or applied twice."""
    said = {letter: int(gap) for letter, gap in gaps.items() if gap is not ...}
    if not said:
        raise NotImplementedError
    figure, axes = plain_axes("batch", "checkpoint", "Up to each cursor, and your gap beside it")
    rows = []
    for place, letter in enumerate(said):
        cursor, gap = saved[letter]["cursor"], said[letter]
        applied = cursor - gap
        axes.barh(place, applied, 0.5, color=picture.SKY, edgecolor="black")
        if gap > 0:
            axes.barh(place, gap, 0.5, applied, color="white", edgecolor="black", hatch="////")
        elif gap < 0:
            axes.barh(place, -gap, 0.5, cursor, color=picture.ORANGE, edgecolor="black", hatch="xxx")
        axes.plot([cursor, cursor], [place - 0.4, place + 0.4], color="black", linewidth=2.5)
        words = f"{gap} lost" if gap > 0 else f"{-gap} twice" if gap < 0 else "right"
        axes.text(max(cursor, applied) + 0.4, place, words, va="center", fontsize=9)
        rows.append((letter, cursor, applied, gap))
    axes.set_yticks(range(len(said)), list(said))
    axes.set_ylim(len(said) - 0.4, -0.6)
    handles = [
        Line2D([], [], color="black", linewidth=2.5, label="cursor"),
        Patch(facecolor=picture.SKY, edgecolor="black", label="in the weights, you say"),
        Patch(facecolor="white", edgecolor="black", hatch="////", label="lost"),
        Patch(facecolor=picture.ORANGE, edgecolor="black", hatch="xxx", label="twice"),
    ]
    axes.legend(handles=handles, frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1, 1))
    told = "; ".join(f"{letter}: cursor {c}, you say {a} batches are in its weights" for letter, c, a, _ in rows)
    table = pd.DataFrame(rows, columns=["checkpoint", "cursor", "batches in its weights, you say", "gap"])
    return Picture(figure, f"{told}. The log holds {len(log)} updates.", table)


@or_nothing
def sketch_walk(walk: Callable[..., Mapping[str, Any]]) -> Picture:
    """A person's loader, stopped after 8 batches of which 5 were committed: what was applied, beside no stop."""
    found = walk(40, 4, 7, 2, [[8, 5]], 14)
    whole, applied = found["whole"], found["applied"]
    place = {tuple(batch): number for number, batch in enumerate(whole)}
    numbers = [place.get(tuple(batch)) for batch in applied]
    figure = Figure(figsize=(9.6, 2.2), layout="constrained")
    axes = figure.add_subplot()
    rows = []
    for line, order in ((0, list(range(len(whole)))), (1, numbers)):
        for x, number in enumerate(order):
            same = number == x
            face, hatch = (picture.SKY, "") if same else (picture.ORANGE, "xxx")
            axes.add_patch(Rectangle((x, line + 0.1), 0.9, 0.8, facecolor=face, hatch=hatch, edgecolor="black"))
            name = "?" if number is None else str(number)
            axes.text(x + 0.45, line + 0.5, name, ha="center", va="center", fontsize=9, bbox=_PAPER)
            if line:
                rows.append((x, name, same))
    axes.plot([4.95, 4.95], [0.95, 2.15], color=picture.RED, linewidth=2.5)
    axes.text(5.05, 2.3, "killed: 8 handed out, 5 committed", fontsize=9, color="black", va="center")
    axes.set_xlim(0, 14)
    axes.set_ylim(2.5, -0.1)
    axes.set_yticks([0.5, 1.5], ["never stopped", "yours, resumed"])
    axes.set_xticks([])
    axes.spines[["top", "right", "left", "bottom"]].set_visible(False)
    axes.set_title("Batches as they were applied; crossed: not the one that was due", fontsize=10, loc="left")
    wrong = sum(not same for _, _, same in rows)
    alt = (
        f"Batches applied by your loader, killed after 5 commits with 8 handed out: {', '.join(r[1] for r in rows)}. "
        f"{wrong} of {len(rows)} aren't the one that was due."
    )
    return Picture(figure, alt, pd.DataFrame(rows, columns=["place", "batch", "as never stopped"]))


@or_nothing
def sketch_mid_step(resumed: Callable[[int, int, int, int], Any], whole: Sequence[Sequence[float]]) -> Picture:
    """w after each update: never stopped, and as a person's save and resume go on after 3 of 4 micro-batches."""
    found = resumed(7, 4, 15, 14)
    figure, axes = plain_axes("update", "w", "Saved in update 4, after 3 of its 4 micro-batches")
    axes.plot(
        [row[0] for row in whole], [row[1] for row in whole], "-o", color="black", markersize=4, label="never stopped"
    )
    axes.plot([row[0] for row in found], [row[1] for row in found], "--D", color=picture.RED, markersize=6,
              markerfacecolor="none", label="yours")  # fmt: skip
    axes.axvline(3.75, color="black", linestyle=":", linewidth=1)
    axes.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1, 1))
    held = {row[0]: row[1] for row in whole}
    parted = next((row[0] for row in found if held.get(row[0]) != row[1]), None)
    said = "never part" if parted is None else f"part at update {parted:g}"
    rows = [(row[0], held.get(row[0]), row[1]) for row in found]
    alt = f"w over updates, never stopped and resumed by yours from update 4 on: {len(found)} updates; they {said}."
    return Picture(figure, alt, pd.DataFrame(rows, columns=["update", "w, never stopped", "w, yours"]))


@or_nothing
def sketch_missing(trainers: Mapping[str, Any], forgets: Mapping[str, Any], words: Sequence[str]) -> Picture:
    """The list of states, with what a person says is missing in each trainer's checkpoint."""
    said = {letter: word for letter, word in forgets.items() if word is not ... and letter in trainers}
    if not said:
        raise NotImplementedError
    parts = ["net", "optimizer", *(word for word in words if word != "nothing")]
    figure = Figure(figsize=(7.2, 2.8), layout="constrained")
    axes = figure.add_subplot()
    for x, word in enumerate(said.values()):
        for y, part in enumerate(parts):
            gone = part == word
            face, hatch = ("white", "////") if gone else (picture.SKY, "")
            axes.add_patch(Rectangle((x, y), 0.92, 0.9, facecolor=face, hatch=hatch, edgecolor="black", linewidth=0.8))
            text = "missing" if gone else "saved"
            axes.text(x + 0.46, y + 0.45, text, ha="center", va="center", fontsize=8, bbox=_PAPER if gone else None)
    axes.set_xlim(0, len(said))
    axes.set_ylim(len(parts), 0)
    axes.set_xticks([x + 0.46 for x in range(len(said))], list(said))
    axes.set_yticks([y + 0.45 for y in range(len(parts))], parts)
    axes.tick_params(length=0)
    axes.spines[["top", "right", "left", "bottom"]].set_visible(False)
    axes.set_title("What the checkpoints hold, you say", fontsize=10, loc="left")
    told = ", ".join(f"{letter} {word}" for letter, word in said.items())
    table = pd.DataFrame(said.items(), columns=["trainer", "missing, you say"])
    return Picture(figure, f"Missing in the checkpoints, you say: {told}.", table)


@or_nothing
def sketch_ranks(
    resumed: Callable[..., Mapping[str, Any]],
    job: Mapping[str, Any],
    four: Mapping[str, Any],
    two: Mapping[str, Any],
) -> Picture:
    """A person's settings on real ranks: samples of each update and the largest difference of weights in the end."""
    found = resumed(job, four, two)
    whole = found["whole"]
    figure, axes = plain_axes("sample", "update", "", height=3.2)
    rows, told = [], []
    looks = (("whole", "black", "s", "never stopped"), ("four", picture.BLUE, "o", "four ranks"),
             ("two", picture.RED, "x", "two ranks"))  # fmt: skip
    for shift, (name, colour, marker, label) in enumerate(looks):
        run = found[name]
        for place, ids in enumerate(run["samples"]):
            update = job["step"] + place + 1
            axes.plot(ids, [update + 0.22 * (shift - 1)] * len(ids), marker, color=colour, markersize=3)
            rows.append((label, update, ids[0], ids[-1], len(ids)))
        axes.plot([], [], marker, color=colour, label=label)
        if name != "whole":
            gap = max(abs(a - b) for a, b in zip(whole["weights"], run["weights"], strict=True))
            same = sum(a == b for a, b in zip(whole["samples"], run["samples"], strict=True))
            told.append(f"{label}: {same} of {len(whole['samples'])} updates read the same samples, "
                        f"weights differ by up to {gap:.1e}")  # fmt: skip
    axes.invert_yaxis()
    axes.set_title("\n".join(told), fontsize=9, loc="left")
    axes.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1, 1))
    table = pd.DataFrame(rows, columns=["run", "update", "first sample", "last sample", "samples"])
    return Picture(figure, "; ".join(told) + ".", table)


@or_nothing
def sketch_verdicts(
    intervals: Mapping[str, tuple[float, float]], margin: float, verdicts: Mapping[str, Any]
) -> Picture:
    """Each program's interval beside the margin, with a person's verdict."""
    said = {letter: verdict for letter, verdict in verdicts.items() if verdict is not ... and letter in intervals}
    if not said:
        raise NotImplementedError
    figure, axes = plain_axes("difference of mean final losses", "program", "Intervals at 0.90, and your verdicts")
    axes.axvspan(-margin, margin, facecolor="white", hatch="//", edgecolor="#bbbbbb", label="within the margin")
    axes.axvline(0, color="black", linewidth=0.8)
    most = max(margin, *(abs(end) for letter in said for end in intervals[letter]))
    for place, (letter, verdict) in enumerate(said.items()):
        low, high = intervals[letter]
        axes.plot([low, high], [place, place], "|-", color=picture.BLUE, linewidth=3, markersize=12)
        axes.text(1.15 * most, place, str(verdict), va="center", fontsize=9)
    axes.set_xlim(-1.1 * most, 1.1 * most)
    axes.set_yticks(range(len(said)), list(said))
    axes.set_ylim(len(said) - 0.4, -0.6)
    axes.legend(frameon=False, fontsize=9, loc="upper center", bbox_to_anchor=(0.5, -0.2))
    rows = [(k, *intervals[k], v) for k, v in said.items()]
    told = "; ".join(f"{k} {low:.3g} to {high:.3g}, you say {v}" for k, low, high, v in rows)
    table = pd.DataFrame(rows, columns=["program", "from", "to", "you say"])
    return Picture(figure, f"Margin {margin:g}. {told}.", table)


def _mark(axes: Axes, x: float, y: float, text: str) -> None:
    axes.annotate(text, (x, 1.0 if y > 0 else 0.0), (x, y), ha="center", va="center", fontsize=9,
                  arrowprops={"arrowstyle": "->"})  # fmt: skip
