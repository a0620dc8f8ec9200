"""A real JupyterLab in a real Chromium, driven the way a person does."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import Locator, Page, sync_playwright

# Quiet, offline, and willing to run as root in a container.
CHROMIUM_FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
]  # fmt: skip


def find_chromium() -> str | None:
    """Debian's Chromium, or another one on the PATH."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    return os.environ.get("LABKIT_CHROMIUM") or next(filter(None, map(shutil.which, names)), None)


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@dataclass
class Server:
    url: str
    token: str

    def end_kernels(self) -> None:
        """What a closed page leaves running."""
        ask = f"{self.url}/api/sessions"
        with urllib.request.urlopen(f"{ask}?token={self.token}") as reply:
            sessions = json.load(reply)
        for session in sessions:
            request = urllib.request.Request(f"{ask}/{session['id']}?token={self.token}", method="DELETE")
            urllib.request.urlopen(request).close()


def both_themes(test: Any) -> Any:
    """A test that holds something of the dark theme too, and is run in both."""
    test.both_themes = True
    return test


@contextlib.contextmanager
def lab_server(directory: Path, home: Path, *, theme: str = "JupyterLab Light", **environ: str) -> Iterator[Server]:
    """`labkit lab` on `directory`, with settings and progress of its own under `home`."""
    settings = home / "settings"
    # All cells in the page, so that a test finds them.
    _setting(settings, "notebook-extension/tracker", {"windowingMode": "none"})
    _setting(settings, "apputils-extension/themes", {"theme": theme})
    port = free_port()
    env = os.environ | {
        "JUPYTERLAB_SETTINGS_DIR": str(settings),
        "JUPYTERLAB_WORKSPACES_DIR": str(home / "workspaces"),
        "JUPYTER_CONFIG_DIR": str(home / "config"),
        "JUPYTER_DATA_DIR": str(home / "data"),
        "JUPYTER_TOKEN": "browser-test",
        "LABKIT_PROGRESS": str(home / "progress.sqlite"),
        "LABKIT_LEARNER": "ada",
        **environ,
    }
    command = [sys.executable, "-m", "labkit.cli", "lab", str(directory), "--no-browser", "--port", str(port)]
    log = (home / "server.log").open("w")
    process = subprocess.Popen(command, env=env, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
    url = f"http://127.0.0.1:{port}"
    try:
        _wait_for(f"{url}/api?token=browser-test", process, home / "server.log")
        yield Server(url, "browser-test")
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(15)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        log.close()


def _setting(settings: Path, name: str, values: dict[str, Any]) -> None:
    path = settings / "@jupyterlab" / f"{name}.jupyterlab-settings"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(values))


def _wait_for(url: str, process: subprocess.Popen[Any], log: Path) -> None:
    end = time.monotonic() + 120
    while time.monotonic() < end:
        if process.poll() is not None:
            break
        with contextlib.suppress(OSError), urllib.request.urlopen(url, timeout=5):
            return
        time.sleep(0.2)
    raise RuntimeError(f"JupyterLab did not come up:\n{log.read_text()[-3000:]}")


@contextlib.contextmanager
def browser() -> Iterator[Any]:
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=find_chromium(), args=CHROMIUM_FLAGS)
        try:
            yield chromium
        finally:
            chromium.close()


