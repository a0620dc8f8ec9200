"""Drawings of what a person says about real loaders: their stopwatch, their debt, their causes and settings."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from labkit import picture
from labkit.picture import Picture
from labkit.pipeline.drawing import STYLES, Lane, draw_lanes
from labkit.sketching import nothing, or_nothing, plain_axes

LIMIT = 0.05
"""The share of waiting that the lab asks for."""


@or_nothing
def sketch_pairs(replayed: Callable[..., Mapping[str, Any]]) -> Picture:
    """A person's (wait, train) pairs of a real run, laid end to end below what the device did meanwhile."""
    batches = 12
    run = replayed([14.0] * batches, [10.0] * batches, 0.0, True)
    device: list[tuple[Any, ...]] = []
    before = 0.0
    for i, (begin, end) in enumerate(run["device"]):
        device += [(before, begin, _wait(begin - before), "wait"), (begin, end, str(i), "train")]
        before = end
    yours: list[tuple[Any, ...]] = []
    now = 0.0
    for i, (wait, train) in enumerate(run["pairs"]):
        yours += [(now, now + wait, _wait(wait), "wait"), (now + wait, now + wait + train, str(i), "train")]
        now += wait + train
    took = max([before, *run["free"]]) - run["began"][0]  # workers end after that
    lanes: list[Lane] = [("the device", device), ("your pairs", yours)]
    alt = (
        f"A real run of {batches} batches took {took:.4g} ms from iter() to the end of the last step; your "
        f"{len(run['pairs'])} pairs add up to {now:.4g}. "
        f"Your waits in ms: {', '.join(f'{wait:.3g}' for wait, _ in run['pairs'])}."
    )
    title = f"From iter() to the last step: {took:.4g} ms; your pairs add up to {now:.4g}"
    return draw_lanes(lanes, title=title, alt=alt)


def _wait(wait: float) -> tuple[str, str]:
    return f"wait {wait:.3g}", f"{wait:.2g}" if wait < 10 else f"{wait:.0f}"


@or_nothing
def sketch_debt(
    debt: Callable[..., Mapping[str, float]], passes: Mapping[str, Sequence[float]], warmup: int
) -> Picture:
    """Three passes over one job, ms a batch, and the debt that a person's function makes of them."""
    found = debt(*(list(passes[name]) for name in ("read_only", "train_only", "both")), warmup)
    bars = {name: (done[-1] - done[warmup - 1]) / (len(done) - warmup) for name, done in passes.items()}
    figure, axes = plain_axes("ms a batch, after the warm-up", "", "Three real passes, and your debt", height=3.2)
    styles = {"read_only": STYLES["prepare"], "train_only": STYLES["train"], "both": STYLES["plain"]}
    for place, (name, length) in enumerate(bars.items()):
        axes.barh(place, length, height=0.6, **styles[name])
        axes.text(length, place, f" {length:.3g}", va="center", fontsize=9)
    start = bars["train_only"]
    parts = (("supply", "\\\\\\\\", picture.BLUE), ("interference", "xxxx", picture.PURPLE))
    for part, hatch, colour in parts:
        axes.barh(
            3,
            found[part],
            left=start,
            height=0.6,
            facecolor="white",
            edgecolor=colour,
            hatch=hatch,
            label=f"{part} {found[part]:.3g}",
        )
        start += found[part]
    axes.set_yticks(range(4), ["read-only", "train-only", "both", f"your debt {found['debt']:.3g}"])
    axes.set_ylim(3.6, -0.6)
    axes.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1.0, 0.35))
    alt = (
        f"ms a batch: read-only {bars['read_only']:.3g}, train-only {bars['train_only']:.3g}, both {bars['both']:.3g}. "
        f"Your debt {found['debt']:.3g}: supply {found['supply']:.3g}, interference {found['interference']:.3g}."
    )
    rows = [*bars.items(), *((name, found[name]) for name in ("debt", "supply", "interference"))]
    return Picture(figure, alt, pd.DataFrame(rows, columns=["what", "ms a batch"]).round(3))


_PIECES = {"wait": STYLES["wait"], "copy": STYLES["queue"], "train": STYLES["train"]}


