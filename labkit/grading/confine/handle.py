"""The handle of an answer in another process: what a check may ask of it, with limits on everything it says."""

from __future__ import annotations

import contextlib
import os
import select
import socket
import time
from collections.abc import Mapping
from dataclasses import asdict
from types import TracebackType
from typing import Any

from labkit.checks.answer import AnswerFault, call_text
from labkit.checks.plain import Unanswered
from labkit.course import load
from labkit.course.notebook import Lab
from labkit.errors import LabkitError, UsageError
from labkit.grading.confine import wire
from labkit.grading.confine.limits import LimitHit, Limits, Program, Usage
from labkit.grading.confine.seal import tools_of
from labkit.ranks.protocol import Channel

MOST_TEXT = 2000  # characters kept of anything an answer says about itself
_CHUNK = 1 << 18
_END = 10.0  # s for the server to end an answer


class ConfinedAnswer:
    """See `labkit.checks.answer.Answer`. After a LimitHit, `hit` holds it and every further question raises it again.

    Attributes:
        hit: why the answer ended before its time; None while it answers.
        usage: what it used.
    """

    def __init__(self, control: Channel, program: Program, limits: Limits) -> None:
        self.hit: LimitHit | None = None
        self.usage = Usage()
        self._control, self._limits = control, limits
        self._task = _task(program)
        self._tail = bytearray()
        self._printed = 0
        self._left = limits.seconds
        self._ready = False
        self._failed: list[Any] | None = None  # what its own cells raised
        self._name = "answer"
        self._over = False

    def __enter__(self) -> ConfinedAnswer:
        mine, theirs = socket.socketpair()
        out, into = os.pipe()
        os.set_blocking(out, False)
        mine.setblocking(False)
        self._wire, self._out = mine, out
        try:
            if not self._control.send({"answer": asdict(self._limits)}, [theirs.fileno(), into]):
                raise LabkitError("the grading server has ended: grade this answer again")
        except BaseException:
            mine.close()
            os.close(out)
            raise
        finally:
            theirs.close()
            os.close(into)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if not self._over:
                self._control.send({"end": True})
                self._ended()
        finally:
            self._drain()
            self.usage.output = self._tail[-MOST_TEXT:].decode("utf-8", "replace")
            self._wire.close()
            os.close(self._out)

    def value(self) -> Any:
        """See `Answer.value`."""
        return self._answer(self._ask(["value"]), "")

    def call(self, *args: Any) -> Any:
        """See `Answer.call`."""
        reply = self._ask(["call", list(args)])
        return self._answer(reply, call_text(self._name, args))

    def _answer(self, reply: list[Any], given: str) -> Any:
        match reply:
            case ["is", value]:
                return value
            case ["open", str(what)]:
                raise Unanswered(_short(what))
            case ["tampered", str(what)]:
                self._stop("tampering", f"it replaced a tool that the grader's experiment is run with: {_short(what)}")
            case ["fault", bool(called), str(seen), str(expected), str(next_step)]:
                raise AnswerFault(given if called else "", _short(seen), _short(expected), _short(next_step))
        self._stop("wire", "it wrote into the grader's own pipe")
        raise AssertionError("unreachable")

    def _ask(self, question: list[Any]) -> list[Any]:
        if self.hit is not None:
            raise self.hit
        if not self._ready:
            self._begin()
        if self._failed is not None:
            return self._failed
        return self._exchange(question)

    def _begin(self) -> None:
        """Run its cells; what they raise is raised at the first question."""
        reply = self._exchange(self._task)
        self._ready = True
        match reply:
            case ["ready", str(name)]:
                self._name = name[:80] if name.isidentifier() else "answer"
            case _:
                self._failed = reply

    def _exchange(self, message: list[Any]) -> list[Any]:
        """Send one message, wait for one reply; LimitHit where there is none in time."""
        unsent = memoryview(wire.pack(message))
        got = bytearray()
        size: int | None = None
        before = time.monotonic()
        try:
            while size is None or len(got) < wire.HEAD.size + size:
                spent = time.monotonic() - before
                if spent > self._left:
                    self._stop("time", f"it took longer than {self._limits.seconds:g} s and was stopped")
                unsent = self._turn(unsent, got, min(self._left - spent, 5.0))
                if size is None and len(got) >= wire.HEAD.size:
                    size = wire.frame_size(bytes(got[: wire.HEAD.size]))
            if unsent or len(got) > wire.HEAD.size + size:
                self._stop("wire", "it answered without being asked")
            reply = wire.unpack(got[wire.HEAD.size :])
        except wire.NotOnTheWire as error:
            self._stop("size", f"what it handed over can't be used: {error}")
        finally:
            spent = time.monotonic() - before
            self._left -= spent
            self.usage.wall_s += spent
        if type(reply) is not list or not reply:
            self._stop("wire", "it wrote into the grader's own pipe")
        return list(reply)

    def _turn(self, unsent: memoryview, got: bytearray, seconds: float) -> memoryview:
        """Wait until something can be sent, read or is known; deal with it."""
        poll = select.poll()
        poll.register(self._wire, select.POLLIN | (select.POLLOUT if unsent else 0))
        poll.register(self._out, select.POLLIN)
        poll.register(self._control, select.POLLIN)
        ready = dict(poll.poll(seconds * 1000 + 1))
        if self._out in ready:
            self._drain()
            if self._printed > self._limits.output_kib << 10:
                self._stop("output", f"it printed more than {self._limits.output_kib:,} KiB")
        events = ready.get(self._wire.fileno(), 0)
        if events & select.POLLIN:
            try:
                data = self._wire.recv(_CHUNK)
            except (BlockingIOError, ConnectionError):
                data = b""
            got += data
            if not data:
                self._died()
        elif events & (select.POLLHUP | select.POLLERR):
            self._died()
        elif events & select.POLLOUT and unsent:
            with contextlib.suppress(BlockingIOError, ConnectionError):
                unsent = unsent[self._wire.send(unsent[:_CHUNK]) :]
        elif self._control.fileno() in ready:
            self._died()
        return unsent

    def _drain(self) -> None:
        """Take what it printed; keep the end."""
        for _ in range(64):
            try:
                data = os.read(self._out, _CHUNK)
            except BlockingIOError:
                return
            if not data:
                return
            self._printed += len(data)
            self._tail += data
            del self._tail[: -8 * MOST_TEXT]

    def _died(self) -> None:
        """It is gone, or has closed its pipe: the server says why, or ends it now."""
        self._control.send({"end": True})
        message = self._ended()
        what, text = message.get("hit") or ("death", _ending(message["status"]))
        self._raise(what, text)

    def _stop(self, what: str, text: str) -> None:
        """End it now, and raise why."""
        self._control.send({"end": True})
        message = self._ended()
        if message.get("hit"):  # the server was first
            what, text = message["hit"]
        self._raise(what, text)

    def _raise(self, what: str, text: str) -> None:
        self.hit = LimitHit(what, text)
        raise self.hit

    def _ended(self) -> Mapping[str, Any]:
        """The server's word that every process of the answer is gone."""
        self._over = True
        ready, _, _ = select.select([self._control], [], [], _END)
        received = self._control.receive() if ready else None
        if received is None:
            with contextlib.suppress(OSError):  # a server that doesn't answer is not used again
                self._control.sock.shutdown(socket.SHUT_RDWR)
            self.hit = self.hit or LimitHit("lost", "the grading server ended while it ran: grade it again")
            raise self.hit
        message = received[0]
        self.usage.cpu_s, self.usage.peak_mib = message["cpu_s"], message["peak_mib"]
        return message


