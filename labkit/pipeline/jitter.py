"""Repeatable jitter: the same seed gives bit-identical times in Python and in the browser."""

from __future__ import annotations

from labkit.errors import UsageError
from labkit.inputs import whole
from labkit.pipeline.inputs import number, share


def jittered(time: float, batches: int, amount: float, seed: int) -> list[float]:
    """`batches` times around `time`: time * (1 + amount * u), u uniform in [-1, 1).

    Args:
        time: the middle, any unit.
        batches: how many.
        amount: 0 (all alike) to 1 (from 0 up to twice the time).
        seed: 0 to 2**32 - 1. Other seeds give unrelated times.

    Raises:
        UsageError: a value is outside these ranges.

    The generator is mulberry32 (Tommy Ettinger, public domain): steps on 32-bit integers, so JavaScript gets the same.
    """
    time, count = number("time", time), whole("batches", batches, 1)
    amount = share("amount", amount)
    if (seed := whole("seed", seed, 0)) >= 1 << 32:
        raise UsageError(f"seed is {seed}: give a whole number below 2**32")
    mask = 0xFFFFFFFF
    state = seed
    times = []
    for _ in range(count):
        state = (state + 0x6D2B79F5) & mask
        mixed = ((state ^ (state >> 15)) * (state | 1)) & mask
        mixed ^= (mixed + ((mixed ^ (mixed >> 7)) * (mixed | 61))) & mask
        uniform = ((mixed ^ (mixed >> 14)) & mask) / 4294967296.0
        times.append(time * (1.0 + amount * (2.0 * uniform - 1.0)))
    return times
