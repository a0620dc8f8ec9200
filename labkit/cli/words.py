"""How a line says how many of a thing there are."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """`1 lab`, `2 labs`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
