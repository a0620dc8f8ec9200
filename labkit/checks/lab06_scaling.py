"""Checks of lab 06, scaling."""

from __future__ import annotations

from collections.abc import Iterator

from labkit.checks import lab06_figures as own
from labkit.checks.answer import Answer
from labkit.checks.evidence import Fault, judged, named_mistake, over_inputs
from labkit.checks.lab06_builds import EFFICIENCY_RULES, RATE_RULES, interval_inputs, run_inputs
from labkit.checks.registry import Context, exercise
from labkit.checks.result import Evidence
from labkit.checks.shapes import choices_fault, numbers_fault, wrong_ones


@exercise("scaling.warmup", lab="06", title="When is it warm?", kind="diagnose", points=2, minutes=7,
          figures=own.WARMUP)  # fmt: skip
def warmup(answer: Answer, context: Context) -> Iterator[Evidence]:
    """Steps to leave out, and slow steps that stay; a fresh run of the same job shows the same."""
    from labkit.scaling import jobs

    value = answer.value()
    yield judged("two numbers of steps", numbers_fault(value, ("warmup", "later"), whole=True))

    job = context.figures["job"]
    truth = own.warmup_truth(context.figures)
    slow = {step for steps in jobs.slow_steps(job) for step in steps}
    mistake = named_mistake({k: int(value[k]) for k in truth}, own.warmup_mistakes(context.figures))
    fault = None
    if value["warmup"] < truth["warmup"]:
        fault = Fault(
            f"warmup = {value['warmup']}: step {value['warmup']} would be measured",
            "only steps after which every rank is warm",
            f"that is {mistake}." if mistake else f"step {min(s for s in slow if s >= value['warmup'])} is slow.",
            "a step is slow for all as soon as one rank is slow. Look at both ranks.",
        )
    yield judged("no cold step is measured", fault)

    fault = None
    if value["warmup"] > truth["warmup"]:
        fault = Fault(
            f"warmup = {value['warmup']}",
            "as few steps as will do",
            f"that is {mistake}." if mistake else "warm steps are left out as well.",
            "a slow step that comes later isn't warm-up: it would come back in a longer run.",
        )
    yield judged("no warm step is left out", fault, held=f"{truth['warmup']} steps")

    fault = None
    if value["later"] != truth["later"]:
        fault = Fault(
            f"later = {value['later']}",
            "the steps after the warm-up that are slow on some rank, in every run of this job",
            f"that is {mistake}." if mistake else "",
            "run the job twice: what comes back at the same step is the job, what doesn't is the machine.",
        )
    again = _slow_again(job, truth["warmup"])
    held = f"{truth['later']} of {jobs.STEPS - truth['warmup']} steps; in a fresh run: {again}"
    yield judged("the slow steps that stay are counted", fault, held=held)


def _slow_again(job: int, warm: int) -> str:
    from labkit.scaling import jobs

    times = jobs.run_job(job).seconds
    slowest = [max(step) for step in zip(*times, strict=True)][warm:]
    return ", ".join(f"{1000 * seconds:.0f}" for seconds in slowest if seconds > 0.8 * jobs.SLOW) + " ms"


@exercise("scaling.throughput", lab="06", title="Samples per second", kind="build", points=3, minutes=9)
def throughput(answer: Answer, context: Context) -> Iterator[Evidence]:
    """Samples per second from the intervals of all ranks, by a fixed protocol; made-up and real ones."""
    from labkit.scaling.jobs import interval_times

    inputs = interval_inputs(context.rng())
    yield from over_inputs(answer, "samples_per_second", inputs, RATE_RULES)
    for item in over_inputs(answer, "samples_per_second", [(interval_times(), 32, 3, 1, 1)], RATE_RULES[-1:]):
        yield judged("the same on intervals of two real ranks", _fault_of(item), item.given, "measured just now")


@exercise("scaling.weak_efficiency", lab="06", title="Weak-scaling efficiency", kind="build", points=3, minutes=9)
def weak_efficiency(answer: Answer, context: Context) -> Iterator[Evidence]:
    """T1 / TR from rates; made-up runs and real ones on 1, 2 and 4 ranks."""
    from labkit.scaling import weak_scaling
    from labkit.scaling.jobs import make_sleeper
    from labkit.scaling.sketch import study_rows
    from labkit.words import counted

    yield from over_inputs(answer, "weak_efficiency", run_inputs(context.rng()), EFFICIENCY_RULES)
    study = weak_scaling(make_sleeper(0.003, 0.001), batch_size=32, steps=3, intervals=5, warmup=2, data=range(64))
    held = ", ".join(f"{counted(count, 'rank')} {value:.2f}" for count, value in study.efficiency.items())
    for item in over_inputs(answer, "weak_efficiency", [(study_rows(study),)], EFFICIENCY_RULES[-1:]):
        yield judged("the same on real runs with 1, 2 and 4 ranks", _fault_of(item), item.given, held)


