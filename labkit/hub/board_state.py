"""What the class has reported: every result record once, on the disk before it is acknowledged."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from labkit.course.progress import ProgressStore
from labkit.errors import UsageError

FILE = "board.sqlite"
LARGEST = 64 * 1024
"""Bytes of one record; a card's evidence is a few hundred."""

MOST = 500
"""Records in one request."""

LONG_AGO = datetime.min.replace(tzinfo=UTC)


@dataclass
class Standing:
    """Where one learner stands with one exercise.

    Attributes:
        attempts: checks of an answer that was there. Many without a pass: somebody needs help.
        passed: whether one of them passed.
        claim: what the latest failed check looked at; "" where the latest one didn't fail.
        at: when the latest check ran, UTC.
    """

    attempts: int = 0
    passed: bool = False
    claim: str = ""
    at: datetime = LONG_AGO


Person = dict[str, Standing]
"""What one learner reported: exercise id -> standing."""


class Board:
    """All records of a class. Thread-safe; a restart finds everything that was acknowledged."""

    def __init__(self, place: Path) -> None:
        self._store = ProgressStore(place / FILE)
        self._lock = threading.Lock()
        self._seen: set[str] = set()
        self._people: dict[str, Person] = {}
        self.version = 0
        """Grows with every record: a page that shows this version is up to date."""
        for record in self._store.records():
            self._count(record, _digest(record))

    def take(self, learner: str, records: Iterable[Any]) -> int:
        """Keep the records that are new, as `learner`'s whatever they say; how many were new.

        Raises:
            UsageError: one is no result record, or too large; the ones before it are kept.
            ProgressError: the disk is full, ...; nothing that was acknowledged is lost.
        """
        fresh = 0
        for given in records:
            if not isinstance(given, dict) or not isinstance(given.get("evidence"), list):
                raise UsageError("not a result record: it must be an object with its evidence")
            record = {**given, "learner": learner, "at": _not_later(given.get("at"))}
            if len(json.dumps(record)) > LARGEST:
                raise UsageError(f"a record of more than {LARGEST} bytes: no check makes one")
            digest = _digest({**given, "learner": learner})
            with self._lock:
                if digest in self._seen:
                    continue
                self._store.add({**record, "digest": digest})
                self._count(record, digest)
                fresh += 1
        return fresh

    def people(self) -> dict[str, Person]:
        """Learner -> what they reported, as it is now."""
        with self._lock:
            return {name: {id: replace(one) for id, one in person.items()} for name, person in self._people.items()}

    def _count(self, record: Mapping[str, Any], digest: str) -> None:
        self._seen.add(str(record.get("digest") or digest))
        self.version += 1
        person = self._people.setdefault(str(record["learner"]), {})
        standing = person.setdefault(str(record["exercise"]), Standing())
        at = datetime.fromisoformat(record["at"])
        standing.attempts += record["verdict"] in ("passed", "failed")
        standing.passed |= record["verdict"] == "passed"
        if at >= standing.at:
            standing.at, standing.claim = at, _claim(record)


def _claim(record: Mapping[str, Any]) -> str:
    if record["verdict"] != "failed":
        return ""
    bad = [item for item in record["evidence"] if isinstance(item, dict) and not item.get("ok", True)]
    return str(bad[-1].get("claim", ""))[:200] if bad else ""


def _digest(record: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()


def _not_later(at: Any) -> Any:
    """A learner's clock may be ahead; nothing happened in the future."""
    try:
        then = datetime.fromisoformat(at)
    except (TypeError, ValueError):
        return at  # the store names what is wrong
    now = datetime.now(UTC)
    then = then if then.tzinfo else then.replace(tzinfo=UTC)
    return min(then, now).isoformat(timespec="milliseconds")
