"""Where a running count stops: adding b to a float changes nothing once the float is b * 2^p or more."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from labkit.errors import UsageError

# Bits of the significand, the leading one included (IEEE 754; bfloat16: Google's 8).
SIGNIFICANT = {"float64": 53, "float32": 24, "float16": 11, "bfloat16": 8}
INTEGERS = {"int64": 2**63 - 1, "int32": 2**31 - 1}


@dataclass(frozen=True)
class Stall:
    """Where adding stops, tried out on the real type.

    Attributes:
        dtype: the type, such as "float32".
        step: what is added each time.
        at: the value at which adding `step` changes nothing. For an integer: the value after which it wraps round.
        reached: the value after adding `step` to `at` once more, as the type gives it; equal to `at` for a float.
        additions: additions of `step` from 0 until then (exact where step is a power of two, else about). Small against
            your samples: the count is wrong without a word.
    """

    dtype: str
    step: float
    at: float | int
    reached: float
    additions: int

    @property
    def text(self) -> str:
        """The stall in one line."""
        if self.dtype in INTEGERS:
            return f"{self.dtype} counts to {int(self.at):,}"
        return f"{self.dtype} stops at {self.at:,.10g}: adding {self.step:g} there gives {self.reached:,.10g} again"


def float_stall(dtype: Any = "float32", step: float = 1.0) -> Stall:
    """The value at which a running sum in `dtype` no longer grows when `step` is added, tried out on the type itself.

    A float with p significant bits has gaps of 2 from 2^p on, so adding 1 there falls half way and rounds back to the
    even neighbour (round to nearest, ties to even: IEEE 754). Scaled by a power of two: a step of b stalls at b * 2^p,
    and a step between two powers of two where the larger one does.

    Args:
        dtype: "float32", "float16", "bfloat16", "float64", "int64", "int32", or torch's or NumPy's name for one.
        step: what is added each time, above 0.

    Raises:
        UsageError: the type is unknown, step isn't above 0, or the type overflows before it stalls.
    """
    import torch

    name = dtype_name(dtype)
    if isinstance(step, bool) or not isinstance(step, int | float) or not 0 < step < 2**40:
        raise UsageError(f"step is {step!r}: give a number above 0")
    kind = getattr(torch, name)
    if name in INTEGERS:
        return Stall(name, step, INTEGERS[name], -INTEGERS[name] - 1, int(INTEGERS[name] // step))
    one = torch.tensor(step, dtype=kind)
    candidate = 2.0 ** math.ceil(math.log2(step))
    while True:  # powers of two, since the gap between neighbours changes there and nowhere else
        at = torch.tensor(candidate, dtype=torch.float64).to(kind)
        if not torch.isfinite(at):
            raise UsageError(f"step is {step:g}: {name} overflows before it stalls; give a smaller step")
        after = at + one
        if after == at:
            return Stall(name, float(one), float(at), float(after), int(float(at) // float(one)))
        candidate *= 2


def dtype_name(dtype: Any) -> str:
    """The plain name of torch's, NumPy's or a written type; UsageError for one that isn't a known number type."""
    name = str(dtype).rsplit(".", 1)[-1].strip("'<>")
    name = {"half": "float16", "float": "float32", "double": "float64", "bf16": "bfloat16", "fp16": "float16"}.get(
        name, name
    )
    if name not in SIGNIFICANT and name not in INTEGERS:
        raise UsageError(f"dtype is {dtype!r}: give one of {', '.join([*SIGNIFICANT, *INTEGERS])}")
    return name
