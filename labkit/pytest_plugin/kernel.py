"""A kernel watched while a cell runs: one that dies is noticed at once, one that can't be stopped is given up."""

from __future__ import annotations

import math
import signal
from queue import Empty
from time import monotonic
from typing import Any

POLL = 0.25  # seconds between two looks at the kernel's process
GIVE_UP = 5.0  # seconds after an interrupt in which the kernel must come to rest


class KernelDied(Exception):
    """The kernel's process ended while it ran a cell. The text says how."""


class WatchedKernel:
    """nbval's RunningKernel, watched. Everything not defined here is the kernel's own.

    reply: content of the last execute reply, {} where none came. Its status counts: a cell stopped by an unknown magic
    shows no error message.
    """

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel
        self._process = getattr(getattr(kernel.km, "provisioner", None), "process", None)
        self._give_up = math.inf
        self.reply: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._kernel, name)

    def execute_cell_input(self, cell_input: str, allow_stdin: bool | None = None) -> str:
        """Send a cell to the kernel; the request's id."""
        self.reply = {}
        self._give_up = math.inf
        return str(self._kernel.execute_cell_input(cell_input, allow_stdin=allow_stdin))

    def await_reply(self, msg_id: str, timeout: float | None = None) -> None:
        """Wait for the reply to a request. Raises Empty after `timeout` seconds, KernelDied once the kernel is gone."""
        deadline = math.inf if timeout is None else monotonic() + timeout
        gone = False
        while True:
            left = deadline - monotonic()
            if left <= 0:
                raise Empty
            try:
                message = self._kernel.get_message("shell", timeout=min(POLL, left))
            except Empty:
                if gone:
                    raise KernelDied(self.obituary()) from None
                gone = not self._kernel.is_alive()  # one more look: the reply may have come just before the end
                continue
            if message["parent_header"].get("msg_id") == msg_id:
                self.reply = message["content"]
                if self.reply["status"] == "aborted":
                    raise RuntimeError("the kernel did not run this cell")
                return

    def get_message(self, stream: str, timeout: float | None = None) -> Any:
        """The next message. Raises Empty after `timeout` seconds, or when an interrupted cell doesn't stop in time."""
        if monotonic() > self._give_up:
            raise Empty  # the cell prints without end and swallows the interrupt
        return self._kernel.get_message(stream, timeout=timeout)

    def interrupt(self) -> None:
        """Interrupt the running cell; from now on it has GIVE_UP seconds to stop."""
        self._give_up = monotonic() + GIVE_UP
        self._kernel.interrupt()

    def obituary(self) -> str:
        """How the kernel's process ended, as far as that is known."""
        code = self._process.poll() if self._process is not None else None
        if code is None:
            return "its process is gone"
        if code < 0:
            hint = ": out of memory?" if code == -signal.SIGKILL else ""
            return f"killed by {signal.Signals(-code).name}{hint}"
        if code == 0:
            return "its process ended by itself: did a cell call exit()?"
        return f"its process ended with exit status {code}"

    def close(self) -> None:
        """Free what a dead kernel leaves behind: its channels and its connection file."""
        if not self._kernel.is_alive():
            self.kc.stop_channels()
            manager = getattr(self._kernel, "km", None)
            if manager is not None:
                manager.cleanup_resources()
