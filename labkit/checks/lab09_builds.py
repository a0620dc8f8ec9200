"""The rules by which lab 09 judges functions: a publish on every crash state, a fallback, a save in the background."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from labkit.checks.answer import Answer
from labkit.checks.evidence import Fault, Rule, judged
from labkit.checks.lab09_disk import SCENES, TARGET
from labkit.checks.result import Evidence
from labkit.resume.sketch_store import crash_report

RUBRIC = {
    "no rename": "why writing a temporary object and renaming it isn't one step in an object store",
    "publish": "what single request makes the checkpoint visible, and that it comes after everything else",
    "two writers": "what happens when two jobs publish at once, and how the loser finds out",
    "verify": "how a reader knows that every part is there and unchanged",
    "leftovers": "what becomes of parts whose save never finished, and when they may be removed",
}
"""What a text on object stores should say."""


# durable.publish ---------------------------------------------------------------------------------------------------


def publish_evidence(answer: Answer, rng: random.Random) -> Iterator[Evidence]:
    """Two saves on every crash state; then a disk that flips a bit, and one whose fsync fails."""
    texts = [
        json.dumps({"step": 10 * n, "values": [round(rng.uniform(-3, 3), 6) for _ in range(4)]}) for n in (1, 2, 3)
    ]
    done = answer.call(texts, "")
    fault = None
    if done["content"] != texts[-1]:
        fault = Fault(
            f"{TARGET} holds {str(done['content'])[:60]!r}",
            "the text that was saved last",
            "the file itself wasn't replaced." if done["content"] == texts[0] else "",
            f'the checkpoint is the file named "{TARGET}".',
        )
    yield judged("after a save the checkpoint is the new one", fault)

    report = crash_report(done["operations"], done["marks"], texts)
    total = report.total
    where = _first(report, ("wrong", "refused"))
    yield judged("at no moment of a crash is there no whole checkpoint", _whole_fault(done, report, where),
                 given=where, held=f"{sum(total.values())} crash states")  # fmt: skip
    where = _first(report, ("lost",))
    fault = None
    if total["lost"]:
        gone = any(op[0] == "unlink" and op[1] == TARGET for op in done["operations"])
        fault = Fault(
            f"{total['lost']} of {sum(total.values())} crash states hold no checkpoint, or one older than the last "
            "save that had returned",
            "the last save that returned, or a newer one",
            "the old file was removed before the new one had its name."
            if gone
            else "the call had returned, and its rename was still only in memory.",
            "rename replaces a file in one step." if gone else "names are made durable by an fsync of the directory.",
        )
    yield judged("what a save has promised is still there", fault, given=where,
                 held=f"{total['kept']} kept, {total['newer']} newer")  # fmt: skip

    hit = answer.call(texts[:2], "flip")
    fault = None
    if hit["content"] not in texts[:2]:
        fault = Fault(
            "a text with one bit changed was published",
            "the old checkpoint or the new one",
            "what was written was never read back." if not hit["raised"] else "it was noticed too late.",
            "compare disk.read(...) with the text before you give the file its name.",
        )
    elif not hit["raised"] and hit["content"] == texts[0]:
        fault = Fault("no error, and the old checkpoint", "an error, or the new checkpoint",
                      "the caller believes that it is saved.", "raise an OSError, or write again.")  # fmt: skip
    yield judged("a bit that changes on the way isn't published", fault, given="a disk that flips one bit",
                 held=hit["raised"] or "written again")  # fmt: skip

    hit = answer.call(texts[:2], "fsync")
    fault = None
    if hit["unsafe"] or (not hit["raised"] and hit["content"] == texts[0]):
        fault = Fault(
            "the failed fsync was passed over" if hit["unsafe"] else "no error, and nothing saved",
            "an error, or a file written and fsynced anew",
            "after a failed fsync the system may drop what it had; a second fsync then reports success.",
            "let the error through.",
        )
    yield judged("a failed fsync is no success", fault, given="a disk whose first fsync fails",
                 held=hit["raised"] or "written anew")  # fmt: skip


def _first(report: Any, outcomes: Sequence[str]) -> str:
    """The first crash point with one of these outcomes, in words."""
    for (number, last), counts in zip(report.points, report.counts, strict=True):
        if any(counts.get(one) for one in outcomes):
            return f"a power cut after operation {number}, {last}"
    return ""


def _whole_fault(done: Mapping[str, Any], report: Any, where: str) -> Fault | None:
    total = report.total
    bad = total["wrong"] + total["refused"]
    if not bad:
        return None
    in_place = any(op[0] == "truncate" and op[1] == TARGET for op in done["operations"])
    if in_place:
        why, step = "the only checkpoint is written over: until that is durable there is none.", "write another file."
    else:
        why = "the new name was on the disk before the content was: an order that nobody enforced."
        step = "what makes a file's content durable, and when does it have to be?"
    return Fault(f"{bad} of {sum(total.values())} crash states hold a checkpoint that isn't whole",
                 "a checkpoint that was saved, whole", why, step)  # fmt: skip


# durable.fallback --------------------------------------------------------------------------------------------------


def newest_good(checkpoints: Sequence[Mapping[str, Any]]) -> tuple[int | None, list[int]]:
    """The newest step whose files all match the manifest, and the newer steps that don't, newest first."""
    passed: list[int] = []
    for one in sorted(checkpoints, key=lambda each: -int(each["step"])):
        if not fault_of(one):
            return int(one["step"]), passed
        passed.append(one["step"])
    return None, passed


