"""An answer as plain built-in data: exact types only, with limits.

An object that claims to equal everything, an int with its own `__eq__` or a lazy generator never reaches a check.
"""

from __future__ import annotations

import sys
from typing import Any

MAX_ITEMS = 1_000_000
MAX_DEPTH = 20


class Unanswered(Exception):
    """Somewhere in the answer there is still `...` or a stub; the text says where."""


class NotPlain(Exception):
    """The answer holds something that isn't plain data; the text says what and where."""

    def __init__(self, seen: str, next_step: str) -> None:
        self.next_step = next_step
        super().__init__(seen)


def plain(value: Any) -> Any:
    """`value` rebuilt from exact bool, int, float, str, None, list, tuple and dict; arrays and tensors become lists.

    Raises:
        Unanswered: `...` somewhere in it.
        NotPlain: another type, more than a million items, or nested deeper than 20.
    """
    return _Rebuild().rebuild(value, "the answer", 0)


class _Rebuild:
    def __init__(self) -> None:
        self.items = 0

    def rebuild(self, value: Any, where: str, depth: int) -> Any:
        self.items += 1
        if self.items > MAX_ITEMS:
            raise NotPlain(f"more than {MAX_ITEMS:,} items", "return only what was asked for.")
        if depth > MAX_DEPTH:
            raise NotPlain(f"lists nested deeper than {MAX_DEPTH}", "return a flat list.")
        if value is ...:
            raise Unanswered(where)
        kind = type(value)
        if kind in (bool, int, float, str, type(None)):
            return value
        if kind in (list, tuple):
            return kind(self.rebuild(item, f"{where}[{i}]", depth + 1) for i, item in enumerate(value))
        if kind is range:
            return self.rebuild(list(value), where, depth)
        if isinstance(value, dict) and kind.__module__ in ("builtins", "collections"):  # Counter, defaultdict, ...
            return self._dict(value, where, depth)
        return self._array(value, where, depth)

    def _dict(self, value: dict[Any, Any], where: str, depth: int) -> dict[Any, Any]:
        rebuilt = {}
        for key, item in dict.items(value):
            name = self.rebuild(key, where, depth + 1)  # a NumPy integer becomes a plain one
            if type(name) not in (str, int, float, bool):
                raise NotPlain(f"a dict with the key {key!r}"[:120], "use names or numbers as keys.")
            rebuilt[name] = self.rebuild(item, f"{name}" if where == "the answer" else f"{where}[{name!r}]", depth + 1)
        return rebuilt

    def _array(self, value: Any, where: str, depth: int) -> Any:
        """Arrays of the libraries a learner may have loaded; looked up, not imported."""
        kind = type(value)
        numpy, torch, pandas = (sys.modules.get(name) for name in ("numpy", "torch", "pandas"))
        if numpy and (kind is numpy.ndarray or (isinstance(value, numpy.generic) and kind.__module__ == "numpy")):
            listed = value.tolist()
            # Objects stay what they are, and an extended float has no plain twin.
            known = value.dtype != object and type(listed) is not kind
            return self.rebuild(listed, where, depth) if known else self._refuse(value, where)
        if torch and kind in (torch.Tensor, getattr(torch.nn, "Parameter", None)):
            return self.rebuild(value.detach().cpu().tolist(), where, depth)
        if pandas and kind in (pandas.Series, pandas.Index):
            return self.rebuild(value.tolist(), where, depth)
        return self._refuse(value, where)

    @staticmethod
    def _refuse(value: Any, where: str) -> Any:
        name = type(value).__name__
        place = "" if where == "the answer" else f" as {where}"
        next_step = (
            "turn it into a list first: list(...)." if hasattr(value, "__iter__") else "give a number or a list."
        )
        raise NotPlain(f"an object of type {name}{place}", next_step)
