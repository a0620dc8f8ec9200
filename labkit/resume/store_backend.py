"""Where a store keeps its bytes: the six things it needs, and a local directory that does them durably.

Keys are names joined by "/". Every key is written once and never again, so a reader sees all of it or none.
`labkit.resume.store_objects` has the same for object stores.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from labkit.resume.checkpoint_error import Unverified
from labkit.resume.store_files import Buffer, Files


class Backend(Protocol):
    """What a store needs. Errors are OSError, FileNotFoundError where a key isn't there."""

    place: str
    """How people call it."""

    def put(self, key: str, parts: Sequence[Buffer]) -> None:
        """Write a new key durably; FileExistsError where there is one."""

    def publish(self, key: str, content: bytes, prefix: str) -> bool:
        """Make `key` appear at once with all of `content`, after all that lies under `prefix`; durable on return.

        False, and nothing changed, where the key is there already: somebody else was first.
        """

    def read(self, key: str) -> bytes:
        """All of a key."""

    def digest(self, key: str) -> tuple[int, str]:
        """Size in bytes and SHA-256 of a key, read from where it is kept rather than from a cache."""

    def names(self, prefix: str) -> list[str]:
        """The names right under `prefix`, sorted; none where there is no such prefix."""

    def remove(self, key: str) -> None:
        """Remove a key, or all under a prefix; durable on return. Nothing happens where there is none."""

    def saving(self) -> AbstractContextManager[None]:
        """Held while a save is under way."""

    def alone(self) -> AbstractContextManager[bool]:
        """Held while leftovers are removed; False where a save may be under way anywhere, or it can't be known."""


class LocalBackend:
    """A directory on a POSIX file system with hard links and flock.

    Args:
        root: made at the first save.
        files: what does the work; a recorder in tests.
    """

    def __init__(self, root: str | Path, files: Files | None = None) -> None:
        self.root = Path(root)
        self.place = str(root)
        self.files = files or Files()

    def _path(self, key: str) -> Path:
        """The file of a key. Symbolic links below the root are refused: they could lead anywhere."""
        path = self.root
        for name in key.split("/"):
            path = path / name
            if path.is_symlink():
                raise OSError(errno.ELOOP, f"there is a symbolic link at {path}, and a store holds none: remove it")
        return path

    def _make(self, path: Path) -> None:
        """A directory and those above it, each made durable in the one that holds it."""
        if path.is_dir():
            return
        self._make(path.parent)
        with contextlib.suppress(FileExistsError):  # another process was first
            self.files.mkdir(path)
        self.files.fsync_dir(path.parent)

    def put(self, key: str, parts: Sequence[Buffer]) -> None:
        """As in Backend: the file's content is durable; its name is made so by `publish`."""
        path = self._path(key)
        self._make(path.parent)
        self.files.write(path, parts)
        self.files.fsync(path)

    def publish(self, key: str, content: bytes, prefix: str) -> bool:
        """As in Backend: a file of its own, read back, then given its public name with link, which never replaces."""
        target, name = self._path(key), key.rpartition("/")[2]
        temporary = f"{prefix}/{name}"
        self.put(temporary, [content])
        if self.digest(temporary) != (len(content), hashlib.sha256(content).hexdigest()):
            raise Unverified("its manifest reads back differently from what was written")
        self.files.fsync_dir(self._path(prefix))
        self._make(target.parent)
        try:
            self.files.link(self._path(temporary), target)
        except FileExistsError:
            return False
        self.files.fsync_dir(target.parent)
        return True

    def read(self, key: str) -> bytes:
        """As in Backend."""
        return b"".join(self.files.chunks(self._path(key)))

    def digest(self, key: str) -> tuple[int, str]:
        """As in Backend."""
        size, found = 0, hashlib.sha256()
        for piece in self.files.chunks(self._path(key), from_disk=True):
            size += len(piece)
            found.update(piece)
        return size, found.hexdigest()

    def names(self, prefix: str) -> list[str]:
        """As in Backend."""
        try:
            return sorted(os.listdir(self._path(prefix)))
        except FileNotFoundError:
            return []

    def remove(self, key: str) -> None:
        """As in Backend."""
        path = self._path(key)
        with contextlib.suppress(FileNotFoundError):  # another process was first
            if path.is_dir():
                for name in os.listdir(path):
                    self.files.unlink(self._path(f"{key}/{name}"))
                self.files.rmdir(path)
            else:
                self.files.unlink(path)
            self.files.fsync_dir(path.parent)

    @contextlib.contextmanager
    def saving(self) -> Iterator[None]:
        """A shared lock on the root directory, freed by the system where the process dies."""
        self._make(self.root)
        with self._locked(fcntl.LOCK_SH):
            yield

    @contextlib.contextmanager
    def alone(self) -> Iterator[bool]:
        """The exclusive lock, where it is free."""
        with contextlib.ExitStack() as stack:
            try:
                stack.enter_context(self._locked(fcntl.LOCK_EX | fcntl.LOCK_NB))
            except BlockingIOError:
                yield False
                return
            yield True

    @contextlib.contextmanager
    def _locked(self, how: int) -> Iterator[None]:
        handle = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(handle, how)
            yield
        finally:
            os.close(handle)
