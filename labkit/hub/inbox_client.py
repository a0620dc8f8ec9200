"""The command line's side of hand-ins: from a learner's or a teacher's server on the hub."""

from __future__ import annotations

import hashlib
import json
import os
import re
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC
from pathlib import Path
from typing import Any

from labkit.atomic_file import write_atomic
from labkit.errors import LabkitError, UsageError
from labkit.grading.page import file_name
from labkit.hub.inbox_store import Receipt, moment

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


@dataclass(frozen=True)
class Collected:
    """What `collect` found.

    fresh: hand-ins that are new here, or changed. of_teachers: how many of teachers were left out.
    late: left out, as they came after `until` and none before it.
    """

    fresh: tuple[Receipt, ...]
    of_teachers: int
    late: tuple[Receipt, ...]


def collect(out: Path, *, until: str = "", lab: str = "") -> Collected:
    """Bring hand-ins to OUT/LEARNER/LAB/NOTEBOOK, as `labkit grade` reads them, and their time beside each.

    until: the last ones up to this time in place of the newest. lab: only of this lab, "01".

    Raises UsageError for a time or a lab that can't be, or a late hand-in that is in OUT already, LabkitError where
    the hub or the disk refuses.
    """
    if lab and not re.fullmatch("[0-9]{2}", lab):
        raise UsageError(f"the lab is {lab[:40]!r}: give its two digits, as 01")
    when = moment(until).astimezone(UTC).isoformat() if until else ""
    chosen, of_teachers = _hand_ins(lab, when)
    held = {(one.learner, one.name) for one in chosen}
    late = [one for one in _hand_ins(lab)[0] if (one.learner, one.name) not in held] if until else []
    for one in late:
        for file in _places(out, one):
            if file.exists():
                raise UsageError(f"{file} was handed in after {until}: give a new --out for what came before")
    fresh = []
    for one in chosen:
        earlier, file = _places(out, one)
        if earlier.is_file() and not file.exists():  # where collect put it before there were times
            file.parent.mkdir(parents=True, exist_ok=True)
            earlier.replace(file)
        if not (file.is_file() and hashlib.sha256(file.read_bytes()).hexdigest() == one.sha256):
            content = _ask("GET", f"api/hand-ins/{one.learner}/{one.name}/{one.number}")
            if hashlib.sha256(content).hexdigest() != one.sha256:
                what = f"{one.name} of {one.learner}"
                raise LabkitError(f"{what}: other bytes arrived than were handed in: collect again")
            file.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(file, content)
            fresh.append(one)
        stamp, time = file.with_name("timestamp.txt"), f"{one.at}\n".encode()
        if not stamp.is_file() or stamp.read_bytes() != time:
            write_atomic(stamp, time)
    return Collected(tuple(fresh), of_teachers, tuple(late))


def _hand_ins(lab: str = "", until: str = "") -> tuple[list[Receipt], int]:
    """The learners' hand-ins that count, and how many of teachers were left out."""
    said = json.loads(_ask("GET", f"api/hand-ins{f'?until={urllib.parse.quote(until)}' if until else ''}"))
    found = [Receipt(**one) for one in said["hand_ins"]]
    return [one for one in found if one.name.startswith(f"{lab}_" if lab else "")], int(said.get("of_teachers", 0))


def _places(out: Path, one: Receipt) -> tuple[Path, Path]:
    """Where an earlier labkit put a hand-in, and where it goes: a folder a lab, for each has a time of its own."""
    return out / one.learner / one.name, out / one.learner / one.name.removesuffix(".ipynb") / one.name


def handed_in() -> list[str]:
    """The learners who handed in something."""
    return sorted({one.learner for one in _hand_ins()[0]})


def give_feedback(reports: Path, learners: Sequence[str] | None = None) -> tuple[list[str], list[str]]:
    """Give learners their page out of a grading's `reports` directory: who got one, and who handed in but got none.

    learners: only these; none: all who handed in. Raises UsageError, before anything is given out, where the
    directory holds no report, or none of somebody who is named.
    """
    there = sorted(page.stem for page in reports.glob("*.html"))
    wanted = list(learners or handed_in())
    missing = [name for name in wanted if not (reports / file_name(name)).is_file()]
    if not there or (missing == wanted and not learners):
        raise UsageError(f"{reports} holds no report of this class: name the directory that labkit grade --out wrote")
    if missing and learners:
        have = "has" if len(missing) == 1 else "have"
        raise UsageError(f"{', '.join(missing)} {have} no report in {reports} (there are: {', '.join(there)})")
    given = [name for name in wanted if name not in missing]
    for name in given:
        _ask("PUT", f"api/feedback/{name}/report.html", (reports / file_name(name)).read_bytes())
    return given, missing


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
