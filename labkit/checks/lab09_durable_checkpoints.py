"""Checks of lab 09, durable checkpoints."""

from __future__ import annotations

from collections.abc import Iterator

from labkit.checks import lab09_figures as own
from labkit.checks.answer import Answer
from labkit.checks.evidence import Fault, judged, named_mistake
from labkit.checks.explained import self_assessed
from labkit.checks.lab09_builds import RUBRIC, over_listings, publish_evidence, snapshot_evidence
from labkit.checks.lab09_disk import KINDS
from labkit.checks.registry import Context, exercise
from labkit.checks.result import Evidence
from labkit.checks.shapes import choices_fault, numbers_fault, wrong_ones


@exercise("durable.torn", lab="09", title="After the power cut", kind="diagnose", points=2, minutes=7,
          figures=own.TORN)  # fmt: skip
def torn(answer: Answer, context: Context) -> Iterator[Evidence]:
    """What became of six saves, and which damage a loader without checksums doesn't see."""
    value = answer.value()
    truth = own.torn_truth(context.figures)
    yield judged("a word for every folder", choices_fault(value.get("found"), tuple("ABCDEF"), KINDS))
    silent = value.get("silent")
    fault = None
    if type(silent) not in (list, tuple) or any(letter not in tuple("ABCDEF") for letter in silent):
        fault = Fault(repr(silent)[:100], "a list of letters", next_step='for example ["A", "F"].')
    yield judged("a list of letters", fault)

    found = {letter: value["found"][letter] for letter in truth["found"]}
    fault = None
    if wrong := wrong_ones(found, truth["found"]):
        mistakes = {name: one["found"] for name, one in own.torn_mistakes(context.figures).items()}
        rule = named_mistake(found, mistakes)
        fault = Fault(
            f"{', '.join(f'{k}: {found[k]}' for k in wrong)}",
            "what the bytes show",
            f"you say {rule}." if rule else "",
            f"for each file of {wrong[0]}: does its SHA-256 match the manifest? If not: is it short, does it end in "
            "zeros, and which step does it name?",
        )
    yield judged("each folder is what you say", fault, held="6 folders, by their bytes")

    fault = None
    if sorted(set(silent)) != sorted(truth["silent"]):
        extra = [letter for letter in silent if letter not in truth["silent"]]
        whole = any(truth["found"][letter] == "whole" for letter in extra)
        fault = Fault(
            f"silent: {', '.join(silent) or 'none'}",
            "the damaged ones that json.loads takes without an error, both files",
            "a whole one isn't damaged." if whole else "json.loads raises there." if extra else "one is left out.",
            "try it: json.loads(content) for the files of each folder.",
        )
    yield judged("the silent ones are those that really load", fault, held=f"{', '.join(truth['silent'])}, loaded now")


@exercise("durable.publish", lab="09", title="All or nothing", kind="build", points=3, minutes=12)
def publish(answer: Answer, context: Context) -> Iterator[Evidence]:
    """A save that replaces a checkpoint, on every state that a power cut may leave."""
    yield from publish_evidence(answer, context.rng())


@exercise("durable.fallback", lab="09", title="The newest that verifies", kind="build", points=3, minutes=8)
def fallback(answer: Answer, context: Context) -> Iterator[Evidence]:
    """Where to go on, among good and damaged checkpoints, and what to say about it."""
    yield from over_listings(answer, context.rng())


@exercise("durable.snapshot", lab="09", title="Saved while training", kind="build", points=3, minutes=8)
def snapshot(answer: Answer, context: Context) -> Iterator[Evidence]:
    """A save in the background that holds one moment, and whose failure is heard of."""
    yield from snapshot_evidence(answer)


