"""The record that makes a save a checkpoint: its files with sizes and checksums, and a checksum of itself."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Any

from labkit.resume.checkpoint_error import CheckpointError, Unverified

FORMAT = 1


@dataclass(frozen=True)
class Part:
    """One file: its name, its size in bytes, its SHA-256."""

    name: str
    bytes: int
    sha256: str

    def fault(self, size: int, digest: str) -> str:
        """What a file with this size and SHA-256 has wrong with it; "" where nothing."""
        if size != self.bytes:
            return f"{self.name} has {size} bytes, {self.bytes} were saved"
        return "" if digest == self.sha256 else f"{self.name} is damaged: it doesn't match its checksum"


@dataclass(frozen=True)
class Manifest:
    """One checkpoint.

    Attributes:
        sequence: the place among all saves of this store, from 1. The highest is the newest, whatever its step: a run
            that went back to step 50 saves lower steps later.
        step: of the training.
        attempt: the prefix under data/ that holds its files; never used again.
        parts: its files.
    """

    sequence: int
    step: int
    attempt: str
    parts: tuple[Part, ...]

    @property
    def key(self) -> str:
        """Where it is published."""
        return f"manifests/{self.sequence:08d}.json"

    @property
    def size(self) -> int:
        """Bytes in all its files."""
        return sum(part.bytes for part in self.parts)

    def encode(self) -> bytes:
        """The record as it is stored: one fixed form, so that a changed byte anywhere shows."""
        body = {"format": FORMAT, **asdict(self)}
        return _dump({"sha256": hashlib.sha256(_dump(body)).hexdigest(), "manifest": body})


def decode_manifest(content: bytes, key: str) -> Manifest:
    """A record that proves to be whole.

    Raises:
        Unverified: it is cut short, damaged or lies at another key.
        CheckpointError: it is whole, and from a newer labkit: passing over it would lose progress in silence.
    """
    try:
        found = json.loads(content)
        body = found["manifest"]
        whole = found["sha256"] == hashlib.sha256(_dump(body)).hexdigest() and content == _dump(found)
    except (ValueError, KeyError, TypeError, RecursionError):
        raise Unverified("its manifest is cut short or isn't one") from None
    if not whole or not isinstance(body, dict):
        raise Unverified("its manifest is damaged: it doesn't match its checksum")
    version = body.get("format")
    if type(version) is int and version > FORMAT:
        raise CheckpointError(
            f"{key} was written by a newer labkit (format {version}, this one reads {FORMAT}): "
            "upgrade labkit; older checkpoints were left alone"
        )
    try:
        parts = tuple(Part(**part) for part in body["parts"])
        made = Manifest(body["sequence"], body["step"], body["attempt"], parts)
    except (KeyError, TypeError):
        raise Unverified("its manifest lacks a field") from None
    if made.key != key:
        raise Unverified(f"its manifest belongs at {made.key}")
    return made


def _dump(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
