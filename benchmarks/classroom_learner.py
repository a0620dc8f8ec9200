"""One simulated learner: a real log-in over HTTP, a real server, a real kernel that runs a lab's cells."""

from __future__ import annotations

import html
import http.cookiejar
import json
import re
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import websocket

from labkit.course import lay, load
from labkit.course.answers import read_answer_file

ROOT = Path(__file__).parents[1]
RESULT = "application/vnd.labkit.result+json"
PATIENCE_S = 200.0


@dataclass
class Learner:
    """Somebody who logs in and works.

    Attributes:
        times: what took how long, in s: log-in, server (asked for until it answers), course (pulled), kernel (asked for
            until it has imported torch and made a tensor), lab 01 (first cell to last check).
        failures: what went wrong, in words; none in a class that works.
        kernel_pid: of the first kernel; 0 before.
    """

    hub: str
    name: str
    password: str
    times: dict[str, float] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    kernel_pid: int = 0
    _token: str = ""

    def __post_init__(self) -> None:
        jar = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        self._browser = urllib.request.build_opener(urllib.request.ProxyHandler({}), jar)

    def arrive(self) -> None:
        """Log in, start the server, pull the course."""
        begin = time.perf_counter()
        self.log_in("/hub/token")
        headers = {"X-XSRFToken": self._xsrf("/hub/token"), "Content-Type": "application/json"}
        asked = urllib.request.Request(f"{self.hub}/hub/api/users/{self.name}/tokens", b"{}", headers)
        with self._browser.open(asked, timeout=PATIENCE_S) as answer:
            self._token = json.load(answer)["token"]
        self._took("log-in", begin)
        begin = time.perf_counter()
        self.ask("POST", f"/hub/api/users/{self.name}/server", {})
        while not self.ask("GET", f"/hub/api/users/{self.name}")["servers"].get("", {}).get("ready"):
            if time.perf_counter() - begin > PATIENCE_S:
                raise TimeoutError("the server doesn't come up")
            time.sleep(0.25)
        self._took("server", begin)

    def log_in(self, then: str) -> None:
        """As at the form; afterwards the browser is at `then`."""
        form = {"username": self.name, "password": self.password, "_xsrf": self._xsrf("/hub/login")}
        self._page(f"/hub/login?{urllib.parse.urlencode({'next': then})}", urllib.parse.urlencode(form).encode())

    def pull(self, repository: str) -> None:
        """What the hub's link does."""
        begin = time.perf_counter()
        link = urllib.parse.urlencode({"repo": repository, "branch": "main", "targetpath": "labkit-course"})
        said = self._open("GET", f"/user/{self.name}/git-pull/api?{link}").decode()
        if '"phase": "finished"' not in said:
            raise RuntimeError(f"the course wasn't pulled: {said[-200:]}")
        self._took("course", begin)

    def kernel(self) -> Kernel:
        """A new kernel, torch imported in its first cell."""
        begin = time.perf_counter()
        kernel = Kernel(self)
        said = kernel.run("import os, torch\ntorch.ones(2).sum()\nprint(os.getpid())")[0]
        if "kernel" not in self.times:
            self._took("kernel", begin)
            self.kernel_pid = int(said)
        return kernel

    def lab(self, number: str, kernel: Kernel) -> None:
        """Run a lab with the right answers, cell by cell; a check that doesn't pass is a failure."""
        path = next((ROOT / "notebooks").glob(f"{number}_*.ipynb"))
        lab = load(path)
        answers: dict[str, Any] = {}
        for file in sorted((ROOT / "tests" / "answers" / number).glob("*.py")):
            first = next(one for one in read_answer_file(file) if one.right)
            answers[first.exercise] = first.sources
        begin = time.perf_counter()
        for cell in lay(lab, answers)["cells"]:
            if cell["cell_type"] != "code":
                continue
            text, verdicts = kernel.run("".join(cell["source"]))
            self.failures += [f"{cell['id']}: {verdict}" for verdict in verdicts if verdict != "passed"]
            if "Error" in text and "Traceback" in text:
                self.failures.append(f"{cell['id']}: {text[-200:]}")
        self._took(f"lab {number}", begin)

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """A JSON request with this learner's token."""
        said = self._open(method, path, None if body is None else json.dumps(body).encode())
        return json.loads(said) if said else None

    def _open(self, method: str, path: str, body: bytes | None = None) -> bytes:
        headers = {"Authorization": f"token {self._token}", "Content-Type": "application/json"}
        request = urllib.request.Request(self.hub + path, body, headers, method=method)
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=PATIENCE_S) as answer:
            return bytes(answer.read())

    def _page(self, path: str, data: bytes | None = None) -> str:
        with self._browser.open(self.hub + path, data, timeout=PATIENCE_S) as answer:
            return str(answer.read().decode())

    def page(self, path: str) -> str:
        """A page as the browser of somebody logged in gets it."""
        return self._page(path)

    def _xsrf(self, path: str) -> str:
        found = re.search(r'name="_xsrf" value="([^"]*)"|xsrf_token: "([^"]*)"', self._page(path))
        if not found:
            raise RuntimeError(f"{path} has no _xsrf")
        return html.unescape(found[1] or found[2])

    def _took(self, what: str, begin: float) -> None:
        self.times[what] = time.perf_counter() - begin

    def socket(self, kernel: str) -> Any:
        """The kernel's channels."""
        where = f"{self.hub.replace('http', 'ws', 1)}/user/{self.name}/api/kernels/{kernel}/channels"
        return websocket.create_connection(
            where, header=[f"Authorization: token {self._token}"], timeout=PATIENCE_S, http_no_proxy=["127.0.0.1"]
        )


