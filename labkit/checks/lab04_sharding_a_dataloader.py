"""Checks of lab 04, sharding a data loader: what is judged, by which real run. Figures come from `lab04_figures`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from labkit.checks import lab04_builds as builds
from labkit.checks import lab04_figures as own
from labkit.checks import lab04_real as real
from labkit.checks.answer import Answer
from labkit.checks.evidence import Fault, judged, named_mistake, number, same
from labkit.checks.registry import Context, exercise
from labkit.checks.result import Evidence
from labkit.sharding import CAUSES
from labkit.sharding.planted import NOTHING


def _named(value: Any, names: Sequence[str], what: str) -> Fault | None:
    """None where `value` is a dict that has every name."""
    missing = [name for name in names if type(value) is not dict or name not in value]
    if not missing:
        return None
    return Fault(
        f"{missing[0]} is missing in {value!r}"[:160], f"{what}: {', '.join(names)}", next_step="check the names."
    )


def _count(value: Any) -> bool:
    return type(value) is int and value >= 0


def _counts(value: Any, names: Sequence[str], what: str) -> Fault | None:
    if (fault := _named(value, names, what)) is not None:
        return fault
    bad = [name for name in names if not _count(value[name])]
    return (
        Fault(f"{bad[0]} = {value[bad[0]]!r}", "a whole number, 0 or more", next_step="give an int.") if bad else None
    )


@exercise("sharding.distributed_sampler", lab="04", title="One by one, in turn", kind="build", points=3, minutes=7)
def distributed_sampler(answer: Answer, context: Context) -> Iterator[Evidence]:
    """Every rank's ids under torch's rule, for any number of samples and ranks."""
    yield from builds.share_evidence(answer, context.rng())


@exercise("sharding.set_epoch", lab="04", title="The same order twice", kind="diagnose", points=2, minutes=6,
          figures=own.RESTARTS)  # fmt: skip
def set_epoch(answer: Answer, context: Context) -> Iterator[Evidence]:
    """Which epochs of a restarted job repeat an order, and how many samples a rank saw; by the check's own run."""
    value = answer.value()
    lines = len(context.figures["log"])
    fault = _named(value, ("repeats", "saw"), "a list of line numbers and a number")
    if fault is None and (type(value["repeats"]) not in (list, tuple) or not all(map(_count, value["repeats"]))):
        fault = Fault(f"repeats = {value['repeats']!r}"[:120], "a list of line numbers", next_step="such as [4, 5].")
    if fault is None and not _count(value["saw"]):
        fault = Fault(f"saw = {value['saw']!r}", "a whole number", next_step="count samples.")
    yield judged("a list of lines and a count", fault)

    repeats = sorted(value["repeats"])
    fault = None
    if off := [one for one in repeats if not 1 <= one < lines]:
        fault = Fault(
            f"line {off[0]}",
            f"lines 1 to {lines - 1}: line 0 has no line before it",
            next_step="count the lines of the log from 0; the first of two equal orders isn't a repeat.",
        )
    yield judged("each is a line of the log that has others before it", fault)

    orders = real.orders_on_ranks(context.figures)
    parts = own.restarts_parts(context.figures)
    fault = None
    if repeats != own.repeats_in(orders):
        mistake = named_mistake(repeats, parts["repeats"])
        fault = Fault(
            f"lines {', '.join(map(str, repeats)) or 'none'}",
            "each line whose order rank 0 had in an earlier line of the check's own run",
            f"that is {mistake}." if mistake else "",
            "compare the lists of ids, history[0][i] with history[0][j], for every pair of lines.",
        )
    yield judged("these lines repeat an order", fault, held=f"{len(repeats)} of {lines}, on {len(orders)} real epochs")

    fault = None
    if value["saw"] != len({one for order in orders for one in order}):
        mistake = named_mistake(value["saw"], parts["saw"])
        fault = Fault(
            f"{value['saw']} samples",
            "the different samples in all of rank 0's lines together",
            f"that is {mistake}." if mistake else "",
            "a set keeps each sample once.",
        )
    yield judged("rank 0 saw so many different samples", fault, held=f"{value['saw']} of {context.figures['samples']}")


@exercise("sharding.batch_shard", lab="04", title="Whole batches", kind="build", points=3, minutes=9)
def batch_shard(answer: Answer, context: Context) -> Iterator[Evidence]:
    """Every rank's batches under accelerate's rule, with both flags."""
    yield from builds.batch_evidence(answer, context.rng())


