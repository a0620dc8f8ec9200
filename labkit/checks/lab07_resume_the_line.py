"""Checks of lab 07, resume the line."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from labkit.checks import lab07_figures as own
from labkit.checks.answer import Answer
from labkit.checks.evidence import Fault, judged, named_mistake, number, over_inputs
from labkit.checks.lab07_builds import CAPTURE_RULES, capture_inputs, over_pairs
from labkit.checks.lab07_runs import WORDS, four_runs, leave_behind, plan_of, unveil
from labkit.checks.registry import Context, exercise
from labkit.checks.result import Evidence
from labkit.checks.shapes import choices_fault, numbers_fault, wrong_ones
from labkit.resume.line import FAULTS, train
from labkit.resume.reconciliation import COMPONENTS, reconcile


@exercise("resume.target", lab="07", title="How many more", kind="predict", points=2, minutes=5, figures=own.TARGET)
def target(answer: Answer, context: Context) -> Iterator[Evidence]:
    """What a resume with a cumulative target does; the run itself is done."""
    value = answer.value()
    names = ("updates", "position", "shuffles")
    yield judged("three whole numbers", numbers_fault(value, names, whole=True))

    at, steps = context.figures["checkpoint"], context.figures["steps"]
    resumed = train(steps, resume=train(at).state)
    seen = {
        "updates": len(resumed.records),
        "position": resumed.state["samplePosition"],
        "shuffles": sum(record.position == 4 for record in resumed.records),
    }
    parts = own.target_parts(context.figures)
    what = {
        "updates": ("the updates that the resumed process does itself", "the target counts from the start of the run."),
        "position": ("the samples of the order that are used up after the last update", "write the cursor down for "
                     "steps 1 to 5: 4, 8, ..."),
        "shuffles": ("the steps of the resumed part that start with a shuffle", "which steps start with a shuffle? "
                     "5, 9, 13, ...: count those after the checkpoint, the last step included."),
    }  # fmt: skip
    for name in names:
        fault = None
        if value[name] != seen[name]:
            mistake = named_mistake(int(value[name]), {k: v for k, v in parts[name].items() if v != seen[name]})
            why = f"that is {mistake}." if mistake else ""
            fault = Fault(f"{name} = {value[name]}", what[name][0], why, what[name][1])
        yield judged(f"{name} is what the run does", fault, held=f"{seen[name]}, in a real run just now")


@exercise("resume.capture", lab="07", title="What the next update needs", kind="build", points=3, minutes=12)
def capture(answer: Answer, context: Context) -> Iterator[Evidence]:
    """A snapshot, a loss, a new line: the same updates to the last bit."""
    yield from over_inputs(answer, "capture_and_restore", capture_inputs(context.rng()),
                           CAPTURE_RULES)  # fmt: skip


@exercise("resume.continue", lab="07", title="From what is left", kind="experiment", points=2, minutes=8,
          figures=own.CONTINUE)  # fmt: skip
def go_on(answer: Answer, context: Context) -> Iterator[Evidence]:
    """A checkpoint and a target, run in a real process, against the run that nobody killed."""
    value = answer.value()
    yield judged("two numbers of steps", numbers_fault(value, ("steps", "updates"), whole=True))
    letters = {"checkpoint": value.get("checkpoint")}
    yield judged("one of the checkpoints", choices_fault(letters, ("checkpoint",), tuple("ABCDE")))

    figures, letter = context.figures, value["checkpoint"]
    _, saved = leave_behind(figures)
    given = f"checkpoint {letter}, --steps {value['steps']:g}"
    said, report = _in_a_process(saved[letter], int(value["steps"]))
    fault = None
    if report is None:
        fault = Fault(
            said,
            f"a run that ends at step {figures['target']}",
            "the updates that are left were given as the target: steps is cumulative.",
            "--steps names the step at which to stop, counted from the start of the run.",
        )
    elif report["state"]["step"] != figures["target"]:
        cumulative = report["state"]["step"] == figures["target"] - saved[letter]["step"]
        fault = Fault(
            f"the run ends at step {report['state']['step']}",
            f"step {figures['target']}",
            "the updates that are left were given as the target: steps is cumulative." if cumulative else "",
            "--steps names the step at which to stop, counted from the start of the run.",
        )
    yield judged("the resumed run reaches the target", fault, given, f"a real process: {said}")
    assert report is not None

    from labkit.resume.line_report import Report

    found = reconcile(train(figures["target"], seed=figures["seed"]), Report.from_dict(report))
    fault = None
    if found is not None:
        kind = plan_of(figures)[letter][0]
        fault = Fault(
            f"first difference: {found.component} after step {found.step}",
            "no difference at any step from the run that nobody killed",
            {
                "prefetched": "the cursor stands where the loader stood, not where the training did: a batch is lost.",
                "mixed": "weights of one update and the rest of another: a batch is applied twice.",
                "momentum": "the momentum wasn't saved.",
            }.get(kind, ""),
            f"reconcile(log, saved[{letter!r}]) compares the checkpoint with the log of the killed run.",
        )
    yield judged("it is the run that nobody killed, bit for bit", fault, given)

    truth = own.continue_truth(figures)
    fault = None
    if letter != truth["checkpoint"]:
        fault = Fault(
            f"checkpoint {letter}, of step {saved[letter]['step']}",
            "the newest checkpoint that can be trusted",
            "a newer one agrees with the log as well: its updates needn't be done again.",
            "try the others, from the newest to the oldest.",
        )
    yield judged("no update is done again that needn't be", fault, given)
    fault = None
    if value["updates"] != len(report["records"]):
        fault = Fault(
            f"updates = {value['updates']:g}",
            f"the updates that this process does: from step {saved[letter]['step']} on, to step {figures['target']}",
            "that is the target itself." if value["updates"] == figures["target"] else "",
            "subtract what is done already.",
        )
    yield judged("the updates are those that the process did", fault, given, f"{len(report['records'])}, counted")


def _in_a_process(state: Mapping[str, Any], steps: int) -> tuple[str, dict[str, Any] | None]:
    """`labkit train --resume`, in a new process: what it printed, and its report."""
    import json

    from labkit.resume.checkpoint_file import write_checkpoint

    with tempfile.TemporaryDirectory(prefix="labkit-line-") as folder:
        kept, output = Path(folder) / "kept.json", Path(folder) / "report.json"
        write_checkpoint(kept, state)
        command = [sys.executable, "-m", "labkit.cli", "train", "--resume", str(kept), "--steps", str(steps)]
        done = subprocess.run([*command, "--output", str(output)], capture_output=True, text=True)
        said = " ".join((done.stdout or done.stderr).split())
        return said[:160], json.loads(output.read_text()) if output.exists() else None


@exercise("resume.first_fault", lab="07", title="Where it will show", kind="predict", points=3, minutes=8,
          figures=own.FIRST)  # fmt: skip
def first_fault(answer: Answer, context: Context) -> Iterator[Evidence]:
    """Step and component of the first difference, and the first other samples, for each fault; all three are run."""
    value = answer.value()
    first, samples = value.get("first"), value.get("samples")
    yield judged("a step and a component for each fault", _pairs_fault(first))
    yield judged("a step, or None, for each fault", _steps_fault(samples))

    truth, mistakes = own.first_truth(context.figures), own.first_mistakes(context.figures)
    at = context.figures["checkpoint"]
    for fault in FAULTS:
        found = None
        if tuple(first[fault]) != truth["first"][fault]:
            mistake = named_mistake(tuple(first[fault]), mistakes["first"][fault])
            found = Fault(
                f"{first[fault][1]} after step {first[fault][0]}",
                "the first step, and there the first of the components that differ",
                f"that is {mistake}." if mistake else "",
                f"write down what update {at + 1} reads, and what it leaves behind.",
            )
        held = "in a real run just now: {1} after step {0}".format(*truth["first"][fault])
        yield judged(f"{fault}: the first difference", found, held=held)
    for fault in FAULTS:
        found = None
        if samples[fault] != truth["samples"][fault]:
            mistake = named_mistake(samples[fault], mistakes["samples"][fault])
            found = Fault(
                f"samples: {samples[fault]}",
                "the first step that reads other samples than the uninterrupted run, None if there is none",
                f"that is {mistake}." if mistake else "",
                "which of order, cursor and shuffler does the fault touch? When is that used next?",
            )
        yield judged(f"{fault}: the first other samples", found, held=f"{truth['samples'][fault]}, in a real run")


def _pairs_fault(first: Any) -> Fault | None:
    if type(first) is not dict or any(fault not in first for fault in FAULTS):
        return Fault(repr(first)[:100], f"a pair for each of {', '.join(FAULTS)}", next_step="check the names.")
    for fault in FAULTS:
        pair = first[fault]
        if type(pair) not in (tuple, list) or len(pair) != 2 or type(pair[0]) is not int or pair[1] not in COMPONENTS:
            return Fault(
                f"{fault}: {pair!r}"[:100],
                f"(step, component), with a component of {', '.join(COMPONENTS)}",
                next_step="copy a name from the list.",
            )
    return None


def _steps_fault(samples: Any) -> Fault | None:
    if type(samples) is not dict or any(fault not in samples for fault in FAULTS):
        return Fault(repr(samples)[:100], f"a step or None for each of {', '.join(FAULTS)}", next_step="check names.")
    for fault in FAULTS:
        if samples[fault] is not None and type(samples[fault]) is not int:
            return Fault(f"{fault}: {samples[fault]!r}"[:100], "a step, or None", next_step="None without quotes.")
    return None


@exercise("resume.reconcile", lab="07", title="The first difference", kind="build", points=3, minutes=12)
def reconciliation(answer: Answer, context: Context) -> Iterator[Evidence]:
    """Step and component at which two runs part: same runs, one bit, three faults."""
    yield from over_pairs(answer, context.rng())


@exercise("resume.low_loss", lab="07", title="Four small losses", kind="diagnose", points=3, minutes=9,
          figures=own.LOW_LOSS)  # fmt: skip
def low_loss(answer: Answer, context: Context) -> Iterator[Evidence]:
    """Which of four runs are right, and what the others lost."""
    value = answer.value()
    yield judged("a word for every run", choices_fault(value, tuple("ABCD"), tuple(WORDS.values())))

    figures = context.figures
    truth = own.low_truth(figures)
    continuous, runs = four_runs({**figures, "lost": unveil(figures)})
    mistake = named_mistake({k: value[k] for k in truth}, own.low_mistakes(figures))
    lowest = min(runs, key=lambda letter: runs[letter].mse)
    accused = [k for k in truth if value[k] != "nothing" and truth[k] == "nothing"]
    passed = [k for k in truth if value[k] == "nothing" and truth[k] != "nothing"]
    fault = None
    if passed:
        rule = mistake or ("that the lowest loss is the right run" if passed == [lowest] else "")
        fault = Fault(
            f"{', '.join(passed)} passed as right, with MSE {runs[passed[0]].mse:.3g}",
            "the state of the uninterrupted run at every step",
            f"you say {rule}." if rule else "its end is good; that isn't the question.",
            f"reconcile(runs.continuous, runs[{passed[0]!r}]) compares step by step.",
        )
    elif accused:
        fault = Fault(
            f"{', '.join(accused)} called wrong",
            "a difference at some step, which there isn't",
            "a higher loss than another run's isn't a fault: the uninterrupted run ends there, too.",
            f"print(reconcile(runs.continuous, runs[{accused[0]!r}])).",
        )
    errors = ", ".join(f"{k} {run.mse:.2g}" for k, run in runs.items())
    right = sum(word == "nothing" for word in truth.values())
    yield judged("exactly the right runs are called right", fault, held=f"{right} of 4; MSE {errors}")

    fault = None
    if wrong := wrong_ones(value, truth):
        fault = Fault(
            f"{', '.join(f'{k}: {value[k]}' for k in wrong)}",
            "what the run's first difference shows",
            f"you say {mistake}." if mistake else "",
            f"print(reconcile(runs.continuous, runs[{wrong[0]!r}]).text()): do samples, momentum or the shuffler's "
            "state differ first, and what never differs?",
        )
    yield judged("each wrong run lost what you say", fault, held=f"against {len(continuous.records)} recorded updates")


@exercise("resume.torch", lab="07", title="The same in torch", kind="experiment", points=3, minutes=10,
          figures=own.TORCH)  # fmt: skip
def torch_(answer: Answer, context: Context) -> Iterator[Evidence]:
    """Parts of a torch snapshot and how they are kept: real torch runs decide; and two rates without a scheduler."""
    from labkit.resume.sketch_torch import PARTS, WAYS, resumed_with

    value, figures = answer.value(), context.figures
    parts = value.get("parts")
    fault = None
    if type(parts) not in (list, tuple) or any(part not in PARTS for part in parts):
        fault = Fault(repr(parts)[:120], f"a list of names: {', '.join(PARTS)}", next_step="copy names from the list.")
    yield judged("parts are named", fault)
    yield judged("a way to keep them", choices_fault({"how": value.get("how")}, ("how",), WAYS))
    rates = value.get("rates")
    fault = None
    if type(rates) not in (list, tuple) or len(rates) != 2 or not all(map(number, rates)):
        fault = Fault(repr(rates)[:120], "two learning rates", next_step="for example (0.02, 0.01).")
    yield judged("two rates", fault)

    at = figures["checkpoint"]
    job = figures["seed"], figures["decay"], at, at + 12
    given = f"{', '.join(parts)}; {value['how']}"
    whole, again = resumed_with(*job, parts, value["how"])
    apart = next((pair for pair in zip(whole, again, strict=True) if pair[0] != pair[1]), None)
    fault = None
    if apart is not None:
        names = ("step", "ids", "lr", "w", "b", "vw", "vb", "position", "order", "rng")
        name = next(one for one in names if getattr(apart[0], one) != getattr(apart[1], one))
        live = value["how"] == "live" and resumed_with(*job, parts, "copied")[1] == whole
        fault = Fault(
            f"after step {apart[0].step}: {name} {getattr(apart[1], name)!r}"[:110],
            f"{name} {getattr(apart[0], name)!r}, as in the uninterrupted run"[:130],
            "state_dict() hands out the live tensors; the training went on and changed them."
            if live
            else "a part that this update reads was not kept.",
            "keep a copy." if live else f"who holds {name} in a torch program, and who computes it?",
        )
    yield judged("the resumed torch run is the uninterrupted one, bit for bit", fault, given,
                 held=f"12 updates in torch, to w {again[-1].w!r}")  # fmt: skip

    fault = None
    if idle := [part for part in PARTS if part in parts and _same_without(job, parts, part)]:
        fault = Fault(
            f"without {idle[0]} the resumed run is the same",
            "only parts that the next updates read",
            "an update writes it before it reads it." if idle[0] == "gradients" else "no update reads it.",
            "leave it out, and run again.",
        )
    yield judged("nothing is kept that no update reads", fault, given)

    _, bare = resumed_with(*job, [part for part in parts if part != "scheduler"], "copied")
    for place, called in enumerate(("first", "second")):
        fault = None
        if abs(rates[place] - bare[place].lr) > 1e-9 + 5e-4 * bare[place].lr:
            mistakes = own.torch_mistakes(figures)
            alike = {
                name: [abs(x - y) < 5e-4 * y for x, y in zip(rates, two, strict=True)] for name, two in mistakes.items()
            }
            mistake = next((name for name, each in alike.items() if all(each)), "")
            fault = Fault(
                f"{called} rate {rates[place]:.6g}",
                "the rate of that update when everything comes back but the scheduler",
                f"those are {mistake}" + ("" if mistake.endswith("?") else ".") if mistake else "",
                "optimizer.param_groups holds the rate of the next update; scheduler.step() computes the one after it, "
                "from its own count.",
            )
        yield judged(f"the {called} rate without a scheduler", fault, held=f"{bare[place].lr:.6f}, in torch just now")


def _same_without(job: tuple[int, float, int, int], parts: list[str], part: str) -> bool:
    from labkit.resume.sketch_torch import resumed_with

    whole, again = resumed_with(*job, [one for one in parts if one != part], "copied")
    return whole == again