def _fault_of(item: Evidence) -> Fault | None:
    return None if item.ok else Fault(item.seen, item.expected, item.why, item.next_step)


@exercise("scaling.comparable", lab="06", title="Six reports", kind="diagnose", points=3, minutes=8,
          figures=own.COMPARABLE)  # fmt: skip
def comparable(answer: Answer, context: Context) -> Iterator[Evidence]:
    """Which of six real reports may be compared with the first, and what keeps the others from it."""
    from labkit.scaling import differences, jobs

    value = answer.value()
    truth = own.comparable_truth(context.figures)
    yield judged("a word for every report", choices_fault(value, list(truth), (jobs.SAME, *jobs.DIFFERENT)))

    first, six = jobs.six_reports(context.figures["job"])
    wrong = wrong_ones(value, truth)
    let_through = [letter for letter in wrong if value[letter] == jobs.SAME]
    rule = named_mistake({k: value[k] for k in truth}, own.comparable_mistakes(context.figures))
    fault = None
    if let_through:
        fault = Fault(
            f"{', '.join(let_through)}: nothing",
            "something that must be equal before two rates may be compared, and isn't",
            f"you say {rule}." if rule else "",
            f"print first.to_json() and six[{let_through[0]!r}].to_json(), and go through them field by field.",
        )
    yield judged("no unlike report is let through", fault)

    kept_out = [letter for letter in wrong if truth[letter] == jobs.SAME]
    fault = None
    if kept_out:
        fault = Fault(
            f"{', '.join(kept_out)}: {value[kept_out[0]]}",
            "nothing: its label and its settings are what the comparison is about",
            "",
            "measured times, label and settings may differ; everything else must be equal.",
        )
    yield judged("no like report is kept out", fault)

    fault = None
    if wrong:
        fault = Fault(
            f"{wrong[0]}: {value[wrong[0]]}",
            "the field in which it differs from the first",
            "",
            f"differences(first, six[{wrong[0]!r}]) lists them.",
        )
    held = "; ".join(
        f"{k} {differences(first, one)[0] if differences(first, one) else 'alike'}" for k, one in six.items()
    )
    yield judged("the fields are the right ones", fault, held=held)


@exercise("scaling.straggler", lab="06", title="Waiting for the slowest", kind="predict", points=2, minutes=6,
          figures=own.STRAGGLER)  # fmt: skip
def straggler(answer: Answer, context: Context) -> Iterator[Evidence]:
    """An upper estimate of the synchronous step, and the efficiency it leaves."""
    from labkit.scaling import simulate_straggler

    value = answer.value()
    yield judged("two numbers", numbers_fault(value, ("estimate", "efficiency")))

    mu, sigma, ranks = (context.figures[name] for name in ("mean", "deviation", "ranks"))
    drawn = simulate_straggler(mu, sigma, ranks, steps=4000, seed=context.seed % 1_000_000)
    exact = own.straggler_exact(context.figures)
    fault = None
    if value["estimate"] < drawn.seen - 5 * drawn.error:
        mistake = own.straggler_mistake("estimate", value["estimate"], context.figures)
        fault = Fault(
            f"estimate = {value['estimate']:g} ms",
            f"not below what 4,000 drawn steps of {ranks} ranks take on average, {drawn.seen:.1f} ms",
            mistake or "a step takes as long as its slowest rank.",
            "the slowest of many ranks is several deviations above the mean.",
        )
    yield judged("the estimate isn't below the slowest rank's mean", fault, held=f"drawn: {drawn.seen:.1f} ms")

    for name, expected, hint in (
        (
            "estimate",
            "the upper estimate of the step, to one decimal place",
            "mean + deviation * sqrt(2 * ln(ranks)), with the natural logarithm.",
        ),
        (
            "efficiency",
            "mean over your estimate, to two decimal places",
            "own work over step time: how much of a step a rank really works.",
        ),
    ):
        fault = None
        if abs(value[name] - exact[name]) > own.ROUNDED[name]:
            mistake = own.straggler_mistake(name, value[name], context.figures)
            fault = Fault(f"{name} = {value[name]:g}", expected, mistake, hint)
        yield judged(f"{name} follows from mean, deviation and ranks", fault, held=f"{value[name]:.4g}")
