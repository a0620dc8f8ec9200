"""What a caller may hand over as predictions, targets or values: arrays of one length, checked once."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from labkit.errors import UsageError

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def as_array(values: Any) -> npt.NDArray[Any]:
    """`values` as a NumPy array; a torch tensor with gradients, on a GPU, or in bfloat16 included."""
    if hasattr(values, "detach"):
        values = values.detach().cpu()
        if values.dtype.is_floating_point:
            values = values.double()
    return np.asarray(values)


def floats(name: str, values: Any, *, empty: bool = False) -> Floats:
    """One dimension of finite numbers as float64; a single number becomes an array of one.

    Raises:
        UsageError: something in it isn't a finite number, there is more than one dimension, or nothing in it.
    """
    found = _flat(name, values)
    if found.dtype.kind not in "biuf":
        raise UsageError(f"{name} holds {found.dtype} values: give numbers")
    if not empty and found.size == 0:
        raise UsageError(f"{name} is empty: give at least one number")
    result = found.astype(np.float64)
    good = np.isfinite(result)
    if not good.all():
        i = int(np.argmin(good))
        raise UsageError(f"{name}[{i}] is {result[i]}: give finite numbers")
    return result


def integers(name: str, values: Any, *, least: int = 0) -> Ints:
    """One dimension of whole numbers of at least `least`, as int64; may be empty.

    Raises:
        UsageError: something in it isn't a whole number, or is below `least`.
    """
    found = _flat(name, values)
    if found.size == 0:
        return np.zeros(0, np.int64)
    if found.dtype.kind == "f" and np.isfinite(found).all() and (found == np.floor(found)).all():
        found = found.astype(np.int64)  # classes that came back from a model as 0.0, 1.0, ...
    if found.dtype.kind not in "biu":
        raise UsageError(f"{name} holds {found.dtype} values such as {found.flat[0]}: give whole numbers")
    result = found.astype(np.int64)
    if (result < least).any():
        i = int(np.argmax(result < least))
        raise UsageError(f"{name}[{i}] is {result[i]}: give whole numbers, {least} or more")
    return result


def nans(values: Any) -> int:
    """How many entries (the first dimension counts them) hold a NaN; 0 where they aren't numbers."""
    found = as_array(values)
    if found.dtype.kind not in "fc" or found.size == 0:
        return 0
    return int(np.isnan(found).reshape(len(found), -1).any(axis=1).sum())


def pair(predictions: Any, targets: Any) -> None:
    """Check that both have one entry a sample.

    Raises:
        UsageError: the lengths differ, or one of them has no length.
    """
    sizes = []
    for name, values in (("predictions", predictions), ("targets", targets)):
        shape = getattr(values, "shape", None)
        try:
            sizes.append(int(shape[0]) if shape is not None and len(shape) else len(values))
        except TypeError:
            raise UsageError(f"{name} is {values!r}: give one entry for each sample, in a sequence") from None
    if sizes[0] != sizes[1]:
        raise UsageError(f"predictions has {sizes[0]} samples and targets has {sizes[1]}: give one of each a sample")


def _flat(name: str, values: Any) -> npt.NDArray[Any]:
    if isinstance(values, str | bytes | dict | set) or values is None:
        raise UsageError(f"{name} is {values!r}: give numbers")
    try:
        found = as_array(values)
    except (TypeError, ValueError):
        raise UsageError(f"{name} can't be made into an array: give numbers in one dimension") from None
    if found.ndim > 1:
        raise UsageError(f"{name} has shape {found.shape}: give one value for each sample, in one dimension")
    return found.reshape(-1)
