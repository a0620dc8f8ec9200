"""What a learner has passed, kept in one small SQLite file.

The file often lies in a home directory on NFS, several kernels write to it at once, and any may be killed. Hence
a rollback journal (WAL needs shared memory, which NFS lacks), one connection an operation (nothing is shared with a
forked child), BEGIN IMMEDIATE (two writers wait for each other instead of failing), and synchronous=FULL (a row
reported as kept is on the disk). A damaged file is set aside under another name, never deleted.
"""

from __future__ import annotations

import contextlib
import errno
import json
import math
import os
import shutil
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from labkit.errors import LabkitError, UsageError

if sys.platform != "win32":
    import fcntl

Result = TypeVar("Result")

FORMAT = 1  # PRAGMA user_version of the files written here
APPLICATION = 0x6C61626B  # PRAGMA application_id: "labk", so that another program's database is never touched
PATIENCE_S = 10.0  # how long to wait for other kernels before giving up
VERDICTS = ("broken", "not answered", "failed", "passed")  # worst first

_TABLE = """
CREATE TABLE results (
    id INTEGER PRIMARY KEY, learner TEXT NOT NULL, exercise TEXT NOT NULL, verdict TEXT NOT NULL,
    points REAL NOT NULL, max_points REAL NOT NULL, at TEXT NOT NULL, record TEXT NOT NULL)
"""
_COLUMNS = ("learner", "exercise", "verdict", "points", "max_points", "at", "record")

# SQLite's bookkeeping of file locks must not be copied into a forked child halfway through another thread's operation:
# the child would wait for a lock that nobody in it will ever release. So a fork waits until the operation is over.
_FORK_GUARD = threading.RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_FORK_GUARD.acquire, after_in_parent=_FORK_GUARD.release, after_in_child=_FORK_GUARD.release
    )


class ProgressError(LabkitError):
    """Progress can't be read or kept just now; what was kept before is untouched. The lab itself can go on."""


class _Damaged(Exception):
    """The file is not a sound SQLite database."""


@dataclass(frozen=True)
class Standing:
    """Where one learner stands with one exercise.

    Attributes:
        exercise: its id.
        best: the best verdict so far ("passed" > "failed" > "not answered" > "broken").
        last: the verdict of the latest check; differs from `best` where a passed answer was changed since.
        attempts: checks of an answer that was there (passed or failed); a blank answer is no attempt. Many: the
            exercise is hard, or its feedback is poor.
        points: points earned, the most that any attempt gave; a later wrong attempt takes nothing away.
        first_passed_at: ISO time (UTC) of the first pass, None before it.
        last_at: ISO time (UTC) of the latest check.
    """

    exercise: str
    best: str
    last: str
    attempts: int
    points: float
    first_passed_at: str | None
    last_at: str


def default_path() -> Path:
    """Where progress is kept: LABKIT_PROGRESS, else progress.sqlite in the user's data directory for labkit."""
    if named := os.environ.get("LABKIT_PROGRESS"):
        return Path(named)
    import platformdirs

    return platformdirs.user_data_path("labkit") / "progress.sqlite"


