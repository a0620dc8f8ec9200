"""What lab 03 judges by a run of its own: three jobs on real packs, one record of a shard, the trade of buckets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from labkit.checks import lab03_figures as own
from labkit.checks.evidence import Fault, judged, named_mistake, number, same
from labkit.checks.result import Evidence
from labkit.checks.shapes import choices_fault, numbers_fault

# packing.read_modes ------------------------------------------------------------------------------------------------


def modes_evidence(value: Any, figures: Mapping[str, Any]) -> Iterator[Evidence]:
    """Shape; the state of the page cache; then each job is run, and its opens and bytes counted."""
    from labkit.pipeline.packing import FORMATS

    names = list(figures["jobs"])
    fault = None
    if type(value) is not dict or any(type(value.get(name)) is not dict for name in names):
        fault = Fault(repr(value)[:120], f"a choice for each of {', '.join(names)}", next_step="check the names.")
    for name in names if fault is None else ():
        choice = value[name]
        fault = fault or choices_fault({f"{name}, format": choice.get("format")}, (f"{name}, format",), FORMATS)
        flags = {f"{name}, {flag}": choice.get(flag) for flag in ("index", "cold")}
        unclear = choices_fault(flags, tuple(flags), (True, False))
        fault = fault or (unclear and replace(unclear, next_step="write True or False, without quotes."))
    yield judged("every job has a format, an index and a state", fault)

    cold = {name: value[name]["cold"] for name in names}
    wrong = [name for name in names if cold[name] != own.cold_of(figures)[name]]
    fault = None
    if wrong:
        job = figures["jobs"][wrong[0]]
        rule = named_mistake(cold, own.modes_mistakes(figures))
        fault = Fault(
            f"job {wrong[0]}: {'cold' if cold[wrong[0]] else 'warm'}, epoch {job['epoch']}, {job['data_gb']} GB "
            f"of data, {figures['memory_gb']} GB for the page cache",
            "the state in which the job itself will find its data",
            f"that is what {rule} gives." if rule else "",
            "what has been read before this epoch, and is it still in memory when its turn comes again?",
        )
    held = ", ".join(f"{name} {'cold' if cold[name] else 'warm'}" for name in names)
    yield judged("each job is measured in the state it will meet", fault, held=held)
    for name in names:
        yield from _job(name, value[name], figures)


def _job(name: str, choice: Mapping[str, Any], figures: Mapping[str, Any]) -> Iterator[Evidence]:
    from labkit.pipeline.packing import Job, run_job

    told = figures["jobs"][name]
    job = Job(figures["samples"], figures["record_bytes"], figures["shard_samples"], told["reads"],
              told.get("count", 0), told.get("start", 0))  # fmt: skip
    made = run_job(job, choice["format"], index=choice["index"], cold=choice["cold"])
    given = f"job {name}: {choice['format']}, {'with' if choice['index'] else 'no'} index"
    fault, files = None, choice["format"] == "files"
    if made.reads.opens > told["opens"]:
        fault = Fault(
            f"{made.reads.opens} files opened",
            f"at most {told['opens']}",
            "small files are opened one by one." if files
            else "without an index every single read begins at the start of its shard.",
            "which formats hold many samples in a file?" if files else "give the reader an index.",
        )  # fmt: skip
    yield judged(f"job {name} opens few enough files", fault, given, f"{made.reads.opens} of {told['opens']}")
    fault = None
    if made.reads.bytes > 1000 * told["kb"]:
        pages = choice["format"] == "lmdb"
        fault = Fault(
            f"{made.reads.bytes / 1000:.0f} kB read",
            f"at most {told['kb']} kB",
            "LMDB reads whole pages, those of its tree among them: for single small records that is several times "
            "what is wanted." if pages else "without an index a reader goes through the shard from its start.",
            "which format finds one record without reading around it?" if pages else "give the reader an index.",
        )  # fmt: skip
    state = made.before.state
    held = f"{made.reads.bytes / 1000:.0f} of {told['kb']} kB; the page cache was {state}"
    if made.fetched is not None:
        held += f", {made.fetched / 1000:.0f} kB came from storage"
    if choice["cold"] and state != "cold":
        held += " (this machine's disk can't be made cold: only the counts are judged)"
    yield judged(f"job {name} reads few enough bytes", fault, given, held)


# packing.random_access ---------------------------------------------------------------------------------------------

_HINTS = {
    "through": "the row of tar without an index, column 'bytes for one'.",
    "direct": "the row of tar with an index, column 'bytes for one'.",
    "again": "how many samples of its shard had the worker used before it died?",
    "on_average": "a worker may die after 0, 1, 2, ... samples of a shard; take the mean of what is read again.",
}


def access_evidence(value: Any, figures: Mapping[str, Any]) -> Iterator[Evidence]:
    """Bytes and samples, held to the check's own packs."""
    names = ("through", "direct", "again", "on_average")
    yield judged("four numbers", numbers_fault(value, names))
    fault = None
    if not value["direct"] < value["through"]:
        fault = Fault(f"direct {value['direct']:,}, through {value['through']:,} bytes", "direct < through",
                      "an index saves reading what lies before.", "did the two change places?")  # fmt: skip
    yield judged("an index saves bytes", fault)
    truth = measured_access(figures)
    parts = own.access_parts(figures)
    for name in names:
        fault = None
        if not same(value[name], truth[name]):
            mistake = named_mistake(value[name], parts[name])
            unit = "bytes" if name in ("through", "direct") else "samples"
            expected = "what the check's own packs give"
            if name == "on_average":
                expected = "the mean of what is read again, over all places (computed)"
            fault = Fault(f"{name} = {value[name]:,} {unit}", expected,
                          f"that is {mistake}." if mistake else "", _HINTS[name])  # fmt: skip
        claim = f"{name} is what a real pack costs"
        if name == "on_average":
            claim = "on_average is the mean over all places where the worker may die (computed)"
        yield judged(claim, fault, held=f"{value[name]:,}")


