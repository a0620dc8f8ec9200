"""Checks of lab 00: one practice exercise."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from typing import Any

from labkit.checks.answer import Answer
from labkit.checks.evidence import Fault, judged, named_mistake, number, same
from labkit.checks.registry import Context, Figures, exercise
from labkit.checks.result import Evidence


def _draw(rng: random.Random) -> dict[str, Any]:
    return {"batches": rng.randint(6, 12), "train": rng.randint(7, 19)}


def _truth(figures: Mapping[str, Any]) -> int:
    return int(figures["batches"] * figures["train"])


def _mistakes(figures: Mapping[str, Any]) -> dict[str, int]:
    batches, train = figures["batches"], figures["train"]
    return {
        "one batch only": train,
        "the number of batches, not their time": batches,
        "the two figures added, where every batch takes the time": batches + train,
        "one batch short": (batches - 1) * train,
        "one batch too many": (batches + 1) * train,
    }


PRACTICE = Figures(_draw, _truth, _mistakes, {"batches": "in all", "train": "ms to train on a batch"})


@exercise("start.practice", lab="00", title="Practice", kind="predict", points=1, minutes=2, figures=PRACTICE)
def practice(answer: Answer, context: Context) -> Iterator[Evidence]:
    """The time the GPU is busy: batches times train."""
    value = answer.value()
    fault = None if number(value) else Fault(f"{value!r}", "one number, in ms", next_step="busy = 120, for example.")
    yield judged("the answer is a number", fault)

    train = context.figures["train"]
    fault = None
    if value < train:
        fault = Fault(f"{value:g} ms", f"at least the {train} ms of one batch", next_step="start from one batch.")
    yield judged("busy time is at least one batch", fault)

    fault = None
    if not same(value, _truth(context.figures)):
        mistake = named_mistake(value, _mistakes(context.figures))
        fault = Fault(
            f"{value:g} ms",
            "the train times of all batches, one after the other",
            f"that is {mistake}." if mistake else "",
            "add up two batches by hand, then three; what do you do for all of them?",
        )
    yield judged("every batch is counted once", fault, held=f"{value:g} ms")
