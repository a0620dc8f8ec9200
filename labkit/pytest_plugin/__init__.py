"""pytest plugin: what `pytest --nbval-lax notebooks/` says about a lab.

nbval collects and runs the notebooks. For a notebook with labkit's metadata this plugin names the cells by exercise,
counts an error in a check cell as a failure, ends at once when the kernel dies, and shortens the report. Every other
notebook, and every other test, is left as it is: nothing but this file is imported for them.
"""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator

CELL_TIMEOUT = 120.0  # seconds; nbval's own default is 2,000


def pytest_configure(config: pytest.Config) -> None:
    """Settle the time a lab's cell may take."""
    if _nbval(config):
        config.option.labkit_cell_timeout = None if _gave(config, "--nbval-cell-timeout") else CELL_TIMEOUT


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Under `pytest -n`, keep the cells of a notebook on one worker, in their order.

    The kernel lives in one process, and xdist sends single tests to whoever is free: with `--dist load` by design, with
    `--dist loadgroup` because xdist 3.8's groups have no effect under pytest 9.2.
    """
    if not _nbval(config) or config.getvalue("dist") not in ("load", "loadgroup", "worksteal"):
        return None
    from labkit.pytest_plugin.scheduler import NotebookScheduling

    return NotebookScheduling(config, log)


def _nbval(config: pytest.Config) -> bool:
    return bool(getattr(config.option, "nbval", False) or getattr(config.option, "nbval_lax", False))


def _gave(config: pytest.Config, option: str) -> bool:
    """Whether a person gave this option: on the command line, in PYTEST_ADDOPTS or in the configuration's addopts."""
    given = [
        *map(str, config.invocation_params.args),
        *shlex.split(os.environ.get("PYTEST_ADDOPTS", "")),
        *config.getini("addopts"),
    ]
    return any(word == option or word.startswith(f"{option}=") for word in given)


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(
    file_path: Path, parent: pytest.Collector
) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Put a lab's own collector in the place of nbval's."""
    nodes = yield
    if file_path.suffix != ".ipynb" or not nodes or "nbval.plugin" not in sys.modules:
        return nodes
    from labkit.pytest_plugin.cells import as_lab

    return [as_lab(node) for node in nodes]


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Bring each lab's cells back into the order of the notebook, should a plugin have shuffled them."""
    if not _nbval(config):
        return
    first: dict[pytest.Item, int] = {}  # a lab's collector -> place of its first cell
    keys: dict[pytest.Item, tuple[int, int]] = {}
    for place, item in enumerate(items):
        number = getattr(item, "labkit_number", None)
        keys[item] = (place, 0) if number is None else (first.setdefault(item.parent, place), number)  # type: ignore[arg-type]
    items.sort(key=keys.__getitem__)
