"""One file, replaced whole or not at all, and still there after a power cut."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path

from labkit.errors import WriteError, reason


def write_atomic(path: str | Path, content: bytes) -> None:
    """Put `content` at `path`: temporary file beside it, fsync, read back, rename, fsync of the directory.

    Whoever opens `path` sees the old content or the new one. A symbolic link or a directory there is refused.

    Raises:
        WriteError: the disk is full, the directory read-only, ...; what was there before is untouched.
    """
    path = Path(path)
    if path.is_symlink():
        raise WriteError(f"{path} is a symbolic link: name the file itself, so that nothing else is replaced")
    if path.is_dir():
        raise WriteError(f"{path} is a directory: name a file")
    if not path.parent.is_dir():
        raise WriteError(f"{path} can't be written: there is no directory {path.parent}")
    before = "the file that was there is untouched" if path.exists() else "nothing was written"
    temporary = path.parent / f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}.tmp"
    try:
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        try:
            write_all(handle, content)
            os.fsync(handle)  # a failed fsync is final: trying again may report success for lost data
        finally:
            os.close(handle)
        if temporary.read_bytes() != content:
            raise WriteError(f"{path}: what was written reads back differently; {before}")
        temporary.replace(path)
    except OSError as error:
        raise WriteError(f"{path} can't be written: {reason(error)}; {before}") from None
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
    try:
        sync_directory(path.parent)
    except OSError as error:
        raise WriteError(f"{path} is written, but may not survive a power cut: {reason(error)}") from None


def write_all(handle: int, content: bytes | bytearray | memoryview) -> None:
    """All of `content`: one write may take only a part of it."""
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(handle, rest) :]


def sync_directory(path: str | Path) -> None:
    """Make the names in a directory durable."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
