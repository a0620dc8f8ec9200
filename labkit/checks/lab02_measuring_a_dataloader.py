"""Checks of lab 02, measuring a DataLoader."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from statistics import fmean
from typing import TYPE_CHECKING, Any

from labkit.checks import lab02_figures as own
from labkit.checks.answer import Answer
from labkit.checks.evidence import Fault, judged, named_mistake, number
from labkit.checks.explained import self_assessed
from labkit.checks.lab02_builds import debt_evidence, pair_evidence
from labkit.checks.lab02_shown import REMEDIES, RUBRIC
from labkit.checks.registry import Context, exercise
from labkit.checks.result import Evidence
from labkit.checks.shapes import choices_fault, numbers_fault, wrong_ones
from labkit.pipeline import CAUSES
from labkit.pipeline.measured_draws import far_times

if TYPE_CHECKING:
    from labkit.pipeline.measured_cases import Epoch

TRIES = 4
"""A real run is repeated this often before its waits count against anybody: another program may have the cores."""
WAKES = 3
"""Sleepers that must wake before a batch is there: the worker, its thread that sends, and the trainer."""


@exercise("measure.fetch_wait", lab="02", title="A stopwatch for both sides", kind="build", points=3, minutes=9)
def fetch_wait(answer: Answer, context: Context) -> Iterator[Evidence]:
    """Waits and trains of replayed lines, exactly, and of a real DataLoader."""
    yield from pair_evidence(answer, context.rng())


@exercise("measure.debt", lab="02", title="What the data costs", kind="build", points=2, minutes=7)
def debt(answer: Answer, context: Context) -> Iterator[Evidence]:
    """The debt of many pipelines and its parts, from three passes each."""
    from labkit.pipeline.measured_jobs import Asleep, Nap, loader_of, three_passes

    rng = context.rng()
    prepare, train = rng.randint(14, 20), rng.randint(6, 10)

    def run() -> tuple[list[float], list[float], list[float], int]:
        passes = three_passes(lambda: loader_of(Asleep([prepare] * 16), num_workers=1), Nap(train), 16)
        return passes["read_only"], passes["train_only"], passes["both"], 2

    yield from debt_evidence(answer, rng, run)


@exercise("measure.cached_control", lab="02", title="Where the debt comes from", kind="diagnose", points=3, minutes=8,
          figures=own.CONTROL)  # fmt: skip
def cached_control(answer: Answer, context: Context) -> Iterator[Evidence]:
    """Three parts of a recorded run's debt, and what would lower the largest."""
    value, figures = answer.value(), context.figures
    fault = numbers_fault(value.get("parts") if type(value) is dict else value, own.PARTS)
    yield judged("ms a batch for each part", fault)
    yield judged("a remedy", choices_fault(value, ("remedy",), tuple(REMEDIES.values())))

    parts, truth = value["parts"], own.control_truth(figures)
    whole, mine = sum(truth["parts"].values()), sum(parts[name] for name in own.PARTS)
    wrong = [name for name in own.PARTS if abs(parts[name] - truth["parts"][name]) > 0.06]
    named = next((k for k, made in own.control_mistakes(figures).items() if _alike(parts, made)), "")
    why = f"that is {named}." if named else ""
    fault = None
    if abs(mine - whole) > 0.15:
        fault = Fault(
            f"the parts add up to {mine:.4g} ms a batch",
            "with the loader minus without: wait, copy and train there, less copy and train here, from batch 1 on",
            why,
            "take the mean of each column over batches 1 and later, then the differences.",
        )
    yield judged("the parts make up the whole difference", fault, held=f"{whole:.3g} ms a batch")
    fault = None
    if wrong:
        fault = Fault(
            f"{wrong[0]}: {parts[wrong[0]]:.4g} ms",
            _ROWS[wrong[0]],
            why,
            "which two columns of the table hold the same piece of work, with the loader and without?",
        )
    yield judged(
        "each part is what its columns say", fault, held=", ".join(f"{k} {v:.3g}" for k, v in truth["parts"].items())
    )
    fault = None
    if value["remedy"] != truth["remedy"]:
        part = next(name for name, remedy in REMEDIES.items() if remedy == value["remedy"])
        fault = Fault(
            f"{value['remedy']}: that lowers the {part}, {truth['parts'][part]:.3g} of {whole:.3g} ms a batch",
            "what lowers the largest part",
            next_step="look at your own three numbers: which one is worth a change?",
        )
    yield judged("the remedy goes for the largest part", fault, held=truth["remedy"])


