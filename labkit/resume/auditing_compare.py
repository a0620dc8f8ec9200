"""Two trajectories side by side: the continuous run, and one that was killed and resumed. Where do they part?"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from labkit.resume.auditing_leaves import CAUSAL, Leaf

WEIGHTS = ("model", "optimizer", "ema")  # parts that one update changes together
OUTCOMES = ("sample ids", "inputs", "loss")
SAMPLES = ("step", "order", "cursor", "epoch length", "epoch", "sample ids", "inputs", "rng")  # exact in any case

Same = Callable[[Leaf, Leaf], bool]


def bitwise(a: Leaf, b: Leaf) -> bool:
    """Equal to the last bit."""
    return a.digest == b.digest


def close(rtol: float) -> Same:
    """Equal, or a float that differs by rounding only; what tells samples apart must be equal."""

    def same(a: Leaf, b: Leaf) -> bool:
        if a.digest == b.digest:
            return True
        if a.component in SAMPLES or a.sketch is None or b.sketch is None:
            return False
        scale = max(abs(a.sketch[0]), abs(b.sketch[0]), 1e-30)
        return all(abs(x - y) <= rtol * scale for x, y in zip(a.sketch, b.sketch, strict=True))

    return same


@dataclass(frozen=True)
class Moment:
    """A rank's state after so many steps, and what the latest step used and found."""

    step: int
    state: Mapping[str, Leaf]
    outcome: Mapping[str, Leaf]
    fresh: bool = False  # at the start of a process: no step was made in it


@dataclass(frozen=True)
class Difference:
    """The first place where a resumed run isn't the continuous one.

    Attributes:
        component: which part of the state.
        leaf: which value in it.
        rank: on which rank.
        step: after how many steps.
        expected: the continuous run's value, short.
        seen: the resumed run's value, short.
        kin: whose value it is instead, where it is one that the continuous run had: rank or step; may be empty.
        at_start: whether it was there before any step was made in the new process.
        lasting: whether it changed samples, losses or weights, or was still there at the end.
        used: whether it changed samples, losses or weights.
    """

    component: str
    leaf: str
    rank: int
    step: int
    expected: str
    seen: str
    kin: str = ""
    at_start: bool = False
    lasting: bool = True
    used: bool = True


def moments(notes: list[dict[str, Any]]) -> list[Moment]:
    """A life's records as moments."""
    return [
        Moment(one["step"], one["state"], one["outcome"], one["kind"] == "start")
        for one in notes
        if one["kind"] in ("start", "step") and "state" in one
    ]


class Truth:
    """The continuous run: every rank's state at every step."""

    def __init__(self, by_rank: list[list[Moment]], ignore: frozenset[str] = frozenset()) -> None:
        self.at = [{moment.step: moment for moment in one} for one in by_rank]
        self.ignore = ignore
        self._index: dict[tuple[str, str], list[tuple[int, int]]] = {}
        for rank, held in enumerate(self.at):
            for step, moment in held.items():
                for component in {leaf.component for leaf in moment.state.values()}:
                    self._index.setdefault((component, whole(moment.state, component)), []).append((rank, step))

    def like(self, state: Mapping[str, Leaf], component: str) -> list[tuple[int, int]]:
        """(rank, step) at which the continuous run's component was exactly this one."""
        return self._index.get((component, whole(state, component)), [])

    def like_leaf(self, path: str, leaf: Leaf) -> list[tuple[int, int]]:
        """The same for one value; only for arrays and lists, since small numbers are alike by chance."""
        if "[" not in leaf.text or "(" not in leaf.text:
            return []
        return [
            (rank, step)
            for rank, held in enumerate(self.at)
            for step, moment in held.items()
            if path in moment.state and moment.state[path].digest == leaf.digest
        ]


def whole(state: Mapping[str, Leaf], component: str) -> str:
    """One digest of a component."""
    digest = hashlib.blake2b(digest_size=12)
    for path in sorted(state):
        if state[path].component == component:
            digest.update(f"{path}={state[path].digest};".encode())
    return digest.hexdigest()


def parted(truth: Truth, life: list[list[Moment]], same: Same = bitwise) -> Difference | None:
    """The first difference in one life of a resumed run (moments by rank), or None."""
    rows: dict[int, dict[tuple[str, int], str]] = {}  # place in the life -> (component, rank) -> leaf
    for rank, held in enumerate(life):
        for place, moment in enumerate(held):
            for component, leaf in differing(truth, rank, moment, same).items():
                rows.setdefault(place, {})[(component, rank)] = leaf
    if not rows:
        return None
    place = min(rows)
    candidates = rows[place]
    later = rows.get(place + 1, {})
    fresh = any(place < len(held) and held[place].fresh for held in life)
    # At the start, what is gone a step later explains less than what stays: stale gradients, a log of the last step.
    stay = [key for key in candidates if key in later] if fresh else []
    component, rank = min(stay or candidates, key=lambda key: (_rank_of(key[0]), key[1]))
    moment = life[rank][place]
    leaf = candidates[(component, rank)]
    expected, seen = _value(truth.at[rank][moment.step], leaf), _value(moment, leaf)
    found = Difference(component, leaf, rank, moment.step, expected, seen, at_start=moment.fresh)
    end = max(map(len, life)) - 1
    used = any(c in OUTCOMES or c in WEIGHTS for at, row in rows.items() if at > 0 for c, _ in row)
    return _explained(replace(found, lasting=used or end in rows, used=used), truth, life[rank], place)


