"""Shared by all tests: nobody's real progress file is touched, and the learner is always the same."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import hypothesis
import pytest

pytest_plugins = "pytester"

# Ranks, workers and kernels inherit it: one thread each, or two cores thrash.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# A busy machine is no fault. CI tries the same examples each time, so that it never fails on luck; new ones are for us.
hypothesis.settings.register_profile("labkit", deadline=None, derandomize=bool(os.environ.get("CI")))
hypothesis.settings.load_profile("labkit")

ROOT = Path(__file__).parents[1]

# Processes that tests start are spared an import that they don't need: see the file there.
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT / "tests" / "lean"), os.environ.get("PYTHONPATH")]))


@pytest.fixture(autouse=True)
def _own_progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LABKIT_PROGRESS", str(tmp_path / "progress.sqlite"))
    monkeypatch.setenv("LABKIT_LEARNER", "ada")
    monkeypatch.delenv("LABKIT_COURSE_KEY", raising=False)
    monkeypatch.delenv("JUPYTERHUB_USER", raising=False)


@pytest.fixture(scope="session")
def amount() -> Callable[..., int]:
    """`amount(42, full=200)`: 42 repetitions, or with LABKIT_FULL=1 the 200 that we vouch for."""
    wanted = os.environ.get("LABKIT_FULL", "0") not in ("", "0")
    return lambda usual, *, full: full if wanted else usual


@pytest.fixture
def root() -> Path:
    """The repository."""
    return ROOT


@pytest.fixture(scope="module")
def chromium():
    """A real Chromium, ended with the module: while Playwright's loop runs, no other test here could run one."""
    import labdriver  # brings Playwright along: only where a browser test runs

    if labdriver.find_chromium() is None:
        reason = "no Chromium found: install Debian's chromium, or name one in LABKIT_CHROMIUM"
        (pytest.fail if os.environ.get("LABKIT_REQUIRE_BROWSER") else pytest.skip)(reason)
    with labdriver.browser() as chromium:
        yield chromium
