"""Drawings of what a person says about shards: shares, epochs, bytes, steps, gradients and findings, right or wrong.

Each takes plain values or a function, draws exactly that, and never the truth in its place. What can't be drawn
(an answer that is still open, a word where a number belongs) gives an empty picture that says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from labkit import picture
from labkit.picture import Picture
from labkit.sharding.drawing import BORROWED, MISSING, OWN
from labkit.sharding.planning import Plan
from labkit.sketching import or_nothing, plain_axes

_WIDTH = 9.6  # inches: about what a notebook cell has
_HATCHES = ("////", "....", "xxxx", "\\\\\\\\", "++++", "oooo")
_FILLS = (picture.SKY, picture.ORANGE, picture.YELLOW, picture.GREEN, picture.PURPLE, "#d0d0d0")


@or_nothing
def sketch_share(
    share: Callable[[int, int, int, bool], Any], samples: int, ranks: int, *, drop_last: bool = False
) -> Picture:
    """The ids that a person's function gives each rank, one a step; what was handed out before is hatched."""
    per_rank = [[[one] for one in share(samples, ranks, rank, drop_last)] for rank in range(ranks)]
    return _dealt(per_rank, samples)


@or_nothing
def sketch_batches(
    batches: Callable[[int, int, int, int, bool, bool], Any],
    samples: int,
    batch_size: int,
    ranks: int,
    *,
    even_batches: bool = True,
    drop_last: bool = False,
) -> Picture:
    """The batches that a person's function gives each rank; what was handed out before is hatched and starred."""
    per_rank = [
        [list(batch) for batch in batches(samples, batch_size, ranks, rank, even_batches, drop_last)]
        for rank in range(ranks)
    ]
    return _dealt(per_rank, samples, batch_size)


def _dealt(per_rank: list[list[list[Any]]], samples: int, batch_size: int = 1) -> Picture:
    """Batches drawn as they are: an id's first place, by step and then rank, is its own; later ones are borrowed."""
    seen: set[int] = set()
    places: list[list[list[int]]] = [[[] for _ in batches] for batches in per_rank]
    for step in range(max(map(len, per_rank), default=0)):
        for rank, batches in enumerate(per_rank):
            for one in batches[step] if step < len(batches) else []:
                if type(one) is not int or not 0 <= one < samples:
                    raise ValueError(f"rank {rank}, step {step}: {one!r} is not an id from 0 to {samples - 1}")
                places[rank][step].append(one + samples if one in seen else one)
                seen.add(one)
    mine = Plan("batches", batch_size, len(per_rank), range(samples), _places=places)
    again, gone = len([p for batches in places for batch in batches for p in batch if p >= samples]), len(mine.dropped)
    steps = f"{mine.steps[0]} steps each" if not mine.hang_risk else f"steps {', '.join(map(str, mine.steps))}"
    title = f"Your answer: {samples} samples on {len(per_rank)} ranks, {steps}, {again} again, {gone} read by nobody"
    drawn = mine.plot(title=title)
    rows = "; ".join(f"rank {rank}: {batches}" for rank, batches in enumerate(per_rank))
    return Picture(drawn.figure, f"{title}. {rows}.", drawn.table)


@or_nothing
def sketch_epochs(orders: Sequence[Sequence[int]], repeats: Sequence[int]) -> Picture:
    """One rank's order in each epoch of a real run; the epochs that a person calls repeated are hatched and starred."""
    said = [int(one) for one in repeats]
    figure = Figure(figsize=(_WIDTH, 1.1 + 0.42 * len(orders)), layout="constrained")
    axes = figure.add_subplot()
    for row, order in enumerate(orders):
        for place, one in enumerate(order):
            axes.add_patch(Rectangle((place, row - 0.34), 1, 0.68, **(BORROWED if row in said else OWN)))
            _label(axes, place + 0.5, row, str(one), hatched=row in said)
    names = [f"line {row}{'*' * (row in said)}" for row in range(len(orders))]
    _rows(axes, names, max(map(len, orders), default=1) + 0.1)
    axes.set_title(f"What rank 0 read; you say repeated: {_said(said)}", fontsize=11, loc="left")
    handles = [Patch(label="new, you say", **OWN), Patch(label="seen before, you say (*)", **BORROWED)]
    figure.legend(handles=handles, loc="outside lower right", ncols=2, fontsize=9, frameon=False)
    table = pd.DataFrame(
        {"line": range(len(orders)), "rank 0 read": [" ".join(map(str, order)) for order in orders]}
    ).assign(**{"you say": ["repeated" if row in said else "new" for row in range(len(orders))]})
    return Picture(figure, f"What rank 0 read in {len(orders)} epochs. You say repeated: {_said(said)}.", table)


