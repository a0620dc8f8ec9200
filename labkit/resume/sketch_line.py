"""Drawings of what a person says or writes about the line: targets, snapshots, first differences, verdicts.

Each draws exactly the answer, run for real where it can be, beside what is given; never the truth in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from labkit import picture
from labkit.picture import Picture
from labkit.resume.line import FAULTS, train
from labkit.resume.line_report import Report
from labkit.sketching import or_nothing, plain_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_PAPER = {"facecolor": "white", "edgecolor": "none", "pad": 1.0}


@or_nothing
def sketch_target(checkpoint: int, steps: int, updates: int, position: int, shuffles: int) -> Picture:
    """The run up to the checkpoint, and a person's updates laid after it, beside the target."""
    end = checkpoint + int(updates)
    figure, axes = plain_axes("step (updates done)", "", f"Your resume: {updates} updates, to step {end}", height=1.9)
    axes.broken_barh([(0, checkpoint)], (-0.3, 0.6), facecolor="white", edgecolor=picture.BLUE, hatch="///")
    axes.broken_barh([(checkpoint, updates)], (-0.3, 0.6), facecolor=picture.SKY, edgecolor="black")
    axes.axvline(steps, color=picture.RED, linestyle="--", linewidth=1.5)
    axes.text(checkpoint / 2, 0, "before", ha="center", va="center", fontsize=9, bbox=_PAPER)
    axes.text(checkpoint + updates / 2, 0, "resumed", ha="center", va="center", fontsize=9, bbox=_PAPER)
    axes.text(steps, 0.75, f"--steps {steps}", ha="center", fontsize=9, color=picture.RED)
    axes.set_ylim(-0.5, 1.1)
    axes.set_xlim(0, 1.08 * max(end, steps))
    axes.set_yticks([])
    alt = (
        f"{checkpoint} updates before the checkpoint, then {updates} by your count: to step {end}; --steps is {steps}. "
        f"You say the cursor ends at {position}, after {shuffles} shuffles."
    )
    return Picture(figure, alt)


@or_nothing
def sketch_capture(resumed: Callable[[int, int, int], Any], seed: int, at: int, until: int) -> Picture:
    """A person's capture and restore at work: each component, where it is the uninterrupted run's and where not."""
    found = resumed(seed, at, until)
    whole = [_row(record) for record in train(until, seed=seed).records[at:]]
    if not found["rows"]:
        raise ValueError("restore left the new line as it was")
    names = [name for name in whole[0] if name != "step"]
    figure = Figure(figsize=(9.6, 2.9), layout="constrained")
    axes = figure.add_subplot()
    parted: dict[str, int | None] = {}
    table = []
    for place, name in enumerate(names):
        for mine, true in zip(found["rows"], whole, strict=True):
            same = mine[name] == true[name]
            _box(axes, true["step"], place, same)
            parted.setdefault(name, None if same else true["step"])
            if not same and parted[name] is None:
                parted[name] = true["step"]
            table.append((true["step"], name, same))
    _grid(axes, names, at, until)
    lost = [f"{name} from {step}" for name, step in parted.items() if step is not None]
    held = (
        "the snapshot stays as it was taken" if found["saved"] == found["later"] else "the snapshot has changed since"
    )
    axes.set_title(f"differs: {', '.join(lost) or 'nothing'}; {held}", fontsize=11, loc="left")
    alt = f"Captured at step {at}, resumed to {until}. Differs: {', '.join(lost) or 'nothing'}; {held}."
    return Picture(figure, alt, pd.DataFrame(table, columns=["step", "component", "same"]))


def _row(record: Any) -> dict[str, Any]:
    return {
        "step": record.step,
        "ids": list(record.ids),
        "parameters": {"w": record.w, "b": record.b},
        "optimizer": {"w": record.vw, "b": record.vb},
        "position": record.position,
        "order": list(record.order),
        "rng": record.rng,
    }


def _box(axes: Axes, step: int, place: int, same: bool) -> None:
    look = {"facecolor": "#e8e8e8", "edgecolor": "#888888"} if same else {"facecolor": "white", "hatch": "////"}
    axes.bar(step, 0.8, 0.9, place - 0.4, **{"edgecolor": picture.RED, **look})  # type: ignore[arg-type]


def _grid(axes: Axes, names: Sequence[str], at: int, until: int) -> None:
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xlim(at + 0.4, until + 0.6)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("step (updates done); grey: as uninterrupted, hatched: different")
    axes.spines[["top", "right", "left"]].set_visible(False)