@or_nothing
def sketch_control(
    rows: Mapping[str, Sequence[float]], parts: Mapping[str, Any] | None = None, remedy: Any = ""
) -> Picture:
    """A job with its loader and with batches held in memory, means from batch 1 on, and a person's three parts."""
    if parts is not None and (remedy is ... or ... in parts.values()):
        raise NotImplementedError
    mean = {name: statistics.fmean(times[1:]) for name, times in rows.items()}
    lines = [("with the loader", ("wait", "copy", "train")), ("from memory", ("", "cached_copy", "cached_train"))]
    figure, axes = plain_axes("ms a batch, batch 0 left out", "", "", height=2.6 if parts is None else 3.1)
    for place, (_, names) in enumerate(lines):
        start = 0.0
        for name, style in zip(names, _PIECES.values(), strict=True):
            length = mean.get(name, 0.0)
            axes.barh(place, length, left=start, height=0.6, **style)
            start += length
        axes.text(start, place, f" {start:.3g}", va="center", fontsize=9)
    labels = [name for name, _ in lines]
    whole = sum(mean[name] for name in lines[0][1]) - sum(mean[name] for name in lines[1][1] if name)
    words = f"the loader costs {whole:.3g} ms a batch"
    if parts is not None:
        start = sum(mean[name] for name in lines[1][1] if name)
        for part, style in zip(("waiting", "copies", "contention"), _PIECES.values(), strict=True):
            axes.barh(2, parts[part], left=start, height=0.6, **style)
            start += parts[part]
        labels.append("your parts")
        words += f"; your parts add up to {sum(parts.values()):.3g}"
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.set_title(words[0].upper() + words[1:], fontsize=11, loc="left")
    said = ("wait", "copy", "train") if parts is None else ("wait / waiting", "copy / copies", "train / contention")
    handles = [Patch(label=label, **style) for label, style in zip(said, _PIECES.values(), strict=True)]
    figure.legend(handles=handles, loc="outside lower right", ncols=3, fontsize=9, frameon=False)
    table = pd.DataFrame(list(mean.items()), columns=["what", "ms a batch"]).round(3)
    alt = f"Means in ms a batch: {', '.join(f'{k} {v:.3g}' for k, v in mean.items())}; {words}."
    return Picture(figure, alt + (f" Your remedy: {remedy}." if remedy else ""), table)


@or_nothing
def sketch_cases(cases: Mapping[str, Any], causes: Mapping[str, Any]) -> Picture:
    """For each loader that a person has named a cause for: two epochs' first waits, its waits, what its pass says."""
    said = {letter: cause for letter, cause in causes.items() if cause is not ...}
    if not said:
        raise NotImplementedError
    figure = Figure(figsize=(9.6, 0.6 + 1.7 * len(said)), layout="constrained")
    table = []
    all_axes = figure.subplots(len(said), 1, squeeze=False)[:, 0]
    for axes, (letter, cause) in zip(all_axes, said.items(), strict=True):
        seen, epochs = cases[letter].measured, cases[letter].epochs
        axes.bar(range(len(seen.fetch_waits)), seen.fetch_waits, width=0.8, **STYLES["wait"])
        firsts = _first_waits(axes, [epoch.first_wait for epoch in epochs], max(seen.fetch_waits))
        pids = "the same" if epochs[0].pids == epochs[-1].pids else "other"
        queue = [depth or 0 for depth in seen.queue_depth]
        prepare = statistics.median(time or 0.0 for time in seen.prepare)
        figures = (
            f"wait {statistics.median(seen.fetch_waits):.2g} (longest {max(seen.fetch_waits):.3g}), "
            f"train {statistics.median(seen.train):.3g}, prepare {prepare:.3g} ms, queue {statistics.median(queue):g}, "
            f"epochs' first waits {firsts} ms, {pids} workers"
        )
        axes.set_title(f"{letter}: {cause}, you say\n{figures}", fontsize=9, loc="left")
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_ylabel("wait (ms)", fontsize=8)
        table.append((letter, cause, figures))
    all_axes[-1].set_xlabel(
        "E0, E1: first wait of each epoch; then batches, the loader's very first left out", fontsize=9
    )
    alt = "The first wait of each of two epochs, then the waits of a probed pass, batch by batch. " + " ".join(
        f"{a}, {b} you say: {c}." for a, b, c in table
    )
    return Picture(figure, alt, pd.DataFrame(table, columns=["loader", "your cause", "medians of its pass"]))


def _first_waits(axes: Axes, firsts: Sequence[float], longest: float) -> str:
    """Bars of their own, left of the pass; one that would make specks of all others is cut off. Gives the words."""
    top = 1.15 * min(max(longest, *firsts), 4 * longest)
    axes.set_ylim(0, top)
    places = [-3.0 * (len(firsts) - number) for number in range(len(firsts))]
    axes.bar(places, firsts, width=0.8, **STYLES["blocked"])
    for place, first in zip(places, firsts, strict=True):
        cut = " (cut)" if first > top else ""
        axes.text(place + 0.6, min(first, 0.97 * top), f"{first:.0f}{cut}", fontsize=7, va="top" if cut else "bottom")
    axes.axvline(-1.0, color="black", linewidth=0.8)
    ticks = [tick for tick in axes.get_xticks() if tick >= 0]
    axes.set_xticks([*places, *ticks], [*(f"E{i}" for i in range(len(places))), *(f"{tick:g}" for tick in ticks)])
    return " and ".join(f"{first:.0f}" for first in firsts)


