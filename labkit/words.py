"""How a line says how many of a thing there are."""

from __future__ import annotations


def counted(count: int, noun: str) -> str:
    """`1 rank`, `2 ranks`."""
    return f"{count} {noun}{'' if count == 1 else 's'}"
