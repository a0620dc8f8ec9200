"""What a pack says of itself: its format, its shards, and where each record lies. Written last, so a pack is whole."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from labkit.errors import LabkitError, UsageError

MANIFEST = "pack.json"
FORMATS = ("files", "tar", "lmdb", "tfrecord")
"""Small files; tar by webdataset; one LMDB map; TFRecord by the tfrecord package."""


class Entry(NamedTuple):
    """Where one record lies: its key, offset and length in bytes within the shard, and the CRC-32 of its content.

    In format files there is no offset; `fields` are then the endings of the sample's files.
    """

    key: str
    offset: int
    length: int
    checksum: int
    fields: tuple[str, ...] = ()


@dataclass(frozen=True)
class Shard:
    """One file of a pack (of small files: the tree of them).

    Attributes:
        name: the file, in the pack's directory.
        bytes: its size as written.
        entries: its records, in order.
    """

    name: str
    bytes: int
    entries: tuple[Entry, ...]

    def __len__(self) -> int:
        """How many records."""
        return len(self.entries)


@dataclass(frozen=True)
class Manifest:
    """A pack's contents: format, hash over all samples in order, and shards."""

    format: str
    content: str
    shards: tuple[Shard, ...]

    def save(self, directory: Path) -> None:
        """Write it into the pack's directory."""
        shards = [{"name": s.name, "bytes": s.bytes, "entries": s.entries} for s in self.shards]
        text = json.dumps({"version": 1, "format": self.format, "content": self.content, "shards": shards})
        (directory / MANIFEST).write_text(text, encoding="utf-8")

    @classmethod
    def load(cls, directory: Path) -> Manifest:
        """Read the pack's own account. Raises UsageError where there is none, LabkitError where it is damaged."""
        path = directory / MANIFEST
        if not path.is_file():
            if not directory.is_dir():
                raise UsageError(f"{directory} is not a directory: name one that `labkit pack` wrote")
            raise UsageError(f"{directory} is no pack: it has no {MANIFEST}, which is written last")
        try:
            told: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            if told["version"] != 1 or told["format"] not in FORMATS:
                raise LabkitError(f"{path} is of another version of labkit: pack the samples again")
            shards = (Shard(s["name"], s["bytes"], _entries(s["entries"])) for s in told["shards"])
            return cls(told["format"], told["content"], tuple(shards))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise LabkitError(f"{path} is damaged ({type(error).__name__}): pack the samples again") from None


def _entries(rows: Sequence[Sequence[Any]]) -> tuple[Entry, ...]:
    return tuple(Entry(key, offset, length, check, tuple(fields)) for key, offset, length, check, fields in rows)