class Kernel:
    """A kernel of a learner's, spoken to as JupyterLab does."""

    def __init__(self, learner: Learner) -> None:
        self._learner = learner
        base = f"/user/{learner.name}/api"
        asked = {"path": f"{uuid.uuid4().hex}.ipynb", "name": "", "type": "notebook", "kernel": {"name": "python3"}}
        self._session = learner.ask("POST", f"{base}/sessions", asked)
        self._base = base
        self._socket = learner.socket(self._session["kernel"]["id"])

    def run(self, code: str) -> tuple[str, list[str]]:
        """Run a cell: its printed text and errors, and the verdicts of its checks."""
        number = uuid.uuid4().hex
        content = {"code": code, "silent": False, "store_history": True, "user_expressions": {}, "allow_stdin": False}
        header = {"msg_id": number, "msg_type": "execute_request", "username": "", "session": number, "version": "5.4"}
        message = {"header": header, "parent_header": {}, "metadata": {}, "content": content, "channel": "shell"}
        self._socket.send(json.dumps(message))
        text, verdicts, replied, idle = "", [], False, False
        while not (replied and idle):
            said = json.loads(self._socket.recv())
            if said["parent_header"].get("msg_id") != number:
                continue
            kind, content = said["msg_type"], said["content"]
            if kind == "execute_reply":
                replied = True
            elif kind == "status":
                idle = content["execution_state"] == "idle"
            elif kind == "stream":
                text += content["text"] if content["name"] == "stdout" else ""
            elif kind == "error":
                text += f"Traceback {content['ename']}: {content['evalue']}"
            elif RESULT in content.get("data", {}):
                verdicts.append(str(content["data"][RESULT]["verdict"]))
        return text, verdicts

    def end(self) -> None:
        """Shut it down."""
        self._socket.close()
        self._learner.ask("DELETE", f"{self._base}/sessions/{self._session['id']}")


def memory(name: str, kernel_pid: int) -> dict[str, float]:
    """Proportional set size in MiB of an account's processes: server, kernel (and what it started), fork parent."""
    found = {"server": 0.0, "kernel": 0.0, "parent": 0.0}
    for process in psutil.process_iter(["username", "cmdline"]):
        if process.info["username"] != name:
            continue
        try:
            size = process.memory_full_info().pss / 2**20
            above = {process.pid, *(one.pid for one in process.parents())}
        except psutil.Error:
            continue
        words = " ".join(process.info["cmdline"] or ())
        if kernel_pid in above:
            found["kernel"] += size
        elif "jupyterhub-singleuser" in words:
            found["server"] += size
        else:
            found["parent"] += size
    return found
