"""results.jsonl: one mark a line, on the disk before it counts, whatever happens to the grader.

While a grading runs, lines are only ever added, and each is synced. So a kill can tear the last line at most: that
goes when the journal is opened again, and its exercise is judged again. At the end the file is put in order in one
step.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType

from labkit.errors import UsageError
from labkit.grading.marks import Key, Mark

NAME = "results.jsonl"


class Journal:
    """The marks of one output directory; one grader at a time.

    Raises UsageError where another grader is at work there.
    """

    def __init__(self, directory: Path) -> None:
        self.path = directory / NAME
        self._lock = (directory / ".lock").open("w")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._lock.close()
            raise UsageError(f"another grading is at work in {directory}: wait for it, or give another --out") from None
        _drop_torn_line(self.path)
        self.marks, _ = read(self.path)
        self._file = self.path.open("ab")
        _sync_directory(directory)

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()
        self._lock.close()

    def add(self, marks: Iterable[Mark]) -> None:
        """Write marks; when this returns they are on the disk. A later mark of the same key replaces the earlier."""
        fresh = list(marks)
        self._file.write(b"".join(map(_line, fresh)))
        self._file.flush()
        os.fsync(self._file.fileno())
        self.marks |= {mark.key: mark for mark in fresh}

    def settle(self, keys: Iterable[Key]) -> list[Mark]:
        """Leave exactly the marks of `keys`, in this order, one line each. A kill leaves the old file or the new."""
        kept = [self.marks[key] for key in keys]
        whole = b"".join(map(_line, kept))
        if self.path.read_bytes() != whole:
            new = self.path.with_suffix(".new")
            with new.open("wb") as file:
                file.write(whole)
                file.flush()
                os.fsync(file.fileno())
            new.replace(self.path)
            _sync_directory(self.path.parent)
            self._file.close()
            self._file = self.path.open("ab")
        self.marks = {mark.key: mark for mark in kept}
        return kept


def read(path: Path) -> tuple[dict[Key, Mark], int]:
    """The marks of a results.jsonl, the last of each key, and how many lines can't be read. No file: no marks."""
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return {}, 0
    except OSError as error:
        raise UsageError(f"{path} can't be read: {(error.strerror or str(error)).lower()}") from None
    marks: dict[Key, Mark] = {}
    damaged = 0
    for line in lines:
        if not line.strip():
            continue
        try:
            mark = Mark.from_json(json.loads(line))
        except (UsageError, ValueError, RecursionError):
            damaged += 1
        else:
            marks[mark.key] = mark
    return marks, damaged


def _line(mark: Mark) -> bytes:
    return json.dumps(mark.to_json(), ensure_ascii=True).encode() + b"\n"


def _drop_torn_line(path: Path) -> None:
    """Cut off what stands behind the last line end: a line that a kill tore."""
    with contextlib.suppress(FileNotFoundError):
        whole = path.read_bytes()
        if whole and not whole.endswith(b"\n"):
            with path.open("rb+") as file:
                file.truncate(whole.rfind(b"\n") + 1)
                os.fsync(file.fileno())


def _sync_directory(directory: Path) -> None:
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
