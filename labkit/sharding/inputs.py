"""What a caller may hand over as samples: how many there are, or their ids; checked once, named when wrong."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from numbers import Integral
from typing import Any

from labkit.errors import UsageError
from labkit.inputs import whole


def sample_ids(samples: Any) -> Sequence[Hashable]:
    """The ids in reading order: 0 to samples - 1 for a number, the given ids for a sequence.

    Raises:
        UsageError: there are no samples, an id isn't hashable, or an id occurs twice.
    """
    if isinstance(samples, Integral) or not isinstance(samples, Iterable):
        if isinstance(samples, Integral) and not isinstance(samples, bool) and samples == 0:
            raise UsageError("samples is 0: an empty data set has nothing to share out; give 1 or more, or the ids")
        return range(whole("samples", samples, 1))
    if isinstance(samples, str | bytes):
        raise UsageError(f"samples is {samples!r}: give how many there are, or a sequence of ids")
    if hasattr(samples, "tolist"):  # NumPy, pandas, torch: ids as plain Python values
        samples = samples.tolist()
    ids = list(samples) if isinstance(samples, Iterable) else [samples]
    if not ids:
        raise UsageError("samples is empty: an empty data set has nothing to share out; give at least one id")
    seen: dict[Hashable, int] = {}
    for i, one in enumerate(ids):
        try:
            first = seen.setdefault(one, i)
        except TypeError:
            raise UsageError(
                f"samples[{i}] is {_short(one)}, which isn't hashable: give ids such as numbers, strings or tuples"
            ) from None
        if first != i:
            raise UsageError(f"samples[{i}] is {_short(one)}, as is samples[{first}]: give each sample one id")
        if one != one:
            raise UsageError(f"samples[{i}] is {one!r}, which isn't equal to itself: give ids that can be compared")
    return ids


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
