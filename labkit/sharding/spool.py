"""A rank's notes on their way to the caller: a file, written message by message, so a rank that dies leaves it."""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO


class Spool:
    """One rank's file of notes."""

    def __init__(self, folder: str, rank: int) -> None:
        self._file: BinaryIO = open(_path(folder, rank), "ab", buffering=0)  # noqa: SIM115  closed with the rank

    def put(self, kind: str, *values: Any) -> None:
        """Append one message; it is in the file when this returns."""
        self._file.write(pickle.dumps((kind, values), protocol=pickle.HIGHEST_PROTOCOL))

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def messages(folder: str, rank: int) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """All whole messages that a rank left; none where it left no file."""
    with contextlib.suppress(FileNotFoundError), open(_path(folder, rank), "rb") as file:
        while True:
            try:
                yield pickle.load(file)
            except (EOFError, pickle.UnpicklingError):  # the end, or a message cut short by a kill
                return


def _path(folder: str, rank: int) -> Path:
    return Path(folder) / f"rank-{rank}.notes"