@exercise("sharding.split", lab="04", title="Slices", kind="build", points=2, minutes=5)
def split(answer: Answer, context: Context) -> Iterator[Evidence]:
    """Every rank's slices under accelerate's rule with split_batches, with both flags."""
    yield from builds.split_evidence(answer, context.rng())


@exercise("sharding.dispatch", lab="04", title="One rank reads for all", kind="diagnose", points=2, minutes=5,
          figures=own.TRAFFIC)  # fmt: skip
def dispatch(answer: Answer, context: Context) -> Iterator[Evidence]:
    """Reads and bytes of shard and dispatch mode, by the check's own run on real ranks."""
    value = answer.value()
    names = ("shard_reads", "dispatch_reads", "broadcast", "scatter")
    yield judged("four whole numbers", _counts(value, names, "two counts of samples and two of bytes"))

    fault = None
    if not value["scatter"] < value["broadcast"]:
        fault = Fault(
            f"scatter {value['scatter']:,}, broadcast {value['broadcast']:,} bytes",
            "scatter < broadcast",
            "scatter sends a rank its slice alone, broadcast the whole round to everyone.",
            "did the two change places?",
        )
    yield judged("scatter sends less than broadcast", fault)

    measured = real.traffic_on_ranks(context.figures)
    parts = own.traffic_parts(context.figures)
    hints = {
        "shard_reads": "look at the rows of mode shard, column reads.",
        "dispatch_reads": "look at rank 0 in mode broadcast, column reads. Why is it more than the samples there are?",
        "broadcast": "add up payload over ranks 1, 2, ... in mode broadcast.",
        "scatter": "add up payload over ranks 1, 2, ... in mode scatter.",
    }
    for name in names:
        unit = "samples" if "reads" in name else "bytes"
        fault = None
        if value[name] != measured[name]:
            mistake = named_mistake(value[name], parts[name])
            fault = Fault(
                f"{name} = {value[name]:,} {unit}",
                "what the check's own run of your job counted",
                f"that is {mistake}." if mistake else "",
                hints[name],
            )
        yield judged(f"{name} is what a real run counts", fault, held=f"{value[name]:,} {unit}")


@exercise(
    "sharding.predict", lab="04", title="Four settings", kind="predict", points=3, minutes=7, figures=own.SETTINGS
)
def predict(answer: Answer, context: Context) -> Iterator[Evidence]:
    """Duplicates, dropped, steps and hang for own samples, batch size, ranks and flags."""
    value, figures = answer.value(), context.figures
    letters, ranks, samples = list(figures["settings"]), figures["ranks"], figures["samples"]
    fault = _named(value, letters, "a claim for each setting")
    for name in letters if fault is None else []:
        fault = fault or _claim_fault(name, value[name], ranks)
    yield judged("every setting has its four values", fault)

    fault = None
    for name in letters:
        claim = value[name]
        if claim["hang"] != (len(set(claim["steps"])) > 1):
            fault = fault or Fault(
                f"{name}: steps {', '.join(map(str, claim['steps']))}, hang {claim['hang']}",
                "True exactly where some rank takes more steps than another",
                "a collective in every step needs all ranks; equal steps end together.",
                f"decide the steps of {name} first, hang follows from them.",
            )
    yield judged("it hangs exactly where steps differ", fault)

    fault = None
    for name in letters:
        claim, setting = value[name], figures["settings"][name]
        size = setting["batch_size"] // ranks if setting.get("split_batches") else setting["batch_size"]
        reads = samples + claim["duplicates"] - claim["dropped"]
        if not (sum(claim["steps"]) - ranks) * size < reads <= sum(claim["steps"]) * size or reads < 0:
            fault = fault or Fault(
                f"{name}: {sum(claim['steps'])} batches of at most {size} for {reads} reads "
                f"({samples} + {claim['duplicates']} again - {claim['dropped']} dropped)",
                "as many batches as the reads fill",
                "the four values contradict each other.",
                f"how many batches of {size} do {reads} reads fill?",
            )
    yield judged("the batches hold the reads", fault)

    truth = own.settings_truth(figures)
    claims = {
        name: {key: value[name][key] for key in ("duplicates", "dropped", "hang")}
        | {"steps": list(value[name]["steps"])}
        for name in letters
    }
    everywhere = named_mistake(claims, own.settings_mistakes(figures))
    for name, claim in claims.items():
        fault = None
        if claim != truth[name]:
            wrong = next(key for key in ("steps", "duplicates", "dropped", "hang") if claim[key] != truth[name][key])
            mistake = everywhere or named_mistake(claim, own.settings_parts(figures, name))
            fault = Fault(
                f"{name}: {wrong} = {claim[wrong]}",
                f"what {_said(figures['settings'][name])} does to {samples} samples on {ranks} ranks",
                f"that is {mistake}." if mistake else "",
                "write the last round of batches down: which ranks have a full batch, a short one, none?",
            )
        held = f"steps {', '.join(map(str, claim['steps']))}, {claim['duplicates']} again, {claim['dropped']} dropped"
        yield judged(f"setting {name} is what you say", fault, held=held)


