from __future__ import annotations

import contextlib
import functools
import os
import shutil
from pathlib import Path

import labdriver
import pytest

ROOT = Path(__file__).parents[2]
SHOTS = os.environ.get("LABKIT_SCREENSHOTS")  # a folder: screenshots are kept there, to be looked at


THEMES = {"light": "JupyterLab Light", "dark": "JupyterLab Dark"}
ALL = SHOTS or os.environ.get("LABKIT_FULL", "0") not in ("", "0")


def pytest_generate_tests(metafunc):
    """Both themes for a test marked by `labdriver.both_themes`, or where a person looks at screenshots; else light."""
    if "theme" in metafunc.fixturenames:
        both = ALL or getattr(metafunc.function, "both_themes", False)
        metafunc.parametrize("theme", ["light", "dark"] if both else ["light"], scope="session")


@pytest.fixture(scope="session")
def servers(tmp_path_factory):
    """A JupyterLab for each theme, started when it is first asked for; every test opens another lab in it."""
    with contextlib.ExitStack() as running:

        @functools.cache
        def server(theme):
            place = tmp_path_factory.mktemp(theme)
            labs, home = place / "labs", place / "home"
            labs.mkdir()
            home.mkdir()
            for path in (ROOT / "notebooks").glob("*.ipynb"):
                shutil.copy(path, labs)
            return running.enter_context(labdriver.lab_server(labs, home, theme=THEMES[theme]))

        yield server


@pytest.fixture
def server(chromium, servers, theme):
    """A JupyterLab on a copy of the labs."""
    server = servers(theme)
    yield server
    server.end_kernels()


@pytest.fixture
def page(chromium, server):
    """A page that remembers errors in the console and requests to other hosts."""
    context = chromium.new_context(viewport={"width": 1280, "height": 1000})
    page = context.new_page()
    page.errors, page.strangers = [], []
    page.on("pageerror", lambda error: page.errors.append(str(error)))
    page.on(
        "request",
        lambda request: (
            page.strangers.append(request.url)
            if not request.url.startswith((server.url, server.url.replace("http", "ws"), "data:", "blob:"))
            else None
        ),
    )
    yield page
    context.close()


@pytest.fixture
def shot(request, page):
    """Keep a screenshot where LABKIT_SCREENSHOTS says; whole cells, as a person sees them."""

    def take(name: str, locator=None) -> None:
        if SHOTS and locator is not None:
            locator.scroll_into_view_if_needed()
        labdriver.keep(locator or page, f"{request.node.name}-{name}")

    return take