_ROWS = {
    "waiting": "the mean wait with the loader; from memory there is none",
    "contention": "how much longer the same step takes while workers run",
    "copies": "how much longer the same copy takes for a batch that has just come through shared memory",
}


def _alike(parts: Mapping[str, float], made: Mapping[str, float]) -> bool:
    return all(abs(parts[name] - made[name]) <= 0.06 for name in own.PARTS)


@exercise("measure.memory", lab="02", title="What waits in memory", kind="diagnose", points=2, minutes=7,
          figures=own.MEMORY)  # fmt: skip
def memory(answer: Answer, context: Context) -> Iterator[Evidence]:
    """Shared memory that a real loader holds, and the most that fits."""
    value, figures = answer.value(), context.figures
    truth, parts = own.memory_truth(figures), own.memory_parts(figures)
    fault = None
    if type(value) is not dict or not all(number(value.get(name)) for name in truth):
        fault = Fault(f"{value!r}"[:120], "a number for held and for factor", next_step="give two numbers.")
    yield judged("two numbers", fault)

    seen, how = _held(figures, truth["held"])
    fault = None
    if abs(value["held"] - seen) > 0.02 * seen:
        named = next((k for k, v in parts["held"].items() if abs(value["held"] - v) <= 0.02 * v), "")
        fault = Fault(
            f"held {value['held']:.4g} MiB",
            "what a real loader holds while the trainer is busy: every batch asked for ahead, and the one in hand",
            f"that is {named}." if named else "",
            "how many batches are that, and how many bytes is one? 1 MiB is 1,048,576 bytes.",
        )
    yield judged("so much shared memory is held", fault, held=f"{seen:.4g} MiB, {how}")
    fault = None
    if value["factor"] != truth["factor"]:
        named = named_mistake(value["factor"], parts["factor"])
        needs = own.held_mib(figures, int(value["factor"])) if value["factor"] >= 1 else 0.0
        fault = Fault(
            f"prefetch_factor {value['factor']:g}" + (f", which may need {needs:.4g} MiB" if needs else ""),
            f"the largest one with which all of it, the batch in training too, fits into {figures['shm']} MiB",
            f"that is {named}." if named else "",
            "your formula for held, solved for prefetch_factor, rounded down.",
        )
    yield judged("the largest prefetch_factor that fits", fault, held=f"{truth['factor']}")


def _held(figures: Mapping[str, Any], expected: float) -> tuple[float, str]:
    """What a real loader held, or what it must hold where that can't be counted; and which of the two."""
    import shutil

    from labkit.pipeline.measured_cases import shared_mib

    try:
        room = shutil.disk_usage("/dev/shm").free / own.MIB
        if room < 1.5 * expected:
            return expected, f"computed: /dev/shm has only {room:.0f} MiB free here"
        names = ("batch_size", "side", "workers", "prefetch_factor")
        seen = shared_mib(*(figures[name] for name in names))
    except OSError:
        return expected, "computed: this system doesn't show a process's shared memory"
    if abs(seen - expected) > 0.02 * expected:
        raise RuntimeError(f"a real loader held {seen:.4g} MiB, expected {expected:.4g}: torch hands out other credits")
    return seen, "counted in a real run"


