"""Cold or warm? Put files out of the system's page cache, and look at how much of them is in it."""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

PAGE = mmap.PAGESIZE
COLD, WARM = 0.01, 0.99
"""Up to this share of the pages in memory a file counts as cold; from this share on as warm."""


@dataclass(frozen=True)
class Cached:
    """How much of some files is in this machine's page cache.

    Attributes:
        pages: pages of all files together, 4 KiB each on most machines.
        resident: those in memory; None where the system doesn't tell.

    What it can't say: a cold file may still be in the memory of a disk controller, of the host of a virtual machine or
    of a file server; and the names and sizes of files (the directory cache) stay in memory.
    """

    pages: int
    resident: int | None

    @property
    def share(self) -> float | None:
        """Resident pages / pages, 0 to 1."""
        return None if self.resident is None else self.resident / max(self.pages, 1)

    @property
    def state(self) -> str:
        """cold, warm, mixed, or unknown."""
        if self.share is None:
            return "unknown"
        return "cold" if self.share <= COLD else "warm" if self.share >= WARM else "mixed"


def cached(paths: Iterable[str | Path]) -> Cached:
    """Ask the kernel, by mincore, which pages of the files are in memory. Reads none of them."""
    pages = resident = 0
    known = True
    for path in paths:
        size = os.path.getsize(path)
        pages += -(-size // PAGE)
        found = _resident(Path(path), size) if size else 0
        known = known and found is not None
        resident += found or 0
    return Cached(pages, resident if known else None)


def evict(paths: Iterable[str | Path]) -> Cached:
    """Put the files out of the page cache as far as the system lets us, and say what is left in it.

    Changed pages are written first: the kernel drops clean ones only. Pages that some process has mapped, and files on
    tmpfs, stay. So look at `.state` of what this returns before you call a reading cold.
    """
    paths = list(paths)
    _drop(paths)
    left = cached(paths)
    for _ in range(3):  # pages that are just being read ahead can't be dropped yet
        if left.state == "cold" or left.resident is None:
            break
        time.sleep(0.01)
        _drop(paths)
        left = cached(paths)
    return left


def _drop(paths: Iterable[str | Path]) -> None:
    for path in paths:
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
            if hasattr(os, "posix_fadvise"):
                os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOSYS, errno.EROFS):
                raise
        finally:
            os.close(handle)


def warm(paths: Iterable[str | Path]) -> Cached:
    """Read the files once, so that they are in the page cache, and say how much of them is."""
    paths = list(paths)
    for path in paths:
        with open(path, "rb", buffering=0) as file:
            while file.read(1024 * 1024):
                pass
    return cached(paths)


def storage_bytes() -> int | None:
    """Bytes that this process has had fetched from storage so far, by the kernel's count; None where it keeps none."""
    try:
        told = Path("/proc/self/io").read_text(encoding="ascii")
    except OSError:
        return None
    return next((int(line.split()[1]) for line in told.splitlines() if line.startswith("read_bytes:")), None)


def _resident(path: Path, size: int) -> int | None:
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        mincore = libc.mincore
    except (OSError, AttributeError):
        return None
    with path.open("rb") as file, mmap.mmap(file.fileno(), size, access=mmap.ACCESS_COPY) as view:
        pages = -(-size // PAGE)
        told = (ctypes.c_ubyte * pages)()
        start = ctypes.c_char.from_buffer(view)
        try:
            failed = mincore(ctypes.c_void_p(ctypes.addressof(start)), ctypes.c_size_t(size), told)
        finally:
            del start
        return None if failed else sum(page & 1 for page in bytes(told))
