from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from labkit.checks.plain import NotPlain, Unanswered, plain

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(JSON)
def test_plain_values_stay_as_they_are(value):
    assert plain(value) == value


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.float64(2.5), 2.5),
        (np.int32(3), 3),
        (np.bool_(True), True),
        (np.arange(3), [0, 1, 2]),
        (torch.tensor([[1.0, 2.0]]), [[1.0, 2.0]]),
        (torch.tensor(4), 4),
        (torch.nn.Parameter(torch.ones(2)), [1.0, 1.0]),
        (pd.Series([1, 2]), [1, 2]),
        (range(3), [0, 1, 2]),
        ((1, [2, (3,)]), (1, [2, (3,)])),
        (Counter("aab"), {"a": 2, "b": 1}),
        (defaultdict(int, a=1), {"a": 1}),
        ({np.int64(1): np.float32(0.5)}, {1: 0.5}),
    ],
)
def test_arrays_become_lists(value, expected):
    rebuilt = plain(value)
    assert rebuilt == expected
    assert type(rebuilt) is type(expected)


class Always(int):
    """Claims to equal everything."""

    def __eq__(self, other):
        return True

    __hash__ = int.__hash__


class Tensor(torch.Tensor):
    pass


class Mine(np.ndarray):
    pass


@pytest.mark.parametrize(
    "value",
    [
        Always(3),
        [1, Always(3)],
        {"a": Always(3)},
        torch.zeros(1).as_subclass(Tensor),
        np.zeros(1).view(Mine),
        (x for x in [1]),
        {1, 2},
        object(),
        b"bytes",
        1 + 2j,
        {(1, 2): 3},
        np.array([object()]),
        np.longdouble(1),
        np.ones(2, dtype=np.longdouble),
        np.clongdouble(1),
        pd.DataFrame({"a": [1]}),
        type("Str", (str,), {})("x"),
        [0] * 1_000_001,
    ],
    ids=lambda v: type(v).__name__,
)
def test_anything_else_is_refused(value):
    with pytest.raises(NotPlain):
        plain(value)


def test_nested_too_deep():
    value: list = []
    for _ in range(30):
        value = [value]
    with pytest.raises(NotPlain, match="nested deeper"):
        plain(value)


@pytest.mark.parametrize(
    ("value", "where"), [(..., "the answer"), ({"serial": 1, "overlapped": ...}, "overlapped"), ([1, ...], r"\[1\]")]
)
def test_open_answers_are_named(value, where):
    with pytest.raises(Unanswered, match=where):
        plain(value)
