"""A running hub: started from Python, watched until it answers, ended with everything it started."""

from __future__ import annotations

import contextlib
import ctypes
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path

import psutil

from labkit.errors import LabkitError
from labkit.hub.classroom import Classroom

LOG = "hub.log"
DATABASE = "jupyterhub.sqlite"
START_S = 120.0
END_S = 30.0


def free_ports(count: int) -> list[int]:
    """So many ports of this machine that nobody listens on now."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [int(one.getsockname()[1]) for one in sockets]


def reached_at(classroom: Classroom) -> str:
    """The address for people: this machine's own where the hub listens on all of them."""
    if classroom.host not in ("0.0.0.0", "0"):
        return classroom.address
    return f"http://{_own_address() or socket.gethostname()}:{classroom.port}/"


def _own_address() -> str:
    """The address with which this machine reaches others; "" where it has none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe, contextlib.suppress(OSError):
        probe.connect(("192.0.2.254", 9))  # an address for documentation; UDP: nothing is sent
        return str(probe.getsockname()[0])
    return ""


@contextlib.contextmanager
def hub(
    classroom: Classroom, proxy: str, *, password: str, extra: Mapping[str, str]
) -> Iterator[subprocess.Popen[bytes]]:
    """Run JupyterHub for a classroom; yields its process once it answers, ends it and its services afterwards.

    password: what everybody types where accounts are shared; "" where each has an own one.
    Raises LabkitError with the log's last complaint where it doesn't come up.
    """
    settings = {
        "LABKIT_CLASSROOM": str(classroom.place),
        "LABKIT_HUB_PORTS": ",".join(map(str, free_ports(4))),
        "LABKIT_HUB_PROXY": proxy,
        "LABKIT_HUB_PASSWORD": password,
        "CONFIGPROXY_AUTH_TOKEN": secrets.token_hex(32),
    }
    config = Path(__file__).parent / "jupyterhub_config.py"
    log = classroom.place / LOG
    begun = log.stat().st_size if log.exists() else 0
    _forget_others(classroom)
    _adopt_orphans()
    with log.open("ab") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "jupyterhub", "--config", str(config)],
            cwd=classroom.place,
            env={**os.environ, **extra, **settings},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
            umask=0o077,  # the database, the log and what services write: nobody else's to read
        )
    try:
        _await(classroom, process, log, begun)
        yield process
    finally:
        _end(process)


def _forget_others(classroom: Classroom) -> None:
    """Take from the hub's database whoever left the class, with their sessions and tokens, and everybody's groups.

    JupyterHub itself only ever adds: who was in once could come in again, and a teacher would stay one.
    """
    file = classroom.place / DATABASE
    if not file.exists():
        return
    from jupyterhub import orm
    from sqlalchemy.exc import SQLAlchemyError

    try:
        with orm.new_session_factory(f"sqlite:///{file}")() as database:
            for user in database.query(orm.User):
                if user.name in classroom.everybody:
                    user.groups = []  # the configuration fills them
                else:
                    database.delete(user)
            database.commit()
    except orm.DatabaseSchemaMismatch:
        return  # the hub says so itself
    except SQLAlchemyError as error:
        why = str(error).splitlines()[0]
        raise LabkitError(f"{file} can't be used ({why}): move it away, and the hub makes a new one") from None


def _await(classroom: Classroom, process: subprocess.Popen[bytes], log: Path, begun: int) -> None:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise LabkitError(f"the hub ended while it started: {complaint(log, begun)}; all of it is in {log}")
        with contextlib.suppress(OSError, urllib.error.URLError), _open(f"{classroom.address}hub/health") as answer:
            if answer.status == 200:
                return
        time.sleep(0.2)
    raise LabkitError(f"the hub gave no answer within {START_S:g} s: {complaint(log, begun)}; all of it is in {log}")


def _open(address: str):  # type: ignore[no-untyped-def] # what urlopen gives has no public type
    return urllib.request.build_opener(urllib.request.ProxyHandler({})).open(address, timeout=5)


def complaint(log: Path, begun: int = 0) -> str:
    """The last error or critical line of a hub's log after `begun` bytes, without its time and place."""
    with log.open("rb") as file:
        file.seek(begun)
        lines = file.read().decode(errors="replace").splitlines()
    bad = [line for line in lines if line.startswith(("[E", "[C"))] or lines[-1:]
    return bad[-1].partition("] ")[2].strip() or bad[-1] if bad else "it said nothing"


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ask the hub to end, wait, then kill whatever it has left: the proxy and servers have sessions of their own."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(END_S)
    left = psutil.Process().children(recursive=True)
    for one in left:
        with contextlib.suppress(psutil.Error):
            one.kill()
    psutil.wait_procs(left, timeout=5)


def _adopt_orphans() -> None:
    """Processes that lose their parent become ours, so that `_end` finds them (Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
