"""Checks of lab 10, experiment records."""

from __future__ import annotations

from collections.abc import Iterator

from labkit.checks import lab10_figures as own
from labkit.checks import lab10_runs
from labkit.checks.answer import Answer
from labkit.checks.evidence import Fault, judged, named_mistake, over_inputs
from labkit.checks.lab10_builds import KEEPER_RULES, NAME_RULES, loop_inputs, name_inputs
from labkit.checks.registry import Context, exercise
from labkit.checks.result import Evidence
from labkit.checks.shapes import choices_fault, numbers_fault, wrong_ones

BUDGET, MARGIN, TRIES = 0.01, 5, 3
"""Share of a step that recording may take; how many times that still passes on a busy machine; runs to try."""


@exercise("records.health", lab="10", title="Five records", kind="diagnose", points=2, minutes=8,
          figures=own.HEALTH)  # fmt: skip
def health(answer: Answer, context: Context) -> Iterator[Evidence]:
    """What is wrong with each of five records."""
    value, truth = answer.value(), own.health_truth(context.figures)
    yield judged("a word for every record", choices_fault(value, list(truth), lab10_runs.TROUBLES))

    wrong = wrong_ones(value, truth)
    fault = None
    if wrong:
        mistake = named_mistake({k: value[k] for k in truth}, own.health_mistakes(context.figures))
        record = lab10_runs.recorded(context.figures["job"])[wrong[0]]
        signs = [one.said for metric in ("loss", "grad_norm") for one in record.health(metric).signs]
        fault = Fault(
            f"{wrong[0]}: {value[wrong[0]]} ({len(wrong)} of {len(truth)} are not so)",
            f"what its rows show: {signs[0] if signs else 'no sign, in either metric'}",
            f"you say {mistake}." if mistake else "",
            f"records[{wrong[0]!r}].health('loss'), and .health('grad_norm'): read both.",
        )
    yield judged("each record shows what you say", fault, held="; ".join(f"{k} {v}" for k, v in truth.items()))


@exercise("records.identity", lab="10", title="A name for a run", kind="build", points=3, minutes=10)
def identity(answer: Answer, context: Context) -> Iterator[Evidence]:
    """Names of pairs of runs, here and in another process."""
    yield from over_inputs(answer, "named_twice", name_inputs(context.rng()), NAME_RULES)


@exercise("records.evidence", lab="10", title="The batch behind a spike", kind="build", points=3, minutes=10)
def evidence(answer: Answer, context: Context) -> Iterator[Evidence]:
    """Losses with spikes, one buffer for all batches: what is kept."""
    yield from over_inputs(answer, "watched", loop_inputs(context.rng()), KEEPER_RULES)


@exercise("records.overhead", lab="10", title="What it costs", kind="experiment", points=3, minutes=9,
          figures=own.OVERHEAD)  # fmt: skip
def overhead(answer: Answer, context: Context) -> Iterator[Evidence]:
    """Ways to record, in a real process that is killed: rows lost, evidence, and the share of a step."""
    value, figures = answer.value(), context.figures
    killed, spike = figures["killed"], figures["spike"]
    yield judged("steps lost, for each way to write", numbers_fault(value.get("lost"), lab10_runs.WRITES, whole=True))
    yield judged("a way to write", choices_fault(value, ("write",), lab10_runs.WRITES))
    yield judged("what is kept", choices_fault(value, ("keep",), lab10_runs.KEEPS))

    given = f"write {value['write']}, keep {value['keep']}"
    run = lab10_runs.killed_run(value["write"], value["keep"], killed, spike)
    fault = None
    if run["lost"] > 1:
        fault = Fault(
            f"killed after step {killed}: {run['rows']} rows are left, {run['lost']} are lost",
            "at most one step lost",
            "rows that wait in the process's own memory die with it.",
            "how long does a row wait before it is written?",
        )
    yield judged("a kill loses at most one step", fault, given, f"{run['lost']} lost, in a real process")
    fault = None
    if not run["batch"]:
        fault = Fault(f"the batch of step {spike} is gone", "the batch behind the spike, to look at",
                      next_step="which of the three ways keeps it?")  # fmt: skip
    yield judged("the batch behind the spike is there", fault, given)

    share, tries = run["share"], 1
    while share > MARGIN * BUDGET and tries < TRIES:
        again = lab10_runs.killed_run(value["write"], value["keep"], killed, spike)
        share, tries = min(share, again["share"]), tries + 1
    fault = None
    if share > MARGIN * BUDGET:
        fault = Fault(
            f"recording takes {share:.0%} of a step, at best of {tries} runs",
            f"{BUDGET:.0%}; up to {MARGIN * BUDGET:.0%} passes, since this machine may be busy",
            "every step writes a whole batch." if value["keep"] == "every batch" else "",
            "what is written in an ordinary step that nobody will ever look at?",
        )
    yield judged("recording is a small share of a 5 ms step", fault, given, f"{share:.2%}, medians of one run")

    for way, parts in own.lost_parts(figures).items():
        said = value["lost"][way]
        seen = run["lost"] if way == value["write"] else lab10_runs.killed_run(way, "nothing", killed, spike)["lost"]
        fault = None
        if said != seen:
            mistake = named_mistake(int(said), parts)
            fault = Fault(
                f"lost, {way}: {said}",
                f"the steps that are lost if the process is killed after step {killed}",
                f"that is {mistake}." if mistake else "",
                "SIGKILL ends the process. The system still writes what it was given.",
            )
        yield judged(f"{way}: as many steps lost as you say", fault, held=f"{seen}, in a real process")
