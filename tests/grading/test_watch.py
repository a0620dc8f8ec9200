"""What an answer's processes use: seen when it passes a limit, asked of the kernel only when it may have."""

from __future__ import annotations

import os
import signal
import sys

import pytest

from labkit.grading.confine import Limits, watch

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the confinement is Linux's")

MIB = 1 << 20
INHERITED = bytearray(os.urandom(1 * MIB) * 100)


class Child:
    """A forked process that does one thing for each letter it gets, and says when it is done."""

    def __init__(self) -> None:
        here, there = os.pipe(), os.pipe()
        self.into, self.out = here[1], there[0]
        self.pid = os.fork()
        if self.pid:
            os.close(here[0])
            os.close(there[1])
            return
        try:
            kept = []
            while letter := os.read(here[0], 1):
                if letter == b"n":  # new memory
                    kept.append(bytearray(os.urandom(MIB) * 100))
                elif letter == b"w":  # inherited memory becomes its own
                    for at in range(0, len(INHERITED), 4096):
                        INHERITED[at] = 7
                os.write(there[1], letter)
        finally:
            os._exit(0)

    def do(self, letter: bytes) -> None:
        os.write(self.into, letter)
        assert os.read(self.out, 1) == letter


@pytest.fixture
def child():
    child = Child()
    yield child
    os.kill(child.pid, signal.SIGKILL)
    os.waitpid(child.pid, 0)
    os.close(child.into)
    os.close(child.out)


@pytest.mark.parametrize("letter", [b"n", b"w"])
def test_growth_is_seen_and_rest_is_not_asked_for(child, letter, monkeypatch):
    asked = []
    real = watch._private_mib
    monkeypatch.setattr(watch, "_private_mib", lambda pid: asked.append(pid) or real(pid))
    monkeypatch.setattr(watch, "STALE", 1e9)
    looks = watch.Watch(Limits(memory_mib=90), lambda: [child.pid])
    child.do(b".")
    assert [looks.look() for _ in range(20)] == [None] * 20
    assert len(asked) <= 1, "at most once"
    child.do(letter)
    what, text = looks.look()
    assert what == "memory"
    assert "90 MiB" in text
    assert len(asked) <= 2
    assert looks.peak_mib > 90


def test_what_raises_no_fault_is_seen_all_the_same(child, monkeypatch):
    asked = []
    monkeypatch.setattr(watch, "_private_mib", lambda pid: asked.append(pid) or 1.0)
    monkeypatch.setattr(watch, "STALE", 0.0)
    looks = watch.Watch(Limits(), lambda: [child.pid])
    looks.look()
    before = len(asked)
    looks.look()
    assert len(asked) == before + 1


def test_a_process_that_has_ended_costs_nothing():
    pid = os.fork()
    if not pid:
        os._exit(0)
    looks = watch.Watch(Limits(memory_mib=1), lambda: [pid, 2**22 + 1])
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)  # a zombie now
    assert looks.look() is None
    assert looks.look() is None
    os.waitpid(pid, 0)
