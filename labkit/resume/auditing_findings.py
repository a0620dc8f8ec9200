"""From what lives recorded to findings: the uninterrupted run, one killed run judged, equal faults gathered."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from labkit.resume.auditing_compare import Difference, Moment, Truth, bitwise, close, moments, parted
from labkit.resume.auditing_report import ResumeFinding, Scenario
from labkit.resume.kill import DAMAGED, Kill
from labkit.resume.programs import Life, read_notes


@dataclass(frozen=True)
class Continuous:
    """The uninterrupted run.

    Attributes:
        truth: its states, by rank and step.
        notes: everything it recorded, by rank.
        unseen: parts of the state without any leaf.
    """

    truth: Truth
    notes: list[list[dict[str, Any]]]
    unseen: tuple[str, ...]


def truth_of(twins: Sequence[Life], ranks: int) -> tuple[Continuous, ResumeFinding | None]:
    """The uninterrupted run, and a finding where its twin, which nobody killed either, isn't the same."""
    notes = [[read_notes(twin.notes, rank) for rank in range(ranks)] for twin in twins]
    first, second = ([moments(one) for one in held] for held in notes)
    idle = frozenset().union(*(_idle(a, b) for a, b in zip(first, second, strict=True)))
    truth = Truth(first, idle)
    found = parted(truth, second)
    finding = None
    if found is not None and found.lasting:
        said = (
            f"two uninterrupted runs differ: {found.component} ({found.leaf}) after step {found.step} on rank "
            f"{found.rank}: {found.expected} against {found.seen}; seed everything, or declare a statistical contract"
        )
        finding = ResumeFinding(
            "program", said, found.leaf, found.rank, found.step, found.expected, found.seen, "", (), 0, False
        )
    elif found is not None:  # noise that changes nothing: left out of every comparison
        noisy = frozenset(path for a, b in zip(first, second, strict=True) for path in _unlike(a, b))
        truth = Truth(first, idle | noisy)
    return Continuous(truth, notes[0], _unseen(notes[0])), finding


def _idle(a: Sequence[Moment], b: Sequence[Moment]) -> frozenset[str]:
    """Generators that nobody seeds and nobody draws from: they differ between twins, and stay as they are in each."""
    still = set(_unlike(a, b))
    for held in (a, b):
        for one, other in pairwise(held):
            still -= {path for path in still if one.state.get(path) != other.state.get(path)}
    return frozenset(path for path in still if path in a[0].state and a[0].state[path].component == "rng")


def _unlike(a: Sequence[Moment], b: Sequence[Moment]) -> set[str]:
    found = set()
    for one, other in zip(a, b, strict=False):
        for path in set(one.state) | set(other.state):
            x, y = one.state.get(path), other.state.get(path)
            if x is None or y is None or x.digest != y.digest:
                found.add(path)
    return found


def _unseen(notes: list[list[dict[str, Any]]]) -> tuple[str, ...]:
    return tuple(sorted({name for one in notes for note in one for name in note.get("unseen", ())}))


def judge(
    chain: Sequence[Life],
    kills: tuple[Kill, ...],
    ends: Sequence[str],
    held: Continuous,
    ranks: int,
    rtol: float,
    save_every: int,
) -> Scenario | None:
    """One killed run. None where it never came to a kill, so that nothing was tried."""
    if ends[0] == "ended":
        return None
    saved = background = 0
    for i, (life, end) in enumerate(zip(chain, ends, strict=False)):
        notes = [read_notes(life.notes, rank) for rank in range(ranks)]
        if i > 0:
            problem = _broken(notes, end, saved, background, save_every, kills)
            if problem is not None:
                return Scenario(kills, problem, problem)
            by_rank = [moments(one) for one in notes]
            exact = parted(held.truth, by_rank, bitwise)
            if exact is not None and kills[0].phase == DAMAGED and exact.lasting:
                exact = _damage(exact)
                return Scenario(kills, exact, exact)
            if exact is not None and (exact.lasting or i == len(kills)):
                loose = parted(held.truth, by_rank, close(rtol))
                return Scenario(kills, exact, loose)
        elif end in ("raised", "hung"):
            text = next((f"{n['type']}: {n['text']}" for one in notes for n in one if n["kind"] == "raised"), end)
            problem = Difference("program", "", 0, 0, "as in the uninterrupted run", text)
            return Scenario(kills, problem, problem)
        overs = [n for one in notes for n in one if n["kind"] == "save over"]
        saved = max([saved, *(n["step"] for n in overs)])
        background = max([background, *(int(n["background"]) for n in overs)])
    return Scenario(kills, None, None)


