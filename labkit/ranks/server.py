"""The fork server: one process that has torch loaded and one thread, from which every group of ranks is forked.

Started by exec, so that it holds nothing of the caller's. It ends with its caller, and everything below it too.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import selectors
import signal
import sys
import traceback

from labkit.ranks import counting, tree
from labkit.ranks.child import Place, live
from labkit.ranks.payload import seed
from labkit.ranks.protocol import Channel
from labkit.ranks.supervisor import supervise


def main(control: Channel) -> None:
    """Serve until the caller is gone."""
    for number in (signal.SIGINT, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    tree.adopt_orphans()
    counting.install()
    _warm_up()
    control.send({"ready": os.getpid(), "threads": _threads()})
    watch = selectors.DefaultSelector()
    watch.register(control, selectors.EVENT_READ)
    caller = os.pidfd_open(os.getppid())
    watch.register(caller, selectors.EVENT_READ)
    groups: dict[int, tuple[int, int]] = {}  # pidfd of a supervisor -> its process id, our copy of its channel
    while True:
        for key, _ in watch.select():
            if key.fd == caller:
                return
            if key.fd in groups:
                watch.unregister(key.fd)
                _bury(groups, key.fd)
            elif (received := control.receive()) is None:
                return
            elif "later" in received[0]:
                _import(received[0]["later"])
            elif "import" in received[0]:
                control.send(_import(received[0]["import"]))
            else:
                pid = _fork_supervisor(received[0]["ranks"], received[0]["backend"], received[1][0])
                pidfd = os.pidfd_open(pid)
                groups[pidfd] = (pid, received[1][0])
                watch.register(pidfd, selectors.EVENT_READ)


def _bury(groups: dict[int, tuple[int, int]], pidfd: int) -> None:
    """A supervisor has ended. Its caller sees the channel close only now, when nothing of the run is left."""
    pid, channel = groups.pop(pidfd)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, 0)
    tree.end_all(spare=frozenset(other for other, _ in groups.values()))  # left over only if it was killed
    os.close(channel)
    os.close(pidfd)


def _fork_supervisor(ranks: int, backend: str, channel: int) -> int:
    parent = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    try:
        os.setsid()
        tree.close_all_but(channel)
        server = os.pidfd_open(parent)
        supervise(Channel.of(channel), ranks, backend, _fork_rank, server)
    except BaseException:
        traceback.print_exc()  # the caller shows its last line
    finally:
        os._exit(0)


def _fork_rank(place: Place) -> int:
    pid = os.fork()
    if not pid:
        live(place)
    return pid


def _warm_up() -> None:
    """Bring in what ranks use, and touch what is set up on first use; start no thread."""
    import cloudpickle  # type: ignore[import-untyped]
    import numpy as np
    import torch
    import torch.utils.data

    torch.set_num_threads(1)
    seed()
    cloudpickle.loads(cloudpickle.dumps((lambda x: x, torch.ones(2), np.ones(2))))
    torch.nn.functional.mse_loss(torch.nn.Linear(2, 1)(torch.ones(3, 2)), torch.zeros(3, 1))
    gc.collect()
    gc.freeze()  # the collector leaves these objects alone, so their pages stay shared with the ranks


def _import(names: list[str]) -> dict[str, object]:
    for name in names:
        try:
            importlib.import_module(name)
        except Exception as error:
            return {"imported": False, "name": name, "why": f"{type(error).__name__}: {error}"[:500]}
    gc.collect()
    gc.freeze()
    return {"imported": True, "threads": _threads()}


def _threads() -> int:
    return len(os.listdir("/proc/self/task"))


if __name__ == "__main__":
    main(Channel.of(int(sys.argv[1])))
    tree.end_all()
