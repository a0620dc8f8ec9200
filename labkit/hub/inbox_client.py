"""The command line's side of hand-ins: from a learner's or a teacher's server on the hub."""

from __future__ import annotations

import hashlib
import json
import os
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

from labkit.atomic_file import write_atomic
from labkit.errors import LabkitError, UsageError
from labkit.grading.page import file_name
from labkit.hub.inbox_store import Receipt

PATIENCE_S = 60.0


def submit(notebook: Path) -> Receipt:
    """Hand in a notebook file as it is on the disk; the receipt, its hash compared with the file's own.

    Raises UsageError where there is no such file or no hub, LabkitError where the inbox refuses it.
    """
    try:
        content = notebook.read_bytes()
    except OSError as error:
        raise UsageError(f"{notebook} can't be read: {(error.strerror or str(error)).lower()}") from None
    receipt = Receipt(**json.loads(_ask("POST", f"api/hand-in/{urllib.parse.quote(notebook.name)}", content)))
    if receipt.sha256 != hashlib.sha256(content).hexdigest():
        raise LabkitError(f"{notebook.name}: other bytes arrived than were sent: hand it in again")
    return receipt


def collect(out: Path) -> list[Receipt]:
    """Bring the newest hand-ins to OUT/LEARNER/NOTEBOOK, as `labkit grade` reads them; those that are new or changed.

    Raises LabkitError where the hub or the disk refuses.
    """
    fresh = []
    for said in json.loads(_ask("GET", "api/hand-ins"))["hand_ins"]:
        one = Receipt(**said)
        file = out / one.learner / one.name
        if file.is_file() and hashlib.sha256(file.read_bytes()).hexdigest() == one.sha256:
            continue
        content = _ask("GET", f"api/hand-ins/{one.learner}/{one.name}/{one.number}")
        if hashlib.sha256(content).hexdigest() != one.sha256:
            raise LabkitError(f"{one.name} of {one.learner}: other bytes arrived than were handed in: collect again")
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(file, content)
        fresh.append(one)
    return fresh


def handed_in() -> list[str]:
    """The learners who handed in something."""
    return sorted({str(said["learner"]) for said in json.loads(_ask("GET", "api/hand-ins"))["hand_ins"]})


def give_feedback(reports: Path, learners: list[str]) -> list[str]:
    """Give each learner their page out of a grading's `reports` directory; who got one.

    Raises UsageError where the directory holds none of them.
    """
    given = []
    for learner in learners:
        page = reports / file_name(learner)
        if page.is_file():
            _ask("PUT", f"api/feedback/{learner}/report.html", page.read_bytes())
            given.append(learner)
    if not given:
        raise UsageError(f"{reports} holds no report of this class: name the directory that labkit grade --out wrote")
    return given


def _ask(method: str, path: str, body: bytes | None = None) -> Any:
    inbox, token = os.environ.get("LABKIT_INBOX"), os.environ.get("JUPYTERHUB_API_TOKEN")
    if not (inbox and token):
        raise UsageError("there is no class here: run this in a terminal or notebook of your server on the class's hub")
    request = urllib.request.Request(inbox + path, body, {"Authorization": f"token {token}"}, method=method)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=PATIENCE_S) as answer:
            return answer.read()
    except urllib.error.HTTPError as error:
        raise LabkitError(_why(error)) from None
    except OSError as error:
        why = getattr(error, "reason", error)
        raise LabkitError(
            f"the class's inbox can't be reached ({why}): nothing was handed in; try again later"
        ) from None


def _why(error: urllib.error.HTTPError) -> str:
    try:
        said = str(json.loads(error.read())["error"])
    except (ValueError, KeyError, TypeError, OSError):
        said = f"the class's inbox refused it: {error.code} {error.reason}"
    if error.code == 403 and said in ("Forbidden", "the hub doesn't know this token (any more)"):
        return "the hub doesn't know this server's token any more: restart the server (File, Hub Control Panel)"
    return said
