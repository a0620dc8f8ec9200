"""What any caller may hand over: whole numbers and flags; checked once, named when wrong."""

from __future__ import annotations

from numbers import Integral
from typing import Any

from labkit.errors import UsageError


def whole(name: str, value: Any, least: int) -> int:
    """`value` as an int of at least `least`; UsageError otherwise. A float such as 4.0 isn't a whole number here."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise UsageError(f"{name} is {value!r}: give a whole number, {least} or more")
    if value < least:
        raise UsageError(f"{name} is {value}: give a whole number, {least} or more")
    return int(value)


def flag(name: str, value: Any) -> bool:
    """`value` as a bool; UsageError for anything else, so that "False" isn't taken for true."""
    if isinstance(value, bool) or type(value).__name__ == "bool_":
        return bool(value)
    raise UsageError(f"{name} is {value!r}: give True or False")
