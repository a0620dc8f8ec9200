"""Drawings of what a person says about a benchmark: which steps to leave out, which rate, efficiency and verdicts.

Each draws exactly the answer beside a real run, and never the truth in its place.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from numbers import Real
from typing import Any

import pandas as pd

from labkit import picture
from labkit.picture import Picture
from labkit.scaling.jobs import StepTimes, interval_times, make_sleeper
from labkit.sketching import nothing, or_nothing, plain_axes
from labkit.words import counted


def _no_number(whole: bool = False, **said: Any) -> str:
    """What is wrong with the first of `said` that can't be drawn as a number; "" where nothing is."""
    for name, value in said.items():
        if value is ...:
            raise NotImplementedError
        value = value.item() if getattr(value, "shape", None) == () else value  # a number of NumPy or torch
        real = isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
        if whole and not (real and value >= 0 and value == int(value)):
            return f"{name} is {value!r:.60}: give a whole number, 0 or more"
        if not real:
            return f"{name} is {value!r:.60}: give a number"
    return ""


@or_nothing
def sketch_warmup(times: StepTimes, warmup: int, later: int) -> Picture:
    """The slowest rank of every step; the steps that a person leaves out as warm-up are hatched."""
    if wrong := _no_number(whole=True, warmup=warmup, later=later):
        return nothing(wrong)
    slowest = [1000 * max(step) for step in zip(*times.seconds, strict=True)]
    left_out = min(int(warmup), len(slowest))
    figure, axes = plain_axes(
        "step", "ms, slowest rank", f"You leave out {counted(warmup, 'step')} and count {later} slow later"
    )
    figure.set_size_inches(9.6, 3.0)
    axes.bar(range(left_out), slowest[:left_out], 0.8, color="white", edgecolor="black", hatch="////", label="left out")
    rest = range(left_out, len(slowest))
    axes.bar(rest, slowest[left_out:], 0.8, color=picture.SKY, edgecolor="black", label="measured")
    axes.legend(frameon=False, fontsize=9)
    kept = slowest[left_out:]
    said = f"mean of the rest {sum(kept) / len(kept):.1f} ms" if kept else "nothing is left"
    everything = sum(slowest) / len(slowest)
    alt = f"You leave out {counted(warmup, 'step')}: {said}; mean of all {everything:.1f} ms. Slow later: {later}."
    table = pd.DataFrame(
        {"step": range(len(slowest)), "ms": slowest, "left out": [i < left_out for i in range(len(slowest))]}
    )
    return Picture(figure, alt, table)


@or_nothing
def sketch_throughput(
    samples_per_second: Callable[[list[list[float]], int, int, int, int], Any],
    batch_size: int = 32,
    warmup: int = 1,
    discard: int = 1,
) -> Picture:
    """Real intervals of two ranks as rates of their slower rank, and the rate that a person's function gives."""
    steps = 3
    times = interval_times(steps=steps)
    found = samples_per_second([list(one) for one in times], batch_size, steps, warmup, discard)
    if wrong := _no_number(**{"what your function gives": found}):
        return nothing(wrong)
    yours = float(found)
    slowest = [max(one) for one in zip(*times, strict=True)]
    rates = [len(times) * batch_size * steps / seconds for seconds in slowest]
    figure, axes = plain_axes("interval", "samples/s, slower rank", "Real intervals, and your rate")
    axes.bar(range(len(rates)), rates, 0.7, color="white", edgecolor=picture.BLUE, hatch="///", label="an interval")
    axes.axhline(yours, color=picture.RED, linestyle="--", label=f"your function: {yours:,.0f}")
    axes.set_ylim(min(0.0, yours), 1.2 * max(yours, *rates))
    axes.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1, 1))
    said = ", ".join(f"{rate:,.0f}" for rate in rates)
    alt = f"Intervals of {steps} steps on two real ranks: {said} samples/s. Your function: {yours:,.0f}."
    return Picture(figure, alt, pd.DataFrame({"interval": range(len(rates)), "samples/s": rates}))


@or_nothing
def sketch_efficiency(weak_efficiency: Callable[[list[dict[str, Any]]], Any]) -> Picture:
    """A person's efficiency for a real study: 1, 2 and 4 ranks whose step takes longer the more they are."""
    from labkit.scaling.protocol import weak_scaling

    study = weak_scaling(make_sleeper(0.004, 0.002), batch_size=32, steps=3, intervals=5, warmup=2, data=range(64))
    runs = study_rows(study)
    found = weak_efficiency([dict(run) for run in runs])
    if found is None:
        return _no_efficiency(runs)
    if not isinstance(found, dict) or not found:
        return nothing(f"what your function gives is {found!r:.60}: give a dict {{ranks: efficiency}}, or None")
    if wrong := _no_number(**{f"the efficiency on {count!r:.20} ranks": value for count, value in found.items()}):
        return nothing(wrong)
    figure, axes = plain_axes("ranks", "efficiency", "Your function on a real study")
    axes.bar(
        range(len(found)), list(map(float, found.values())), 0.5, color=picture.ORANGE, edgecolor="black", hatch="//"
    )
    for place, value in enumerate(found.values()):
        axes.text(place, value, f"{value:.2f}", ha="center", va="bottom", fontsize=9)
    axes.axhline(1, color="black", linestyle="--", linewidth=1)
    axes.set_xticks(range(len(found)), list(map(str, found)))
    axes.set_ylim(min(0.0, *found.values()), 1.2 * max(1.0, *found.values()))
    said = ", ".join(f"{_ranks(count)} {value:.2f}" for count, value in found.items())
    return Picture(figure, f"Your function gives {said}.", pd.DataFrame(runs))


