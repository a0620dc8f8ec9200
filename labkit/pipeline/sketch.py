"""Drawings of what a person says about a line: their totals, waits, times, rates and depths, right or wrong.

Each takes plain values or a function, draws exactly that, and never the truth in its place. What can't be drawn
(an answer that is still open, a word where a number belongs) gives an empty picture that says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd

from labkit import picture
from labkit.picture import Picture
from labkit.pipeline.drawing import Lane, draw_lanes, timeline_lanes
from labkit.pipeline.line import simulate
from labkit.sketching import nothing, or_nothing, plain_axes


def _end_to_end(times: Sequence[float], style: str) -> list[tuple[float, float, str, str]]:
    items, now = [], 0.0
    for i, time in enumerate(times):
        items.append((now, now + time, str(i), style))
        now += time
    return items


@or_nothing
def sketch_busy(train: float, busy: float) -> Picture:
    """One batch's train time, and a person's total beside it on the same scale."""
    lanes: list[Lane] = [
        ("one batch", [(0, train, f"{train:g}", "train")]),
        ("your answer", [(0, busy, f"{busy:g} ms", "plain")]),
    ]
    return draw_lanes(
        lanes, title="Your total beside one batch", alt=f"One batch takes {train:g} ms; you say {busy:g} ms."
    )


@or_nothing
def sketch_totals(batches: int, prepare: float, train: float, serial: float, overlapped: float) -> Picture:
    """Each stage's blocks laid end to end, and a person's two totals on the same scale."""
    lanes: list[Lane] = [
        ("prepare, end to end", _end_to_end([prepare] * batches, "prepare")),
        ("train, end to end", _end_to_end([train] * batches, "train")),
        ("your overlapped", [(0, overlapped, f"{overlapped:g} ms", "plain")]),
        ("your serial", [(0, serial, f"{serial:g} ms", "plain")]),
    ]
    alt = (
        f"All prepare blocks end to end take {batches * prepare:g} ms, all train blocks {batches * train:g} ms. "
        f"You say overlapped {overlapped:g} ms, serial {serial:g} ms."
    )
    return draw_lanes(lanes, title="Your totals beside the work of each stage", alt=alt)


@or_nothing
def sketch_waits(prepare: Sequence[float], train: float, waits: Sequence[Sequence[float]]) -> Picture:
    """A person's waits on the trainer's lane, the train blocks put into the gaps between them.

    Right waits make each train block start at or after the end of its prepare block; wrong ones show a block that
    starts before its batch exists, or a wait although the batch is there.
    """
    left = [(float(start), float(end)) for start, end in waits]
    trainer: list[tuple[Any, ...]] = [(s, e, (f"wait {e - s:g}", f"{e - s:g}"), "wait") for s, e in left]
    now, starts = 0.0, []
    for i in range(len(prepare)):
        while left and left[0][0] <= now + 1e-9:
            now = max(now, left.pop(0)[1])
        starts.append(now)
        trainer.append((now, now + train, str(i), "train"))
        now += train
    worker = _end_to_end(prepare, "prepare")
    early = [i for i, start in enumerate(starts) if start < worker[i][1] - 1e-9]
    verdict = (
        f"batch {early[0]} would be trained before it is prepared" if early else "every batch exists when it is trained"
    )
    return draw_lanes(
        [("worker", worker), ("trainer, with your waits", trainer)],
        title=f"Your waits: {verdict}",
        alt=f"Your waits: {', '.join(f'{s:g} to {e:g}' for s, e in waits) or 'none'}; with them, {verdict}.",
    )


@or_nothing
def sketch_times(
    train_times: Callable[[list[float], list[float], int], Any],
    prepare: Sequence[float],
    train: Sequence[float],
    depth: int,
) -> Picture:
    """The (start, finish) pairs that a person's function gives for a line, its gaps hatched as waits."""
    times = [(float(s), float(e)) for s, e in train_times(list(prepare), list(train), depth)]
    trainer: list[tuple[Any, ...]] = []
    now = 0.0
    for i, (start, finish) in enumerate(times):
        if start > now:
            trainer.append((now, start, (f"wait {start - now:g}", f"{start - now:g}"), "wait"))
        trainer.append((start, finish, str(i), "train"))
        now = max(now, finish)
    lanes: list[Lane] = [
        ("prepare, end to end", _end_to_end(prepare, "prepare")),
        ("trainer, by your function", trainer),
    ]
    spans = ", ".join(f"{s:g} to {e:g}" for s, e in times)
    return draw_lanes(lanes, title=f"Your times at depth {depth}", alt=f"Your function trains at {spans}.")


