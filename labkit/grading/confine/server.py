"""The server of a slot: torch loaded, one thread, no secret; forks a child for every answer and watches it."""

from __future__ import annotations

import gc
import os
import select
import signal

from labkit.grading.confine.limits import Limits
from labkit.ranks.protocol import Channel

LOOK = 0.1  # s between two looks at what an answer uses


def main(words: list[str]) -> None:
    """Serve until the judge is gone. words: descriptor of the channel to the judge, the way wished for, "unsafe"."""
    control = Channel.of(int(words[1]))
    warm_up()
    control.send({"way": "none", "closed": [], "open": ["everything: nothing confines an answer here"]})
    while (received := control.receive()) is not None:
        message, fds = received
        if "answer" in message:
            serve(control, Limits(**message["answer"]), fds)


def warm_up() -> None:
    """Load what answers use; start no thread."""
    import numpy as np
    import pandas  # noqa: F401
    import torch
    import torch._dynamo
    import torch.distributed
    import torch.utils.data

    import labkit.checks
    import labkit.grading.confine.child
    import labkit.ranks.client  # noqa: F401

    torch.set_num_threads(1)
    np.ones(2) @ np.ones(2)
    torch.nn.functional.mse_loss(torch.nn.Linear(2, 1)(torch.ones(3, 2)), torch.zeros(3, 1))
    gc.collect()
    gc.freeze()  # the collector leaves these objects alone, so their pages stay shared with the children


def serve(control: Channel, limits: Limits, fds: list[int]) -> None:
    """Run one answer to its end and tell the judge that it is gone."""
    pid = os.fork()
    if not pid:
        from labkit.grading.confine import child

        child.live(limits, fds[0], fds[1])
    for fd in fds:
        os.close(fd)
    pidfd = os.pidfd_open(pid)
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    poll.register(control, select.POLLIN)
    hit: list[str] | None = None
    while True:
        ready = dict(poll.poll(LOOK * 1000))
        if pidfd in ready:
            break
        if control.fileno() in ready:
            if control.receive() is None:
                os.kill(pid, signal.SIGKILL)
                os._exit(0)
            os.kill(pid, signal.SIGKILL)
            poll.unregister(control)
    _, status, used = os.wait4(pid, 0)
    os.close(pidfd)
    control.send({"status": status, "hit": hit, "cpu_s": used.ru_utime + used.ru_stime, "peak_mib": 0.0})
