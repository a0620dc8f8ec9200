"""Drawings of what a person says about a run's records: their verdicts, their names, what they keep, what it costs.

Each draws exactly the answer beside what is given or what a real run did, and never the truth in its place.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from labkit import picture
from labkit.picture import Picture
from labkit.sketching import or_nothing, plain_axes

_PAPER = {"facecolor": "white", "edgecolor": "none", "pad": 1.0}


@or_nothing
def sketch_records(records: Mapping[str, Any], verdicts: Mapping[str, Any]) -> Picture:
    """Loss and gradient norm of every record over its steps, with a person's verdict above."""
    if all(verdict is ... for verdict in verdicts.values()):
        raise NotImplementedError
    figure = Figure(figsize=(9.6, 2.6), layout="constrained")
    rows, told = [], []
    for axes, (letter, record) in zip(figure.subplots(1, len(records), sharey=True), records.items(), strict=True):
        steps = [row["step"] for row in record.rows]
        for metric, colour, look in (("loss", picture.BLUE, "-"), ("grad_norm", picture.RED, "--")):
            values = [row[metric] if row[metric] > 0 else math.nan for row in record.rows]
            axes.plot(steps, values, look, marker=".", markersize=4, color=colour, label=metric, linewidth=1)
        axes.set_yscale("log")
        said = verdicts.get(letter, ...)
        words = "open" if said is ... else str(said)
        axes.set_title(f"{letter}: {words}", fontsize=9)
        axes.set_xlabel("step")
        axes.spines[["top", "right"]].set_visible(False)
        rows.append((letter, len(steps), record.rows[-1]["loss"], record.rows[-1]["grad_norm"], words))
        told.append(f"{letter} {words}")
    figure.axes[0].legend(frameon=False, fontsize=8)
    table = pd.DataFrame(rows, columns=["record", "steps", "last loss", "last grad_norm", "you say"])
    return Picture(figure, f"Loss and gradient norm of {len(rows)} records. You say: {', '.join(told)}.", table)


@or_nothing
def sketch_names(identity: Callable[[dict[str, Any], list[str], list[str]], Any]) -> Picture:
    """The names that a person's function gives to variations of one run: like the first, or another."""
    config = {"lr": 0.1, "model": {"width": 8, "depth": 2}, "output": "runs/a"}
    samples = ["a cat", "a dog"]
    runs = [
        ("the run", config, samples),
        ("keys in another order", {"output": "runs/a", "model": {"depth": 2, "width": 8}, "lr": 0.1}, samples),
        ("another output (ignored)", {**config, "output": "runs/b"}, samples),
        ("another lr", {**config, "lr": 0.2}, samples),
        ("another width", {**config, "model": {"width": 9, "depth": 2}}, samples),
        ("samples in another order", config, samples[::-1]),
        ("another sample", config, ["a cat", "a fox"]),
    ]
    names = [identity(dict(made), list(held), ["output"]) for _, made, held in runs]
    if any(name is ... for name in names):
        raise NotImplementedError
    figure = Figure(figsize=(7.2, 2.7), layout="constrained")
    axes = figure.add_subplot()
    rows = []
    for line, ((what, _, _), name) in enumerate(zip(runs, names, strict=True)):
        same = name == names[0]
        face, hatch = (picture.SKY, "") if same else ("white", "////")
        axes.add_patch(Rectangle((0, line + 0.06), 1, 0.88, facecolor=face, hatch=hatch, edgecolor="black"))
        axes.text(0.5, line + 0.5, str(name)[:24], ha="center", va="center", fontsize=9, bbox=_PAPER)
        rows.append((what, str(name)[:40], same))
    axes.set_xlim(0, 1)
    axes.set_ylim(len(runs), 0)
    axes.set_xticks([])
    axes.set_yticks([line + 0.5 for line in range(len(runs))], [what for what, _, _ in runs])
    axes.tick_params(length=0)
    axes.spines[["top", "right", "left", "bottom"]].set_visible(False)
    axes.set_title("Your names; hatched: another one than the first", fontsize=10, loc="left")
    told = "; ".join(f"{what}: {'the same' if same else 'another'}" for what, _, same in rows[1:])
    return Picture(
        figure, f"Your names, beside the first. {told}.", pd.DataFrame(rows, columns=["run", "name", "same"])
    )


@or_nothing
def sketch_kept(watch: Callable[[Sequence[float | None], Sequence[Sequence[int]], int], Mapping[str, Any]]) -> Picture:
    """A loss with three spikes, and the steps whose batches a person's keeper of two holds in the end."""
    rng = random.Random(4)
    losses = [rng.uniform(0.9, 1.1) for _ in range(60)]
    for step, value in ((25, 4.0), (38, 9.0), (50, 6.0)):
        losses[step - 1] = value
    batches = [[10 * step + i for i in range(4)] for step in range(1, 61)]
    found = watch(list(losses), batches, 2)["kept"]
    figure, axes = plain_axes("step", "loss", "60 steps, keep=2: what your keeper holds in the end")
    axes.plot(range(1, 61), losses, "-", color=picture.BLUE, linewidth=1)
    rows = []
    for step, batch in found:
        right = batch == batches[step - 1]
        axes.plot(step, losses[step - 1], "D" if right else "X", color=picture.RED, markersize=9)
        words = f"{batch}" if right else f"{batch}\nnot its batch"
        axes.annotate(words, (step, losses[step - 1]), (6, 4), textcoords="offset points", fontsize=8)
        rows.append((step, losses[step - 1], str(batch), right))
    axes.set_ylim(0, 11)
    axes.set_xlim(0, 75)
    told = "; ".join(f"step {step}: {'its' if right else 'another'} batch" for step, _, _, right in rows) or "nothing"
    table = pd.DataFrame(rows, columns=["step", "loss", "batch kept", "is its batch"])
    return Picture(figure, f"Spikes in steps 25, 38 and 50. Your keeper holds {told}.", table)


@or_nothing
def sketch_cost(
    run: Callable[[str, str, int, int], Mapping[str, Any]], write: Any, keep: Any, killed: int, spike: int
) -> Picture:
    """A person's way to record, in a real process that is killed: rows left and lost, and its share of a step."""
    if write is ... or keep is ...:
        raise NotImplementedError
    found = run(write, keep, killed, spike)
    figure = Figure(figsize=(9.6, 1.9), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.barh(0, found["rows"], color=picture.SKY, edgecolor="black")
    left.barh(0, found["lost"], left=found["rows"], color="white", edgecolor="black", hatch="////")
    left.set_title(f"{found['rows']} rows left, {found['lost']} lost (hatched)", fontsize=10, loc="left")
    left.set_xlabel("steps until the kill")
    right.barh(0, 100 * found["share"], color=picture.ORANGE, edgecolor="black", hatch="..")
    right.axvline(1, color="black", linestyle="--", linewidth=1)
    right.set_xlim(0, max(2.0, 110 * found["share"]))
    right.set_xlabel("recording, % of a step (dashed: 1 %)")
    batch = "the spike's batch is there" if found["batch"] else "the spike's batch is gone"
    right.set_title(f"{found['share']:.2%} of a step; {batch}", fontsize=10, loc="left")
    for axes in (left, right):
        axes.set_yticks([])
        axes.spines[["top", "right", "left"]].set_visible(False)
    alt = (
        f"Write {write}, keep {keep}, killed after step {killed}: {found['rows']} rows left, {found['lost']} lost; "
        f"recording takes {found['share']:.2%} of a step; {batch}."
    )
    return Picture(figure, alt)
