"""Drawings of what a person says or writes about durable checkpoints, run for real where it can be.

Each draws exactly the answer beside what is given; never the truth in its place.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from labkit import picture
from labkit.picture import Picture
from labkit.resume.crash_trial import CrashReport, judge_crashes
from labkit.resume.interval import exact_interval, interval_frame
from labkit.resume.ledger import recovery_ledger
from labkit.resume.store_files import Operation
from labkit.sketching import nothing, or_nothing, plain_axes, unmarked

TEXTS = tuple(json.dumps({"step": step, "w": 3 - 1 / step, "b": 2 + 1 / step}) for step in (10, 20, 30))
"""Three checkpoints; the first is on the disk before anything is saved."""
_PAPER = {"facecolor": "white", "edgecolor": "none", "pad": 1.0}


def crash_report(
    operations: Sequence[Sequence[str]], marks: Sequence[int], texts: Sequence[str], target: str = "checkpoint.json"
) -> CrashReport:
    """Every crash state of recorded operations, and what a load of `target` finds in it.

    Args:
        operations: (kind, path, text, new name) each, as `Operation` names them.
        marks: for each save, how many operations had been done when it returned.
        texts: what was on the disk at the start, and what each save wrote.
    """
    log = [Operation(kind, path, text.encode(), 0, new) for kind, path, text, new in operations]
    contents = [text.encode() for text in texts]

    def load(directory: Path) -> int | None:
        path = directory / target
        if not path.exists():
            return None
        found = path.read_bytes()
        if found in contents:
            return contents.index(found)
        json.loads(found)  # raises where it isn't whole: a load that says so
        return -1

    return judge_crashes("your save", log, marks, load, before={target: contents[0]})


@or_nothing
def sketch_publish(save: Callable[..., Mapping[str, Any]]) -> Picture:
    """A person's save, done twice, on every state that a power cut may leave."""
    done = save(list(TEXTS))
    return crash_report(done["operations"], done["marks"], TEXTS).plot()


@or_nothing
def sketch_torn(folders: Mapping[str, Mapping[str, bytes]], found: Mapping[str, Any]) -> Picture:
    """The bytes of each folder's two files, those that are 0 hatched, named with a person's verdicts."""
    said = {letter: found[letter] for letter in folders if found[letter] is not ...}
    if not said:
        raise NotImplementedError
    figure, axes = plain_axes("bytes", "", "Your verdicts on what was found", height=3.2)
    labels, table = [], []
    for place, letter in enumerate(said):
        for line, name in enumerate(("weights.json", "momentum.json")):
            content = folders[letter][name]
            zeros, at = content.count(0), place * 2.6 + line
            axes.barh(at, len(content) - zeros, 0.8, color=picture.SKY, edgecolor="black")
            axes.barh(at, zeros, 0.8, len(content) - zeros, color="white", edgecolor=picture.RED, hatch="////")
            labels.append((at, f"{letter} {name.split('.')[0]}"))
            table.append((letter, name, len(content), zeros, said[letter]))
        axes.text(2, place * 2.6 + 0.5, str(said[letter]), fontsize=9, va="center", bbox=_PAPER)
    axes.set_yticks([at for at, _ in labels], [label for _, label in labels], fontsize=8)
    axes.invert_yaxis()
    words = ", ".join(f"{letter} {word}" for letter, word in said.items())
    frame = pd.DataFrame(table, columns=["folder", "file", "bytes", "of these 0", "you say"])
    return Picture(figure, f"You say: {words}.", frame)


@or_nothing
def sketch_fallback(newest: Callable[[list[Any]], Any], checkpoints: Sequence[Mapping[str, Any]]) -> Picture:
    """Where a person's function goes on, among checkpoints of which some are damaged."""
    step, passed = newest([dict(one) for one in checkpoints])
    figure, axes = plain_axes("step of the checkpoint", "", f"Your function goes on from step {step}", height=1.9)
    for one in checkpoints:
        here = one["step"]
        kind = "taken" if here == step else "passed over" if here in passed else "not looked at"
        look = {"taken": ("o", picture.BLUE), "passed over": ("X", picture.RED)}.get(kind, (".", "#888888"))
        axes.plot(here, 0, look[0], color=look[1], markersize=11)
        axes.text(here, 0.25, f"{here}\n{kind}", ha="center", va="bottom", fontsize=8)
    axes.set_ylim(-0.4, 1.2)
    axes.margins(x=0.12)
    axes.set_yticks([])
    alt = f"Checkpoints of steps {', '.join(str(one['step']) for one in checkpoints)}. "
    return Picture(figure, f"{alt}Your function takes {step} and passed over {list(passed) or 'none'}.")


