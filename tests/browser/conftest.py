from __future__ import annotations

import os
import shutil
from pathlib import Path

import labdriver
import pytest

ROOT = Path(__file__).parents[2]
SHOTS = os.environ.get("LABKIT_SCREENSHOTS")  # a folder: screenshots are kept there, to be looked at


@pytest.fixture(params=["JupyterLab Light", "JupyterLab Dark"], ids=["light", "dark"])
def theme(request):
    return request.param


@pytest.fixture
def server(chromium, tmp_path, theme):
    """A JupyterLab on a copy of the labs."""
    labs = tmp_path / "labs"
    labs.mkdir()
    for path in (ROOT / "notebooks").glob("*.ipynb"):
        shutil.copy(path, labs)
    home = tmp_path / "home"
    home.mkdir()
    with labdriver.lab_server(labs, home, theme=theme) as server:
        yield server


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
        if SHOTS:
            Path(SHOTS).mkdir(parents=True, exist_ok=True)
            path = str(Path(SHOTS) / f"{request.node.name}-{name}.png")
            if locator is not None:
                locator.scroll_into_view_if_needed()
            (locator or page).screenshot(path=path)

    return take
