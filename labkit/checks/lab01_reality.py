"""The experiment of `pipeline.reality`: the learner's settings on a real DataLoader, judged by counts and one ratio."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from labkit.checks import lab01_figures as own
from labkit.checks.evidence import Fault, judged
from labkit.checks.result import Evidence

if TYPE_CHECKING:
    from labkit.pipeline import LineRun

TRIES = 3
"""Real runs are repeated this often before their waits count against anybody: another program may have the cores."""


def reality_evidence(value: Mapping[str, Any], figures: Mapping[str, Any]) -> Iterator[Evidence]:
    """Judge workers, prefetch_factor and predicted by the exact line first, then by a real run."""
    workers, factor = value["workers"], value["prefetch_factor"]
    budget, train = figures["budget"], figures["train"]
    given = f"workers={workers}, prefetch_factor={factor}"

    fault = None
    if workers * factor > budget:
        fault = Fault(
            f"{workers} x {factor} = {workers * factor} batches",
            f"at most {budget} batches in memory",
            "every worker may hold prefetch_factor batches.",
            "fewer workers, or a smaller prefetch_factor.",
        )
    yield judged("the settings fit the memory", fault, given, f"{workers * factor} of {budget} batches")

    line = own.line_of(figures, workers, factor)
    fault = None
    if abs(value["predicted"] - line.makespan) > 0.5:
        fault = Fault(
            f"{value['predicted']:g} ms predicted",
            "the makespan of the line with these settings",
            _prediction_mistake(value["predicted"], figures, workers),
            "`simulate(job.prepare, [job.train] * len(job.prepare), workers=..., prefetch_factor=...).makespan`.",
        )
    yield judged("the prediction is the line's own", fault, given, f"{line.makespan:g} ms")

    late = [i for i, wait in enumerate(line.waits) if i and wait > 1e-6]
    fault = None
    if late:
        rate = workers * train < figures["prepare"][0]
        waits = "1 wait" if len(late) == 1 else f"{len(late)} waits"
        own_rate = "1 worker finishes" if workers == 1 else f"{workers} workers finish"
        fault = Fault(
            f"{waits} after the first, {line.stall:g} ms by prediction; the earliest before batch {late[0]}",
            "no wait after the first",
            f"{own_rate} a batch every {figures['prepare'][0] / workers:.3g} ms, train takes {train}."
            if rate
            else "the workers keep up, until the slow batch: too few batches were ready ahead of it.",
            "more workers." if rate else "a larger prefetch_factor lets the workers get further ahead.",
        )
    yield judged("the trainer waits only once", fault, given, "predicted")

    fewest = min(own.settings_of(figures))[0]
    fault = None
    if workers > fewest:
        fault = Fault(
            f"{workers} workers",
            "the fewest workers that do it",
            "every worker is a process with its own memory.",
            "take one worker away and look for a prefetch_factor that still works.",
        )
    yield judged("no worker too many", fault, given, f"{workers} {'worker' if workers == 1 else 'workers'}")

    yield from _real_run(figures, workers, factor, line.makespan)


def _prediction_mistake(predicted: float, figures: Mapping[str, Any], workers: int) -> str:
    prepare, train = figures["prepare"], figures["train"]
    if abs(predicted - own.line_of(figures, 1, figures["budget"]).makespan) < 0.5 and workers > 1:
        return "that is the time with one worker."
    if abs(predicted - sum(prepare) - len(prepare) * train) < 0.5:
        return "that is the serial time."
    return ""


def _real_run(figures: Mapping[str, Any], workers: int, factor: int, predicted: float) -> Iterator[Evidence]:
    """The learner's settings on real worker processes; one worker too, where the computed line doesn't settle it."""
    from labkit.pipeline import run_line  # brings torch along: only when an experiment is due

    prepare, train = figures["prepare"], [figures["train"]] * len(figures["prepare"])
    alone, how = sum(own.line_of(figures, 1, 1).waits[1:]), "computed"
    runs: list[LineRun] = []
    for _ in range(TRIES):
        runs.append(run_line(prepare, train, workers=workers, prefetch_factor=factor))
        if _stall(runs[-1]) <= 0.5 * alone:
            break
    else:  # a real worker never waits less than computed, but a slow machine's waits more
        alone, how = _stall(run_line(prepare, train, workers=1, prefetch_factor=1)), "measured"
    run = runs[-1]

    fault = None
    if list(run.ids) != list(range(len(prepare))) or len(set(run.pids)) != workers:
        fault = Fault(
            f"ids {list(run.ids)} from {len(set(run.pids))} processes",
            f"each of {len(prepare)} batches once, in order, from {workers} processes",
            next_step="run the cell again; if it stays, the loader is at fault: report it.",
        )
    yield judged("every batch came once, in order", fault, held=f"{len(run.ids)} batches from {workers} processes")

    fault = None
    if _stall(run) > 0.5 * alone:
        fault = Fault(
            f"{_stall(run):.0f} ms of waits after the first, {alone:.0f} with one worker ({how}; {len(runs)} tries)",
            "at most half of what one worker leaves, in the same minutes on the same machine",
            "the settings are right on paper; the machine did not give the workers their time.",
            "close what else is running and run the check again.",
        )
    ratios = ", ".join(f"{r.makespan / predicted:.3f}" for r in runs)
    yield judged(
        "a real DataLoader waits at most half as long as with one worker",
        fault,
        held=f"{_stall(run):.0f} against {alone:.0f} ms ({how}); measured/predicted makespan {ratios}",
    )


def _stall(run: LineRun) -> float:
    return sum(run.waits[1:])