def _claim_fault(name: str, claim: Any, ranks: int) -> Fault | None:
    if (fault := _named(claim, ("duplicates", "dropped", "steps", "hang"), f"four values for {name}")) is not None:
        return fault
    if (fault := _counts(claim, ("duplicates", "dropped"), "two counts")) is not None:
        return Fault(f"{name}: {fault.seen}", fault.expected, fault.why, fault.next_step)
    steps = claim["steps"]
    if type(steps) not in (list, tuple) or len(steps) != ranks or not all(map(_count, steps)):
        return Fault(
            f"{name}: steps = {steps!r}"[:120], f"{ranks} whole numbers, one a rank", next_step="such as [3, 3]."
        )
    if type(claim["hang"]) is not bool:
        return Fault(f"{name}: hang = {claim['hang']!r}"[:120], "True or False", next_step="write True or False.")
    return None


def _said(setting: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in setting.items())


@exercise("sharding.hang", lab="04", title="Three steps against two", kind="experiment", points=3, minutes=8)
def hang(answer: Answer, context: Context) -> Iterator[Evidence]:
    """Unequal steps that end, with the mean gradient of the ranks that still train; on real ranks."""
    rng = context.rng()
    runs = [[3, 2], [2, 4], [2, 2, 2]]
    runs.append([rng.randint(1, 2), 5, rng.randint(3, 4)])
    for steps in runs:
        yield from _one_run(answer, steps)


def _one_run(answer: Answer, steps: list[int]) -> Iterator[Evidence]:
    given = f"gradients_of({steps})"
    found = answer.call(steps)
    fault = None
    if type(found) not in (list, tuple) or len(found) != len(steps):
        fault = Fault(f"{found!r}"[:120], f"{len(steps)} lists, one a rank", next_step="return what run(...) returns.")
    elif not all(type(mine) in (list, tuple) and all(map(number, mine)) for mine in found):
        fault = Fault(
            f"{found!r}"[:120], "a list of numbers for each rank", next_step="one gradient a step, as floats."
        )
    if fault is not None:
        yield judged("it ends, with a list of gradients for each rank", fault, given)
        return

    taken = [len(mine) for mine in found]
    fault = None
    if taken != steps:
        fault = Fault(
            f"{', '.join(map(str, taken))} steps",
            f"{', '.join(map(str, steps))}: every rank takes all of its own steps, and no others",
            "stopping early loses samples; steps more than a rank has repeat some."
            if sum(taken) != sum(steps)
            else "the ranks' lists are out of order.",
            "let the rank with fewer steps take part in the others' collectives without training.",
        )
    if fault is not None:
        yield judged("every rank takes its own steps", fault, given)
        return

    wrong = [
        (rank, step, gradient)
        for rank, mine in enumerate(found)
        for step, gradient in enumerate(mine, 1)
        if not same(gradient, step, 1e-5)
    ]
    fault = None
    if wrong:
        rank, step, gradient = wrong[0]
        left = sum(n >= step for n in steps)
        fault = Fault(
            f"rank {rank}, step {step}: gradient {gradient:g}",
            f"{step}: the mean over the {left} rank{'s' * (left > 1)} that still train{'s' * (left == 1)}",
            _gradient_mistake(gradient, step, left, len(steps)),
            "look up what the sum of the gradients is divided by once a rank has run out.",
        )
    held = f"steps {', '.join(map(str, steps))}: last gradients {', '.join(f'{mine[-1]:g}' for mine in found)}"
    yield judged("it ends, and each gradient is the mean over the ranks that still train", fault, given, held)


