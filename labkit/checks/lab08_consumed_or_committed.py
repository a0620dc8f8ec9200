"""Checks of lab 08, consumed or committed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from labkit.checks import lab08_figures as own
from labkit.checks import lab08_ranks, lab08_runs
from labkit.checks.answer import Answer
from labkit.checks.evidence import Fault, judged, named_mistake, number, over_inputs
from labkit.checks.lab08_builds import LOADER_RULES, MID_STEP_RULES, mid_step_inputs, walk_inputs
from labkit.checks.lab08_trainers import FORGETS, Suspects
from labkit.checks.registry import Context, exercise
from labkit.checks.result import Evidence
from labkit.checks.shapes import choices_fault, numbers_fault, wrong_ones


@exercise("cursor.prefetched", lab="08", title="Ten, not thirteen", kind="predict", points=2, minutes=6,
          figures=own.PREFETCHED)  # fmt: skip
def prefetched(answer: Answer, context: Context) -> Iterator[Evidence]:
    """Where the cursor stands, how far the workers are ahead, and what two wrong cursors cost."""
    value, figures = answer.value(), context.figures
    names = ("cursor", "asked", "lost", "twice")
    yield judged("four whole numbers", numbers_fault(value, names, whole=True))

    fault = None
    if value["cursor"] > value["asked"]:
        fault = Fault(
            f"cursor {value['cursor']}, asked {value['asked']}",
            "no batch is applied that no worker was asked for",
            "did the two change places?",
            "applied, handed out, asked for: which comes last?",
        )
    yield judged("nothing is applied before it is asked for", fault)

    asked = lab08_runs.read_ahead(figures["handed_out"], figures["workers"], figures["prefetch_factor"])
    truth = own.prefetched_truth(figures) | {"asked": asked}
    parts = own.prefetched_parts(figures)
    what = {
        "cursor": ("the next batch that isn't applied yet", "the last batch handed out is still in its forward pass."),
        "asked": ("the batches that the workers were asked for by then", "each worker is kept prefetch_factor batches "
                  "ahead of what the loop was given."),
        "lost": ("the samples that are never applied if `asked` is saved as the cursor", "from the right cursor to "
                 "the saved one, times the batch size."),
        "twice": ("the samples applied twice if today's weights are saved with the cursor `older`", "from the older "
                  "cursor to the right one, times the batch size."),
    }  # fmt: skip
    for name in names:
        fault = None
        if value[name] != truth[name]:
            mistake = named_mistake(int(value[name]), parts[name])
            fault = Fault(
                f"{name} = {value[name]}", what[name][0], f"that is {mistake}." if mistake else "", what[name][1]
            )
        how = ", counted in a real DataLoader" if name == "asked" else ""
        yield judged(f"{name} is right", fault, held=f"{truth[name]}{how}")


@exercise("cursor.mismatch", lab="08", title="Weights and cursor", kind="diagnose", points=2, minutes=8,
          figures=own.MISMATCH)  # fmt: skip
def mismatch(answer: Answer, context: Context) -> Iterator[Evidence]:
    """How many batches each of five checkpoints loses or applies twice; resumed from each."""
    value, figures = answer.value(), context.figures
    fault = None
    if type(value) is not dict or any(not number(value.get(k)) or value[k] != int(value[k]) for k in "ABCDE"):
        fault = Fault(repr(value)[:100], "a whole number for each of A to E", next_step="check the letters.")
    yield judged("a number of batches for each checkpoint", fault)

    log, saved = lab08_runs.leave_checkpoints(figures)
    found = {letter: _resumed_gap(log, checkpoint) for letter, checkpoint in saved.items()}
    wrong = wrong_ones(value, found)
    fault = None
    if wrong:
        letter = wrong[0]
        mistake = named_mistake({k: int(value[k]) for k in found}, own.gaps_mistakes(figures))
        fault = Fault(
            f"{letter}: {value[letter]} ({len(wrong)} of 5 are not so)",
            "the batches never applied (above 0) or applied twice (below 0) if training goes on from it",
            f"that is {mistake}." if mistake else "",
            f"find the row of the log whose w is saved[{letter!r}]['w']: which batches are applied by then?",
        )
    held = ", ".join(f"{letter} {gap:+d}" for letter, gap in found.items())
    yield judged("training from each checkpoint loses or repeats what you say", fault, held=held)


def _resumed_gap(log: list[dict[str, Any]], checkpoint: Mapping[str, Any]) -> int:
    """Batches that no update applies, less those that two apply, if the run goes on from the checkpoint."""
    by_then = next(i + 1 for i, row in enumerate(log) if row["w"] == checkpoint["w"])
    applied = [batch for row in log[:by_then] for batch in row["batches"]]
    end = int(log[-1]["batches"][-1]) + 10
    applied += list(range(checkpoint["cursor"], end))
    return (end - len(set(applied))) - (len(applied) - len(set(applied)))


@exercise("cursor.loader", lab="08", title="A loader with a memory", kind="build", points=3, minutes=14)
def loader(answer: Answer, context: Context) -> Iterator[Evidence]:
    """A loader stopped after prefetching, at an epoch's end, twice, with workers: the same batches."""
    yield from over_inputs(answer, "walked", walk_inputs(context.rng()), LOADER_RULES)