@or_nothing
def sketch_fix(
    epochs: Callable[..., Sequence[Any]],
    loader: Callable[..., Any],
    step: Callable[[Any], Any],
    settings: Mapping[str, Any],
    *,
    cores: int,
    memory: int,
) -> Picture:
    """Two real epochs with a person's settings: the waits after the first, and the share that the lab allows."""
    if ... in settings.values():
        raise NotImplementedError
    workers, ahead = settings["num_workers"], settings["num_workers"] * settings["prefetch_factor"]
    if workers > cores or ahead > memory:
        return nothing(f"not run: {workers} workers, {ahead} batches ahead; the job has {cores} and {memory}")
    runs = epochs(loader(**settings), step)
    figure, axes = plain_axes("batch", "wait before it (ms)", "", height=3.2)
    allowed = LIMIT * statistics.fmean(time for run in runs for time in run.train) / (1 - LIMIT)
    longest = max(max(run.waits) for run in runs)
    top = 1.35 * max(longest, allowed)
    axes.set_ylim(0, top)
    at, table = 0, []
    for number, run in enumerate(runs):
        waits = [run.first_wait, *run.waits]
        axes.bar(range(at + 1, at + len(waits)), run.waits, width=0.8, **STYLES["wait"])
        axes.axvline(at - 0.5, color="black", linewidth=0.8)
        words = f" epoch {number}: {run.share:.1%}\n first wait {run.first_wait:.0f} ms, left out"
        axes.text(at, 0.98 * top, words, fontsize=9, va="top")
        table += [(number, i, wait) for i, wait in enumerate(waits)]
        at += len(waits)
    axes.axhline(allowed, color=picture.BLUE, linestyle=(0, (4, 2)), label=f"5 % on average: {allowed:.2g} ms")
    figure.legend(frameon=False, fontsize=9, loc="outside lower right")
    same = runs[0].pids == runs[1].pids
    shares = " and ".join(f"{run.share:.1%}" for run in runs)
    words = f"waits {shares}; {'same' if same else 'other'} workers"
    axes.set_title(words, fontsize=11, loc="left")
    firsts = " and ".join(f"{run.first_wait:.0f}" for run in runs)
    alt = (
        f"Two real epochs, their first waits ({firsts} ms) left out: {words} in the second one. "
        f"The longest wait {longest:.3g} ms; 5 % would be {allowed:.2g} on average."
    )
    return Picture(figure, alt, pd.DataFrame(table, columns=["epoch", "batch", "wait (ms)"]).round(2))


@or_nothing
def sketch_memory(shared_mib: Callable[..., float], figures: Mapping[str, Any], held: float, factor: int) -> Picture:
    """Shared memory counted in a real run with each prefetch_factor up to the present one, beside a person's claims."""
    held, factor = float(held), int(factor)
    names = ("batch_size", "side", "workers")
    factors = range(1, figures["prefetch_factor"] + 1)
    seen = [shared_mib(*(figures[name] for name in names), f) for f in factors]
    figure, axes = plain_axes("prefetch_factor", "MiB in shared memory", "", height=3.2)
    axes.bar(factors, seen, width=0.55, label="counted in a real run", **STYLES["prepare"])
    axes.plot(
        [figures["prefetch_factor"]],
        [held],
        "x",
        color=picture.RED,
        markersize=11,
        markeredgewidth=2,
        label=f"your held: {held:.4g}",
    )
    axes.axvline(factor, color="black", linestyle=(0, (4, 2)), label=f"your prefetch_factor: {factor}")
    axes.axhline(figures["shm"], color=picture.BLUE, linestyle=":", label=f"{figures['shm']} MiB")
    axes.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    axes.set_title(f"{figures['workers']} workers, {figures['batch_size']} pictures a batch", fontsize=11, loc="left")
    steps = [b - a for a, b in itertools.pairwise(seen)]
    growth = f" Each step of prefetch_factor adds {statistics.fmean(steps):.4g} MiB." if steps else ""
    alt = (
        f"Counted MiB for prefetch_factor 1 to {len(seen)}: {', '.join(f'{mib:.4g}' for mib in seen)}.{growth} "
        f"You say {held:.4g} MiB now, and at most prefetch_factor {factor} for {figures['shm']} MiB."
    )
    return Picture(figure, alt, pd.DataFrame({"prefetch_factor": factors, "counted (MiB)": seen}).round(3))