@or_nothing
def sketch_continue(log: Report, saved: Mapping[str, Mapping[str, Any]], letter: Any, steps: Any) -> Picture:
    """The log of the killed run, where the checkpoints stand, and the run that a person's choice gives."""
    if letter is ... or steps is ...:
        raise NotImplementedError
    resumed = train(steps, resume=saved[letter])
    figure, axes = plain_axes("step (updates done)", "w", f"Checkpoint {letter}, --steps {steps}", height=3.4)
    axes.plot([r.step for r in log.records], [r.w for r in log.records], color=picture.BLUE, linewidth=4, alpha=0.5,
              label="log of the killed run")  # fmt: skip
    axes.plot([r.step for r in resumed.records], [r.w for r in resumed.records], color=picture.RED, linestyle="--",
              label="your resumed run")  # fmt: skip
    low = min(r.w for r in log.records)
    for place, (name, state) in enumerate(sorted(saved.items(), key=lambda one: one[1]["step"])):
        high = low + (0.2, 0.55, 0.9)[place % 3]  # neighbours stand at different heights
        axes.plot(state["step"], high, "^", color="black", markersize=9 if name == letter else 5)
        axes.text(state["step"] + 0.7, high, name, fontsize=9, va="center")
    axes.plot([], [], "^", color="black", label="checkpoints")
    axes.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1, 1))
    stand = ", ".join(f"{name} at step {state['step']}" for name, state in saved.items())
    end = resumed.state["step"]
    return Picture(
        figure,
        f"The run was killed after step {log.steps}. Checkpoints: {stand}. From {letter} your run does "
        f"{len(resumed.records)} updates and ends at step {end}.",
        resumed.frame()[["step", "w", "b", "mse", "ids"]],
    )


@or_nothing
def sketch_first(checkpoint: int, first: Mapping[str, Any], samples: Mapping[str, Any]) -> Picture:
    """A person's prediction for each fault, on the steps after the checkpoint."""
    if ... in [part for pair in first.values() for part in pair] or ... in samples.values():
        raise NotImplementedError
    figure, axes = plain_axes("step (updates done)", "", "Where you say the resumed runs part", height=2.6)
    steps = [pair[0] for pair in first.values()] + [step for step in samples.values() if step is not None]
    words = []
    for place, fault in enumerate(FAULTS):
        step, component = first[fault]
        axes.plot([checkpoint, max(*steps, checkpoint + 3) + 1], [place, place], color="#888888", linewidth=1)
        axes.plot(step, place, "D", color=picture.RED, markersize=9)
        axes.text(step, place - 0.18, component, fontsize=9, ha="center", va="bottom")
        if samples[fault] is not None:
            axes.plot(samples[fault], place, "o", color="black", fillstyle="none", markersize=14)
        reads = "never other samples" if samples[fault] is None else f"other samples from {samples[fault]}"
        words.append(f"{fault}: {component} after step {step}, {reads}")
    axes.axvline(checkpoint, color=picture.BLUE, linestyle="--", linewidth=1.5, label=f"checkpoint, step {checkpoint}")
    axes.plot([], [], "D", color=picture.RED, label="first difference")
    axes.plot([], [], "o", color="black", fillstyle="none", label="first other samples")
    axes.set_yticks(range(len(FAULTS)), FAULTS)
    axes.set_ylim(len(FAULTS) - 0.5, -0.8)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1, 1))
    return Picture(figure, f"Resumed at step {checkpoint}. You say: {'; '.join(words)}.")


@or_nothing
def sketch_differences(first_difference: Callable[[list[Any], list[Any]], Any], at: int = 19) -> Picture:
    """What a person's function says of four real resumes of the lesson's run: a right one and three faults."""
    state, whole = train(at).state, [_row(record) for record in train(at + 8).records]
    said = {}
    for fault in (None, *FAULTS):
        other = [_row(record) for record in train(at + 8, resume=state, fault=fault).records]
        said[fault or "right"] = first_difference(list(whole), other)
    figure, axes = plain_axes("step (updates done)", "", "What your function says of four resumes", height=2.6)
    for place, found in enumerate(said.values()):
        axes.plot([at, at + 8], [place, place], color="#888888", linewidth=1)
        if found is None:
            axes.text(at + 4, place, "no difference", fontsize=9, ha="center", va="center", bbox=_PAPER)
        else:
            step, component = found
            axes.plot(step, place, "D", color=picture.RED, markersize=9)
            axes.text(step, place - 0.18, str(component), fontsize=9, ha="center", va="bottom")
    axes.set_yticks(range(len(said)), list(said))
    axes.set_ylim(len(said) - 0.5, -0.8)
    words = "; ".join(f"{name}: {'no difference' if f is None else f'{f[1]} at {f[0]}'}" for name, f in said.items())
    table = pd.DataFrame({"run": list(said), "your function": [str(found) for found in said.values()]})
    return Picture(figure, f"Your function says {words}.", table)


@or_nothing
def sketch_verdicts(runs: Mapping[str, Report], verdicts: Mapping[str, Any]) -> Picture:
    """The losses of the runs since they were resumed, each named with a person's verdict."""
    said = {letter: verdicts[letter] for letter in runs if verdicts[letter] is not ...}
    if not said:
        raise NotImplementedError
    figure, axes = plain_axes("step (updates done)", "mean squared error", "Your verdicts", height=3.4)
    looks = zip(said, ("-", "--", ":", "-."), (picture.BLUE, picture.RED, picture.GREEN, "black"), strict=False)
    for letter, line, color in looks:
        records = runs[letter].records
        axes.semilogy([r.step for r in records], [r.mse for r in records], line, color=color,
                      label=f"{letter}: {said[letter]}, ends at {runs[letter].mse:.2g}")  # fmt: skip
    axes.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1, 1), title="lost, you say")
    words = ", ".join(f"{letter} lost {word} (MSE {runs[letter].mse:.2g})" for letter, word in said.items())
    table = pd.DataFrame({"run": list(said), "lost, you say": said.values(), "MSE": [runs[k].mse for k in said]})
    return Picture(figure, f"You say: {words}.", table)
