"""`labkit lab`: the course in JupyterLab, in this Python's own environment."""

from __future__ import annotations

import importlib.util
import os
import secrets
import shutil
import socket
import subprocess
import sys
from pathlib import Path

from labkit.cli.places import FIRST, INSTALLED, course_dir, holds_labs
from labkit.errors import UsageError

HOST = "127.0.0.1"
TRIES = 50  # ports looked at before giving up
COPY = "labkit-course"
SETTINGS = Path(__file__).parent / "jupyter"


def launch(directory: Path | None, *, port: int, browser: bool, fork_kernels: bool = False) -> int:
    """Become JupyterLab; returns only on Windows, or where it can't be started.

    Raises:
        UsageError: JupyterLab isn't installed, no port is free, or the labs can't be put in `directory`.
    """
    if importlib.util.find_spec("jupyterlab") is None:
        raise UsageError("JupyterLab is not installed here: run make lab, or pip install labkit again")
    place = prepare(directory)
    chosen = free_port(port)
    if chosen != port:
        print(f"labkit lab: port {port} is in use: taking {chosen}", file=sys.stderr)
    token = os.environ.get("JUPYTER_TOKEN") or secrets.token_hex(24)
    address = f"http://{HOST}:{chosen}/lab/tree/{FIRST}?token={token}"
    print(f"JupyterLab {'opens' if browser else 'runs'} at {address}  (Ctrl-C ends it)", flush=True)
    # The token goes by the environment: other people can read a process's arguments.
    environment = {**os.environ, "JUPYTER_TOKEN": token, "JUPYTER_CONFIG_PATH": _config_path()}
    words = command(place, chosen, browser=browser)
    if fork_kernels:
        from labkit.hub import kernel_provisioner as forked

        environment[forked.VARIABLE] = forked.NAME
        words.append(f"--ServerApp.jpserver_extensions={forked.EXTENSION}=True")
    if sys.platform != "win32":
        os.execve(sys.executable, words, environment)
    return subprocess.call(words, env=environment)


def _config_path() -> str:
    """labkit's few settings before the person's own: no question whether to fetch news. No option switches it off."""
    return os.pathsep.join(filter(None, [str(SETTINGS), os.environ.get("JUPYTER_CONFIG_PATH")]))


def prepare(directory: Path | None) -> Path:
    """The directory to open. Labs from an installed package are copied first, never over a file that is there."""
    if directory is None:
        source = course_dir()
        if source != INSTALLED:
            return source
        directory = Path(COPY)
    if directory.exists() and not directory.is_dir():
        raise UsageError(f"{directory} is a file: name a directory for the labs")
    if holds_labs(directory) and (directory / FIRST).exists():
        return directory.resolve()
    copied = copy_labs(course_dir(), directory)
    print(f"labkit lab: {copied} labs copied to {directory}", file=sys.stderr)
    return directory.resolve()


def copy_labs(source: Path, target: Path) -> int:
    """Copy the labs; files that are there already stay as they are. Returns how many were copied."""
    copied = 0
    target.mkdir(parents=True, exist_ok=True)
    for file in sorted(source.glob("[0-9][0-9]_*.ipynb")):
        to = target / file.name
        if to.exists():
            continue
        with file.open("rb") as reader, to.open("xb") as writer:
            shutil.copyfileobj(reader, writer)
        copied += 1
    return copied


def free_port(port: int) -> int:
    """`port`, or the next one that nobody listens on."""
    if not 1 <= port <= 65535:
        raise UsageError(f"port is {port}: give a number from 1 to 65535")
    for candidate in range(port, min(port + TRIES, 65536)):
        with socket.socket() as probe:
            if os.name != "nt":  # as the server does; a port of a server that has just ended is free
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((HOST, candidate))
            except PermissionError:
                raise UsageError(f"port {port} needs the rights of root: give 1024 or more") from None
            except OSError:
                continue
            return candidate
    raise UsageError(f"ports {port} to {min(port + TRIES, 65536) - 1} are all in use: give another --port")


def command(place: Path, port: int, *, browser: bool) -> list[str]:
    """The command line of JupyterLab: offline, without pop-ups, ending at the first Ctrl-C."""
    words = [sys.executable, "-m", "jupyterlab", f"--ServerApp.root_dir={place}", f"--ServerApp.ip={HOST}"]
    words += [f"--ServerApp.port={port}", "--ServerApp.port_retries=0", f"--LabApp.default_url=/lab/tree/{FIRST}"]
    words += ["--ServerApp.answer_yes=True", "--Application.log_level=WARN", f"--ServerApp.open_browser={browser}"]
    words += ["--LabApp.news_url=None", "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate"]
    words += ["--LabApp.extension_manager=readonly"]  # the extension manager asks PyPI
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        words.append("--allow-root")
    return words
