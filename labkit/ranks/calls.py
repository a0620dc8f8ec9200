"""`run`: a function on real ranks. `pool`: ranks that stay, for many runs of the same size."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any

from labkit.errors import UsageError
from labkit.ranks import client
from labkit.ranks.inputs import check_call, check_group, fork_works
from labkit.ranks.payload import pack


def run(fn: Callable[..., Any], *args: Any, ranks: int = 4, backend: str = "gloo", timeout: float = 60) -> list[Any]:
    """Run `fn(rank, *args)` on real ranks with a process group, and return what each returned, by rank.

    The ranks are new processes, forked from a server that has torch loaded; the first call starts the server (seconds),
    later ones take about 0.1 s for 4 ranks. `fn` may be typed in a notebook cell, a closure or a lambda; every rank has
    its own copy of the arguments. Every rank starts from the same seed, 0, of `random`, numpy and torch, with one
    thread, the caller's directory, import path and environment, and `RANK`, `WORLD_SIZE` and the like set. What a rank
    prints is shown after the run, as `rank 0 | ...`. Ranks run the caller's own code and nothing else.

    Args:
        fn: called once a rank; `torch.distributed` is initialised. Its result must be picklable.
        args: the same for every rank.
        ranks: how many, 1 to 64.
        backend: "gloo", or "nccl" with a GPU a rank.
        timeout: seconds for the whole run; a rank that still runs then has hung.

    Raises:
        UsageError: a value can't be used, or can't be sent to ranks; the text names it.
        RankError: a rank raised, died, hung, or ranks made unequal collectives. No process is left.
    """
    timeout, ranks = check_call(fn, args, timeout), check_group(ranks, backend)
    data = pack(fn, args)
    return client.Ranks(ranks, backend).call(data, timeout, last=True)


class Pool:
    """Ranks that wait between runs, their process group up. A run on them takes milliseconds.

    They are the same processes: what a function leaves in modules, or as process groups, the next run finds. Seeds,
    directory, import path and environment are set anew each time. After a run that went wrong (or destroyed the
    process group) the next one starts new ranks.
    """

    def __init__(self, ranks: int = 4, *, backend: str = "gloo") -> None:
        self.ranks, self.backend = check_group(ranks, backend), backend
        self._lock = threading.Lock()
        self._closed = False
        self._group = self._start()

    def _start(self) -> client.Ranks:
        group = client.Ranks(self.ranks, self.backend)
        self._end = weakref.finalize(self, group.close)
        return group

    def run(self, fn: Callable[..., Any], *args: Any, timeout: float = 60) -> list[Any]:
        """As `labkit.ranks.run`, on these ranks. Runs from several threads take turns.

        Raises:
            UsageError: as `run`; also when the pool is closed.
            RankError: as `run`.
        """
        timeout, _ = check_call(fn, args, timeout), check_group(self.ranks, self.backend)
        data = pack(fn, args)
        with self._lock:
            if self._closed:
                raise UsageError("this pool is closed: open another with labkit.ranks.pool(...)")
            if not self._group.waiting:
                self._end()
                self._group = self._start()
            return self._group.call(data, timeout, last=False)

    def close(self) -> None:
        """End the ranks; returns when they are gone."""
        with self._lock:
            self._closed = True
            self._end()

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def pool(ranks: int = 4, *, backend: str = "gloo") -> Pool:
    """Ranks that wait for many runs: `with labkit.ranks.pool(4) as p: p.run(fn, ...)`.

    Raises:
        UsageError: a value can't be used; the text names it.
    """
    return Pool(ranks, backend=backend)


def warm_up(*modules: str) -> None:
    """Start the fork server now, with these modules imported, so that ranks needn't import them on every run.

    Args:
        modules: for example "accelerate". Not your own while you still edit them: the server keeps what it imported.

    Raises:
        UsageError: a module can't be imported, or starts threads (a process with threads can't be forked safely).
    """
    if fork_works():
        running = client.server()
        if modules:
            running.bring_in(modules)


def stop() -> None:
    """End the fork server and all pools' ranks; the next run starts a new one. A normal exit does it as well."""
    client.stop()


__all__: Sequence[str] = ("Pool", "pool", "run", "stop", "warm_up")
