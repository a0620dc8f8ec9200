"""What must be there before a hub starts, each lack said in one line with the way out."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import importlib.util
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

from labkit.atomic_file import write_atomic
from labkit.errors import LabkitError
from labkit.hub import accounts
from labkit.hub.classroom import Classroom

ROOM = 200 * 2**20
"""Bytes that must be free where the classroom's files lie: databases, logs and hand-ins of a day."""

KEY_MARK = "course-key.sha256"


def check(classroom: Classroom, key: bytes) -> str:
    """Look at everything before anything is made; the proxy's command. Raises LabkitError at the first lack."""
    there = _existing(classroom.place)
    if not there.is_dir():
        raise LabkitError(f"--dir {classroom.place} can't be made: {there} is a file; give another one")
    if importlib.util.find_spec("jupyterhub") is None:
        raise LabkitError("JupyterHub is not installed here: pip install 'labkit[hub]'")
    proxy = proxy_command()
    if classroom.accounts == "own" and os.geteuid() != 0:
        raise LabkitError(
            "accounts of their own for learners need root: sudo labkit hub, or --shared to try the hub out"
        )
    if classroom.accounts == "own":
        accounts.check(classroom.everybody)
        _reachable(classroom.place, "the classroom")
        for python in (sys.executable, os.path.realpath(sys.executable)):
            _reachable(Path(python).parent, "this Python")
    _room(classroom.place)
    _port(classroom)
    _same_key(classroom.place, key)
    return proxy


def proxy_command() -> str:
    """The path of configurable-http-proxy: CONFIGPROXY_CMD, on the PATH, or in a node_modules of this directory.

    Raises LabkitError where there is none, or where it doesn't run.
    """
    named = os.environ.get("CONFIGPROXY_CMD")
    beside = Path("node_modules/.bin/configurable-http-proxy").resolve()
    found = shutil.which(named or "configurable-http-proxy") or (
        str(beside) if beside.is_file() and not named else None
    )
    if found is None and named:
        raise LabkitError(f"CONFIGPROXY_CMD is {named!r}, which is no program: name the file configurable-http-proxy")
    if found is None and shutil.which("npm") is None:
        raise LabkitError(
            "the hub's proxy is missing, and so is npm, which brings it: install Node.js with npm"
            " (Debian: apt-get install npm), then npm install -g configurable-http-proxy"
        )
    if found is None:
        raise LabkitError("the hub's proxy is missing: npm install -g configurable-http-proxy")
    done = subprocess.run([found, "--version"], capture_output=True, text=True, check=False)
    if done.returncode:
        why = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise LabkitError(f"the hub's proxy {found} doesn't run ({why}): npm install -g configurable-http-proxy again")
    return found


def _reachable(place: Path, what: str) -> None:
    """Learners' accounts must be able to open the course and run this Python."""
    for directory in (place, *place.parents):
        if directory.exists() and not directory.stat().st_mode & 0o001:
            raise LabkitError(
                f"{what} lies in {place}, and learners can't enter {directory}: put it elsewhere, such as below /srv,"
                f" or chmod o+x {directory}"
            )


def _existing(place: Path) -> Path:
    """`place`, or where it isn't made yet what is there above it."""
    return next(path for path in (place, *place.parents) if path.exists())


def _room(place: Path) -> None:
    free = shutil.disk_usage(_existing(place)).free
    if free < ROOM:
        raise LabkitError(
            f"only {free // 2**20} MiB are free at {place}: free {ROOM // 2**20} MiB there, or give another --dir"
        )


def _port(classroom: Classroom) -> None:
    nowhere = f"--host {classroom.host} isn't an address of this machine: give 127.0.0.1 or 0.0.0.0"
    if not classroom.host:  # bind would take it for 0.0.0.0
        raise LabkitError(nowhere)
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((classroom.host, classroom.port))
        except (socket.gaierror, UnicodeError):
            raise LabkitError(nowhere) from None
        except OSError as error:
            if error.errno == errno.EADDRNOTAVAIL:
                raise LabkitError(nowhere) from None
            why = (
                "is in use"
                if error.errno == errno.EADDRINUSE
                else f"can't be used ({(error.strerror or str(error)).lower()})"
            )
            raise LabkitError(
                f"port {classroom.port} on {classroom.host} {why}: give another --port, or stop what listens there"
            ) from None


def _same_key(place: Path, key: bytes) -> None:
    """Refuse another course key than the one the class began with: every learner's figures would change."""
    known = None
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        known = (place / KEY_MARK).read_bytes()
    if known not in (None, _mark(key)):
        raise LabkitError(
            f"this is not the course key that the classroom in {place} began with: every learner's figures would"
            " change. Give the first key again (LABKIT_COURSE_KEY or --key), or start a new --dir"
        )


def keep_key(place: Path, key: bytes) -> None:
    """Remember which key the class began with, so that the next start refuses another."""
    if not (place / KEY_MARK).exists():
        write_atomic(place / KEY_MARK, _mark(key))


def _mark(key: bytes) -> bytes:
    return hashlib.sha256(b"labkit course key\0" + key).hexdigest().encode()
