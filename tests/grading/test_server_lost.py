"""A grading server that ends while an answer runs is no fault of the answer's: no verdict, and the next try works."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

import answerbook
import psutil
import pytest
from arena import KEY

from labkit.errors import LabkitError
from labkit.grading.confine import Program, Slots
from labkit.grading.judging import judge

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="the confinement is Linux's")]


def below() -> set[int]:
    """Processes below this one: other tests may have left some of their own, a server of ranks say."""
    return {process.pid for process in psutil.Process().children(recursive=True)}


def test_a_lost_server_gives_no_verdict():
    sources = {"pipeline-steady-state-answer": "import time\ndef ms_per_batch(*_):\n    time.sleep(9)"}
    waits = Program(answerbook.lab("01").path, "pipeline.steady_state", sources, "ada")
    right = next(a for a in answerbook.answers("01") if a.right and a.exercise == "pipeline.steady_state")

    def kill() -> None:
        while below() - others == servers:  # the answer has not begun
            time.sleep(0.02)
        for server in psutil.Process().children():
            if server.pid in servers:
                os.kill(server.pid, signal.SIGKILL)

    others = below()
    with Slots(1) as slots:
        servers = below() - others
        killer = threading.Thread(target=kill)
        killer.start()
        with pytest.raises(LabkitError, match="server ended"):
            judge(waits, slots, KEY)
        killer.join()
        again = Program(answerbook.lab("01").path, right.exercise, right.sources, "ada")
        assert judge(again, slots, KEY).verdict == "passed"


def test_slots_of_one_nursery_are_apart():
    right = next(a for a in answerbook.answers("01") if a.right and a.exercise == "pipeline.steady_state")
    program = Program(answerbook.lab("01").path, right.exercise, right.sources, "ada")
    whose = {"pipeline-steady-state-answer": "import os\ndef ms_per_batch(*_): return os.getuid(), os.listdir('/proc')"}
    looks = Program(answerbook.lab("01").path, right.exercise, whose, "ada")
    others = below()
    with Slots(2) as slots:
        with slots.answer(looks) as one, slots.answer(looks) as two:
            (first, seen), (second, seen_too) = one.call(), two.call()
        if slots.report.way == "namespaces":
            assert first != second, "no two answers at a time are one user"
            assert not [name for name in (*seen, *seen_too) if name.isdigit() and name != "1"]
        new = [psutil.Process(pid) for pid in below() - others]
        servers = [process for process in new if not process.children()]
        assert len(servers) == 2
        servers[0].kill()
        psutil.wait_procs(servers[:1], timeout=10)
        assert servers[1].is_running()
        assert [judge(program, slots, KEY).verdict for _ in range(3)] == ["passed"] * 3
        assert servers[1].is_running(), "the other slot never noticed"
