"""Bytes that this process really sent, as the system counts them."""

from __future__ import annotations

import time


def bytes_sent() -> int | None:
    """Bytes this process has written so far, to sockets and files alike; None where the system doesn't say (not Linux).

    gloo sends in its own threads, so a short rest lets a collective that is over hand its last bytes on.
    """
    time.sleep(0.01)
    try:
        with open("/proc/self/io", encoding="ascii") as lines:
            return next(int(line.split()[1]) for line in lines if line.startswith("wchar:"))
    except (OSError, StopIteration, ValueError):
        return None


def sent_since(before: int | None) -> int | None:
    """Bytes sent since `before` was taken with `bytes_sent`; None where the system doesn't say."""
    now = bytes_sent()
    return None if before is None or now is None else now - before
