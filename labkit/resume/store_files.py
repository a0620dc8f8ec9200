"""The few things a store asks of a local file system, each one system call or close to it; and a recorder of them.

They are the seam at which crash states are enumerated (`labkit.resume.crash`): what isn't here, the store doesn't do.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from labkit.atomic_file import sync_directory, write_all

Buffer: TypeAlias = "bytes | bytearray | memoryview"
_CHUNK = 8 << 20


@dataclass(frozen=True)
class Operation:
    """One change of a file system, or one order to make changes durable.

    Attributes:
        kind: "mkdir", "create" (a new, empty file), "write", "truncate" (to nothing), "fsync" (a file's content),
            "fsync_dir" (a directory's names), "link", "rename", "unlink" or "rmdir".
        path: what it is done to, relative to the recorded directory; "" is that directory.
        data: the bytes of a write.
        offset: where a write begins.
        target: the new name, of a link or a rename.
    """

    kind: str
    path: str
    data: bytes = b""
    offset: int = 0
    target: str = ""


class Files:
    """A local file system. Nothing is followed through a symbolic link at the last name of a path."""

    def mkdir(self, path: Path) -> None:
        """Make one directory; FileExistsError where there is one."""
        path.mkdir()

    def write(self, path: Path, parts: Iterable[Buffer]) -> None:
        """Write a new file; FileExistsError where there is one."""
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666)
        try:
            for part in parts:
                write_all(handle, part)
        finally:
            os.close(handle)

    def fsync(self, path: Path) -> None:
        """Make a file's content durable."""
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    def fsync_dir(self, path: Path) -> None:
        """Make the names in a directory durable."""
        sync_directory(path)

    def link(self, path: Path, target: Path) -> None:
        """Give a file a second name, at once and only where that name is free; FileExistsError otherwise."""
        os.link(path, target, follow_symlinks=False)

    def unlink(self, path: Path) -> None:
        """Remove a name."""
        path.unlink()

    def rmdir(self, path: Path) -> None:
        """Remove an empty directory."""
        path.rmdir()

    def chunks(self, path: Path, *, from_disk: bool = False) -> Iterator[bytes]:
        """A file's content in pieces. from_disk: drop it from the page cache first, so that the device is asked."""
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
        try:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise OSError(0, "not a regular file", str(path))
            if from_disk and hasattr(os, "posix_fadvise"):
                with contextlib.suppress(OSError):  # advice: a file system may have none of it
                    os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
            while piece := os.read(handle, _CHUNK):
                yield piece
        finally:
            os.close(handle)


class RecordedFiles(Files):
    """A file system that also writes down what is done to it.

    Args:
        root: paths are recorded relative to this directory.

    Attributes:
        log: the operations, in order.
    """

    def __init__(self, root: str | Path) -> None:
        self.root = Path(root)
        self.log: list[Operation] = []

    def _note(self, kind: str, path: Path, **more: object) -> None:
        self.log.append(Operation(kind, self._name(path), **more))  # type: ignore[arg-type]

    def _name(self, path: Path) -> str:
        name = path.relative_to(self.root).as_posix()
        return "" if name == "." else name

    def mkdir(self, path: Path) -> None:
        """As in Files."""
        super().mkdir(path)
        self._note("mkdir", path)

    def write(self, path: Path, parts: Iterable[Buffer]) -> None:
        """As in Files; one operation a part, since a crash may come between two."""
        pieces = [bytes(part) for part in parts]
        super().write(path, pieces)
        self._note("create", path)
        offset = 0
        for piece in pieces:
            self._note("write", path, data=piece, offset=offset)
            offset += len(piece)

    def fsync(self, path: Path) -> None:
        """As in Files."""
        super().fsync(path)
        self._note("fsync", path)

    def fsync_dir(self, path: Path) -> None:
        """As in Files."""
        super().fsync_dir(path)
        self._note("fsync_dir", path)

    def link(self, path: Path, target: Path) -> None:
        """As in Files."""
        super().link(path, target)
        self._note("link", path, target=self._name(target))

    def unlink(self, path: Path) -> None:
        """As in Files."""
        super().unlink(path)
        self._note("unlink", path)

    def rmdir(self, path: Path) -> None:
        """As in Files."""
        super().rmdir(path)
        self._note("rmdir", path)
