"""Drawings of answers about order and batches: shuffles, their quality, buckets, the trade, the break-even of ids.

Each draws what the answer says or does, and never the truth in its place; an open answer gives a picture saying so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from labkit import picture
from labkit.picture import Picture
from labkit.pipeline.bucketing import trade
from labkit.pipeline.bucketing_drawing import draw_batches
from labkit.pipeline.shuffling import try_shuffle
from labkit.pipeline.tokenising import Costs
from labkit.sketching import nothing, or_nothing, plain_axes, unmarked


@or_nothing
def sketch_order(
    two_stage: Callable[[list[list[int]], int, int, int], Any], shards: int, shard_samples: int, buffer: int
) -> Picture:
    """The order that a person's function gives, as a cloud of points; lines mark the shards."""
    stored = [list(range(i * shard_samples, (i + 1) * shard_samples)) for i in range(shards)]
    order = [int(one) for one in two_stage(stored, buffer, 1, 0)]
    title = f"Your order: {len(order)} of {shards * shard_samples} samples, buffer {buffer}"
    figure, axes = plain_axes("place in training", "stored place", title, height=3.6)
    for edge in range(0, shards * shard_samples + 1, shard_samples):
        axes.axhline(edge - 0.5, color="#bbbbbb", linewidth=0.6)
    axes.plot(range(len(order)), order, ".", color=picture.BLUE, markersize=4)
    table = pd.DataFrame({"place in training": range(len(order)), "stored place": order})
    return Picture(figure, f"{title}. It begins {', '.join(map(str, order[:12]))}.", table)


