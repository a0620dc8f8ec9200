"""A sample as bytes, and the hash that says whether two collections hold the same samples in the same order."""

from __future__ import annotations

import hashlib
import re
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from labkit.errors import UsageError

_KEY = re.compile(r"(?:[^/\0]+/)*[^./\0]+")


@dataclass(frozen=True)
class Sample:
    """One sample: named pieces of bytes under a key, as the WebDataset convention has it.

    Attributes:
        key: the path of its files without what follows the first dot of the name: "train/0017".
        fields: what follows that dot -> content: {"jpg": b"...", "cls": b"3"}.

    Raises:
        UsageError: a name that some format can't hold.
    """

    key: str
    fields: Mapping[str, bytes]

    def __post_init__(self) -> None:
        parts = self.key.split("/")
        if not _KEY.fullmatch(self.key) or {".", ".."} & set(parts) or parts[0].startswith("__"):
            raise UsageError(f"key {self.key!r}: give a relative path without a dot in its last part")
        try:
            "".join((self.key, *self.fields)).encode()
        except UnicodeEncodeError:
            raise UsageError(f"key {self.key!r} is not valid UTF-8: rename its files") from None
        if not self.fields:
            raise UsageError(f"sample {self.key!r} has no fields: give at least one piece of bytes")
        for name in self.fields:
            if not name or name.startswith("_") or "/" in name or "\0" in name:
                raise UsageError(f"sample {self.key!r}: field {name!r} can't be the end of a file's name; rename it")

    def record(self) -> bytes:
        """The sample as one string of bytes. Different samples give different bytes: every part has its length."""
        parts = [_piece(self.key.encode()), struct.pack("<I", len(self.fields))]
        for name in sorted(self.fields):
            parts += [_piece(name.encode()), struct.pack("<Q", len(self.fields[name])), self.fields[name]]
        return b"".join(parts)

    @classmethod
    def of_record(cls, record: bytes) -> Sample:
        """The sample that `record()` gave. Raises ValueError where the bytes are no whole record."""
        try:
            key, at = _taken(record, 0)
            (count,) = struct.unpack_from("<I", record, at)
            fields, at = dict[str, bytes](), at + 4
            for _ in range(count):
                name, at = _taken(record, at)
                (size,) = struct.unpack_from("<Q", record, at)
                fields[name] = bytes(record[at + 8 : at + 8 + size])
                at += 8 + size
        except struct.error as error:
            raise ValueError(f"no whole record: {error}") from None
        if at != len(record):
            raise ValueError(f"no whole record: {len(record)} bytes, {at} expected")
        return cls(key, fields)


def _piece(text: bytes) -> bytes:
    return struct.pack("<I", len(text)) + text


def _taken(record: bytes, at: int) -> tuple[str, int]:
    (size,) = struct.unpack_from("<I", record, at)
    return record[at + 4 : at + 4 + size].decode(), at + 4 + size


def checksum(sample: Sample) -> int:
    """CRC-32 of the sample's record: what tells a damaged record from a sound one."""
    return zlib.crc32(sample.record())


class ContentHash:
    """SHA-256 over the records of samples, in the order in which they are added."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def add(self, sample: Sample) -> Sample:
        """Take one more sample in; the sample, for use inside a loop."""
        record = sample.record()
        self._hash.update(struct.pack("<Q", len(record)))
        self._hash.update(record)
        return sample

    def hexdigest(self) -> str:
        """The hash of all samples so far, 64 hexadecimal digits."""
        return self._hash.hexdigest()


def content_hash(samples: Iterable[Sample]) -> str:
    """The hash of samples in their order. Equal for equal samples in the same order, whatever format they came from.

    It covers keys, field names and contents, each with its length, so nothing can move between neighbours unseen.
    """
    total = ContentHash()
    for sample in samples:
        total.add(sample)
    return total.hexdigest()


def hashed(samples: Iterable[Sample], total: ContentHash) -> Iterator[Sample]:
    """The same samples, each taken into `total` on its way."""
    return (total.add(sample) for sample in samples)