@exercise("measure.mystery", lab="02", title="Three slow loaders", kind="diagnose", points=4, minutes=12,
          figures=own.MYSTERY)  # fmt: skip
def mystery(answer: Answer, context: Context) -> Iterator[Evidence]:
    """The planted cause of each of three loaders."""
    value, truth = answer.value(), own.mystery_truth(context.figures)
    yield judged("a word for every loader", choices_fault(value, list(truth), CAUSES))
    wrong = wrong_ones(value, truth)
    fault = None
    if wrong:
        letter = wrong[0]
        named = named_mistake({k: value[k] for k in truth}, own.mystery_mistakes(context.figures))
        fault = Fault(
            f"{letter}: {value[letter]} ({len(wrong)} of {len(truth)} are not so)",
            f"what its own figures show: {_CLUES[truth[letter]]}",
            f"that is {named}." if named else _NOT.get(value[letter], ""),
            f"print(loaders[{letter!r}].measured.text()), then the two lines of .epochs: which figure stands out?",
        )
    yield judged("each loader has the cause that you name", fault, held="; ".join(f"{k} {v}" for k, v in truth.items()))


_CLUES = {  # where to look, not what it is
    "healthy": "what the queue holds, and the longest wait",
    "too few workers": "what the queue holds, and how prepare times scatter",
    "workers respawned each epoch": "first waits of both epochs, and process ids, against everything after them",
    "slow collate": "how much of `prepare` is `collate`",
    "head-of-line blocking": "the longest wait, the longest prepare, and the queue right after it",
    "transport-bound": "`prepare` against `sending`, `fetch_cost` and `batch_bytes`",
}
_NOT = {
    "healthy": "something takes time here that needn't.",
    "too few workers": "more workers would help if the queue were empty while all of them prepare evenly.",
    "workers respawned each epoch": "workers that live on have the same process ids in both epochs.",
    "slow collate": "then `collate` would be most of a long `prepare`.",
    "head-of-line blocking": "then finished batches would wait behind one that isn't.",
    "transport-bound": "then sending or fetching would take longer than preparing.",
}


@exercise("measure.fix", lab="02", title="Five percent", kind="experiment", points=3, minutes=9,
          figures=own.FIX)  # fmt: skip
def fix(answer: Answer, context: Context) -> Iterator[Evidence]:
    """A loader's settings, in a real run of two epochs: workers, memory, and the share of waiting."""
    value, figures = answer.value(), context.figures
    yield judged("three settings", _settings_fault(value))
    workers, factor, persistent = value["num_workers"], value["prefetch_factor"], value["persistent_workers"]
    given = f"num_workers={workers}, prefetch_factor={factor}, persistent_workers={persistent}"
    fault = None
    if workers > figures["cores"]:
        fault = Fault(f"{workers} workers", f"at most {figures['cores']}: the job has no more cores",
                      next_step="with fewer workers, what else lets them get ahead?")  # fmt: skip
    elif workers * factor > figures["memory"]:
        fault = Fault(
            f"{workers} x {factor} = {workers * factor} batches",
            f"at most {figures['memory']} batches ahead",
            "every worker may hold prefetch_factor batches.",
            "fewer of one of the two.",
        )
    yield judged("the settings keep to the job's limits", fault, given, f"{workers * factor} batches ahead")

    runs = _real_runs(figures, value)
    first, second = runs[-1]
    fault = None
    if first.pids != second.pids:
        fault = Fault(
            f"workers {_ids(first)} in one epoch, {_ids(second)} in the next",
            "the same processes",
            f"each epoch starts workers anew: its first wait was {second.first_wait:.0f} ms.",
            "which setting keeps workers from ending with the epoch?",
        )
    yield judged("workers live on from one epoch to the next", fault, given, f"process ids {_ids(first)}")

    train = far_times(figures["job"])[1]
    measured = [(max(epoch.share for epoch in run), _late(train, run)) for run in runs]
    share, late = min(measured, key=lambda m: m[0] - m[1] * WAKES / train)
    predicted = own.predicted_share(figures["job"], workers, factor)
    tries = f"{len(runs)} real run{'s' * (len(runs) > 1)}"
    fault = None
    if share - late * WAKES / train > own.SHARE or predicted > own.SHARE:
        fault = Fault(
            f"{share:.1%} of the time after the first batch at best of {tries}; by prediction {predicted:.1%}",
            f"at most {own.SHARE:.0%}, in a real run and by the line: a machine that slows the step down hides waits",
            _why(figures, workers, predicted),
            "probe the loader with these settings and look at the longest `prepare` and the waits behind it."
            if predicted > own.SHARE / 2
            else "close what else is running and run the check again.",
        )
    held = f"{share:.1%}, measured here in {tries}; the line predicts {predicted:.1%}"
    if share > own.SHARE:
        held += f"; the rest is this machine's: whoever sleeps here wakes {late:.1f} ms late, {WAKES} times a batch"
    yield judged("the trainer waits for at most 5 % of the time", fault, given, held)