@or_nothing
def sketch_quality(quality: Callable[[list[int], int], float], shards: int, shard_samples: int) -> Picture:
    """A person's quality over the size of the buffer, with and without a shuffle of the shards."""
    size, count = 16, shards * shard_samples
    buffers = [1, shard_samples // 2, shard_samples, 2 * shard_samples, 4 * shard_samples, count // 2]
    lines: dict[bool, list[float]] = {}
    rows: list[dict[str, Any]] = []
    for mixed in (True, False):
        ways = [
            try_shuffle(shards, shard_samples, batch_size=size, buffer=b, shuffle_shards=mixed, seed=1) for b in buffers
        ]
        lines[mixed] = [float(quality(list(way.order), size)) for way in ways]
        rows += [{"shards": "shuffled" if mixed else "stored order", "buffer": b, "your quality": round(q, 3)}
                 for b, q in zip(buffers, lines[mixed], strict=True)]  # fmt: skip
    ends = {
        "stored order": float(quality(list(range(count)), size)),
        "a full shuffle": float(
            quality(list(try_shuffle(shards, shard_samples, batch_size=size, full=True).order), size)
        ),
    }
    figure, axes = plain_axes("samples in the buffer", "your quality",
                              f"Your scale: stored order {ends['stored order']:.2f}, a full shuffle "
                              f"{ends['a full shuffle']:.2f}")  # fmt: skip
    axes.plot(buffers, lines[True], "o-", color=picture.BLUE, label="shards shuffled")
    axes.plot(buffers, lines[False], "^--", color=picture.RED, label="shards in stored order")
    for name, value in ends.items():
        axes.axhline(value, color="black", linewidth=0.8, linestyle=":")
        axes.text(count / 2, value, name, fontsize=8, va="bottom", ha="right")
        rows.append({"shards": name, "buffer": None, "your quality": round(value, 3)})
    axes.set_xscale("log")
    axes.set_xticks(buffers, labels=[str(b) for b in buffers])
    axes.minorticks_off()
    axes.legend(frameon=False, fontsize=9)
    said = "; ".join(f"buffer {b}: {q:.2f}" for b, q in zip(buffers, lines[True], strict=True))
    alt = f"Your quality with shards shuffled, {said}. Ends: {', '.join(f'{n} {v:.2f}' for n, v in ends.items())}."
    return Picture(figure, alt, pd.DataFrame(rows))


@or_nothing
def sketch_buckets(buckets: Callable[[list[int], int, int, int], Any], lengths: Sequence[int], pool: int) -> Picture:
    """The first batches that a person's function makes, padding hatched; both figures over all of them."""
    batches = [[int(one) for one in batch] for batch in buckets(list(lengths), 8, pool, 1)]
    found = trade(lengths, batches)
    figures = f"padding {100 * found.padding:.1f} %, correlation {found.correlation:.2f}"
    return draw_batches(lengths, batches, f"Your batches, pools of {pool}: {figures}")


@or_nothing
def sketch_trade(pool: int, padding: float, correlation: float, limit: float) -> Picture:
    """A person's two figures for their pool, each on its own scale, with the limit marked."""
    figure, axes = plain_axes("0 to 1, or 0 to 100 %", "", f"You say: pools of {pool:g}", height=1.7)
    values = [padding / 100, correlation]
    axes.barh([0, 1], values, height=0.6, color=[picture.ORANGE, picture.SKY], hatch=["////", ""], edgecolor="black")
    axes.plot([limit / 100] * 2, [-0.4, 0.4], color="black", linewidth=2)
    for row, text in enumerate((f" {padding:g} % (limit {limit:g} %)", f" {correlation:g}")):
        axes.text(max(values[row], 0, limit / 100 if row == 0 else 0), row, text, va="center", fontsize=9)
    axes.set_yticks([0, 1], ["padding", "correlation"])
    axes.set_xlim(min(0, *values), 1.3)
    axes.invert_yaxis()
    return Picture(figure, f"You say: pools of {pool:g} give padding {padding:g} % (limit {limit:g} %) and correlation "
                           f"{correlation:g}.")  # fmt: skip


@or_nothing
def sketch_break_even(costs: Mapping[str, Costs], answers: Mapping[str, Any]) -> Picture:
    """For each store that a person has answered: both totals over the epochs, and their number of epochs as a line."""
    given = {name: answer for name, answer in answers.items() if answer is not ...}
    if not given:
        raise NotImplementedError
    for name, answer in given.items():
        whole = isinstance(answer, int | float) and answer == answer // 1 and 1 <= answer <= 1_000_000
        if answer != "never" and (not whole or isinstance(answer, bool)):
            return nothing(f'{name} is {answer!r}: give a whole number of epochs from 1 on, or "never"'[:160])
    figure = Figure(figsize=(9.6, 3.0), layout="constrained")
    said, rows = [], []
    for axes, (name, answer) in zip(figure.subplots(1, len(given), squeeze=False)[0], given.items(), strict=True):
        epochs = None if answer == "never" else int(answer)
        shown = range(1, min(max(6, 2 * (epochs or 10)), 80) + 1)
        fly, before = [costs[name].on_the_fly(e) for e in shown], [costs[name].before(e) for e in shown]
        axes.plot(shown, fly, "^--", color=picture.RED, label="on the fly", markersize=4)
        axes.plot(shown, before, "o-", color=picture.BLUE, label="before", markersize=4)
        if epochs is not None:
            axes.axvline(epochs, color="black", linestyle=(0, (4, 2)), label="your answer")
        said.append(f"{name} pays {'never' if epochs is None else f'from epoch {epochs} on'}")
        axes.set_title(f"You say: {said[-1]}", fontsize=11, loc="left")
        axes.set_xlabel("epochs")
        axes.set_ylim(bottom=0)
        axes.spines[["top", "right"]].set_visible(False)
        rows += [{"store": name, "epochs": e, "on the fly (ms)": a, "before (ms)": b}
                 for e, a, b in zip(shown, fly, before, strict=True)]  # fmt: skip
    figure.axes[0].set_ylabel("ms for 1,000 texts, in all")
    figure.axes[0].legend(frameon=False, fontsize=9)
    return Picture(figure, f"Both totals over the epochs. You say: {'; '.join(said)}.", pd.DataFrame(rows))


@or_nothing
def sketch_text(text: str, met: Mapping[str, Any]) -> Picture:
    """A bar of a person's text, word by word, with the words that each mark quotes."""
    if why := unmarked((name for name, mark in met.items() if mark is not ...), met):
        return nothing(why)
    plain = " ".join(text.split())
    words = plain.split()
    figure = Figure(figsize=(9.6, 0.9 + 0.34 * len(met)), layout="constrained")
    axes = figure.add_subplot()
    found = []
    for row, (name, quote) in enumerate(met.items()):
        axes.barh(row, max(len(words), 1), height=0.5, color="white", edgecolor="#999999", linewidth=0.6)
        wanted = " ".join(quote.split()) if isinstance(quote, str) else ""
        at = plain.lower().find(wanted.lower()) if wanted else -1
        if at >= 0:
            first, many = len(plain[:at].split()), len(wanted.split())
            axes.barh(row, many, left=first, height=0.5, color=picture.SKY, edgecolor="black", hatch="////")
            found.append(name)
    axes.set_yticks(range(len(met)), [name if name in found else f"{name} (not found)" for name in met])
    axes.invert_yaxis()
    axes.set_xlabel("word of your text")
    axes.spines[["top", "right", "left"]].set_visible(False)
    title = f"Your text: {len(words)} words; quoted in it: {', '.join(found) or 'nothing'}"
    axes.set_title(title, fontsize=11, loc="left")
    return Picture(figure, f"{title}.")
