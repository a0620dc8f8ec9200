"""Large pages for a process that others are forked from: a fork copies one entry instead of 512, so it takes a third.

A process with torch loaded has some 100,000 small pages, and every fork and every exit of a child goes through all of
them. Pages that a child writes are still copied one small page at a time. Linux 6.1 or newer; elsewhere nothing is
done.
"""

from __future__ import annotations

import contextlib
import ctypes
import sys

HUGEPAGE, COLLAPSE = 14, 25  # of madvise(2): allow large pages here; make them now
LARGE = 1 << 21  # bytes: of x86_64, and of arm64 with small pages of 4 KiB


def make_large() -> int:
    """Put this process's memory on large pages where it can be; how many bytes lie on them now.

    Call it once, after everything is loaded and before the first fork: it takes a second for 250 MB.
    """
    if sys.platform != "linux":
        return 0
    advise = ctypes.CDLL(None, use_errno=True).madvise
    advise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    made = 0
    with contextlib.suppress(OSError), open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
        for line in file.read().splitlines():
            place, rights, _, _, inode, *name = line.split(maxsplit=5)
            if inode != "0" or "w" not in rights or "p" not in rights or name not in ([], ["[heap]"]):
                continue
            begin, end = (int(word, 16) for word in place.split("-"))
            first = -(-begin // LARGE) * LARGE
            size = end // LARGE * LARGE - first
            if size > 0 and advise(first, size, HUGEPAGE) == 0 and advise(first, size, COLLAPSE) == 0:
                made += size
    return made
