"""A store in an object store, through fsspec: no rename there, so the manifest is published by a conditional PUT.

What it relies on: a PUT is seen whole or not at all, a key that was put can be read and listed at once, and a PUT with
`mode="create"` fails where the key exists. S3 (If-None-Match), Google Cloud Storage (generation 0) and Azure have this;
a file system that overwrites in silence is refused when the backend is made. Files of saves that never finished aren't
removed, since nobody can know that their writer is dead: `labkit store verify` counts them.
"""

from __future__ import annotations

import contextlib
import hashlib
import secrets
from collections.abc import Iterator, Sequence
from typing import Any

from labkit.errors import UsageError
from labkit.resume.store_files import Buffer


class ObjectBackend:
    """A prefix of an fsspec file system.

    Args:
        filesystem: an fsspec AbstractFileSystem, such as `fsspec.filesystem("s3")`.
        prefix: the bucket and the prefix under which the store lies.

    Raises:
        UsageError: the file system overwrites a key where it was asked only to create it.
    """

    def __init__(self, filesystem: Any, prefix: str) -> None:
        self.filesystem = filesystem
        self.prefix = prefix.rstrip("/")
        self.place = self.prefix
        probe = f"{self.prefix}/probe-{secrets.token_hex(8)}"
        self._create(probe, b"1")
        second = self._create(probe, b"2")
        filesystem.rm_file(probe)
        if second:
            raise UsageError(
                f"{type(filesystem).__name__} overwrites a key when asked to create it: two processes saving at once "
                "would lose one save; use a file system with conditional PUT"
            )

    def _create(self, path: str, content: bytes) -> bool:
        try:
            self.filesystem.pipe_file(path, content, mode="create")
        except FileExistsError:
            return False
        return True

    def _path(self, key: str) -> str:
        return f"{self.prefix}/{key}"

    def put(self, key: str, parts: Sequence[Buffer]) -> None:
        """As in Backend; a file is one PUT."""
        if not self._create(self._path(key), b"".join(parts)):
            raise FileExistsError(0, "exists already", key)

    def publish(self, key: str, content: bytes, prefix: str) -> bool:
        """As in Backend. After a PUT whose answer was lost, the key holds our own content: then it was us."""
        return self._create(self._path(key), content) or self.read(key) == content

    def read(self, key: str) -> bytes:
        """As in Backend."""
        return bytes(self.filesystem.cat_file(self._path(key)))

    def digest(self, key: str) -> tuple[int, str]:
        """As in Backend: the object is fetched again."""
        content = self.read(key)
        return len(content), hashlib.sha256(content).hexdigest()

    def names(self, prefix: str) -> list[str]:
        """As in Backend; fsspec's own cache of listings is passed by."""
        self.filesystem.invalidate_cache(self._path(prefix))
        with contextlib.suppress(FileNotFoundError):
            found = self.filesystem.ls(self._path(prefix), detail=False)
            return sorted({str(path).rstrip("/").rpartition("/")[2] for path in found})
        return []

    def remove(self, key: str) -> None:
        """As in Backend."""
        with contextlib.suppress(FileNotFoundError):
            self.filesystem.rm(self._path(key), recursive=True)

    @contextlib.contextmanager
    def saving(self) -> Iterator[None]:
        """Nothing is held: no lock reaches across machines here."""
        yield

    @contextlib.contextmanager
    def alone(self) -> Iterator[bool]:
        """False: another machine may be saving."""
        yield False
