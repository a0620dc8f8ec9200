"""How far a metric's own running sums are from where their type stops counting."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from labkit.metrics.arrays import as_array
from labkit.metrics.evaluation import Subject
from labkit.metrics.precision import INTEGERS, SIGNIFICANT, dtype_name, float_stall


@dataclass(frozen=True)
class Headroom:
    """One running sum or count inside a metric.

    Attributes:
        state: its name inside the metric.
        dtype: its type.
        value: what it is after all samples once.
        per_sample: how much a sample adds, on average; its unit is the state's own.
        stops_at: where adding that much changes nothing any more.
        samples_left: samples until then, counted from `value`. Small against the data you count: values go wrong.
        tried: whether it was set there and one more sample was really lost; None where that can't be tried (the amount
            that a sample adds isn't always the same).
    """

    state: str
    dtype: str
    value: float
    per_sample: float
    stops_at: float
    samples_left: int
    tried: bool | None


def headroom(subject: Subject) -> tuple[Headroom, ...]:
    """Every number inside the metric that grows by the same with every pass over the data.

    A metric whose update needs another call first, or that keeps no numbers, gives none.
    """
    if not subject.is_object:
        return ()
    everything = range(len(subject.targets))
    made = subject.fresh()
    subject.feed(made, everything)
    once = dict(_numbers(made))
    subject.feed(made, everything)
    twice = dict(_numbers(made))
    found = []
    for path, (first, dtype) in once.items():
        growth = twice[path][0] - first if path in twice and twice[path][0].shape == first.shape else np.zeros(1)
        if (dtype not in SIGNIFICANT and dtype not in INTEGERS) or not np.isfinite(growth).all():
            continue
        place = int(np.argmax(growth))
        step, value = float(growth.flat[place]) / len(everything), float(first.flat[place])
        if step > 1e-12 and value <= 1.001 * growth.flat[place]:  # it started at about 0 and grows evenly: a sum
            stops = float(float_stall(dtype, step).at)
            left = max(0, int((stops - value) / step))
            found.append(Headroom(".".join(path), dtype, value, step, stops, left, _tried(subject, path, dtype)))
    return tuple(found)


def _tried(subject: Subject, path: tuple[str, ...], dtype: str) -> bool | None:
    """Set a count of ones to where its type should stop, add one sample, and look."""
    made = subject.fresh()
    subject.feed(made, [0])
    first = dict(_numbers(made)).get(path)
    if first is None or dtype not in SIGNIFICANT or first[0].max() != 1.0:
        return None
    at = float_stall(dtype).at
    holder = made
    for name in path[:-1]:
        holder = getattr(holder, name)
    state = getattr(holder, path[-1])
    if not hasattr(state, "detach"):
        return None
    import torch

    setattr(holder, path[-1], torch.full_like(state, at))
    try:
        subject.feed(made, [0])
    except Exception:  # a metric may refuse a state it can't have come to; then it can't be tried
        return None
    after = dict(_numbers(made))[path][0]
    return bool((after == at).all())


def _numbers(
    made: Any, path: tuple[str, ...] = (), depth: int = 2
) -> Iterator[tuple[tuple[str, ...], tuple[Any, str]]]:
    """Small numeric states: torchmetrics' declared ones, else the object's attributes, and those of its parts."""
    names = getattr(made, "_defaults", None) or getattr(made, "__dict__", {})
    for name in list(names):
        value = getattr(made, name, None)
        if name.startswith("__") or isinstance(value, bool | str | type) or value is None:
            continue
        if isinstance(value, int | float | np.number | np.ndarray) or hasattr(value, "detach"):
            if not 0 < np.prod(np.shape(value)) <= 4096:  # rows kept for later aren't running sums
                continue
            yield (*path, name), (np.atleast_1d(copy.deepcopy(as_array(value)).astype(np.float64)), _dtype(value))
        elif depth and not isinstance(value, FunctionType | ModuleType) and hasattr(value, "__dict__"):
            yield from _numbers(value, (*path, name), depth - 1)


def _dtype(value: Any) -> str:
    if isinstance(value, int):
        return "int"  # Python's own has no limit
    if isinstance(value, float) and not isinstance(value, np.floating):
        return "float64"
    try:
        return dtype_name(value.dtype)
    except ValueError:
        return str(value.dtype)
