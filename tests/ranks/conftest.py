"""One worker for all tests of ranks, so one fork server; its processes carry a mark."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import leftovers
import pytest

from labkit import ranks

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent == HERE:
            item.add_marker(pytest.mark.xdist_group("ranks"))


@pytest.fixture(autouse=True, scope="session")
def _mark() -> Iterator[None]:
    ranks.stop()  # started by another topic's tests, without the mark
    name, value = leftovers.MARK.split("=")
    os.environ[name] = value
    yield
    del os.environ[name]
    ranks.stop()