def keep(target: Page | Locator, name: str) -> None:
    """A screenshot for a person to look at, in the folder that LABKIT_SCREENSHOTS names; none without it."""
    if folder := os.environ.get("LABKIT_SCREENSHOTS"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        target.screenshot(path=str(Path(folder) / f"{name}.png"))


def cell_of(exercise: str, role: str) -> str:
    """The id of an exercise's cell: "pipeline.steady_state", "check" -> "pipeline-steady-state-check"."""
    return exercise.replace(".", "-").replace("_", "-") + "-" + role


def fits(locator: Locator) -> bool:
    """Nothing is cut off at the right."""
    return bool(locator.evaluate("e => e.scrollWidth <= e.clientWidth + 1"))


def alt(output: Locator) -> str:
    """The text twin of the first picture."""
    image = output.locator("img[alt]").first
    image.wait_for()
    return image.get_attribute("alt") or ""


class Notebook:
    """A notebook open in JupyterLab. Cells are found by their stable ids."""

    def __init__(self, page: Page, server: Server, path: str, order: list[str]) -> None:
        self.page, self.order = page, order
        own = f"{server.url}/lab/workspaces/{path.partition('.')[0]}"  # no tabs of another test's
        page.goto(f"{own}/tree/{path}?token={server.token}")
        page.locator(".jp-Notebook .jp-CodeCell").first.wait_for(timeout=90_000)
        self.wait_idle()

    def wait_idle(self, timeout: float = 90) -> None:
        """Until the kernel is there and has nothing to do, twice in a row."""
        end, calm = time.monotonic() + timeout, 0
        while calm < 3:
            assert time.monotonic() < end, "the kernel stays busy"
            calm = calm + 1 if self._idle() else 0
            self.page.wait_for_timeout(150)

    def _idle(self) -> bool:
        """As the status bar says it: before the kernel is there the notebook's own sign says idle, too."""
        bar = self.page.locator("#jp-bottom-panel, .jp-StatusBar-Widget").first.inner_text()
        sign = self.page.locator(".jp-NotebookPanel:not(.lm-mod-hidden) .jp-Notebook-ExecutionIndicator").first
        return "| Idle" in bar and sign.get_attribute("data-status") == "idle"

    def cell(self, id: str) -> Locator:
        return self.page.locator(".jp-NotebookPanel:not(.lm-mod-hidden) .jp-Notebook .jp-Cell").nth(
            self.order.index(id)
        )

    def output(self, id: str) -> Locator:
        return self.cell(id).locator(".jp-OutputArea").first

    def run(self, id: str, timeout: float = 90) -> Locator:
        """Run a cell with Shift+Enter until it has run (under load the keys can get lost). Returns its output."""
        prompt = self.cell(id).locator(".jp-InputPrompt").first
        before = prompt.inner_text()
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            self.cell(id).locator(".jp-InputArea-editor").first.click()
            self.page.keyboard.press("Shift+Enter")
            for _ in range(20):
                self.page.wait_for_timeout(150)
                if prompt.inner_text() not in (before, "[*]:"):
                    self.wait_idle()
                    return self.output(id)
                if prompt.inner_text() == "[*]:":
                    self.wait_idle(timeout)
                    return self.output(id)
        raise AssertionError(f"cell {id} never ran")

    def type(self, id: str, source: str) -> None:
        """Replace a cell's source by typing."""
        self.cell(id).locator(".jp-InputArea-editor").first.click()
        self.page.keyboard.press("Control+A")
        self.page.keyboard.insert_text(source)

    def save(self, file: Path, timeout: float = 60) -> None:
        """Ctrl+S, until the file has changed."""
        before, end = file.stat().st_mtime_ns, time.monotonic() + timeout
        while file.stat().st_mtime_ns == before:
            assert time.monotonic() < end, f"{file.name} was not saved"
            self.page.keyboard.press("Control+s")
            self.page.wait_for_timeout(500)

    def run_all(self, timeout: float = 180) -> None:
        """Run > Run All Cells, from the menu, until every code cell has its number."""
        self.page.locator(".lm-MenuBar-item", has_text="Run").first.click()
        self.page.locator(".lm-Menu-item", has_text="Run All Cells").first.click()
        prompts = self.page.locator(".jp-NotebookPanel:not(.lm-mod-hidden) .jp-CodeCell .jp-InputPrompt")
        end = time.monotonic() + timeout
        while waiting := [text for text in prompts.all_inner_texts() if not re.fullmatch(r"\[\d+\]:", text)]:
            assert time.monotonic() < end, f"{len(waiting)} cells never ran"
            self.page.wait_for_timeout(200)
        self.wait_idle(timeout)