def measured_access(figures: Mapping[str, Any]) -> dict[str, float]:
    """What the check's own tar pack costs, counted; held to what is known of the format."""
    from labkit.pipeline.packing import access_costs, made, pack, scratch

    with scratch() as folder:
        samples = made(figures["samples"], figures["record_bytes"])
        with pack(samples, Path(folder, "tar"), "tar", shard_samples=figures["shard_samples"]) as packed:
            direct, through = access_costs([packed], figures["want"], figures["restart"]).to_dict("records")
    found = {"through": through["bytes for one"], "direct": direct["bytes for one"], "again": through["thrown away"]}
    truth = own.access_truth(figures)
    assert found == {name: truth[name] for name in found}, (found, truth)
    return truth


# bucketing.trade ---------------------------------------------------------------------------------------------------


def trade_evidence(value: Any, figures: Mapping[str, Any]) -> Iterator[Evidence]:
    """The pool, both its figures, and which of them a shuffle of the batches changes."""
    fault = numbers_fault(value, ("pool", "padding", "correlation"))
    fault = fault or choices_fault({"pool": value["pool"]}, ("pool",), own.POOLS)
    words = ("padding", "correlation", "both", "neither")
    fault = fault or choices_fault({"changes": value.get("changes")}, ("changes",), words)
    yield judged("a pool, two figures and a word", fault)

    truth, limit = own.trade_truth(figures), figures["padding_at_most"]
    found = own.trade_of(figures, value["pool"])
    fault = None
    if 100 * found.padding > limit:
        fault = Fault(f"pools of {value['pool']}: {100 * found.padding:.1f} % padding", f"at most {limit} %",
                      next_step="larger pools hold more samples of like length.")  # fmt: skip
    yield judged("the padding is within the limit", fault, held=f"{100 * found.padding:.1f} of {limit} %")
    fault = None
    if value["pool"] != truth["pool"]:
        fault = Fault(
            f"pools of {value['pool']}, correlation {found.correlation:.2f}",
            "the smallest of the pools that keeps the limit",
            "less padding than was asked for is paid for: neighbouring batches are more alike, and more lengths must "
            "be known ahead.",
            "go down the table from the top, and stop at the first row that keeps the limit.",
        )  # fmt: skip
    yield judged("no pool is larger than it must be", fault, held=f"pools of {value['pool']}")

    for name, right, tolerance in (("padding", 100 * found.padding, 0.06), ("correlation", found.correlation, 0.006)):
        fault = None
        if abs(value[name] - right) > tolerance:
            share = name == "padding" and abs(100 * value[name] - right) < 0.6
            random = name == "correlation" and abs(value[name] - own.trade_of(figures, 1).correlation) <= tolerance
            mixed = abs(value[name] - own.trade_of(figures, value["pool"], mixed=True).correlation) <= tolerance
            why = ""
            if share:
                why = "that is a share; give percent."
            elif random:
                why = "that is the correlation of unsorted batches."
            elif name == "correlation" and mixed:
                why = "that is the correlation after the batches were shuffled."
            fault = Fault(f"{name} = {value[name]}", f"the {name} of pools of {value['pool']}, batches in sorted order",
                          why, "read both figures from the same row.")  # fmt: skip
        yield judged(f"its {name} is given with it", fault, held=f"{value[name]}")

    after = own.trade_of(figures, value["pool"], mixed=True)
    fault = None
    if value["changes"] != "correlation":
        fault = Fault(
            f"{value['changes']!r} changes",
            "what a shuffle of the finished batches of a pool does to the two figures",
            "padding belongs to a batch, wherever the batch stands."
            if value["changes"] in ("padding", "both") else "look at the correlation of the two orders.",
            "compare the rows sorted and shuffled of your pool.",
        )  # fmt: skip
    held = (
        f"padding {100 * after.padding:.1f} %, correlation {after.correlation:.2f}, between {100 * after.between:.0f} %"
    )
    yield judged("shuffling the batches changes what you say", fault, held=held)


