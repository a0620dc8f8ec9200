"""The fork server: one process that has torch loaded and one thread, from which every group of ranks is forked.

Started by exec, so that it holds nothing of the caller's. It ends with its caller, and everything below it too.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import selectors
import shutil
import signal
import sys
import traceback
from dataclasses import dataclass

from labkit.ranks import counting, tree
from labkit.ranks.child import Place, live
from labkit.ranks.pages import make_large
from labkit.ranks.payload import seed
from labkit.ranks.protocol import Channel
from labkit.ranks.supervisor import supervise


@dataclass(frozen=True)
class Care:
    """What the server keeps of a supervisor it started."""

    pid: int
    channel: int  # our copy of its channel to the caller
    folder: str  # for what ranks must keep in files; removed with the run


def main(control: Channel, *, warm: bool = False) -> None:
    """Serve until the caller is gone. warm: this process is a fork of one that has everything loaded."""
    for number in (signal.SIGINT, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    tree.adopt_orphans()
    if not warm:
        counting.install()
        warm_up()
    control.send({"ready": os.getpid(), "threads": _threads()})
    watch = selectors.DefaultSelector()
    watch.register(control, selectors.EVENT_READ)
    caller = os.pidfd_open(os.getppid())
    watch.register(caller, selectors.EVENT_READ)
    groups: dict[int, Care] = {}  # by the supervisor's pidfd
    try:
        while _serve_one(watch, control, caller, groups):
            pass
    finally:
        tree.end_all()
        for care in groups.values():
            shutil.rmtree(care.folder, ignore_errors=True)


def _serve_one(watch: selectors.BaseSelector, control: Channel, caller: int, groups: dict[int, Care]) -> bool:
    """Wait for something and deal with it; False once the caller is gone."""
    for key, _ in watch.select():
        if key.fd == caller:
            return False
        if key.fd in groups:
            watch.unregister(key.fd)
            _bury(groups, key.fd)
            continue
        if (received := control.receive()) is None:
            return False
        message, fds = received
        if "later" in message:
            _import(message["later"])
        elif "import" in message:
            control.send(_import(message["import"]))
        else:
            folder = message["folder"]
            pid = _fork_supervisor(message["ranks"], message["backend"], fds[0], folder)
            pidfd = os.pidfd_open(pid)
            groups[pidfd] = Care(pid, fds[0], folder)
            watch.register(pidfd, selectors.EVENT_READ)
    return True


def _bury(groups: dict[int, Care], pidfd: int) -> None:
    """A supervisor has ended. Its caller sees the channel close only now, when nothing of the run is left."""
    care = groups.pop(pidfd)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(care.pid, 0)
    tree.end_all(spare=frozenset(other.pid for other in groups.values()))  # left over only if it was killed
    shutil.rmtree(care.folder, ignore_errors=True)
    os.close(pidfd)
    os.close(care.channel)  # last: now the caller goes on


def _fork_supervisor(ranks: int, backend: str, channel: int, folder: str) -> int:
    parent = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    try:
        os.setsid()
        tree.close_all_but(channel)
        server = os.pidfd_open(parent)
        supervise(Channel.of(channel), ranks, backend, _fork_rank, folder, server)
    except BaseException:
        traceback.print_exc()  # the caller shows its last line
    finally:
        os._exit(0)


def _fork_rank(place: Place) -> int:
    pid = os.fork()
    if not pid:
        live(place)
    return pid


def warm_up() -> None:
    """Bring in what ranks use, and touch what is set up on first use; start no thread."""
    import cloudpickle
    import numpy as np
    import torch
    import torch.utils.data

    torch.set_num_threads(1)
    np.ones(2) @ np.ones(2)
    seed()
    cloudpickle.loads(cloudpickle.dumps((lambda x: x, torch.ones(2), np.ones(2))))
    torch.nn.functional.mse_loss(torch.nn.Linear(2, 1)(torch.ones(3, 2)), torch.zeros(3, 1))
    gc.collect()
    gc.freeze()  # the collector leaves these objects alone, so their pages stay shared with the ranks
    make_large()


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