def _ranks(count: Any) -> str:
    return f"{count} rank{'' if str(count) == '1' else 's'}"


def _no_efficiency(runs: list[dict[str, Any]]) -> Picture:
    """The runs for which a person's function gives None: their rates."""
    figure, axes = plain_axes("ranks", "samples/s", "Your function gives None: no efficiency for these runs")
    rates = [run["samples_per_second"] for run in runs]
    axes.bar(range(len(runs)), rates, 0.5, color="white", edgecolor=picture.BLUE, hatch="///")
    axes.set_xticks(range(len(runs)), [f"{run['ranks']}\nbatch {run['batch_size']}" for run in runs])
    said = ", ".join(f"{counted(run['ranks'], 'rank')} with batch size {run['batch_size']}" for run in runs)
    return Picture(figure, f"Your function gives None, no efficiency, for runs on {said}.", pd.DataFrame(runs))


def study_rows(study: Any) -> list[dict[str, Any]]:
    """A weak-scaling study as plain rows: ranks, batch_size (of one rank), samples_per_second (of all)."""
    return [
        {"ranks": one.ranks, "batch_size": one.batch_size, "samples_per_second": one.rate} for one in study.benchmarks
    ]


@or_nothing
def sketch_reports(first: Any, six: Mapping[str, Any], differs: Mapping[str, Any]) -> Picture:
    """The reports about which a person has said something: their rate beside the first one's, and the verdict."""
    if not isinstance(differs, Mapping):
        return nothing(f"differs is {differs!r:.60}: give a dict with a word for each report")
    said = {letter: verdict for letter, verdict in differs.items() if verdict is not ... and letter in six}
    if not said:
        raise NotImplementedError
    for letter, verdict in said.items():
        if not isinstance(verdict, str):
            return nothing(f'{letter} is {verdict!r:.60}: give the name of a field, or "nothing"')
    figure, axes = plain_axes("", "samples/s", "Reports, and what you say keeps each from being compared")
    figure.set_size_inches(9.6, 3.0)
    chosen = {"first": first, **{letter: six[letter] for letter in said}}
    for place, (letter, one) in enumerate(chosen.items()):
        free = said.get(letter, "nothing") == "nothing"
        low, high = one.spread
        axes.bar(place, one.rate, 0.6, yerr=[[one.rate - low], [high - one.rate]], capsize=4, edgecolor="black",
                 color=picture.SKY if free else "white", hatch="" if free else "////")  # fmt: skip
    axes.set_xticks(range(len(chosen)), [f"{k}\n{said.get(k, '')}" for k in chosen])
    axes.bar(0, 0, color=picture.SKY, edgecolor="black", label="may be compared, you say")
    axes.bar(0, 0, color="white", edgecolor="black", hatch="////", label="may not")
    axes.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1, 1))
    words = ", ".join(f"{letter}: {verdict}" for letter, verdict in said.items())
    table = pd.DataFrame([(k, one.rate, said.get(k, "")) for k, one in chosen.items()],
                         columns=["report", "samples/s", "you say it differs in"])  # fmt: skip
    return Picture(figure, f"You say the reports differ from the first in: {words}.", table)


@or_nothing
def sketch_straggler(mean: float, deviation: float, ranks: int, estimate: float, efficiency: float) -> Picture:
    """The slowest of R by drawing, for growing R, and a person's estimate at their R."""
    from labkit.scaling.straggler import simulate_straggler

    if wrong := _no_number(estimate=estimate, efficiency=efficiency):
        return nothing(wrong)
    counts = sorted({1, 2, 4, 8, 16, 64, 256, int(ranks)})
    counts = [count for count in counts if count <= max(16, int(ranks))]
    drawn = [simulate_straggler(mean, deviation, count, steps=1000).seen for count in counts]
    figure, axes = plain_axes("ranks", "ms", f"You say {estimate:.4g} ms a step, efficiency {efficiency:.3g}")
    axes.set_xscale("log", base=2)
    axes.plot(counts, drawn, "o-", color=picture.BLUE, label="slowest of a step, 1,000 steps drawn")
    axes.axhline(mean, color="black", linestyle="--", linewidth=1, label="one rank's mean")
    axes.plot(ranks, estimate, "D", color=picture.RED, markersize=8, label="your estimate")
    axes.set_xticks(counts, list(map(str, counts)))
    axes.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1, 1))
    figure.set_size_inches(9.6, 3.0)
    said = ", ".join(f"{_ranks(count)} {value:.1f}" for count, value in zip(counts, drawn, strict=True))
    alt = f"Mean of the slowest by drawing: {said} ms. You say {estimate:.4g} ms for {_ranks(ranks)}."
    return Picture(figure, alt, pd.DataFrame({"ranks": counts, "slowest (ms)": drawn}))