@exercise("accumulate.mid_step", lab="08", title="Three of four", kind="build", points=3, minutes=11)
def mid_step(answer: Answer, context: Context) -> Iterator[Evidence]:
    """Saved inside an update, resumed, the same updates to the last bit."""
    yield from over_inputs(answer, "stopped_in_mid_step", mid_step_inputs(context.rng()), MID_STEP_RULES)


@exercise("contract.missing", lab="08", title="What is missing", kind="diagnose", points=3, minutes=10,
          figures=own.MISSING)  # fmt: skip
def missing(answer: Answer, context: Context) -> Iterator[Evidence]:
    """What each of five trainers forgets; a wrong one is killed and resumed again."""
    value, figures = answer.value(), context.figures
    truth = own.missing_truth(figures)
    yield judged("a word for every trainer", choices_fault(value, list(truth), FORGETS))

    wrong = wrong_ones(value, truth)
    suspects, fault, held = Suspects(figures["job"]), None, ""
    shown = wrong[0] if wrong else next(k for k, v in truth.items() if v == "rank rng")
    first = suspects[shown].audit(again=True).first
    seen = "no difference at any step" if first is None else f"{first.said[:110]}"
    if wrong:
        mistake = named_mistake({k: value[k] for k in truth}, own.missing_mistakes(figures))
        fault = Fault(
            f"{shown}: {value[shown]} ({len(wrong)} of {len(truth)} are not so)",
            f"what a kill brings to light. {shown} killed and resumed just now: {seen}",
            f"you say {mistake}." if mistake else "",
            f"print(trainers[{shown!r}].audit()): which component differs first, and on which rank?",
        )
    else:
        held = f"{shown} killed and resumed on 2 real ranks just now: {seen}"
    yield judged("each trainer forgets what you say", fault, held=held)


@exercise("contract.ranks", lab="08", title="Four ranks, then two", kind="experiment", points=3, minutes=10,
          figures=own.RANKS)  # fmt: skip