def _damage(found: Difference) -> Difference:
    said = f"{found.leaf} is {found.seen}"
    return Difference("checkpoint", found.leaf, found.rank, found.step, "damage noticed", said, "damaged bytes loaded")


def _broken(
    notes: list[list[dict[str, Any]]], end: str, saved: int, background: int, save_every: int, kills: tuple[Kill, ...]
) -> Difference | None:
    """A resumed process that can't start, raises, hangs, or has lost what was saved."""
    for rank, one in enumerate(notes):
        started = next((n for n in one if n["kind"] == "start"), None)
        raised = next((n for n in one if n["kind"] == "raised"), None)
        if raised is not None and end == "raised":
            where = "checkpoint" if started is None else "program"
            text = f"{raised['type']}: {raised['text'][:120]}"
            kin = "" if started is not None else "start raised"
            if started is None and kills[-1].phase == DAMAGED:
                return None  # it refuses a damaged checkpoint: nothing wrong was loaded
            return Difference(where, "", rank, max(raised["step"], saved), f"goes on at step {saved}", text, kin)
        slack = save_every if background else 0
        damaged = save_every if kills[-1].phase == DAMAGED else 0
        if started is not None and started["step"] < saved - slack - damaged:
            text = f"starts at step {started['step']}"
            return Difference("checkpoint", "", rank, saved, f"goes on at step {saved}", text, "progress lost")
    if end in ("hung", "raised"):
        return Difference("program", "", 0, saved, f"goes on at step {saved}", end)
    return None


def gathered(
    scenarios: Iterable[Scenario], of: Callable[[Scenario], Difference | None]
) -> tuple[list[ResumeFinding], list[str]]:
    """Equal faults as one finding each, and what was harmless, in words."""
    groups: dict[str, list[tuple[Scenario, Difference]]] = {}
    soft: dict[str, list[Difference]] = {}
    healed = {d.component for one in scenarios if (d := of(one)) is not None and not d.lasting}
    for one in scenarios:
        found = of(one)
        if found is None:
            continue
        # At the last kill a difference has no time to go away: where it always did, it is taken to be harmless there.
        if not found.lasting or (found.component in healed and not _hurts(scenarios, of, found.component)):
            soft.setdefault(found.component, []).append(found)
        else:
            groups.setdefault(found.component, []).append((one, found))
    findings = [_finding(component, shown) for component, shown in groups.items()]
    words = [
        f"{component} ({found[0].leaf}) differs when a process starts, is gone soon, and changes nothing"
        for component, found in soft.items()
    ]
    return sorted(findings, key=lambda one: (len(one.kills), one.step)), words


def _hurts(scenarios: Iterable[Scenario], of: Callable[[Scenario], Difference | None], component: str) -> bool:
    """Whether the component's difference ever outlived a process that had two steps or more to lose it."""
    found = [d for one in scenarios if (d := of(one)) is not None and d.component == component and d.lasting]
    return any(d.used for d in found)


def _finding(component: str, shown: list[tuple[Scenario, Difference]]) -> ResumeFinding:
    scenario, found = min(shown, key=lambda pair: (len(pair[0].kills), pair[1].step, pair[0].kills[0].step))
    once = any(len(one.kills) == 1 for one, _ in shown)
    where = f"at step {found.step} on rank {found.rank}"
    said = f"{where}: {found.leaf or component} should be {found.expected}, is {found.seen}"
    if component == "checkpoint":
        said = f"after step {found.step}: {found.kin or 'fails'}: {found.seen}; expected: {found.expected}"
    elif component == "program":
        said = f"after step {found.step}: {found.seen}"
    elif found.kin:
        said += f" ({found.kin})"
    return ResumeFinding(
        component, said, found.leaf, found.rank, found.step, found.expected, found.seen, found.kin, scenario.kills,
        len(shown), not once,
    )  # fmt: skip