def differing(truth: Truth, rank: int, moment: Moment, same: Same) -> dict[str, str]:
    """Component -> the first of its leaves that isn't the continuous run's."""
    wanted = truth.at[rank].get(moment.step) if rank < len(truth.at) else None
    if wanted is None:
        return {"step": "step"} if moment.fresh else {}
    found: dict[str, str] = {}
    pairs = [(wanted.state, moment.state)] + ([] if moment.fresh else [(wanted.outcome, moment.outcome)])
    for theirs, ours in pairs:
        for path in [*theirs, *(one for one in ours if one not in theirs)]:
            a, b = theirs.get(path), ours.get(path)
            if path in truth.ignore or (a is not None and b is not None and same(a, b)):
                continue
            component = (a or b).component  # type: ignore[union-attr]
            if component == "sample ids" and moment.fresh:
                continue  # the ids of the latest step: this process has made none
            found.setdefault(component, path)
    return found


def _explained(found: Difference, truth: Truth, life: list[Moment], place: int) -> Difference:
    moment = life[place]
    rank, step = found.rank, found.step
    like = truth.like(moment.state, found.component)
    if not like and found.leaf in moment.state:
        like = truth.like_leaf(found.leaf, moment.state[found.leaf])
    others = [(r, s) for r, s in like if (r, s) != (rank, step)]
    mine = sorted((abs(s - step), s) for r, s in others if r == rank)
    same_step = [r for r, s in others if s == step]
    if found.component in WEIGHTS and moment.fresh and (mixed := _mixed(truth, moment, rank)):
        return replace(found, component="step across components", kin=mixed)
    if found.component == "epoch" and not moment.fresh and _shortened(truth, life, place, rank):
        if life[place - 1].fresh:  # it made no step of the epoch that ended
            return replace(found, component="cursor", kin="an epoch is lost")
        return replace(found, component="epoch length")
    if mine and len(mine) > 1 and any(s == 0 for _, s in mine):
        return replace(found, kin="as it was at the start")
    if mine:
        where = mine[0][1]
        return replace(found, kin="as it was at the start" if where == 0 else f"that of step {where}")
    return replace(found, kin=f"that of rank {same_step[0]}") if same_step else found


def _mixed(truth: Truth, moment: Moment, rank: int) -> str:
    """Words for a state whose parts belong to different steps; empty where they don't."""
    step = moment.step
    of: dict[int, list[str]] = {}
    for path, leaf in moment.state.items():
        number = leaf.sketch is None or "[" not in leaf.text  # a counter: too weak a mark of its step
        if number or leaf.component not in WEIGHTS or path in truth.ignore:
            continue
        steps = [s for s, at in truth.at[rank].items() if path in at.state and at.state[path].digest == leaf.digest]
        if len(steps) == 1 and steps[0] > 0:  # values that stay the same for several steps tell nothing
            of.setdefault(steps[0], []).append(path)
    others = [s for s in of if s != step]
    if not others:
        return ""
    other = min(others, key=lambda s: abs(s - step))
    rest = f"{of[step][0]} that of step {step}" if step in of else f"the step count says {step}"
    return f"{of[other][0]} is that of step {other}, {rest}"


def _shortened(truth: Truth, life: list[Moment], place: int, rank: int) -> bool:
    """Whether an epoch of which this process made steps ended earlier or later than it should."""
    before = life[place - 1]
    epochs = [_epoch(m) for m in (before, life[place])]
    wanted = _epoch(truth.at[rank][life[place].step])
    try:
        was, now, right = (int(float(text)) for text in (*epochs, wanted))
    except ValueError:
        return False
    return (now == was + 1 and right == was) or (now == was and right == was + 1)


def _epoch(moment: Moment) -> str:
    return next((leaf.text for leaf in moment.state.values() if leaf.component == "epoch"), "")


def _value(moment: Moment, path: str) -> str:
    leaf = moment.state.get(path) or moment.outcome.get(path)
    return leaf.text if leaf is not None else "nothing"


def _rank_of(component: str) -> int:
    return CAUSAL.index(component) if component in CAUSAL else len(CAUSAL)
