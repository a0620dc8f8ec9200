"""How processes of a run talk: small JSON messages on a Unix socket; what is large travels as an unnamed file.

Only the file's descriptor is sent, so ranks share one copy of the arguments, no message is ever half there when its
writer is killed, and nothing has a name that could be left behind.
"""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import socket
import sys
import tempfile
from typing import Any

# One send is one message. Only Linux offers it together with an end of file when the other side is gone.
KIND = socket.SOCK_SEQPACKET if sys.platform == "linux" else socket.SOCK_DGRAM
MOST_BYTES, MOST_FDS = 1 << 16, 200


class Channel:
    """One end of a connection. Writers keep messages small; `blob` carries the rest."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock

    @classmethod
    def pair(cls) -> tuple[Channel, Channel]:
        """Two connected ends."""
        a, b = socket.socketpair(socket.AF_UNIX, KIND)
        return cls(a), cls(b)

    @classmethod
    def of(cls, fd: int) -> Channel:
        """The end that an inherited descriptor is."""
        return cls(socket.socket(fileno=fd))

    def fileno(self) -> int:
        """For select and poll."""
        return self.sock.fileno()

    def send(self, message: dict[str, Any], fds: list[int] | None = None) -> bool:
        """Send; False if the other side is gone."""
        try:
            socket.send_fds(self.sock, [json.dumps(message).encode()], fds or [])
        except (BrokenPipeError, ConnectionError):
            return False
        return True

    def receive(self) -> tuple[dict[str, Any], list[int]] | None:
        """The next message and its descriptors, None once the other side is gone. Waits."""
        try:
            data, fds, _, _ = socket.recv_fds(self.sock, MOST_BYTES, MOST_FDS)
        except ConnectionError:
            return None
        return (json.loads(data), fds) if data else None

    def close(self) -> None:
        """Close this end."""
        self.sock.close()


def nameless() -> int:
    """The descriptor of an empty file without a name, in memory where the system can."""
    if hasattr(os, "memfd_create"):
        with contextlib.suppress(PermissionError):  # a sandbox may refuse it: no limit counts such files
            return os.memfd_create("labkit-ranks")
    with tempfile.TemporaryFile(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as file:
        return os.dup(file.fileno())


def blob(data: bytes | memoryview) -> int:
    """A nameless file that holds `data`; the caller closes it."""
    fd, view = nameless(), memoryview(data)
    try:
        while view:
            view = view[os.write(fd, view) :]
    except BaseException:
        os.close(fd)
        raise
    return fd


def read_blob(fd: int, *, close: bool = True) -> bytes:
    """All that the file holds."""
    size = os.fstat(fd).st_size
    try:
        if not size:
            return b""
        with mmap.mmap(fd, size, access=mmap.ACCESS_READ) as view:
            return view[:]
    finally:
        if close:
            os.close(fd)
