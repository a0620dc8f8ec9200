"""Drawings of answers about packs: hashes of four formats, three jobs run as chosen, what one record costs.

Each draws what the answer says or does, and never the truth in its place; an open answer gives a picture saying so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from labkit import picture
from labkit.picture import Picture
from labkit.pipeline.packing.jobs import Job, run_job
from labkit.pipeline.packing.passes import Pass
from labkit.pipeline.packing.reading import Packed
from labkit.sketching import nothing, or_nothing

_WIDTH = 9.6


def as_text(packed: Packed, count: int | None = None) -> list[list[Any]]:
    """A pack's first samples as plain data, read from the disk: [[key, {field: text}], ...]; a byte is a character."""
    found: list[list[Any]] = []
    for sample in packed.samples():
        if count is not None and len(found) == count:
            break
        found.append([sample.key, {name: data.decode("latin-1") for name, data in sample.fields.items()}])
    return found


@or_nothing
def sketch_hashes(content_hash: Callable[[list[list[Any]]], Any], packs: Sequence[Packed]) -> Picture:
    """A person's hash of each pack as read back, and of one with two samples exchanged; equal hashes look alike."""
    said = {packed.format: str(content_hash(as_text(packed))) for packed in packs}
    swapped = as_text(packs[0])
    swapped[0], swapped[1] = swapped[1], swapped[0]
    said["two exchanged"] = str(content_hash(swapped))
    kinds = list(dict.fromkeys(said.values()))
    figure = Figure(figsize=(_WIDTH, 0.7 + 0.34 * len(said)), layout="constrained")
    axes = figure.add_subplot()
    fills = (picture.SKY, picture.ORANGE, picture.YELLOW, picture.GREEN, picture.PURPLE)
    hatches = ("", "////", "....", "xxxx", "++++")
    for row, value in enumerate(said.values()):
        kind = kinds.index(value) % len(fills)
        axes.barh(row, 1, height=0.7, color=fills[kind], hatch=hatches[kind], edgecolor="black", linewidth=0.6)
        shown = value if len(value) <= 40 else f"{value[:37]}..."
        axes.text(1.08, row, shown, va="center", family="monospace", fontsize=9)
        axes.text(0.5, row, "ABCDE"[kind], va="center", ha="center", fontsize=10, fontweight="bold")
    axes.set_yticks(range(len(said)), list(said))
    axes.set_ylim(len(said) - 0.5, -0.5)
    axes.set_xlim(0, 7)
    axes.set_xticks([])
    axes.spines[:].set_visible(False)
    axes.set_title("Your hash of each pack; the same letter is the same hash", fontsize=11, loc="left")
    alt = f"Your hashes: {', '.join(f'{name} {chr(65 + kinds.index(value))}' for name, value in said.items())}."
    return Picture(figure, alt, pd.DataFrame({"pack": list(said), "your hash": list(said.values())}))


