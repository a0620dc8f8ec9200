"""Lab 05's evidence from fresh real runs: counters, accelerate's gathers, bytes, the line-up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from labkit.checks import lab05_figures as own
from labkit.checks.evidence import Fault, judged, named_mistake
from labkit.checks.result import Evidence
from labkit.checks.shapes import choices_fault, numbers_fault, wrong_ones
from labkit.errors import UsageError


def precision_evidence(value: Any, figures: Mapping[str, Any]) -> Iterator[Evidence]:
    """What each counter shows; the types themselves are asked."""
    letters = list(figures["counters"])
    yield judged("a count for each counter", numbers_fault(value, letters, whole=True))

    fault = None
    for letter, counter in figures["counters"].items():
        total = counter["adds"] * counter["updates"]
        if value[letter] > total:
            fault = Fault(
                f"{letter} shows {value[letter]:,}",
                f"at most the {total:,} that were added",
                next_step="adds times updates is what an exact counter shows.",
            )
            break
    yield judged("no counter shows more than was added", fault)

    truth = {letter: _counted(counter) for letter, counter in figures["counters"].items()}
    fault = None
    if wrong := wrong_ones(value, truth):
        mistake = named_mistake({k: int(value[k]) for k in letters}, own.precision_mistakes(figures))
        counter = figures["counters"][wrong[0]]
        fault = Fault(
            f"{', '.join(wrong)} {'is' if len(wrong) == 1 else 'are'} not so; {wrong[0]} shows {value[wrong[0]]:,}",
            f"what {counter['dtype']} holds after adding {counter['adds']} that often",
            f"that is {mistake}." if mistake else "",
            f"torch.tensor(n, dtype=torch.{counter['dtype']}) + {counter['adds']}: at which n does nothing change?",
        )
    held = ", ".join(f"{letter} {truth[letter]:,}" for letter in letters)
    yield judged("every counter shows what its type holds", fault, held=held)


def _counted(counter: Mapping[str, Any]) -> int:
    """The counter, run on the real type: all of it where that is short, else its last steps before the stop."""
    import torch

    from labkit.metrics import float_stall

    kind, step, updates = getattr(torch, counter["dtype"]), counter["adds"], counter["updates"]
    skipped = 0
    if updates > 5_000:  # exact up to the stop, so the walk may begin shortly before it
        stop = float_stall(counter["dtype"], float(step)).additions
        skipped = min(updates, stop) - 8
    shown = torch.tensor(skipped * step, dtype=kind)
    one = torch.tensor(step, dtype=kind)
    for _ in range(min(updates - skipped, 5_000)):
        shown = shown + one
    return int(shown)


def gather_evidence(value: Any, figures: Mapping[str, Any]) -> Iterator[Evidence]:
    """Rows and mean of four programs; real accelerate on real ranks says the same."""
    fault = numbers_fault(value, ("mean",))
    yield judged("a mean", fault)
    yield judged("rows of A, B and C", numbers_fault(value.get("rows"), "ABC", whole=True))

    rows, n = value["rows"], figures["samples"]
    short = [letter for letter in "ABC" if rows[letter] < n]
    fault = None
    if short:
        fault = Fault(
            f"program {short[0]} has {rows[short[0]]} rows",
            f"at least {n}: all {n} samples are read by somebody, and none of these programs drops one",
            next_step="plan(samples, batch_size, ranks) shows who reads what.",
        )
    yield judged("no program loses a sample", fault)

    seen, how = _gathered(figures)
    truth = {letter: len(seen[letter].values) for letter in "ABC"}
    parts = own.gather_parts(figures)
    fault = None
    if wrong := wrong_ones(rows, truth):
        mistake = named_mistake({k: int(rows[k]) for k in "ABC"}, parts["rows"])
        fault = Fault(
            f"program {wrong[0]}: {rows[wrong[0]]} rows ({len(wrong)} of 3 are not so)",
            "as many rows as rank 0 has in the end",
            f"that is {mistake}." if mistake else "",
            "how many rows do all steps together have? Then: does this program cut the last step, by what it knows?",
        )
    yield judged("each program has the rows you say", fault, held=f"{how}: {truth}")

    right = seen["D"].mean
    fault = None
    if abs(value["mean"] - right) > 0.0011:
        mistake = named_mistake(round(value["mean"], 3), parts["mean"])
        fault = Fault(
            f"mean = {value['mean']:.4g}",
            "the mean of the rank means that program D has in the end",
            f"that is {mistake}." if mistake else "",
            "list the rank means step by step. The last step is cut to as many values as samples were left for it.",
        )
    held = f"{how}: {right:.3f}, and {(n - 1) / 2:g} would be right"
    yield judged("program D reports the mean you say", fault, held=held)


def _gathered(figures: Mapping[str, Any]) -> tuple[Mapping[str, Any], str]:
    """The four programs on real ranks, or by rule where accelerate isn't installed."""
    from labkit.metrics import programs

    settings = figures["samples"], figures["batch_size"], figures["ranks"]
    try:
        return programs.run_programs(*settings), "real accelerate on 2 real ranks"
    except UsageError:
        return programs.predict_programs(*settings), "by rule (accelerate isn't installed here)"