def _settings_fault(value: Any) -> Fault | None:
    names = ("num_workers", "prefetch_factor", "persistent_workers")
    if type(value) is not dict or any(name not in value for name in names):
        return Fault(f"{value!r}"[:120], f"a value for each of {', '.join(names)}", next_step="check the names.")
    for name in names[:2]:
        if type(value[name]) is not int or not 1 <= value[name] <= 32:
            return Fault(f"{name} = {value[name]!r}"[:100], "a whole number, 1 to 32", next_step="give an int.")
    if type(value["persistent_workers"]) is not bool:
        return Fault(
            f"persistent_workers = {value['persistent_workers']!r}"[:100], "True or False", next_step="give one."
        )
    return None


def _real_runs(figures: Mapping[str, Any], settings: Mapping[str, Any]) -> list[list[Epoch]]:
    """Two real epochs with the settings; again, up to TRIES times, where the line is right and the machine was slow."""
    from labkit.pipeline.measured_cases import epochs, far_job

    make_loader, step = far_job(figures["job"])
    names = ("num_workers", "prefetch_factor", "persistent_workers")
    tries = TRIES if own.predicted_share(figures["job"], *(settings[n] for n in names[:2])) <= own.SHARE else 1
    runs: list[list[Epoch]] = []
    while len(runs) < tries:
        runs.append(epochs(make_loader(**{name: settings[name] for name in names}), step))
        if max(epoch.share for epoch in runs[-1]) <= own.SHARE:
            break
    return runs


def _late(train: float, run: list[Epoch]) -> float:
    """By how many ms steps took longer than the `train` ms they sleep: so late a busy machine wakes whoever sleeps."""
    return max(0.0, fmean(ms for epoch in run for ms in epoch.train) - train)


def _why(figures: Mapping[str, Any], workers: int, predicted: float) -> str:
    prepare, train = far_times(figures["job"])
    if predicted <= own.SHARE / 2:
        return "the settings are right on paper; the machine did not give the workers their time."
    usual = min(prepare)
    if usual / workers > train:
        pace = f"{workers} worker{'s' * (workers > 1)} finish one every {usual / workers:.0f} ms"
        return f"a batch takes {usual:.0f} ms to prepare: {pace}, a step takes {train:.0f}."
    return (
        f"one batch takes {max(prepare):.0f} ms. How many batches are ready when it comes, and how long do they last?"
    )


def _ids(epoch: Epoch) -> str:
    return ", ".join(map(str, epoch.pids))


@exercise("measure.next_steps", lab="02", title="Eight workers, 60 percent", kind="explain", points=2, minutes=8)
def next_steps(answer: Answer, context: Context) -> Iterator[Evidence]:
    """A text on what to do next, marked by its writer."""
    yield from self_assessed(answer.value(), RUBRIC)