def fault_of(one: Mapping[str, Any]) -> str:
    """What is wrong with a checkpoint; "" where it verifies."""
    if one["manifest"] is None:
        return "it has no manifest: it was never published"
    for name, digest in one["manifest"].items():
        if name not in one["files"]:
            return "a file of its manifest is missing"
        if hashlib.sha256(one["files"][name].encode()).hexdigest() != digest:
            return "a file doesn't match its checksum"
    return ""


def listing(rng: random.Random, kinds: Sequence[str], steps: Sequence[int]) -> list[dict[str, Any]]:
    """Checkpoints in no order; kind: good, extra (a leftover beside it), missing, damaged, swapped, unpublished."""
    made = []
    for kind, step in zip(kinds, steps, strict=True):
        files = {f"{n}.json": json.dumps({"step": step, n: rng.randint(0, 999)}) for n in ("weights", "momentum")}
        manifest = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in files.items()}
        one: dict[str, Any] = {"step": step, "manifest": manifest, "files": files}
        if kind == "extra":
            files["weights.json.tmp"] = "{"
        elif kind == "missing":
            del files["momentum.json"]
        elif kind == "damaged":
            text = files["weights.json"]
            files["weights.json"] = text[:-2] + chr(ord(text[-2]) ^ 1) + text[-1]
        elif kind == "swapped":
            files["momentum.json"] = json.dumps({"step": step - 10, "momentum": rng.randint(0, 999)})
        elif kind == "unpublished":
            one["manifest"] = None
        made.append(one)
    rng.shuffle(made)
    return made


def fallback_inputs(rng: random.Random) -> list[tuple[list[dict[str, Any]]]]:
    """Listings from one checkpoint to six, with each kind of damage at the newest place."""
    kinds = [
        ["good"], ["good", "good"], ["good", "damaged"], ["good", "unpublished"], ["good", "extra"],
        ["damaged", "missing"], ["good", "swapped", "missing"], ["damaged", "good", "unpublished", "damaged"],
        ["good", "damaged", "good", "missing", "swapped", "unpublished"],
    ]  # fmt: skip
    return [(listing(rng, one, [8, 9, 10, 100, 110, 120][: len(one)]),) for one in kinds]


def _two(found: Any, checkpoints: list[dict[str, Any]]) -> Fault | None:
    ok = type(found) in (tuple, list) and len(found) == 2 and type(found[1]) in (tuple, list)
    if ok and (found[0] is None or type(found[0]) is int):
        return None
    return Fault(repr(found)[:100], "a step or None, and a list of steps", next_step="return step, passed_over.")


def _verifies(found: Any, checkpoints: list[dict[str, Any]]) -> Fault | None:
    if found[0] is None:
        return None
    mine = next((one for one in checkpoints if one["step"] == found[0]), None)
    if mine is None:
        return Fault(f"step {found[0]}", "a step of the listing", next_step='a checkpoint\'s step is one["step"].')
    if not (why := fault_of(mine)):
        return None
    return Fault(f"step {found[0]} is taken", "a checkpoint whose files are all there and match", f"{why}.",
                 "go through the manifest, not through the files.")  # fmt: skip