def _gradient_mistake(gradient: float, step: int, left: int, ranks: int) -> str:
    if same(gradient, step * left / ranks, 1e-5) and left < ranks:
        return f"that is the sum divided by all {ranks} ranks: those that have run out count as zeros in the mean."
    if same(gradient, step * left, 1e-5):
        return "that is the sum over the ranks, not their mean."
    if same(gradient, step * ranks / left, 1e-5):
        return "that was scaled up once too often."
    return ""


@exercise("sharding.worker_seeds", lab="04", title="Who draws the same numbers?", kind="diagnose", points=2, minutes=6,
          figures=own.SEEDS)  # fmt: skip
def worker_seeds(answer: Answer, context: Context) -> Iterator[Evidence]:
    """What draws alike in four jobs: workers, ranks, epochs; by the check's own run of them."""
    value = answer.value()
    words = ("workers", "ranks", "epochs")
    letters = list(context.figures["jobs"])
    fault = _named(value, letters, "a list for each job")
    for name in letters if fault is None else []:
        if type(value[name]) not in (list, tuple) or any(word not in words for word in value[name]):
            fault = Fault(
                f"{name}: {value[name]!r}"[:120],
                f"a list with some of {', '.join(words)}; [] where none",
                next_step='["ranks"].',
            )
            break
    yield judged("every job has a list of words", fault)

    measured = real.alike_on_ranks(context.figures)
    wrong = [name for name in letters if sorted(set(value[name])) != measured[name]]
    fault = None
    if wrong:
        rule = named_mistake({k: sorted(set(value[k])) for k in letters}, own.jobs_mistakes(context.figures))
        name = wrong[0]
        extra = sorted(set(value[name]) - set(measured[name]))
        fault = Fault(
            f"{len(wrong)} of {len(letters)} jobs are not so; {name}: {', '.join(value[name]) or 'nothing alike'}",
            "a word exactly where the numbers are equal in the check's own run",
            f"that is {rule}." if rule else f"{name}'s {extra[0]} draw different numbers." if extra else "",
            f"in job {name} compare two cells at a time that differ in one thing: the worker, the rank, the epoch.",
        )
    held = "; ".join(f"{name} {', '.join(value[name]) or 'nothing'}" for name in letters)
    yield judged("these draw the same numbers on real workers", fault, held=held)


@exercise("sharding.audit", lab="04", title="Four loaders", kind="diagnose", points=4, minutes=10, figures=own.AUDIT)
def audit(answer: Answer, context: Context) -> Iterator[Evidence]:
    """What is wrong with four loaders, and what it costs; by the check's own audit of each."""
    value, letters = answer.value(), list(context.figures["loaders"])
    fault = _named(value, letters, "a finding for each loader")
    for name in letters if fault is None else []:
        fault = fault or _named(value[name], ("cause", "again", "missing"), f"three values for {name}")
        fault = fault or _counts(value[name], ("again", "missing"), "two counts")
        if fault is None and value[name]["cause"] not in (*CAUSES, NOTHING):
            fault = Fault(
                f"{name}: {value[name]['cause']!r}"[:120],
                f"a word of labkit.sharding.CAUSES, or {NOTHING!r}",
                next_step="copy the word from .causes, or from list(CAUSES).",
            )
    yield judged("every loader has a cause and two counts", fault)

    rule = named_mistake({k: dict(value[k]) for k in letters}, own.loaders_mistakes(context.figures))
    for name in letters:
        found = real.audited(context.figures, name)
        mine = value[name]
        fault = None
        if mine["cause"] != found["cause"]:
            fault = Fault(
                f"{name}: {mine['cause']}",
                "what the check's own audit of this loader, on real ranks, calls it",
                f"that is {rule}." if rule else f"{mine['cause']} means: {CAUSES.get(mine['cause'], 'no fault')}.",
                f"print(audit(mystery(four.loaders[{name!r}]), ranks=four.ranks).text()) and read its evidence.",
            )
        elif (mine["again"], mine["missing"]) != (found["again"], found["missing"]):
            which = "again" if mine["again"] != found["again"] else "missing"
            fault = Fault(
                f"{name}: {mine[which]} {which}",
                "the ids of epoch 0 that a step got once more than needed"
                if which == "again"
                else "the ids of epoch 0 that no step got",
                f"that is {rule}." if rule else "",
                f"len() of the audit's .{'duplicates' if which == 'again' else 'missing'}.",
            )
        held = f"{mine['cause']}, {mine['again']} again, {mine['missing']} missing"
        yield judged(f"loader {name} has this fault", fault, held=held)