def on_ranks(answer: Answer, context: Context) -> Iterator[Evidence]:
    """Settings to go on with four and with two ranks, run on real ranks; what is promised is what was found."""
    value, figures = answer.value(), context.figures
    for name in ("four", "two"):
        yield judged(f"three whole numbers for {name}", _plan_fault(value.get(name), name))
    yield judged("a promise for each", choices_fault(value.get("promise"), ("four", "two"), lab08_ranks.PROMISES))

    for name, ranks in (("four", 4), ("two", 2)):
        plan = value[name]
        wanted = 4 * figures["batch_size"] * figures["accumulate"]
        reads = ranks * plan["batch_size"] * plan["accumulate"]
        fault = None
        if reads != wanted:
            fault = Fault(
                f"an update reads {ranks} x {plan['batch_size']} x {plan['accumulate']} = {reads} samples",
                f"{wanted} samples an update, as before the stop",
                "the settings of four ranks on two: half the samples an update." if 2 * reads == wanted else "",
                "ranks x batch_size x accumulate must stay the same.",
            )
        yield judged(f"on {ranks} ranks an update reads as many samples as before", fault)

    found = lab08_ranks.resume_on_ranks(figures, value["four"], value["two"])
    for name, ranks in (("four", 4), ("two", 2)):
        plan, run = value[name], found[name]
        fault = None
        if run["samples"] != found["whole"]["samples"]:
            mistake = named_mistake(int(plan["cursor"]), own.cursor_mistakes(figures, plan, ranks))
            fault = Fault(
                f"the first update on {ranks} ranks reads samples {run['samples'][0][0]} to {run['samples'][0][-1]}",
                f"{found['whole']['samples'][0][0]} to {found['whole']['samples'][0][-1]}, as in the uninterrupted run",
                f"the cursor given is {mistake}." if mistake else "",
                f"cursor counts batches of one rank: {figures['step']} updates are how many, with these settings?",
            )
        yield judged(f"on {ranks} ranks every update reads the same samples", fault, held="on real ranks")
    for name, ranks in (("four", 4), ("two", 2)):
        said, attained = value["promise"][name], found[name]["attained"]
        fault = None
        if said != attained:
            too_much = lab08_ranks.PROMISES.index(said) < lab08_ranks.PROMISES.index(attained)
            gap = max(abs(a - b) for a, b in zip(found[name]["weights"], found["whole"]["weights"], strict=True))
            fault = Fault(
                f"{said} on {ranks} ranks; the weights in the end differ by up to {gap:.1e}",
                "the strongest contract that the run keeps",
                "the same samples, but added up in another order: the last bits differ." if too_much else
                "more can be promised: a contract is lowered only where it must be.",
                "are the samples the same? Are the weights the same, bit for bit? Read the drawing's title.",
            )  # fmt: skip
        yield judged(f"{name}: the promise is what the run keeps", fault, held=f"{attained}, on {ranks} real ranks")


def _plan_fault(plan: Any, name: str) -> Fault | None:
    fault = numbers_fault(plan, lab08_ranks.NAMES, whole=True)
    if fault is not None:
        return fault
    for key, most in (("batch_size", 128), ("accumulate", 32), ("cursor", 100_000)):
        if plan[key] > most or (key != "cursor" and plan[key] < 1):
            return Fault(f"{name}: {key} = {plan[key]}", f"1 to {most}" if key != "cursor" else f"0 to {most}",
                         next_step="start from the settings before the stop.")  # fmt: skip
    return None


@exercise("contract.statistical", lab="08", title="Equal enough", kind="diagnose", points=3, minutes=9,
          figures=own.STATISTICAL)  # fmt: skip
def statistical(answer: Answer, context: Context) -> Iterator[Evidence]:
    """Equivalent, different or undecided: four programs' seeded twins, tested again."""
    value, figures = answer.value(), context.figures
    truth = own.twins_truth(figures)
    yield judged("a verdict for every program", choices_fault(value, list(truth), lab08_ranks.VERDICTS))

    from labkit.resume.contract_tost import tost

    held = lab08_ranks.twins(figures)
    tests = {k: tost(v["straight"], v["resumed"], margin=figures["margin"]) for k, v in held.items()}
    wrong = wrong_ones(value, truth)
    fault = None
    if wrong:
        letter = wrong[0]
        low, high = tests[letter].interval
        mistake = named_mistake({k: value[k] for k in truth}, own.twins_mistakes(figures))
        fault = Fault(
            f"{letter}: {value[letter]} ({len(wrong)} of 4 are not so)",
            f"what the interval says: {low:.3g} to {high:.3g}, with a margin of {figures['margin']:g}",
            f"you say {mistake}." if mistake else "",
            "where does the interval lie: inside -margin to margin, outside, or across an end of it?",
        )
    told = ", ".join(f"{k} {one.interval[0]:.2g} to {one.interval[1]:.2g}" for k, one in tests.items())
    yield judged("each verdict is what the interval says", fault, held=f"trained again just now: {told}")
