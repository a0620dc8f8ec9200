"""What a caller may hand over: times as a number or a sequence, and whole numbers; checked once, named when wrong."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Sequence
from numbers import Real
from typing import Any, TypeAlias

from labkit.errors import UsageError
from labkit.inputs import whole

Times: TypeAlias = float | Sequence[float] | Any
"""One time for every batch, or a sequence of times: list, tuple, NumPy array, pandas Series, torch tensor."""


MOST_BATCHES = 10**8
"""Above this a line's columns take gigabytes; the error would otherwise come from the operating system."""


def number(name: str, value: Any) -> float:
    """`value` as a float, 0 or more and finite; UsageError otherwise."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise UsageError(f"{name} is {value!r}: times must be numbers, 0 or more")
    time = float(value)
    if not (0.0 <= time < math.inf):
        rule = "0 or more" if time < 0.0 else "finite numbers"
        raise UsageError(f"{name} is {time}: times must be {rule}")
    return time


def share(name: str, value: Any) -> float:
    """`value` as a float from 0 to 1; UsageError otherwise."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0.0 <= float(value) <= 1.0:
        raise UsageError(f"{name} is {value!r}: give a number from 0 (all batches alike) to 1 (up to twice the time)")
    return float(value)


def columns(prepare: Times, train: Times, batches: int | None) -> tuple[array[float], array[float]]:
    """Both times as arrays of floats of one length, a number standing for every batch.

    Raises:
        UsageError: a value isn't a time, the lengths differ, a sequence is empty, or `batches` is missing or differs.
    """
    size = None if batches is None else whole("batches", batches, 1)
    if size is not None and size > MOST_BATCHES:
        raise UsageError(f"batches is {size}: more than {MOST_BATCHES:,} don't fit; the long run shows in far fewer")
    first, second = _times("prepare", prepare), _times("train", train)
    if isinstance(first, array) and isinstance(second, array) and len(first) != len(second):
        raise UsageError(
            f"prepare has {len(first)} times and train has {len(second)}: give one of each for every batch"
        )
    for name, times in (("prepare", first), ("train", second)):
        if isinstance(times, array):
            if size is not None and size != len(times):
                raise UsageError(f"batches is {size} but {name} has {len(times)} times: leave batches out")
            size = len(times)
    if size is None:
        raise UsageError("batches is missing: give batches=4, say, or a sequence of times for prepare or train")
    return _spread(first, size), _spread(second, size)


def sequence(name: str, values: Iterable[Any]) -> array[float]:
    """A sequence of times as an array of floats; UsageError names the first value that isn't one."""
    import numpy as np  # here, because the command line needs only numbers and stays instant without it

    if hasattr(values, "__array__"):
        found = as_array(values)
        if found.ndim != 1:
            raise UsageError(f"{name} has shape {found.shape}: give one time for each batch, in one dimension")
        if found.dtype.kind not in "iuf":
            return sequence(name, found.tolist())
        times = array("d", found.astype(np.float64, copy=False).tobytes())
    else:
        if not isinstance(values, (list, tuple)):
            values = list(values)
        try:
            times = array("d", values)
        except (TypeError, OverflowError):
            for i, value in enumerate(values):
                number(f"{name}[{i}]", value)
            raise UsageError(f"{name} holds something that isn't a number: times must be numbers, 0 or more") from None
    if not times:
        raise UsageError(f"{name} is empty: give at least one time")
    block = np.frombuffer(times)
    good = (block >= 0.0) & (block < math.inf)
    if not good.all():
        i = int(np.argmin(good))
        number(f"{name}[{i}]", times[i])
    return times


def as_array(values: Any) -> Any:
    """`values` as a NumPy array; a torch tensor with gradients or on a GPU included."""
    import numpy as np

    return np.asarray(values.detach().cpu() if hasattr(values, "detach") else values)


def _times(name: str, value: Any) -> float | array[float]:
    if isinstance(value, (str, bytes, dict, set)):
        raise UsageError(f"{name} is {value!r}: give a number or a sequence of numbers")
    if hasattr(value, "__array__"):  # NumPy, pandas, torch; their scalars have no dimensions
        return sequence(name, value) if value.ndim else number(name, value.item())
    return sequence(name, value) if isinstance(value, Iterable) else number(name, value)


def _spread(times: float | array[float], size: int) -> array[float]:
    return times if isinstance(times, array) else array("d", [times]) * size
