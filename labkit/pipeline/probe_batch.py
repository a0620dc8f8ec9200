"""What a batch holds, whatever its shape: how many samples, how many bytes. Never fails on an unknown thing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_MOST = 10_000  # leaves that are looked at; a batch of more objects is counted in part


def samples(batch: Any) -> int:
    """The length of the batch's first array, or of the batch if it is a plain list; 1 for anything else."""
    leaf = batch
    for _ in range(8):
        shape = getattr(leaf, "shape", None)
        if shape is not None:
            return int(shape[0]) if len(shape) else 1
        if isinstance(leaf, Mapping):
            leaf = next(iter(leaf.values()), None)
        elif isinstance(leaf, (list, tuple)) and leaf:
            if not _holds_arrays(leaf[0]):
                return len(leaf)
            leaf = leaf[0]
        else:
            return 1
    return 1


def octets(batch: Any) -> float:
    """Bytes in the batch's arrays, strings and bytes objects."""
    total, seen, todo = 0.0, 0, [batch]
    while todo and seen < _MOST:
        leaf = todo.pop()
        seen += 1
        if hasattr(leaf, "nbytes"):
            total += float(leaf.nbytes)
        elif isinstance(leaf, (bytes, bytearray, str)):
            total += len(leaf)
        elif isinstance(leaf, Mapping):
            todo.extend(leaf.values())
        elif isinstance(leaf, (list, tuple)):
            todo.extend(leaf)
        else:
            total += 8
    return total


def _holds_arrays(thing: Any) -> bool:
    return hasattr(thing, "shape") or isinstance(thing, (Mapping, list, tuple))
