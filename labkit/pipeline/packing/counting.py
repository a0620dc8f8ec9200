"""What reading costs, counted: files opened, read calls made, bytes they gave. Counts don't depend on the machine."""

from __future__ import annotations

import io
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

BLOCK = 64 * 1024
"""Bytes that one request of a streaming reader asks for."""


@dataclass(frozen=True)
class Reads:
    """What some reading cost.

    Attributes:
        opens: files opened. Each is a round trip to a metadata server on a network file system.
        requests: read calls. Many for few bytes: the storage is asked too often.
        bytes: what those calls returned. Far above the bytes of the samples: most of it was thrown away.

    LMDB makes no read calls: it maps its file, and the kernel fetches the pages that are touched. Its `requests` and
    `bytes` are those of the pages on the way through its tree, computed from the tree's own figures.
    """

    opens: int = 0
    requests: int = 0
    bytes: int = 0

    def __sub__(self, other: Reads) -> Reads:
        return Reads(self.opens - other.opens, self.requests - other.requests, self.bytes - other.bytes)

    def __add__(self, other: Reads) -> Reads:
        return Reads(self.opens + other.opens, self.requests + other.requests, self.bytes + other.bytes)

    def text(self) -> str:
        """One line for people."""
        return f"{self.opens:,} opens, {self.requests:,} requests, {self.bytes:,} bytes"


class Tally:
    """Running totals of one reader, in one process."""

    def __init__(self) -> None:
        self.opens = self.requests = self.bytes = 0

    def now(self) -> Reads:
        """The totals so far; the difference of two is what lay between."""
        return Reads(self.opens, self.requests, self.bytes)

    def read(self, size: int, requests: int = 1) -> None:
        """Count read calls that gave `size` bytes."""
        self.requests += requests
        self.bytes += size


class CountedFile(io.FileIO):
    """An unbuffered file whose reads are counted."""

    def __init__(self, path: Path, tally: Tally) -> None:
        super().__init__(path, "rb")
        self._tally = tally
        tally.opens += 1

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        """As FileIO: one system call."""
        size = super().readinto(buffer)
        self._tally.read(size or 0)
        return size or 0

    def at(self, offset: int, length: int) -> bytes:
        """`length` bytes from `offset`, fewer at the end of the file. Safe where processes share the file."""
        parts: list[bytes] = []
        while length:
            part = os.pread(self.fileno(), length, offset)
            self._tally.read(len(part))
            if not part:
                break
            parts.append(part)
            offset, length = offset + len(part), length - len(part)
        return b"".join(parts)


def streamed(file: CountedFile) -> io.BufferedReader:
    """The file, read on in blocks of BLOCK bytes from where it stands."""
    return io.BufferedReader(file, BLOCK)