@or_nothing
def sketch_rate(ms_per_batch: Callable[[float, float, int], float], prepare: float, train: float) -> Picture:
    """A person's ms per batch against the number of workers, beside a long simulated line."""
    workers = list(range(1, 9))
    yours = [float(ms_per_batch(prepare, train, w)) for w in workers]
    lines = []
    for w in workers:
        ends = simulate(prepare, train, batches=240 * w, workers=w).train_end
        lines.append((ends[-1] - ends[120 * w - 1]) / (120 * w))
    table = pd.DataFrame({"workers": workers, "your answer (ms)": yours, "simulated line (ms)": lines})
    figure, axes = plain_axes("workers", "ms a batch", f"prepare {prepare:g} ms, train {train:g} ms")
    axes.plot(workers, lines, "o", color=picture.BLUE, markersize=9, fillstyle="none", label="simulated line")
    axes.plot(workers, yours, "x--", color=picture.RED, markersize=7, label="your answer")
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False)
    apart = [w for w, a, b in zip(workers, yours, lines, strict=True) if abs(a - b) > 0.01 * b]
    where = f"leaves the simulated line at {apart} workers" if apart else "lies on the simulated line"
    alt = f"ms a batch for 1 to 8 workers: your answer {where}."
    return Picture(figure, alt, table)


@or_nothing
def sketch_depth(
    least_depth: Callable[[list[float], list[float]], int], prepare: Sequence[float], train: Sequence[float]
) -> Picture:
    """The wait that is left at each depth on one trace, and the depth a person's function picks."""
    picked = int(least_depth(list(prepare), list(train)))
    depths = list(range(max(8, min(picked, 60)) + 1))
    stalls = [simulate(prepare, train, depth=depth).stall for depth in depths]
    figure, axes = plain_axes("depth", "ms of waiting after the first batch", f"Your function picks depth {picked}")
    axes.bar(depths, stalls, color="white", edgecolor=picture.RED, hatch="////", label="wait left at this depth")
    axes.axvline(picked, color="black", linestyle=(0, (4, 2)), label="your depth")
    axes.legend(frameon=False)
    left = ", ".join(f"{stall:g}" for stall in stalls)
    alt = f"Wait after the first batch at depth 0, 1, 2...: {left} ms. You pick depth {picked}."
    return Picture(figure, alt, pd.DataFrame({"depth": depths, "wait after the first (ms)": stalls}))


@or_nothing
def sketch_lines(lines: Mapping[str, Mapping[str, Any]], claims: Mapping[str, Any]) -> Picture:
    """The lines about which a person has said whether more depth helps, each at its present depth."""
    lanes: list[Lane] = []
    said = {letter: claim for letter, claim in claims.items() if type(claim) is bool and letter in lines}
    if not said:
        if any(claim is not ... for claim in claims.values()):
            return nothing("nothing to draw: write True or False for a line")
        raise NotImplementedError
    for letter, claim in said.items():
        line = lines[letter]
        run = simulate(line["prepare"], line["train"], batches=len(line["prepare"]), depth=line["depth"])
        worker, trainer = timeline_lanes(run)
        lanes += [(f"{letter} worker", worker[1]), (f"{letter} trainer: {'helps' if claim else 'no help'}", trainer[1])]
    alt = f"At their present depth, the lines {', '.join(said)}. You say: " + ", ".join(
        f"{letter} {'more depth helps' if claim else 'no help'}" for letter, claim in said.items()
    )
    return draw_lanes(lanes, title="The lines you have answered, at their present depth", alt=alt + ".")


@or_nothing
def sketch_run(
    prepare: Sequence[float], train: float, workers: int, prefetch_factor: int, predicted: float, *, budget: int
) -> Picture:
    """A person's settings on a real DataLoader, now, with their prediction as a mark; within the budget of batches."""
    from labkit.pipeline.comparison import compare  # brings torch along
    from labkit.pipeline.real import run_line

    if workers * prefetch_factor > budget:
        return nothing(f"not run: workers x prefetch_factor is {workers * prefetch_factor}, the budget is {budget}")
    run = run_line(prepare, [train] * len(prepare), workers=workers, prefetch_factor=prefetch_factor)
    return compare(run).plot(marks=[(predicted, f"your prediction {predicted:g}")])
