"""What lies in a store: its manifests, newest first, and whether the files they name are what was saved."""

from __future__ import annotations

import hashlib

from labkit.errors import reason
from labkit.resume.checkpoint_error import CheckpointError, Unverified
from labkit.resume.store_backend import Backend
from labkit.resume.store_encoding import TREE
from labkit.resume.store_manifest import Manifest, decode_manifest


class Catalogue:
    """Reads a store; changes nothing."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend

    def listing(self) -> list[str]:
        """The manifests, newest first; what other programs left there doesn't count."""
        names = self.backend.names("manifests")
        numbered = [name for name in names if name.endswith(".json") and name[:-5].isdigit()]
        return [f"manifests/{name}" for name in sorted(numbered, key=lambda name: int(name[:-5]), reverse=True)]

    def manifest(self, key: str) -> Manifest:
        """A manifest that proves to be whole; Unverified, FileNotFoundError or CheckpointError otherwise."""
        return decode_manifest(self.backend.read(key), key)

    def part(self, manifest: Manifest, name: str) -> bytes:
        """One file of a checkpoint; Unverified where it isn't what was saved."""
        part = next((part for part in manifest.parts if part.name == name), None)
        if part is None:
            raise Unverified(f"its manifest doesn't list {name}")
        try:
            content = self.backend.read(f"data/{manifest.attempt}/{name}")
        except FileNotFoundError:
            raise Unverified(f"{name} is missing") from None
        if why := part.fault(len(content), hashlib.sha256(content).hexdigest()):
            raise Unverified(why)
        return content

    def fault(self, manifest: Manifest) -> str:
        """What is wrong with a checkpoint's files; "" where nothing is."""
        if TREE not in {part.name for part in manifest.parts}:
            return f"its manifest doesn't list {TREE}"
        for part in manifest.parts:
            try:
                found = self.backend.digest(f"data/{manifest.attempt}/{part.name}")
            except FileNotFoundError:
                return f"{part.name} is missing"
            except OSError as error:
                return f"{part.name} can't be read: {reason(error)}"
            except CheckpointError as error:
                return str(error)
            if why := part.fault(*found):
                return why
        return ""

    def unreferenced(self) -> list[str] | None:
        """Attempts under data/ that no manifest names; None where a manifest can't be read, so that it isn't known."""
        attempts = self.backend.names("data")  # before the manifests: one published in between is then seen
        used = set()
        for key in self.listing():
            try:
                used.add(self.manifest(key).attempt)
            except FileNotFoundError:
                continue  # removed by another process in between
            except (Unverified, CheckpointError):
                return None
        return [attempt for attempt in attempts if attempt not in used]


def sequence(key: str) -> int:
    """The number in a manifest's key."""
    return int(key.rpartition("/")[2][:-5])
