"""Which kills an audit makes: every step and phase that the uninterrupted run passed, once and twice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from labkit.resume.kill import (
    AFTER_SAVE,
    AFTER_STEP,
    BEFORE_FORWARD,
    BEFORE_PUBLISH,
    DAMAGED,
    DURING_SAVE,
    MID_ACCUMULATION,
    Kill,
)
from labkit.resume.programs import Life

SECOND = (1, 3)  # steps from the first kill to the second: some faults show only when they lie close
PLACES = (25, 50, 75)  # percent of a file's length at which a byte is flipped


def planned(
    notes: Sequence[Sequence[dict[str, Any]]],
    at: Sequence[int],
    phases: Sequence[str],
    twice: bool,
    save_every: int,
    steps: int,
    life: Callable[..., Life],
) -> tuple[list[list[Life]], list[tuple[Kill, ...]]]:
    """The chains of lives, and each chain's kills. `notes` are the uninterrupted run's, by rank."""
    kills: list[tuple[Kill, ...]] = []
    for step in at:
        kills += [(kill,) for phase in phases for kill in _possible(notes, step, phase)]
    if twice:
        for step in at:
            for gap in SECOND:
                if step + gap < steps and (AFTER_SAVE in phases or AFTER_STEP in phases):
                    phase = AFTER_SAVE if AFTER_SAVE in phases else AFTER_STEP
                    first = Kill(step, phase if phase == AFTER_STEP or step % save_every == 0 else AFTER_STEP)
                    then = step + gap
                    second = Kill(then, phase if phase == AFTER_STEP or then % save_every == 0 else AFTER_STEP)
                    kills.append((first, second))
    chains = []
    for i, some in enumerate(kills):
        name = f"killed-{i}"
        chain = [life(name, kill, number=k, watch=k > 0) for k, kill in enumerate(some)]
        chains.append([*chain, life(name, None, number=len(some))])
    return chains, kills


def _possible(notes: Sequence[Sequence[dict[str, Any]]], step: int, phase: str) -> list[Kill]:
    """The kill, if the uninterrupted run came to such a point; several places for damage."""
    forwards = max(
        (n["forwards"] for one in notes for n in one if n["kind"] == "step" and n["step"] == step), default=0
    )
    saves = [n for one in notes for n in one if n["kind"] == "saved" and n["step"] == step]
    size = max((n["bytes"] for n in saves), default=0)
    renames = max((n["renames"] for n in saves), default=0)
    if phase == BEFORE_FORWARD:
        return [Kill(step, phase)] if forwards else []
    if phase == MID_ACCUMULATION:
        return [Kill(step, phase)] if forwards > 1 else []
    if phase == DURING_SAVE:
        return [Kill(step, phase, size // 2)] if size > 1 else []
    if phase == BEFORE_PUBLISH:
        return [Kill(step, phase)] if renames else []
    if phase == DAMAGED:
        return [Kill(step, phase, place) for place in PLACES] if saves else []
    if phase == AFTER_SAVE:
        return [Kill(step, phase)] if saves else []
    return [Kill(step, AFTER_STEP)]
