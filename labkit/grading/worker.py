"""The foreman of this machine's grading processes: loads torch and the checks once, and forks a process for each slot.

`python -m labkit.grading.worker FD [unsafe]`: on the channel FD come {"hire": true} with a socket and a file for what
the process prints, answered by its process id; and {"bury": pid}, answered by how it ended. A process gets the setting
of a `work.Judge` as its first line, says {"isolation": ...} or {"refused": why}, then for each task a line
{"result": ...} or {"fault": why}. All end with the grader, however that ends. The foreman itself never holds the course
key.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import socket
import sys
import traceback
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Protocol

from labkit.ranks.protocol import Channel


class SlotLost(Exception):
    """The slot of a grading process has ended: the process ends too, and the grader takes another for its task."""


class Shared(Protocol):
    """What grading processes have in common; see `work.Shared`."""

    def slot(self) -> Any:
        """Something that one grading process gets for itself."""

    def forget(self) -> None:
        """Called in the forked process: what belongs to the foreman stays with it."""


class Judging(Protocol):
    """What a grading process needs; see `work.Judge`."""

    isolation: dict[str, Any]

    def judge(self, task: Mapping[str, Any]) -> dict[str, Any]:
        """The result record of a task."""

    def __enter__(self) -> Judging: ...
    def __exit__(self, *_: Any) -> None: ...


def main(channel: Channel, load: Callable[[], Shared], judge: Callable[..., Judging]) -> None:
    """Serve until the grader closes the channel.

    load: what all processes share; judge: makes one from its setting, and `slot`, of what is shared.
    """
    die_with_parent(os.getppid())
    shared = load()
    while (received := channel.receive()) is not None:
        message, fds = received
        if "hire" in message:
            here, slot = os.getpid(), shared.slot()
            pid = os.fork()
            if not pid:
                channel.close()
                shared.forget()
                _live(here, fds[0], fds[1], partial(judge, slot=slot))
            del slot  # our end of it is closed; the process keeps its own
            for fd in fds:
                os.close(fd)
            channel.send({"pid": pid})
        else:
            _, status = os.waitpid(message["bury"], 0)
            channel.send({"status": os.waitstatus_to_exitcode(status)})


def _live(parent: int, wire: int, said: int, judge: Callable[[Mapping[str, Any]], Judging]) -> None:
    """The life of a grading process; never returns."""
    code = 1
    try:
        os.setsid()
        die_with_parent(parent)
        os.dup2(said, 1)  # what checks and experiments print must not get among the lines
        os.dup2(said, 2)
        serve(socket.socket(fileno=wire), judge)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def serve(wire: socket.socket, judge: Callable[[Mapping[str, Any]], Judging]) -> None:
    """Answer every line."""
    from labkit.errors import UsageError

    def say(message: dict[str, Any]) -> None:
        wire.sendall(json.dumps(message).encode() + b"\n")

    with wire.makefile("r", encoding="utf-8") as lines:
        first = lines.readline()
        if not first:
            return
        try:
            made = judge(json.loads(first))
        except UsageError as error:
            say({"refused": str(error)})
            return
        with made:
            say({"isolation": made.isolation})
            for line in lines:
                try:
                    say({"result": made.judge(json.loads(line))})
                except SlotLost:
                    raise
                except Exception:
                    say({"fault": traceback.format_exc()[-2000:]})


def die_with_parent(parent: int) -> None:
    """Ask the system to kill this process when its parent ends; end now where that has happened already."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    if os.getppid() != parent:
        os._exit(1)


if __name__ == "__main__":
    from labkit.grading.work import Judge
    from labkit.grading.work import Shared as Loaded

    main(Channel.of(int(sys.argv[1])), lambda: Loaded(unsafe="unsafe" in sys.argv[2:]), Judge)