def bytes_evidence(value: Any, figures: Mapping[str, Any], seed: int) -> Iterator[Evidence]:
    """Ways for three metrics: real ranks evaluate them, the values and the bytes handed over decide."""
    from labkit.metrics import ways

    yield judged("two numbers of bytes", numbers_fault(value, ("gathered", "reduced"), whole=True))
    yield judged("a way for each metric", choices_fault(value.get("ways"), ways.METRICS, ways.WAYS))

    chosen = {metric: value["ways"][metric] for metric in ways.METRICS}
    found = ways.evaluate(figures["samples"], figures["ranks"], chosen, seed=seed % 1_000_000)
    given = ", ".join(f"{metric}: {way}" for metric, way in chosen.items())
    wrong = [one for one in found if one.wrong]
    fault = None
    if wrong:
        fault = Fault(
            f"{wrong[0].metric} by {wrong[0].way}: {wrong[0].value:.4f} on {figures['ranks']} real ranks",
            f"the value over all samples in one call, {wrong[0].right:.4f}",
            "no three numbers of each rank hold what it needs: it compares samples of different ranks.",
            f"{wrong[0].metric} needs its rows in one place.",
        )
    held = ", ".join(f"{one.metric} {one.value:.4f}" for one in found)
    yield judged("every metric is that of all samples", fault, given, held)

    payload = sum(one.payload for one in found)
    fault = None
    if payload > figures["budget"]:
        fault = Fault(
            f"{payload:,} bytes handed over on {figures['ranks']} real ranks",
            f"at most {figures['budget']:,} bytes",
            "rows are gathered for a metric that a few sums would give.",
            "for which of the three would three numbers of each rank be enough?",
        )
    yield judged("the evaluation stays within its bytes", fault, given, f"{payload:,} of {figures['budget']:,} bytes")

    truth = own.bytes_truth(figures)
    for name, hint in (
        ("gathered", "a row is a float32 score and an int64 target; every sample is one row."),
        ("reduced", "three float64, from every rank."),
    ):
        fault = None
        if value[name] != truth[name]:
            mistake = named_mistake(int(value[name]), own.bytes_parts(figures)[name])
            what = "a metric whose rows are gathered" if name == "gathered" else "a metric of three numbers"
            fault = Fault(
                f"{name} = {value[name]:,} bytes",
                f"the bytes that all ranks together hand over for {what}",
                f"that is {mistake}." if mistake else "",
                hint,
            )
        yield judged(f"{name} is what the ranks hand over", fault, held=f"{value[name]:,} bytes")


def audit_evidence(value: Any, figures: Mapping[str, Any]) -> Iterator[Evidence]:
    """A verdict for each suspect; the check audits them again, on real ranks."""
    from labkit.metrics.suspects import VERDICTS, audit_all, lineup, planted

    truth = planted(figures["job"])
    yield judged("a verdict for every suspect", choices_fault(value, list(truth), VERDICTS))

    suspects = lineup(figures["job"])
    wrong = wrong_ones(value, truth)
    fault, held = None, ""
    if wrong:
        rule = named_mistake({k: value[k] for k in truth}, own.audit_mistakes(figures))
        report = suspects[wrong[0]].audit()
        fault = Fault(
            f"{wrong[0]}: {value[wrong[0]]} ({len(wrong)} of {len(truth)} are not so)",
            f"what its audit says. A fresh one, just now: {report.summary()}",
            f"you say {rule}." if rule else "",
            f"read every finding of suspects[{wrong[0]!r}].audit(): what must be mended first?",
        )
    else:
        found = audit_all(suspects)
        held = "; ".join(f"{k} {r.findings[0].kind if r.findings else 'nothing'}" for k, r in found.items())
        held = f"fresh audits on 2 and 3 real ranks: {held}"
    yield judged("each suspect is what you say", fault, held=held)