@or_nothing
def sketch_traffic(shard_reads: int, dispatch_reads: int, broadcast: int, scatter: int) -> Picture:
    """A person's reads of one rank and bytes sent to the others, in the three modes, side by side."""
    figure = Figure(figsize=(_WIDTH, 2.3), layout="constrained")
    left, right = figure.subplots(1, 2)
    _bars(left, ["rank 0, dispatch", "a rank, shard"], [dispatch_reads, shard_reads], "samples read")
    _bars(right, ["scatter", "broadcast", "shard"], [scatter, broadcast, 0], "bytes sent to other ranks")
    figure.suptitle("Your figures", fontsize=11, x=0.01, ha="left")
    alt = (
        f"You say: in shard mode a rank reads {shard_reads:,} samples and no sample is sent; in dispatch mode rank 0 "
        f"reads {dispatch_reads:,} and sends {broadcast:,} bytes by broadcast, {scatter:,} by scatter."
    )
    return Picture(figure, alt)


def _bars(axes: Axes, names: list[str], values: list[int], unit: str) -> None:
    axes.barh(names, values, height=0.6, color=picture.SKY, edgecolor="black", linewidth=0.6)
    for row, value in enumerate(values):
        axes.text(value, row, f" {value:,}", va="center", fontsize=9)
    axes.set_xlim(0, 1.3 * max(max(values), 1))
    axes.set_xlabel(unit)
    axes.spines[["top", "right"]].set_visible(False)


@or_nothing
def sketch_claims(settings: Mapping[str, Mapping[str, Any]], claims: Mapping[str, Mapping[str, Any]]) -> Picture:
    """The steps that a person says each rank takes under each setting: a box a step, with what they say beside it."""
    said = {name: dict(claim) for name, claim in claims.items() if not _open(claim) and name in settings}
    if not said:
        raise NotImplementedError
    rows = [(name, rank, int(n)) for name, claim in said.items() for rank, n in enumerate(claim["steps"])]
    figure = Figure(figsize=(_WIDTH, 0.9 + 0.3 * len(rows)), layout="constrained")
    axes = figure.add_subplot()
    most = max((n for _, _, n in rows), default=1)
    for row, (name, rank, taken) in enumerate(rows):
        longest = max(map(int, said[name]["steps"]))
        for step in range(longest):
            axes.add_patch(Rectangle((step, row - 0.36), 0.92, 0.72, **(OWN if step < taken else MISSING)))
            _label(axes, step + 0.46, row, str(step) if step < taken else "none", hatched=False)
        if rank == 0:
            claim = said[name]
            hang = "hangs" if claim["hang"] else "ends"
            text = f"{claim['duplicates']} again, {claim['dropped']} dropped, {hang}"
            axes.text(most + 0.3, row, text, va="center", fontsize=9)
    _rows(axes, [f"{name} rank {rank}" for name, rank, _ in rows], most + 3)
    axes.set_title("The steps you say each rank takes", fontsize=11, loc="left")
    alt = "You say: " + "; ".join(
        f"{name} steps {', '.join(map(str, c['steps']))}, {c['duplicates']} again, {c['dropped']} dropped, "
        f"{'hangs' if c['hang'] else 'ends'}"
        for name, c in said.items()
    )
    return Picture(figure, alt + ".")


def _open(claim: Mapping[str, Any]) -> bool:
    steps = claim.get("steps")
    return any(value is ... for value in (*claim.values(), *(steps if isinstance(steps, list | tuple) else ())))


@or_nothing
def sketch_gradients(gradients_of: Callable[[list[int]], Any], steps: Sequence[int]) -> Picture:
    """The gradients that a person's function really gets on real ranks: a box for each step that a rank took."""
    taken = [[float(one) for one in mine] for mine in gradients_of(list(steps))]
    longest = max([len(mine) for mine in taken] + [1])
    figure = Figure(figsize=(_WIDTH, 1.1 + 0.46 * len(taken)), layout="constrained")
    axes = figure.add_subplot()
    for rank, mine in enumerate(taken):
        for step in range(longest):
            there = step < len(mine)
            axes.add_patch(Rectangle((step, rank - 0.34), 0.94, 0.68, **(OWN if there else MISSING)))
            _label(axes, step + 0.47, rank, f"gradient {mine[step]:g}" if there else "no step", hatched=False)
    _rows(axes, [f"rank {rank}" for rank in range(len(taken))], longest)
    axes.set_xticks([step + 0.47 for step in range(longest)], [str(step + 1) for step in range(longest)])
    axes.set_xlabel("step, from 1: what a rank's own gradient is in it")
    asked = ", ".join(map(str, steps))
    axes.set_title(f"Your run on {len(steps)} real ranks that have {asked} steps", fontsize=11, loc="left")
    said = "; ".join(f"rank {rank}: {', '.join(f'{one:g}' for one in mine)}" for rank, mine in enumerate(taken))
    rows = [(rank, step, one) for rank, mine in enumerate(taken) for step, one in enumerate(mine, 1)]
    alt = f"Ranks that have {asked} steps; gradients of your run, step by step: {said}."
    return Picture(figure, alt, pd.DataFrame(rows, columns=["rank", "step", "gradient"]))