# tokenise.break_even -----------------------------------------------------------------------------------------------


def break_even_evidence(value: Any, figures: Mapping[str, Any]) -> Iterator[Evidence]:
    """The least number of epochs for two stores of ids."""
    names = ("narrow", "wide")
    fault = None
    if type(value) is not dict or any(name not in value for name in names):
        fault = Fault(repr(value)[:120], "narrow and wide", next_step="check the names.")
    for name in names if fault is None else ():
        answer = value[name]
        if answer != "never" and (not number(answer) or answer != int(answer) or answer < 1):
            fault = fault or Fault(f"{name} = {answer!r}"[:100], 'a whole number of epochs, or "never"',
                                   next_step='count epochs from 1; write "never" in quotes.')  # fmt: skip
    yield judged("a number of epochs for each, or never", fault)
    truth = own.break_even_truth(figures)
    for name in names:
        costs, answer = own.costs_of(figures, name), value[name]
        fault = None
        if answer != truth[name]:
            mistake = named_mistake(answer, own.break_even_parts(figures, name))
            if answer == "never":
                epochs = 1000
                seen = f"{name} never pays; after {epochs:,} epochs it costs {costs.before(epochs):,.0f} ms, "
            else:
                epochs = int(answer)
                seen = f"{name} = {epochs}: all in all {costs.before(epochs):,.0f} ms, "
            fault = Fault(
                f"{seen}on the fly {costs.on_the_fly(epochs):,.0f}",
                "the least number of epochs for which tokenising before costs less in all",
                f"that is {mistake}." if mistake else "",
                "write both totals for E epochs: what is paid once, and what is paid E times?",
            )
        yield judged(f"{name} pays from there on", fault, held=str(answer))
