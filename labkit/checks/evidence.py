"""Short ways to write a check: one statement, or many inputs with invariants before values."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from labkit.checks.answer import Answer, call_text
from labkit.checks.result import Evidence


@dataclass(frozen=True)
class Fault:
    """What is wrong with one value: seen and expected, the mistake's name, and one thing to try."""

    seen: str
    expected: str
    why: str = ""
    next_step: str = ""


@dataclass(frozen=True)
class Rule:
    """A claim about every result.

    Attributes:
        claim: what should hold, as a sentence.
        test: `test(result, *args)` gives None where it holds.
        mistakes: usual mistakes, by the sentence that names them, each as the function it makes of the answer. A
            failing answer that gives the same as one of them on every input gets that sentence as its meaning.
    """

    claim: str
    test: Callable[..., Fault | None]
    mistakes: Mapping[str, Callable[..., Any]] = field(default_factory=dict)


def judged(claim: str, fault: Fault | None, given: str = "", held: str = "") -> Evidence:
    """Evidence for `claim`: failed with `fault`, or held, with what was `held` as the figure."""
    if fault is None:
        return Evidence(claim, True, given, held)
    return Evidence(claim, False, given, fault.seen, fault.expected, fault.why, fault.next_step)


def over_inputs(
    answer: Answer, name: str, inputs: Sequence[tuple[Any, ...]], rules: Sequence[Rule]
) -> Iterator[Evidence]:
    """Call the answer on every input (smallest first) and hold each rule over all of them, invariants first.

    Yields one Evidence a rule; a failing one names the smallest input that shows it. The first failing input of the
    first failing rule decides, so `rules` go from what must hold for any sensible answer to the exact value.
    """
    results = [(args, answer.call(*args)) for args in inputs]
    for rule in rules:
        failing = ((args, result, rule.test(result, *args)) for args, result in results)
        args, result, fault = next(((a, r, f) for a, r, f in failing if f is not None), ((), ..., None))
        given = call_text(name, args) if fault else f"{len(inputs)} input{'s' * (len(inputs) > 1)}"
        if fault is not None and result is None:
            fault = replace(fault, why="the function gave None: is `return` missing at its end?")
        if fault is not None:
            alike = (m for m, made in rule.mistakes.items() if all(close(r, made(*a)) for a, r in results))
            fault = replace(fault, why=next(alike, fault.why))
        yield judged(rule.claim, fault, given, held="held on each")


def same(a: float, b: float, tolerance: float = 1e-9) -> bool:
    """Equal up to rounding: the order of additions may differ between right answers."""
    return math.isclose(a, b, rel_tol=tolerance, abs_tol=tolerance)


def close(a: Any, b: Any) -> bool:
    """`same` for numbers, item by item for lists and tuples."""
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(close, a, b))
    return number(a) and number(b) and same(a, b, 1e-6)


def number(value: Any) -> bool:
    """A finite int or float that fits a float, and not a bool."""
    try:
        return type(value) in (int, float) and math.isfinite(value)
    except OverflowError:
        return False


def named_mistake(value: Any, mistakes: Mapping[str, Any]) -> str:
    """The phrase of the mistake that gives exactly `value`, or ""."""
    return next((name for name, wrong in mistakes.items() if wrong == value), "")