def _is_newest(found: Any, checkpoints: list[dict[str, Any]]) -> Fault | None:
    truth = newest_good(checkpoints)[0]
    if found[0] == truth:
        return None
    if found[0] is None:
        why = "one of them verifies: a file that isn't in the manifest does no harm, and older ones count, too."
    else:
        why = f"step {truth} is newer and verifies."
        best = next(one for one in checkpoints if one["step"] == truth)
        if str(found[0]) > str(truth):
            why += " Steps were compared as text."
        elif set(best["files"]) - set(best["manifest"]):
            why += " It has a file more than its manifest names, and a file that isn't in the manifest does no harm."
    return Fault(f"step {found[0]}", "the newest that verifies", why, "sort by step, the largest first.")


def _says(found: Any, checkpoints: list[dict[str, Any]]) -> Fault | None:
    truth = newest_good(checkpoints)[1]
    if list(found[1]) == truth:
        return None
    why = ""
    if sorted(found[1], key=repr) == sorted(truth):
        why = "the newest first."
    elif set(truth) < set(found[1]):
        why = "older ones weren't passed over: nobody needed them."
    elif not found[1]:
        why = "a silent fallback: nobody learns that work was lost, or that the disk is failing."
    return Fault(f"passed over: {list(found[1])}", "the newer ones that don't verify, newest first", why,
                 "note a step when you reject it, and stop at the first good one.")  # fmt: skip


FALLBACK_RULES = [
    Rule("the result is a step and a list", _two),
    Rule("what is taken verifies", _verifies),
    Rule("it is the newest that verifies", _is_newest),
    Rule("what was passed over is said", _says),
]


def over_listings(answer: Answer, rng: random.Random) -> Iterator[Evidence]:
    """As `over_inputs`, with each listing described in words."""
    results = [(args, answer.call(*args)) for args in fallback_inputs(rng)]
    for rule in FALLBACK_RULES:
        faults = ((args, rule.test(found, *args)) for args, found in results)
        failing = next(((args[0], fault) for args, fault in faults if fault is not None), None)
        fault, given = None, f"{len(results)} listings"
        if failing is not None:
            fault = failing[1]
            held = [f"{one['step']} ({fault_of(one) or 'good'})" for one in failing[0]]
            given = f"checkpoints, in this order: {', '.join(held)}"
        yield judged(rule.claim, fault, given, held="held on each")


# durable.snapshot --------------------------------------------------------------------------------------------------


def snapshot_evidence(answer: Answer) -> Iterator[Evidence]:
    """A save in the background, in four scenes."""
    found = {scene: answer.call(scene) for scene in SCENES}
    late = next((scene for scene in SCENES if not found[scene]["in_time"] or found[scene]["same_thread"]), None)
    fault = None
    if late is not None:
        own = found[late]["same_thread"]
        fault = Fault(
            "write was called before start_save returned" if own else "start_save waited for the write to end",
            "start_save returns while the write is still to come",
            "training stands still for as long as the disk takes.",
            "start a threading.Thread; wait for it in the function that you return, not before.",
        )
    yield judged("training goes on while it is written", fault, given=_scene(late), held="in four scenes")

    unsaid = next((scene for scene in SCENES if not found[scene]["waited"] and not found[scene]["raised"]), None)
    fault = None
    if unsaid is not None:
        fault = Fault("wait returned before it was written", "wait returns when it is written",
                      "whoever relies on it ends the process too early.", "join the thread.")  # fmt: skip
    yield judged("waiting waits", fault, given=_scene(unsaid))

    torn = next((s for s in SCENES[:3] if found[s]["written"] != found[s]["at_call"]), None)
    fault = None
    if torn is not None:
        one = found[torn]
        why = "it was copied in the background, when training had gone on."
        if one["written"] is not None and one["written"] != one["now"]:
            why = "some of it is of the call, some is newer: two moments in one checkpoint."
        fault = Fault(
            f"{json.dumps(one['written'])[:110]}",
            f"the state at the call, {json.dumps(one['at_call'])[:110]}",
            why,
            "copy before start_save returns, and all the way down: dicts in dicts, lists, tensors.",
        )
    yield judged("what is written is the state at the call", fault, given=_scene(torn), held="numbers and tensors")

    fault = None
    if not found["full disk"]["raised"]:
        fault = Fault("wait returned as if all were well", "the OSError of the write, raised by wait",
                      "an exception in a thread reaches nobody by itself.",
                      "keep it in the thread, raise it in wait.")  # fmt: skip
    yield judged("a save that fails is heard of", fault, given="scene: full disk", held=found["full disk"]["raised"])


def _scene(name: str | None) -> str:
    return f"scene: {name}" if name else ""
