"""Is an answer of the kind that was asked for? A Fault that says what is wrong with its shape, or None."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from labkit.checks.evidence import Fault, number


def numbers_fault(value: Any, names: Sequence[str], *, whole: bool = False) -> Fault | None:
    """None where `value` is a dict with a number (or, with whole, a whole number of 0 or more) for each name."""
    kind = "a whole number, 0 or more" if whole else "a number"
    if type(value) is not dict or any(name not in value for name in names):
        return Fault(_short(value), f"{kind} for each of {', '.join(names)}", next_step="check the names.")
    for name in names:
        found = value[name]
        if not number(found) or (whole and (found != int(found) or found < 0)):
            return Fault(f"{name} = {found!r}"[:120], f"{name} is {kind}", next_step=f"give {kind}.")
    return None


def choices_fault(value: Any, names: Sequence[str], choices: Sequence[Any]) -> Fault | None:
    """None where `value` is a dict with one of `choices` for each name; True and 1 are told apart."""
    said = ", ".join(repr(choice) for choice in choices)
    if type(value) is not dict or any(name not in value for name in names):
        return Fault(_short(value), f"one of {said} for each of {', '.join(names)}", next_step="check the names.")
    for name in names:
        if not any(type(value[name]) is type(choice) and value[name] == choice for choice in choices):
            return Fault(f"{name}: {value[name]!r}"[:120], f"one of {said}", next_step="copy one of these words.")
    return None


def wrong_ones(value: Mapping[str, Any], truth: Mapping[str, Any]) -> list[str]:
    """The names whose value isn't the true one."""
    return [name for name in truth if value[name] != truth[name]]


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 120 else text[:117] + "..."