class ProgressStore:
    """The results kept in one file. Safe to use from several threads, forked children and processes at once."""

    def __init__(self, path: str | Path | None = None) -> None:
        """Name the file; nothing is opened or made yet.

        Args:
            path: the file, which must end in .sqlite (a damaged file is renamed: no other file may be hit by mistake);
                None for `default_path()`.

        Raises:
            UsageError: the path does not end in .sqlite.
        """
        chosen = default_path() if path is None else Path(path)
        if chosen.suffix != ".sqlite":
            raise UsageError(f"progress is kept in a file that ends in .sqlite, not {str(chosen)!r} (LABKIT_PROGRESS)")
        self.path = Path(os.path.realpath(chosen.expanduser()))
        self._notices: list[str] = []
        self._sound: tuple[int, int] | None = None  # device and inode of the file that was last looked through

    def add(self, record: Mapping[str, Any]) -> None:
        """Keep one result record. When this returns, the record is on the disk.

        Raises:
            UsageError: the record lacks a field or holds a value of the wrong kind.
            ProgressError: it can't be kept (disk full, no permission, ...). Nothing kept before is lost.
        """
        row = _row(record)

        def insert(db: sqlite3.Connection) -> None:
            db.execute(f"INSERT INTO results ({', '.join(_COLUMNS)}) VALUES (?, ?, ?, ?, ?, ?, ?)", row)

        self._operate(insert, writing=True)

    def standings(self, learner: str) -> dict[str, Standing]:
        """Where `learner` stands, by exercise id, in the order in which the exercises were first checked.

        Raises:
            ProgressError: the file can't be read.
        """
        query = "SELECT exercise, verdict, CAST(points AS REAL), at FROM results WHERE learner = ? ORDER BY id"
        rows = self._operate(lambda db: db.execute(query, (learner,)).fetchall(), writing=False) or []
        found: dict[str, Standing] = {}
        for exercise, verdict, points, at in rows:
            found[exercise] = _after(found.get(exercise), exercise, verdict, points, at)
        return found

    def records(self, learner: str | None = None, exercise: str | None = None) -> list[dict[str, Any]]:
        """The records as they were added, oldest first; of one learner or exercise where named.

        Raises:
            ProgressError: the file can't be read.
        """
        query = "SELECT record FROM results WHERE ifnull(learner = ?, 1) AND ifnull(exercise = ?, 1) ORDER BY id"
        rows = self._operate(lambda db: db.execute(query, (learner, exercise)).fetchall(), writing=False) or []
        found = []
        for (text,) in rows:
            try:
                found.append(json.loads(text))
            except ValueError:  # a flipped bit inside the text, which SQLite can't see
                self._notices.append(f"{self.path}: one record can't be read any more and is left out")
        return found

    def take_notices(self) -> list[str]:
        """What a person must be told (one line each), such as a damaged file set aside. Each is handed out once."""
        taken, self._notices = self._notices, []
        return taken

    def _operate(self, work: Callable[[sqlite3.Connection], Result], *, writing: bool) -> Result | None:
        """Run `work` in one transaction; None where there is nothing to read. Sets a damaged file aside on the way."""
        for _ in range(3):
            try:
                with _FORK_GUARD:
                    if self.path.is_dir():
                        raise ProgressError(
                            f"{self.path} is a directory: progress needs a file there (LABKIT_PROGRESS)"
                        )
                    if writing:
                        self.path.parent.mkdir(parents=True, exist_ok=True)
                    elif not self.path.exists():
                        return None
                    with self._lock(exclusive=False, needed=writing):
                        if not writing and not self.path.exists():  # set aside while this process waited for the lock
                            return None
                        with self._connect(create=writing) as db:
                            return self._transact(db, work, writing)
            except _Damaged:
                with _FORK_GUARD:
                    self._set_aside()
            except (sqlite3.Error, OSError) as error:
                raise self._explain(error) from None
        raise ProgressError(f"{self.path} is damaged again and again: is its disk or network share failing?")

    def _transact(
        self, db: sqlite3.Connection, work: Callable[[sqlite3.Connection], Result], writing: bool
    ) -> Result | None:
        try:
            db.execute("BEGIN IMMEDIATE" if writing else "BEGIN")
            if not self._recognise(db):
                if not writing:
                    return None
                db.execute(f"PRAGMA application_id = {APPLICATION}")
                db.execute(f"PRAGMA user_version = {FORMAT}")
                db.execute(_TABLE)
                db.execute("CREATE INDEX by_learner ON results (learner, exercise)")
            result = work(db)
            db.execute("COMMIT")
        finally:
            if db.in_transaction:
                with contextlib.suppress(sqlite3.Error):
                    db.execute("ROLLBACK")
        return result

    def _recognise(self, db: sqlite3.Connection) -> bool:
        """True for a file of ours, looked through once a process; False for an empty one."""
        (version,) = db.execute("PRAGMA user_version").fetchone()
        (application,) = db.execute("PRAGMA application_id").fetchone()
        if application == 0 and db.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,):
            return False
        if application != APPLICATION:
            raise ProgressError(f"{self.path} belongs to another program: set LABKIT_PROGRESS to another .sqlite file")
        if version > FORMAT:
            raise ProgressError(
                f"{self.path} was written by a newer labkit (format {version}, this one reads {FORMAT}): "
                "upgrade labkit, or set LABKIT_PROGRESS to another .sqlite file"
            )
        about = self.path.stat()
        identity = (about.st_dev, about.st_ino)
        if self._sound != identity:
            if db.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
                raise _Damaged
            self._sound = identity
        return True

    def _set_aside(self) -> None:
        """Rename a damaged file (and its journal), unless another process has done so meanwhile."""
        self._sound = None
        try:
            with self._lock(exclusive=True, needed=True):
                if not self.path.exists() or self.path.stat().st_size == 0 or self._is_whole():
                    return
                stamp = f"{self.path.stem}.damaged-{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
                names = (f"{stamp}{more}.sqlite" for more in ("", *(f"-{number}" for number in range(2, 1000))))
                aside = next(self.path.with_name(name) for name in names if not self.path.with_name(name).exists())
                # The journal first: a journal left without its database would be deleted by SQLite.
                with contextlib.suppress(FileNotFoundError):
                    os.rename(f"{self.path}-journal", f"{aside}-journal")
                os.rename(self.path, aside)
        except sqlite3.Error as error:
            raise self._explain(error) from None
        except OSError as error:
            raise ProgressError(
                f"{self.path} is damaged and can't be set aside ({_reason(error)}): rename it, or set LABKIT_PROGRESS"
            ) from None
        self._notices.append(f"{self.path} was damaged: it is now {aside.name} beside it, and a fresh one was started")

    def _is_whole(self) -> bool:
        try:
            with self._connect(create=False) as db:
                db.execute(f"SELECT {', '.join(_COLUMNS)} FROM results LIMIT 1").fetchone()
                return bool(db.execute("PRAGMA integrity_check(1)").fetchone() == ("ok",))
        except _Damaged:
            return False

    @contextlib.contextmanager
    def _connect(self, *, create: bool) -> Iterator[sqlite3.Connection]:
        uri = f"{self.path.as_uri()}?mode={'rwc' if create else 'rw'}"
        db = sqlite3.connect(uri, uri=True, timeout=PATIENCE_S, isolation_level=None)
        try:
            db.text_factory = lambda raw: raw.decode("utf-8", "replace")
            db.execute("PRAGMA synchronous = FULL")
            yield db
        except sqlite3.DatabaseError as error:
            if _is_damage(error):
                raise _Damaged from None
            raise
        except UnicodeDecodeError:  # SQLite quotes a damaged table definition in its message
            raise _Damaged from None
        finally:
            db.close()

    @contextlib.contextmanager
    def _lock(self, *, exclusive: bool, needed: bool) -> Iterator[None]:
        """Hold the lock file: shared for an operation, exclusive to set the database aside (nobody has it open then).

        A reader goes without where the lock file can't be made, as in a directory that is read-only.
        """
        if sys.platform == "win32":  # an open file can't be renamed there, so SQLite's own locks are enough
            yield
            return
        try:
            descriptor = os.open(f"{self.path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError:
            if needed:
                raise
            yield
            return
        try:
            deadline = time.monotonic() + PATIENCE_S
            while True:
                try:
                    fcntl.flock(descriptor, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > deadline:
                        raise ProgressError(
                            f"{self.path} has been kept busy for {PATIENCE_S:.0f} s: try again"
                        ) from None
                    time.sleep(0.005)
            yield
        finally:
            os.close(descriptor)

    def _explain(self, error: sqlite3.Error | OSError) -> ProgressError:
        """One line: what happened, that nothing was lost, and the way out."""
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        number = getattr(error, "errno", None)
        if code == sqlite3.SQLITE_FULL or number in (errno.ENOSPC, errno.EDQUOT):
            free = ""
            with contextlib.suppress(OSError):
                free = f", {shutil.disk_usage(self.path.parent).free / 1e6:.0f} MB free"
            return ProgressError(f"{self.path} can't grow (disk full{free}): free some space, then check again")
        if code == sqlite3.SQLITE_IOERR:
            why = "a full disk, a quota, a file-size limit or a lost network share"
            return ProgressError(f"{self.path} can't be read or written ({why}): free some space, then check again")
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return ProgressError(f"{self.path} has been kept busy for {PATIENCE_S:.0f} s by another program: try again")
        return ProgressError(
            f"{self.path} can't be used ({_reason(error)}): make it writable, or set LABKIT_PROGRESS to a .sqlite file"
        )


def _reason(error: Exception) -> str:
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return " ".join(text.split()).lower()


def _is_damage(error: sqlite3.Error) -> bool:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    # SQLITE_ERROR: the statements here are right, so a table or a file format that they don't fit is damage too.
    return code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR)


def _row(record: Mapping[str, Any]) -> tuple[Any, ...]:
    """The columns of a record, each looked at; UsageError names the first field that is wrong."""
    for field in ("learner", "exercise", "verdict", "at"):
        value = record.get(field)
        if not isinstance(value, str) or not value.isprintable() or not value.strip():
            raise UsageError(f"record[{field!r}] is {value!r}: it must be one line of text")
    if record["verdict"] not in VERDICTS:
        raise UsageError(f"record['verdict'] is {record['verdict']!r}: it must be one of {', '.join(VERDICTS)}")
    for field in ("points", "max_points"):
        value = record.get(field)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
            raise UsageError(f"record[{field!r}] is {value!r}: it must be a number, 0 or more")
    try:
        datetime.fromisoformat(record["at"])
    except ValueError:
        raise UsageError(f"record['at'] is {record['at']!r}: it must be an ISO time") from None
    try:
        text = json.dumps(dict(record))
    except (TypeError, ValueError) as error:
        raise UsageError(f"the record of {record['exercise']} can't be written as JSON: {error}") from None
    columns = (record["learner"], record["exercise"], record["verdict"])
    return (*columns, float(record["points"]), float(record["max_points"]), record["at"], text)


def _after(before: Standing | None, exercise: str, verdict: str, points: float, at: str) -> Standing:
    """The standing once one more result is counted."""
    passed_at = before.first_passed_at if before else None
    return Standing(
        exercise=exercise,
        best=max(before.best if before else verdict, verdict, key=_rank),
        last=verdict,
        attempts=(before.attempts if before else 0) + (verdict in ("passed", "failed")),
        points=max(before.points if before else 0.0, points),
        first_passed_at=passed_at or (at if verdict == "passed" else None),
        last_at=at,
    )


def _rank(verdict: str) -> int:
    return VERDICTS.index(verdict) if verdict in VERDICTS else -1
