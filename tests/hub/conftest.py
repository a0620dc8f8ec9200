"""A real classroom: `labkit hub` as a teacher runs it, with accounts of this machine that are gone afterwards."""

from __future__ import annotations

import contextlib
import csv
import html
import http.cookiejar
import json
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest

from labkit.errors import LabkitError
from labkit.hub import accounts, preflight

sys.path.insert(0, str(Path(__file__).parents[1] / "grading"))
import nobody  # the interpreter stays visible to other accounts although its parent is closed to them

ROOT = Path(__file__).parents[2]


def impossible() -> str:
    """Why no classroom can run here; "" where it can."""
    if os.geteuid() != 0:
        return "a classroom with accounts of its own needs root"
    if why := nobody.possible():
        return why
    try:
        preflight.proxy_command()
    except LabkitError as error:
        return str(error)
    return ""


@dataclass
class Room:
    """A running classroom. ada, bob, eve learn, tess teaches; the accounts' names carry a random part."""

    place: Path
    port: int
    names: dict[str, str]
    process: subprocess.Popen[bytes] | None = None
    key: str = "the key of this class"
    log: Path = field(init=False)

    def __post_init__(self) -> None:
        self.log = self.place / "hub.log"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def password(self, who: str) -> str:
        with (self.place / accounts.PASSWORDS).open() as file:
            return next(row["password"] for row in csv.DictReader(file) if row["name"] == self.names[who])

    def start(self, *given: str) -> str:
        """Start it with the class's names and port, or with what is given instead; what the command has said."""
        people = [f"--learner={self.names[who]}" for who in ("ada", "bob", "eve")] + [f"--teacher={self.names['tess']}"]
        words = [sys.executable, "-m", "labkit.cli", "hub", f"--dir={self.place}"]
        words += given or [f"--port={self.port}", *people]
        said = self.place.with_suffix(".said")
        with said.open("wb") as out:
            self.process = subprocess.Popen(
                nobody.command(words, drop=False), stdout=out, stderr=out, cwd=ROOT, start_new_session=True,
                env={**os.environ, "LABKIT_COURSE_KEY": self.key},
            )  # fmt: skip
        deadline = time.monotonic() + 120
        while b"is open at" not in said.read_bytes():
            assert self.process.poll() is None, said.read_text()
            assert time.monotonic() < deadline, said.read_text()
            time.sleep(0.1)
        return said.read_text()

    def stop(self, number: int = signal.SIGTERM) -> None:
        assert self.process is not None
        inside = psutil.Process(self.process.pid).children(recursive=True)
        os.kill(self.process.pid, number)
        self.process.wait(60)
        _, alive = psutil.wait_procs(inside, timeout=10)
        assert not alive, f"left running: {alive}"

    def person(self, who: str) -> Person:
        return Person(self, who)


class Person:
    """Somebody at a browser, without the browser: cookies, and tokens as a server of theirs would hold."""

    def __init__(self, room: Room, who: str) -> None:
        self.room, self.name = room, room.names[who]
        jar = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), jar)
        form = {"username": self.name, "password": room.password(who), "_xsrf": self._xsrf("/hub/login")}
        self.get("/hub/login?next=%2Fhub%2Ftoken", urllib.parse.urlencode(form).encode())
        self.token = self.new_token()

    def _xsrf(self, path: str) -> str:
        found = re.search(r'name="_xsrf" value="([^"]*)"|xsrf_token: "([^"]*)"', self.get(path))
        assert found, path
        return html.unescape(found[1] or found[2])

    def get(self, path: str, data: bytes | None = None) -> str:
        with self._opener.open(self.room.url + path, data, timeout=60) as answer:
            return answer.read().decode()

    def new_token(self, seconds: int | None = None) -> str:
        asked = json.dumps({"note": "test", "expires_in": seconds}).encode()
        headers = {"X-XSRFToken": self._xsrf("/hub/token"), "Content-Type": "application/json"}
        address = f"{self.room.url}/hub/api/users/{self.name}/tokens"
        with self._opener.open(urllib.request.Request(address, asked, headers), timeout=60) as answer:
            return str(json.load(answer)["token"])

    def ask(
        self, path: str, method: str = "GET", body: bytes | None = None, token: str | None = None
    ) -> tuple[int, str]:
        """A request as a kernel or a command makes it: status and text."""
        headers = {"Authorization": f"token {token or self.token}"}
        request = urllib.request.Request(f"{self.room.url}/services/{path}", body, headers, method=method)
        try:
            with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=60) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def labkit(self, *words: object, token: str | None = None, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
        """`labkit` as in a terminal of this person's server."""
        services = {f"LABKIT_{name.upper()}": f"{self.room.url}/services/{name}/" for name in ("board", "inbox")}
        env = {**os.environ, **services, "JUPYTERHUB_API_TOKEN": token or self.token}
        line = [sys.executable, "-m", "labkit.cli", *map(str, words)]
        return subprocess.run(line, env=env, cwd=cwd, capture_output=True, text=True, timeout=120, check=False)


@pytest.fixture(scope="module")
def room():
    if why := impossible():
        (pytest.fail if os.environ.get("LABKIT_REQUIRE_HUB") else pytest.skip)(why)
    mark = secrets.token_hex(2)
    names = {who: f"lk{who}{mark}" for who in ("ada", "bob", "eve", "dora", "tess")}
    place = Path(tempfile.mkdtemp(prefix="labkit-test-", dir="/srv"))
    place.chmod(0o711)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    room = Room(place, port, names)
    try:
        room.start()
        yield room
        room.stop()
    finally:
        if room.process and room.process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(room.process.pid, signal.SIGKILL)
        accounts.remove([*names.values()])
        shutil.rmtree(place)
        place.with_suffix(".said").unlink(missing_ok=True)