@or_nothing
def sketch_snapshot(start_save: Callable[[str], Mapping[str, Any]]) -> Picture:
    """What a person's background save wrote, beside the state at the call and the state while it wrote."""
    found = start_save("nested")
    rows = {name: _numbers(found[name]) for name in ("at_call", "written", "now")}
    if not rows["written"]:
        raise ValueError("nothing was written")
    figure, axes = plain_axes("number in the state", "value", "What was written", height=3.0)
    places = range(len(rows["at_call"]))
    axes.plot(places, rows["at_call"], "s", color=picture.BLUE, fillstyle="none", markersize=13, label="at the call")
    axes.plot(places, rows["now"], "^", color="#888888", fillstyle="none", markersize=11, label="one update later")
    axes.plot(range(len(rows["written"])), rows["written"], "x", color=picture.RED, markersize=9, label="written")
    axes.set_xticks(list(places))
    axes.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1, 1))
    old = sum(a == b for a, b in zip(rows["written"], rows["at_call"], strict=False))
    new = sum(a == b for a, b in zip(rows["written"], rows["now"], strict=False))
    alt = f"Of {len(places)} numbers {old} were written as they were at the call, {new} as they were one update later."
    return Picture(figure, alt, pd.DataFrame({name: pd.Series(values) for name, values in rows.items()}))


def _numbers(value: Any) -> list[float]:
    if isinstance(value, Mapping):
        return [number for item in value.values() for number in _numbers(item)]
    if isinstance(value, list | tuple):
        return [number for item in value for number in _numbers(item)]
    return [] if value is None else [float(value)]


@or_nothing
def sketch_interval(save: float, mtbf: float, young: float, daly: float) -> Picture:
    """What saves and failures cost over the interval, by a person's time between failures; their two intervals."""
    mtbf, said = float(mtbf), {"your Young": float(young), "your Daly": float(daly)}
    best = exact_interval(save, mtbf)
    low, high = min(best, *said.values()) / 3, 3 * max(best, *said.values())
    steps = [low * (high / low) ** (k / 60) for k in range(61)]
    frame = interval_frame(save, mtbf, intervals=steps)
    figure, axes = plain_axes("minutes between saves", "extra time, % of training", "What it costs", height=3.4)
    axes.set_xscale("log")
    for name, line, color in (
        ("saving", "--", picture.BLUE),
        ("failures", ":", picture.RED),
        ("cost", "-", "black"),
    ):
        axes.plot(frame["interval"], 100 * frame[name], line, color=color, label=name)
    words = []
    for (name, at), mark in zip(said.items(), "Ds", strict=True):
        cost = 100 * float(interval_frame(save, mtbf, intervals=[at])["cost"].iloc[0])
        axes.plot(at, cost, mark, color=picture.ORANGE, markeredgecolor="black", markersize=9, label=f"{name} {at:.1f}")
        words.append(f"{name} {at:.1f} min costs {cost:.1f} %")
    axes.set_ylim(0, 4 * 100 * float(frame["cost"].min()))
    axes.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1, 1))
    return Picture(figure, f"With {mtbf:.1f} min between failures: {'; '.join(words)}.", frame.iloc[::6])


@or_nothing
def sketch_ledger(save_every: Any) -> Picture:
    """A real process with a person's interval: killed, found, started again, caught up."""
    if save_every is ...:
        raise NotImplementedError
    return recovery_ledger(kill_at=save_every + max(1, save_every // 2), save_every=save_every, step_seconds=0.001,
                           poll_seconds=0.01).plot()  # fmt: skip


@or_nothing
def sketch_marks(rubric: Mapping[str, str], text: Any, met: Mapping[str, Any]) -> Picture:
    """A rubric with a person's own marks: the words they quote, or that it isn't met."""
    if text is ... or ... in met.values():
        raise NotImplementedError
    if why := unmarked(rubric, met):
        return nothing(why)
    figure = Figure(figsize=(9.6, 0.5 + 0.55 * len(rubric)), layout="constrained")
    axes = figure.add_subplot()
    axes.set_axis_off()
    axes.set_ylim(len(rubric) - 0.4, -0.6)
    axes.set_xlim(0, 1)
    for place, name in enumerate(rubric):
        quote = f"“{met[name][:80]}”" if met[name] else "not met, you say"
        axes.text(0, place, f"{'✓' if met[name] else '○'} {name}", fontsize=10, va="center")
        axes.text(0.24, place, quote, fontsize=9, va="center")
    marked = sum(bool(mark) for mark in met.values())
    table = pd.DataFrame(
        {"criterion": list(rubric), "asks for": rubric.values(), "your words": [met[k] for k in rubric]}
    )
    return Picture(
        figure, f"{len(text.split())} words; {marked} of {len(rubric)} criteria met, by your own marks.", table
    )