@or_nothing
def sketch_draws(drawn: pd.DataFrame, alike: Mapping[str, Any]) -> Picture:
    """The numbers of a real run, equal ones with equal hatching, and what a person says is alike in each job."""
    said = {job: list(words) for job, words in alike.items() if words is not ...}
    if not said:
        raise NotImplementedError
    shown = drawn[drawn["job"].isin(list(said))]
    figure = Figure(figsize=(_WIDTH, 0.8 + 0.3 * len(shown)), layout="constrained")
    axes = figure.add_subplot()
    names: list[str] = []
    for job, rows in shown.groupby("job", sort=True):
        texts = list(dict.fromkeys([*rows["epoch 0"], *rows["epoch 1"]]))
        for i, row in enumerate(rows.itertuples(index=False)):
            at = len(names)
            for epoch, text in enumerate((row[3], row[4])):
                which = texts.index(text)
                alone = [*rows["epoch 0"], *rows["epoch 1"]].count(text) == 1
                style: dict[str, Any] = {
                    "facecolor": "white" if alone else _FILLS[which % 6],
                    "edgecolor": "black",
                    "linewidth": 0.6,
                }
                hatch = None if alone else _HATCHES[which % 6]
                axes.add_patch(Rectangle((epoch, at - 0.42), 0.97, 0.84, hatch=hatch, **style))
                _label(axes, epoch + 0.48, at, text, hatched=not alone)
            if i == 0:
                axes.text(2.05, at, f"alike, you say: {_said(said[str(job)])}", va="center", fontsize=9)
            names.append(f"{job} rank {row[1]} worker {row[2]}")
    _rows(axes, names, 3.2)
    axes.text(0.48, -0.75, "epoch 0", ha="center", fontsize=9)
    axes.text(1.48, -0.75, "epoch 1", ha="center", fontsize=9)
    axes.set_ylim(len(names) - 0.4, -1.1)
    axes.set_title("What the workers drew; equal hatching: equal numbers", fontsize=11, loc="left")
    alt = "You say that these draw the same numbers: " + "; ".join(f"{job}: {_said(w)}" for job, w in said.items())
    return Picture(figure, alt + ".", shown)


@or_nothing
def sketch_findings(loaders: Mapping[str, Any], found: Mapping[str, Mapping[str, Any]]) -> Picture:
    """What a person found in each loader: the ids read again and read by nobody as bars, with the cause they name."""
    said = {name: dict(one) for name, one in found.items() if not _open(one) and name in loaders}
    if not said:
        raise NotImplementedError
    figure, axes = plain_axes("ids in epoch 0", "", "What you found", height=1.2 + 0.5 * len(said))
    longest = max([int(one[key]) for one in said.values() for key in ("again", "missing")] + [1])
    for row, one in enumerate(said.values()):
        again, missing = int(one["again"]), int(one["missing"])
        axes.barh(row - 0.2, again, height=0.36, **BORROWED)
        axes.barh(row + 0.2, missing, height=0.36, **MISSING)
        axes.text(again, row - 0.2, f" {again} again", va="center", fontsize=9)
        axes.text(missing, row + 0.2, f" {missing} read by nobody", va="center", fontsize=9)
    axes.set_yticks(range(len(said)), [f"{name}: {one['cause']}" for name, one in said.items()])
    axes.set_ylim(len(said) - 0.4, -0.6)
    axes.set_xlim(0, 1.5 * longest)
    alt = "You say: " + "; ".join(
        f"{name} {one['cause']}, {one['again']} again, {one['missing']} read by nobody" for name, one in said.items()
    )
    return Picture(figure, alt + ".")


def _rows(axes: Axes, names: list[str], width: float) -> None:
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.45, -0.55)
    axes.set_xlim(-0.1, width)
    axes.set_xticks([])
    axes.tick_params(length=0)
    axes.spines[["top", "right", "left", "bottom"]].set_visible(False)


def _label(axes: Axes, x: float, y: float, text: str, *, hatched: bool) -> None:
    back = {"facecolor": "white", "edgecolor": "none", "pad": 0.8} if hatched else None
    axes.text(x, y, text, ha="center", va="center", fontsize=8, color="black", bbox=back)


def _said(words: Sequence[Any]) -> str:
    return ", ".join(map(str, words)) or "none"
