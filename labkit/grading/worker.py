"""The foreman of this machine's grading processes: loads torch and the checks once, and forks a process for each slot.

`python -m labkit.grading.worker FD`: on the channel FD come {"hire": true} with a socket and a file for what the
process prints, answered by its process id; and {"bury": pid}, answered by how it ended. A process gets the setting of a
`work.Judge` as its first line, says {"isolation": ...} or {"refused": why}, then for each task a line {"result": ...}
or {"fault": why}. All end with the grader, however that ends. The foreman itself never holds the course key.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import signal
import socket
import sys
import traceback
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from labkit.ranks.protocol import Channel


class Judging(Protocol):
    """What a grading process needs; see `work.Judge`."""

    isolation: dict[str, Any]

    def judge(self, task: Mapping[str, Any]) -> dict[str, Any]:
        """The result record of a task."""

    def __enter__(self) -> Judging: ...
    def __exit__(self, *_: Any) -> None: ...


def main(channel: Channel, load: Callable[[], object], judge: Callable[[Mapping[str, Any]], Judging]) -> None:
    """Serve until the grader closes the channel. load: what all processes share; judge: makes one from its setting."""
    die_with_parent(os.getppid())
    load()
    gc.collect()
    gc.freeze()  # pages of what is loaded stay shared
    while (received := channel.receive()) is not None:
        message, fds = received
        if "hire" in message:
            here = os.getpid()
            pid = os.fork()
            if not pid:
                channel.close()
                _live(here, fds[0], fds[1], judge)
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
                except Exception:
                    say({"fault": traceback.format_exc()[-2000:]})


def die_with_parent(parent: int) -> None:
    """Ask the system to kill this process when its parent ends; end now where that has happened already."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    if os.getppid() != parent:
        os._exit(1)


def _load() -> object:
    import torch

    from labkit.checks.registry import exercises

    torch.set_num_threads(1)  # threads don't survive a fork
    return exercises()


if __name__ == "__main__":
    from labkit.grading.work import Judge

    main(Channel.of(int(sys.argv[1])), _load, Judge)
