"""Hand-ins as files: DIR/inbox/LEARNER/LAB/NUMBER-HASH.ipynb. Nothing is ever replaced; the newest counts."""

from __future__ import annotations

import hashlib
import os
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from labkit.atomic_file import write_atomic
from labkit.errors import LabkitError, UsageError

LARGEST = 20 * 2**20
"""Bytes of one hand-in; a lab with all its pictures has about 2 MiB."""

MOST = 500 * 2**20
"""Bytes that one learner's hand-ins may take together."""

NAME = re.compile(r"[0-9]{2}_[a-z0-9_]{1,60}\.ipynb")
_KEPT = re.compile(r"(\d{4})-([0-9a-f]{64})\.ipynb")


@dataclass(frozen=True)
class Receipt:
    """That a hand-in was taken.

    Attributes:
        learner: whose it is, by the hub's word.
        name: the notebook's name, "01_pipeline_timeline.ipynb".
        number: 1 for the first hand-in of this notebook; the highest counts.
        sha256: of the bytes that were taken: compare with `sha256sum` of the file.
        size: bytes.
        at: when it was taken, UTC, ISO 8601.
    """

    learner: str
    name: str
    number: int
    sha256: str
    size: int
    at: str

    def text(self) -> str:
        """One line."""
        return f"{self.name}: hand-in {self.number}, {self.size} bytes, taken {self.at}, sha256 {self.sha256}"


class Inbox:
    """All hand-ins and feedback of a class. Thread-safe; what a receipt was given for is on the disk."""

    def __init__(self, place: Path) -> None:
        self._hand_ins, self._feedback = place / "inbox", place / "feedback"
        self._lock = threading.Lock()

    def take(self, learner: str, name: str, content: bytes) -> Receipt:
        """Keep a hand-in. The same bytes as last time give the first receipt again.

        Raises:
            UsageError: the name is no lab's, or the content too large, or empty.
            WriteError: the disk is full, ...; earlier hand-ins are untouched.
        """
        _usable(name)
        if not content:
            raise UsageError(f"{name} is empty: save the notebook first (Ctrl-S)")
        if len(content) > LARGEST:
            raise UsageError(
                f"{name} has {len(content)} bytes, more than {LARGEST}: clear its outputs and hand in again"
            )
        digest = hashlib.sha256(content).hexdigest()
        with self._lock:
            before = self.of(learner, name)
            if before and before[-1].sha256 == digest:
                return before[-1]
            if sum(one.size for one in self.of(learner)) + len(content) > MOST:
                raise UsageError(
                    f"your hand-ins take more than {MOST} bytes together: ask your teacher to clear old ones"
                )
            number = before[-1].number + 1 if before else 1
            folder = self._hand_ins / learner / name.removesuffix(".ipynb")
            folder.mkdir(parents=True, exist_ok=True)
            write_atomic(folder / f"{number:04d}-{digest}.ipynb", content)
            return self.of(learner, name)[-1]

    def of(self, learner: str, name: str | None = None) -> list[Receipt]:
        """A learner's receipts, by notebook and number."""
        found = []
        for folder in sorted(_directories(self._hand_ins / learner)):
            known = f"{folder.name}.ipynb"
            if name not in (None, known):
                continue
            for file in sorted(folder.iterdir()):
                if match := _KEPT.fullmatch(file.name):
                    facts = file.stat()
                    at = datetime.fromtimestamp(facts.st_mtime, UTC).isoformat(timespec="seconds")
                    found.append(Receipt(learner, known, int(match[1]), match[2], facts.st_size, at))
        return found

    def newest(self, until: datetime | None = None) -> list[Receipt]:
        """The hand-in that counts, for each learner and notebook: the last one up to `until`, to the second."""
        found: dict[tuple[str, str], Receipt] = {}
        for folder in sorted(_directories(self._hand_ins)):
            for one in self.of(folder.name):
                if until is None or datetime.fromisoformat(one.at) <= until:
                    found[one.learner, one.name] = one
        return list(found.values())

    def content(self, receipt: Receipt) -> bytes:
        """The bytes of a hand-in. Raises LabkitError where they are not those that the receipt was given for."""
        folder = self._hand_ins / receipt.learner / receipt.name.removesuffix(".ipynb")
        content = (folder / f"{receipt.number:04d}-{receipt.sha256}.ipynb").read_bytes()
        if hashlib.sha256(content).hexdigest() != receipt.sha256:
            raise LabkitError(f"{receipt.name} of {receipt.learner} was changed on the disk: its hash is another one")
        return content

    def give_feedback(self, learner: str, name: str, content: bytes) -> None:
        """Keep a report page for a learner. An earlier, different one of this name stays under its date, in UTC."""
        if not re.fullmatch(r"[a-z0-9_-]{1,80}\.html", name):
            raise UsageError(f"feedback {name[:40]!r} must be named like report.html")
        if len(content) > LARGEST:
            raise UsageError(f"feedback of {len(content)} bytes: at most {LARGEST}")
        folder = self._feedback / learner
        folder.mkdir(parents=True, exist_ok=True)
        with self._lock:
            before = folder / name
            if before.is_file() and (old := before.read_bytes()) != content:
                when = datetime.fromtimestamp(before.stat().st_mtime, UTC)
                stem = f"{name.removesuffix('.html')}-{when:%Y-%m-%d-%H%M%S}"
                tries = (f"{stem}{'' if number == 1 else f'-{number}'}.html" for number in range(1, 10_000))
                write_atomic(next(place for one in tries if not (place := folder / one).exists()), old)
            write_atomic(before, content)

    def feedback(self, learner: str) -> list[str]:
        """Names of the pages that a learner got back: the one that counts, then earlier ones, latest first."""
        folder = self._feedback / learner
        return sorted(os.listdir(folder), reverse=True) if folder.is_dir() else []

    def feedback_page(self, learner: str, name: str) -> bytes | None:
        """One of them; None where there is none of this name."""
        return (self._feedback / learner / name).read_bytes() if name in self.feedback(learner) else None


def moment(text: str) -> datetime:
    """A date and a time in ISO 8601, UTC where it names no zone. Raises UsageError."""
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        found = None
    if found is None or not re.search(r"[T ]\d", text.strip()):
        raise UsageError(f"the time is {text[:40]!r}: give a date and a time, as 2026-03-02T18:00+01:00 (no zone: UTC)")
    return found.replace(tzinfo=found.tzinfo or UTC)


def _usable(name: str) -> None:
    if not NAME.fullmatch(name):
        raise UsageError(f"{name[:60]!r} is no lab's notebook: hand in a file named like 01_pipeline_timeline.ipynb")


def _directories(place: Path) -> Iterator[Path]:
    if place.is_dir():
        yield from (path for path in place.iterdir() if path.is_dir() and not path.is_symlink())
