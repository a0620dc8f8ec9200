"""The judge's side: the nursery, the slots whose servers it forks, and the handle of an answer in one of them."""

from __future__ import annotations

import contextlib
import os
import queue
import select
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

from labkit.errors import LabkitError, UsageError
from labkit.grading.confine.handle import ConfinedAnswer
from labkit.grading.confine.limits import IsolationReport, Limits, Program
from labkit.grading.confine.view import preloaded
from labkit.inputs import whole
from labkit.ranks.protocol import Channel

START = 120.0  # s for a server to load torch on a slow disk
WAYS = ("namespaces", "user namespace", "landlock", "none")
_MAIN = "from labkit.grading.confine.nursery import main; main(sys.argv)"
_ENVIRON = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "LANG": "C.UTF-8",
    "HOME": "/tmp",
    "MPLCONFIGDIR": "/tmp/labkit-matplotlib",
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "GLOO_SOCKET_IFNAME": "lo",
    "CUDA_VISIBLE_DEVICES": "",
    "LABKIT_DEVICE": "cpu",
}


class Slots:
    """Places to run answers in, each with a server of its own.

    Args:
        count: how many answers may run at the same time, 1 or more.
        unsafe: run answers although nothing can confine them here; the report then says way "none".
        way: one of `WAYS` to insist on it; "" for the best that is possible here.

    Raises:
        UsageError: count or way can't be used; or nothing can confine an answer here and `unsafe` wasn't given.
    """

    def __init__(self, count: int, *, unsafe: bool = False, way: str = "") -> None:
        self.count = whole("count", count, 1)
        if way not in ("", *WAYS):
            raise UsageError(f"way is {way!r}: choose from {', '.join(WAYS)}")
        if way == "none" and not unsafe:
            raise UsageError("way 'none' confines nothing: say unsafe=True too")
        self.unsafe, self._way = unsafe, way
        self.report = IsolationReport("none")
        self._nursery: Nursery | None = None
        self._slots: list[Slot] = []
        self._free: queue.SimpleQueue[Slot] = queue.SimpleQueue()
        self._lock = threading.Lock()

    def __enter__(self) -> Slots:
        try:
            made = [self._fresh() for _ in range(self.count)]
            for slot in made:
                slot.wait_until_ready()
                self._free.put(slot)
            self.report = made[0].report
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _fresh(self) -> Slot:
        """Another slot; from another nursery, should the first be gone."""
        with self._lock:
            if self._nursery is None or not self._nursery.alive:
                if self._nursery is not None:
                    self._nursery.close()
                self._nursery = Nursery(self._way, unsafe=self.unsafe)
            slot = self._nursery.slot()
            self._slots = [one for one in self._slots if one.alive] + [slot]
            return slot

    def close(self) -> None:
        """End all servers, and whatever still runs below them."""
        for slot in self._slots:
            slot.close()
        self._slots = []
        if self._nursery is not None:
            self._nursery.close()
            self._nursery = None

    @contextlib.contextmanager
    def answer(self, program: Program, limits: Limits | None = None) -> Iterator[ConfinedAnswer]:
        """An answer at work, in the next free slot; waits for one. Every process of it is gone when this ends.

        Any number of threads may ask. Raises UsageError where the lab has no such exercise or answer cell.
        """
        slot = self._free.get()
        try:
            if not (slot.alive and slot.nursery is self._nursery and slot.nursery.alive):
                slot.close()
                slot = self._fresh()
                slot.wait_until_ready()
            with slot.answer(program, limits) as answer:
                yield answer
        finally:
            self._free.put(slot)


class Slot:
    """One place to run answers in, one after the other. report: how they are kept apart, once it is ready."""

    def __init__(self, control: Channel, nursery: Nursery) -> None:
        self.control = control
        self.report = IsolationReport("none")
        self.nursery = nursery

    @property
    def alive(self) -> bool:
        """Whether its server is there: between answers it says nothing, except by its end."""
        return self.control.fileno() >= 0 and not select.select([self.control], [], [], 0)[0]

    def wait_until_ready(self) -> None:
        """Returns when torch is loaded and the confinement has been tried out.

        Raises UsageError where nothing can confine an answer here, LabkitError where the server can't start.
        """
        ready, _, _ = select.select([self.control], [], [], START)
        received = self.control.receive() if ready else None
        if received is None:
            raise LabkitError(f"the grading server could not start: {self.nursery.last_words()}")
        message = received[0]
        if "refused" in message:
            raise UsageError(message["refused"])
        self.report = IsolationReport(message["way"], tuple(message["closed"]), tuple(message["open"]))

    def answer(self, program: Program, limits: Limits | None = None) -> ConfinedAnswer:
        """An answer that runs here as long as the result is entered. Raises UsageError for what the lab hasn't."""
        return ConfinedAnswer(self.control, program, limits or Limits())

    def close(self) -> None:
        """End its server, and the answer that may run in it."""
        with contextlib.suppress(OSError):
            self.control.sock.shutdown(socket.SHUT_RDWR)
        self.control.close()


class Nursery:
    """The process that forks slots' servers, started by exec with an empty environment; see `confine.nursery`."""

    def __init__(self, way: str = "", *, unsafe: bool = False) -> None:
        self._control, theirs = Channel.pair()
        self._said = tempfile.TemporaryFile()  # noqa: SIM115  open as long as the nursery lives
        root = str(Path(__file__).parents[3])
        code = f"import sys; sys.path.append({root!r}); {_MAIN}"
        words = [str(theirs.fileno()), way, "unsafe" if unsafe else ""]
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-s", "-c", code, *words],
            env=_ENVIRON,
            cwd="/",
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._said,
            start_new_session=True,
        )
        theirs.close()
        self._control.send({"imports": preloaded()})

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return self._process.poll() is None

    def slot(self) -> Slot:
        """Ask for another slot; `Slot.wait_until_ready` says whether it came to be."""
        mine, theirs = Channel.pair()
        self._control.send({"slot": True}, [theirs.fileno()])
        theirs.close()
        return Slot(mine, self)

    def last_words(self) -> str:
        """The last line that it or a server wrote to stderr."""
        lines = os.pread(self._said.fileno(), 1 << 16, 0).decode(errors="replace").split("\n")
        return next((line for line in reversed(lines) if line.strip()), "no reason was given")

    def forget(self) -> None:
        """In a forked copy of the process that started it: it isn't ours to keep or to end."""
        self._control.close()

    def close(self) -> None:
        """End it and everything below it."""
        self._control.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._said.close()