def _ending(status: int) -> str:
    """A wait status in words."""
    if os.WIFSIGNALED(status):
        return f"its process was ended by signal {os.WTERMSIG(status)} before it had answered"
    return f"its process ended by itself (exit status {os.waitstatus_to_exitcode(status)}) before it had answered"


def _short(text: str) -> str:
    return text if len(text) <= MOST_TEXT else text[: MOST_TEXT - 3] + "..."


def _task(program: Program) -> list[Any]:
    """What the child is told: the cells it may run and the learner's figures. No key, no seed, no other cell."""
    lab = _lab(str(program.lab))
    exercise = lab.exercise(program.exercise)
    for name in program.sources:
        if name not in exercise.answer:
            raise UsageError(f"{exercise.id} has no answer cell {name!r}: it has {', '.join(exercise.answer)}")
    wanted = {*exercise.given, *exercise.answer, exercise.check}
    cells = [[c.id, c.type, c.source, c.role, c.exercise] for c in lab.cells if c.role == "setup" or c.id in wanted]
    stubs = [lab.cell(name).source for name in exercise.answer]
    tools = tools_of(lab.cell(exercise.check).source, stubs, [c.source for c in lab.role("setup")])
    if tools:
        place = next(i for i, cell in enumerate(cells) if cell[0] == exercise.check)
        cells.insert(place, ["", "code", tools, "setup", ""])
    task = {
        "exercise": asdict(exercise),
        "cells": cells,
        "sources": dict(program.sources),
        "learner": program.learner,
        "figures": dict(program.figures),
        "units": dict(program.units),
        "sealed": bool(tools),
    }
    return ["run", task]


_labs: dict[tuple[str, int], Lab] = {}


def _lab(path: str) -> Lab:
    """The lab, read once as long as its file stays the same."""
    try:
        version = os.stat(path).st_mtime_ns
    except OSError:
        version = 0
    if (path, version) not in _labs:
        _labs[path, version] = load(path)
    return _labs[path, version]