@exercise("interval.optimum", lab="09", title="How often", kind="predict", points=2, minutes=5, figures=own.OPTIMUM)
def optimum(answer: Answer, context: Context) -> Iterator[Evidence]:
    """Failures of a whole job, and the interval by Young and by Daly."""
    value = answer.value()
    names = ("mtbf", "young", "daly")
    yield judged("three numbers of minutes", numbers_fault(value, names))

    truth, parts = own.optimum_truth(context.figures), own.optimum_parts(context.figures)
    hints = {
        "mtbf": "how often does a job of two machines fail, compared with one?",
        "young": "Young: the root of 2 C M, both in minutes.",
        "daly": "compute C / 2M first, then the bracket, then subtract C.",
    }
    for name in names:
        fault = None
        if not own.near(value[name], truth[name]):
            mistake = next((phrase for phrase, wrong in parts[name].items() if own.near(value[name], wrong)), "")
            fault = Fault(
                f"{name} = {value[name]:.4g} min",
                {"mtbf": "the mean time between failures of the job", "young": "the interval by Young",
                 "daly": "the interval by Daly"}[name] + ", within 1 %",
                f"that is {mistake}." if mistake else "",
                hints[name],
            )  # fmt: skip
        yield judged(f"{name} is right", fault, held=f"{truth[name]:.2f} min")


@exercise("interval.cost", lab="09", title="What a failure costs here", kind="experiment", points=2, minutes=7,
          figures=own.COST)  # fmt: skip
def cost(answer: Answer, context: Context) -> Iterator[Evidence]:
    """An interval that bounds the loss; a process is really killed, and its ledger read."""
    from labkit.resume.ledger import PARTS, recovery_ledger

    value = answer.value()
    yield judged("a number of updates", numbers_fault(value, ("save_every",), whole=True))
    yield judged("one of the parts", choices_fault({"largest": value.get("largest")}, ("largest",), tuple(PARTS)))

    every, most = int(value["save_every"]), context.figures["at_most"]
    fault = None
    if every < 1 or every > most:
        mean = every == 2 * most
        fault = Fault(
            f"save_every = {every}",
            f"at most {most} updates done again, whenever the process is killed",
            "that bounds the mean loss, not the largest." if mean else "a kill just before a save loses them all."
            if every else "never saving bounds nothing.",
            "how many updates are unsaved in the worst moment?",
        )  # fmt: skip
    yield judged("no kill costs more than was allowed", fault)
    fault = None
    if every < most:
        fault = Fault(
            f"save_every = {every}",
            "as few saves as the bound allows",
            f"a loss of {every} is less than was allowed, and paid for with more saves.",
            "raise it until the worst moment costs just what may be lost.",
        )
    yield judged("no save is made that needn't be", fault)

    rng = context.rng()
    for attempt in range(3):
        kill = every + rng.randint(1, max(1, every // 2))
        ledger = recovery_ledger(kill_at=kill, save_every=every, step_seconds=0.001, poll_seconds=0.01)
        times = {name: getattr(ledger, name) for name in PARTS}
        largest = max(times, key=lambda name: times[name])
        if largest == value["largest"] or attempt == 2:
            break
    fault = None
    if ledger.lost_steps > most:
        fault = Fault(
            f"{ledger.lost_steps} updates done again", f"at most {most}",
            next_step="run the cell again: the save may have taken longer than an update.",
        )  # fmt: skip
    held = f"killed after update {ledger.killed_at}, resumed from {ledger.resumed_from}"
    yield judged("a process that was really killed kept to it", fault, held=held)
    fault = None
    if largest != value["largest"]:
        small = times[value["largest"]] < sum(times.values()) / 3
        fault = Fault(
            f"{value['largest']}: {1000 * times[value['largest']]:.0f} ms",
            "the part that takes longest, for updates of 1 ms and a watcher that looks every 10 ms, in a fresh ledger",
            f"it is less than a third of {sum(times.values()):.2f} s." if small else "",
            "run recovery_ledger for your interval, and look at its drawing.",
        )
    held = ", ".join(f"{name} {1000 * seconds:.0f} ms" for name, seconds in times.items())
    yield judged("the largest part is what you say", fault, held=f"{held}, just now")


@exercise("durable.object_store", lab="09", title="Without a rename", kind="explain", points=2, minutes=8)
def object_store(answer: Answer, context: Context) -> Iterator[Evidence]:
    """A text on publishing in an object store, marked by its writer."""
    yield from self_assessed(answer.value(), RUBRIC)
