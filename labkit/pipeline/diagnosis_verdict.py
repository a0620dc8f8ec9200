"""From a record to a verdict: ask every rule, weigh those that hold by what their remedy brings, or abstain."""

from __future__ import annotations

from dataclasses import dataclass

from labkit.pipeline.diagnosis_causes import HEALTHY, LIMITS, PICKLED, RESPAWNED, SHARED_MEMORY, UNSURE, digits
from labkit.pipeline.diagnosis_memory import MEMORY_RULES
from labkit.pipeline.diagnosis_record import Record
from labkit.pipeline.diagnosis_rules import TIME_RULES, Opinion
from labkit.pipeline.remedy import Remedy, remedy

QUIET = "close what else is running and measure again"
LONGER = "give a larger budget (budget_s, or --budget)"


@dataclass(frozen=True)
class Verdict:
    """What the rules make of a record.

    Attributes:
        cause: of `CAUSES`.
        evidence: the measurement that separates this cause from the others.
        second: causes that hold too and bring less, each with its figures.
        ruled_out: causes that don't hold, each with the figures that say so.
        unseen: causes whose rule lacked a figure, each with what was missing.
        remedy: what to do; None where there is nothing to do, or no cause.
        next_try: without a cause, how to get one; "" otherwise.
    """

    cause: str
    evidence: str
    second: dict[str, str]
    ruled_out: dict[str, str]
    unseen: dict[str, str]
    remedy: Remedy | None
    next_try: str = ""


def judge(record: Record) -> Verdict:
    """Ask every rule. The cause whose remedy brings most is named, faults that end a run first."""
    opinions = [rule(record) for rule in (*TIME_RULES, *MEMORY_RULES)]
    out = {o.cause: o.why for o in opinions if o.holds is False}
    unseen = {o.cause: o.why for o in opinions if o.holds is None}
    holding = [o for o in opinions if o.holds]
    if trouble := _too_little(record, holding):
        reason, next_try = trouble
        return Verdict(UNSURE, reason, {o.cause: o.why for o in holding}, out, unseen, None, next_try)
    found = _ranked(record, holding)
    if found:
        (first, best), *others = found
        second = {o.cause: o.why for o, r in others if r.gain >= 1 + LIMITS.loss / 2 or r.saves}
        return Verdict(first.cause, first.why, second, out, unseen, best)
    waits = (
        f"the trainer waits {record.steady_loss:.1%} of an epoch between batches, {record.start_loss:.1%} at its start"
    )
    if record.steady_loss + record.start_loss < LIMITS.loss:
        queue = "" if record.workers else ", and nothing could be gained with workers"
        if record.fetch_price > LIMITS.fetch_ms:
            queue = f"; a fetch of one ready tensor takes {digits(record.fetch_price)} ms here, too, and isn't counted"
        return Verdict(HEALTHY, f"{waits}: nothing to fix in the loader{queue}", {}, out, unseen, None)
    return Verdict(UNSURE, f"{waits}, and no rule explains it", {}, out, unseen, None, f"{QUIET}, and {LONGER}")


def _too_little(record: Record, holding: list[Opinion]) -> tuple[str, str] | None:
    """Why a verdict can't be trusted, and what would help; None where it can."""
    loses = record.steady_loss + record.start_loss >= LIMITS.loss / 2
    certain = any(o.cause == SHARED_MEMORY for o in holding)
    if certain:
        return None
    if len(record.train) < LIMITS.fewest:
        return f"only {len(record.train)} batches in the time budget, {LIMITS.fewest} are needed", LONGER
    if loses and record.others is not None and record.others > LIMITS.busy:
        return (
            f"other programs keep {record.others:.1f} of {record.cores} cores busy: "
            "times say more about them than about the loader",
            QUIET,
        )
    alone = record.cached_train
    if loses and alone is not None and alone > LIMITS.changed * record.mean_train + LIMITS.fetch_ms:
        return (
            f"a step took {digits(alone)} ms with no loader running and {digits(record.mean_train)} ms beside one: "
            "the machine changed between the experiments",
            QUIET,
        )
    if loses and not record.seen:
        return (
            f"the trainer waits {digits(record.mean_wait)} ms for a batch and trains {digits(record.mean_train)} ms, "
            "but how this loader prepares can't be seen",
            "give the DataLoader inside it",
        )
    return None


def _ranked(record: Record, holding: list[Opinion]) -> list[tuple[Opinion, Remedy]]:
    """Those that hold with their remedies: what ends a run first, then what brings most time, then memory."""
    made = [(opinion, remedy(opinion.cause, record)) for opinion in holding]
    made = [(o, r) for o, r in made if r.gain >= 1 + LIMITS.loss / 2 or r.saves or o.cause == SHARED_MEMORY]
    names = {opinion.cause for opinion, _ in made}

    def weight(pair: tuple[Opinion, Remedy]) -> float:
        opinion, found = pair
        if opinion.cause == SHARED_MEMORY:
            return float("inf")
        if opinion.cause == RESPAWNED and PICKLED in names:
            return 0.5  # starting is slow because of what is sent: keeping workers would only hide it
        return found.gain

    return sorted(made, key=weight, reverse=True)