@or_nothing
def sketch_modes(figures: Mapping[str, Any], modes: Mapping[str, Any]) -> Picture:
    """Each job whose choice is complete, run as chosen: files opened and kB read, beside what the job allows."""
    made: dict[str, Pass] = {}
    for name, job in figures["jobs"].items():
        choice = modes[name]
        if any(choice.get(part, ...) is ... for part in ("format", "index", "cold")):
            continue
        wanted = Job(figures["samples"], figures["record_bytes"], figures["shard_samples"], job["reads"],
                     job.get("count", 0), job.get("start", 0))  # fmt: skip
        made[name] = run_job(wanted, choice["format"], index=bool(choice["index"]), cold=bool(choice["cold"]))
    if not made:
        raise NotImplementedError
    figure = Figure(figsize=(_WIDTH, 1.3 + 0.5 * len(made)), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    rows = range(len(made))
    for axes, unit, seen, most in (
        (left, "files opened", [one.reads.opens for one in made.values()],
         [figures["jobs"][name]["opens"] for name in made]),
        (right, "kB read", [one.reads.bytes / 1000 for one in made.values()],
         [figures["jobs"][name]["kb"] for name in made]),
    ):  # fmt: skip
        over = [value > limit for value, limit in zip(seen, most, strict=True)]
        axes.barh(rows, seen, height=0.5, edgecolor="black", linewidth=0.6,
                  color=[picture.ORANGE if one else picture.SKY for one in over],
                  hatch=["////" if one else "" for one in over])  # fmt: skip
        for row, (value, limit) in enumerate(zip(seen, most, strict=True)):
            axes.plot([limit, limit], [row - 0.38, row + 0.38], color="black", linewidth=2)
            axes.text(max(value, limit), row, f"  {value:.0f} of {limit}", va="center", fontsize=9)
        axes.set_xlim(0, 1.45 * max(*seen, *most))
        axes.set_xlabel(f"{unit}; black line: what the job allows")
        axes.spines[["top", "right"]].set_visible(False)
    left.set_yticks(rows, [f"{name}: {one.format}" for name, one in made.items()])
    left.invert_yaxis()
    figure.suptitle("Your choices, run here; hatched: above what the job allows", fontsize=11, x=0.01, ha="left")
    table = pd.DataFrame([
        {"job": name, "format": one.format, "page cache": one.before.state, "opens": one.reads.opens,
         "kB read": round(one.reads.bytes / 1000), "kB from storage":
         None if one.fetched is None else round(one.fetched / 1000), "ms, one run": round(1000 * one.seconds, 1)}
        for name, one in made.items()
    ])  # fmt: skip
    alt = "; ".join(
        f"job {name}, {one.format}, page cache {one.before.state}: {one.reads.opens} opens of "
        f"{figures['jobs'][name]['opens']}, {one.reads.bytes / 1000:.0f} kB of {figures['jobs'][name]['kb']}"
        for name, one in made.items()
    )
    return Picture(figure, f"Your choices, run here: {alt}.", table)


@or_nothing
def sketch_access(shard_samples: int, want: int, restart: int, through: float, direct: float, again: float) -> Picture:
    """A person's bytes for one record with and without an index, and the samples that a restart repeats."""
    if again != int(again) or not 0 <= again <= 1_000_000:
        return nothing(f"again = {again}: draw it as a whole number of samples")
    figure = Figure(figsize=(_WIDTH, 2.7), layout="constrained")
    bars, shard = figure.subplots(2, 1)
    bars.barh([0, 1], [through, direct], height=0.6, color=[picture.ORANGE, picture.SKY], hatch=["////", ""],
              edgecolor="black", linewidth=0.6)  # fmt: skip
    for row, value in enumerate((through, direct)):
        bars.text(value, row, f"  {value:,.0f} bytes", va="center", fontsize=9)
    bars.set_yticks([0, 1], ["no index", "index"])
    bars.invert_yaxis()
    bars.set_xlim(0, 1.3 * max(through, direct, 1))
    bars.set_xticks([])
    bars.set_title(f"You say: bytes read for sample {want} alone", fontsize=10, loc="left")
    bars.spines[["top", "right", "bottom"]].set_visible(False)
    first = restart - restart % shard_samples
    for at in range(shard_samples):
        thrown = at < again
        shard.bar(first + at, 1, width=0.9, color=picture.ORANGE if thrown else "white", edgecolor="black",
                  linewidth=0.5, hatch="////" if thrown else "")  # fmt: skip
    shard.axvline(restart - 0.5, color="black", linewidth=2)
    shard.set_yticks([])
    shard.set_xlabel("sample")
    shard.set_title(f"You say: {again:g} samples read again (hatched); the worker needs those from the line on",
                    fontsize=10, loc="left")  # fmt: skip
    shard.spines[["top", "right", "left"]].set_visible(False)
    alt = (
        f"You say: {through:,.0f} bytes without an index, {direct:,.0f} with one; a worker that restarts at sample "
        f"{restart}, in the shard from {first} to {first + shard_samples - 1}, reads {again:g} samples again."
    )
    return Picture(figure, alt)
