"""What crosses between judge and answer: JSON in frames, with limits, rebuilt as exact built-in types.

Never pickle: the other side may have written anything. Lists, text, numbers, true, false and null are JSON's own (with
NaN and Infinity); a tuple is {"t": [...]}, a dict {"d": [[key, value], ...]}, so that keys and tuples survive.
"""

from __future__ import annotations

import json
import struct
from typing import Any

from labkit.checks.plain import MAX_DEPTH, MAX_ITEMS

MOST_BYTES = 32 << 20
"""Bytes of one frame. A million numbers, the most an answer may hold, are about 20 MB."""
HEAD = struct.Struct(">I")
_LEVELS = MAX_DEPTH + 4  # a message wraps its value in a list or two


class NotOnTheWire(Exception):
    """A frame that isn't a message; the text says why."""


def pack(message: Any) -> bytes:
    """A message as a frame. The value is one that `plain` rebuilt. NotOnTheWire where it is too large."""
    data = json.dumps(_tagged(message), separators=(",", ":")).encode()
    if len(data) > MOST_BYTES:
        raise NotOnTheWire(f"{len(data) >> 20} MiB: at most {MOST_BYTES >> 20} MiB can be handed over")
    return HEAD.pack(len(data)) + data


def _tagged(value: Any) -> Any:
    kind = type(value)
    if kind is list:
        return [_tagged(item) for item in value]
    if kind is tuple:
        return {"t": [_tagged(item) for item in value]}
    if kind is dict:
        return {"d": [[_tagged(key), _tagged(item)] for key, item in value.items()]}
    return value


def frame_size(head: bytes) -> int:
    """Bytes that follow the four of a frame's head. NotOnTheWire where it announces too many."""
    size = int(HEAD.unpack(head)[0])
    if size > MOST_BYTES:
        raise NotOnTheWire(f"a message of {size >> 20} MiB: at most {MOST_BYTES >> 20} MiB can be handed over")
    return size


def unpack(data: bytes | bytearray) -> Any:
    """The message in a frame's body, of exact built-in types. NotOnTheWire for anything else."""
    # Counted before anything is built: 32 MB of "[[],[],..." would become 600 MB of lists.
    if data.count(b",") + data.count(b"[") > 6 * MAX_ITEMS:
        raise NotOnTheWire(f"more than {MAX_ITEMS:,} items")
    try:
        raw = json.loads(data)
    except RecursionError:
        raise NotOnTheWire(f"lists nested deeper than {MAX_DEPTH}") from None
    except ValueError as error:
        raise NotOnTheWire(f"not JSON: {str(error)[:80]}") from None
    return _Untag().value(raw, 0)


class _Untag:
    def __init__(self) -> None:
        self.items = 0

    def value(self, raw: Any, depth: int) -> Any:
        self.items += 1
        if self.items > 2 * MAX_ITEMS:
            raise NotOnTheWire(f"more than {MAX_ITEMS:,} items")
        if depth > _LEVELS:
            raise NotOnTheWire(f"lists nested deeper than {MAX_DEPTH}")
        if type(raw) is list:
            return [self.value(item, depth + 1) for item in raw]
        if type(raw) is not dict:
            return raw
        match raw:
            case {"t": list(items), **others} if not others:
                return tuple(self.value(item, depth + 1) for item in items)
            case {"d": list(pairs), **others} if not others:
                return dict(self._pair(pair, depth) for pair in pairs)
        raise NotOnTheWire("an object that is neither a tuple nor a dict")

    def _pair(self, pair: Any, depth: int) -> tuple[Any, Any]:
        if type(pair) is not list or len(pair) != 2 or type(pair[0]) not in (str, int, float, bool):
            raise NotOnTheWire("a dict whose key is no name and no number")
        if type(pair[0]) is int and abs(pair[0]) >> 60:  # larger ones can be chosen so that their hashes all collide
            raise NotOnTheWire("a dict with a key above 10**18")
        return pair[0], self.value(pair[1], depth + 1)
