"""One rank: joins the process group, runs the function, reports, waits for the next job or the end."""

from __future__ import annotations

import atexit
import contextlib
import faulthandler
import gc
import io
import json
import multiprocessing.process
import multiprocessing.util
import os
import signal
import socket
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice
from typing import Any, NoReturn

import cloudpickle
import torch
import torch.distributed as dist

from labkit.ranks import board as boards
from labkit.ranks import counting, payload
from labkit.ranks.protocol import Channel, blob, read_blob
from labkit.ranks.tree import close_all_but, die_with

_at_start = 0  # modules that the server had brought in; their names aren't looked at: that would write to their pages
_LIVING: list[Any] = []  # what is open until the rank ends; dropped earlier, Python warns of it among the rank's prints
DUMP_SIGNAL = signal.SIGUSR2  # "write down where you stand"
ENDLESS = timedelta(days=1)  # the supervisor holds the deadline, not gloo


@dataclass(frozen=True)
class Place:
    """What a rank is given: its number, and descriptors."""

    rank: int
    ranks: int
    backend: str
    jobs: int  # channel to the supervisor
    output: int  # pipe for stdout and stderr
    dump: int  # file for stacks of hung and crashed ranks
    board: int
    listen: int  # rank 0's store listens on it
    port: int
    parent: int  # process id of the supervisor; a rank dies with it
    folder: str  # where multiprocessing keeps sockets; removed with the run


def live(place: Place) -> NoReturn:
    """The whole life of a rank; never returns."""
    code = 1
    try:
        _settle_in(place)
        code = _serve(place)
    except BaseException:
        traceback.print_exc()  # shown among the rank's prints
    finally:
        with contextlib.suppress(BaseException):
            sys.stdout.flush()
        os._exit(code)


def _settle_in(place: Place) -> None:
    os.setsid()
    die_with(place.parent)
    close_all_but(place.jobs, place.output, place.dump, place.board, *([place.listen] if place.rank == 0 else []))
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN if number == signal.SIGPIPE else signal.SIG_DFL)
    os.dup2(place.output, 1)
    os.dup2(place.output, 2)
    os.close(place.output)
    for name, fd in (("stdout", 1), ("stderr", 2)):
        raw = open(fd, "wb", buffering=0, closefd=False)  # noqa: SIM115  open as long as the rank lives
        setattr(sys, name, io.TextIOWrapper(raw, "utf-8", "backslashreplace", write_through=True))
    faulthandler.enable(place.dump)
    faulthandler.register(DUMP_SIGNAL, place.dump)
    local = dict(zip(payload.RANK_VARIABLES, (place.rank, place.ranks) * 2, strict=False))
    os.environ.update({k: str(v) for k, v in local.items()})
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(place.port), LABKIT_RANKS_INSIDE=str(place.rank))
    multiprocessing.process.current_process()._config["tempdir"] = place.folder  # type: ignore[attr-defined]
    global _at_start
    _at_start = len(sys.modules)
    atexit._clear()  # the server's own; from here on they are the rank's
    multiprocessing.util._finalizer_registry.clear()  # type: ignore[attr-defined]


def _serve(place: Place) -> int:
    jobs = Channel.of(place.jobs)
    _LIVING.append(jobs)
    row = counting.Row(boards.attach(place.board, place.ranks), place.rank)
    try:
        store = _join(place)  # noqa: F841  rank 0's store serves the others as long as it lives
    except BaseException as error:
        _report(jobs, "join", error)
        return _wait_for_end(jobs)
    row.phase(boards.READY)
    counting.count_on(row)
    while (job := jobs.receive()) is not None and "job" in job[0]:
        row.clear()
        row.phase(boards.RUNNING)
        finished = _job(jobs, place.rank, job[1][0])
        row.phase(boards.FINISHED if finished else boards.FAILED)
    _exit_handlers()
    return 0


def _join(place: Place) -> Any:
    torch.set_num_threads(1)
    if place.backend == "nccl":
        torch.cuda.set_device(place.rank)
    listening = {"is_master": True, "master_listen_fd": place.listen} if place.rank == 0 else {"is_master": False}
    store = dist.TCPStore(  # type: ignore[attr-defined]
        "127.0.0.1", place.port, place.ranks, wait_for_workers=False, use_libuv=False, timeout=ENDLESS, **listening
    )
    dist.init_process_group(place.backend, store=store, rank=place.rank, world_size=place.ranks, timeout=ENDLESS)
    return store


def _job(jobs: Channel, rank: int, call: int) -> bool:
    """Run one call and report it: done with a result, or failed and in which part."""
    part = "load"
    try:
        fn, args = cloudpickle.loads(payload.settle(read_blob(call)))
        part = "call"
        result = fn(rank, *args)
        del fn, args
        part = f"result ({type(result).__name__})"
        data = blob(cloudpickle.dumps(result))
        del result
    except BaseException as error:
        sys.stdout.flush()
        _report(jobs, part, error)
        return False
    sys.stdout.flush()
    fresh = islice(reversed(sys.modules), max(0, len(sys.modules) - _at_start))  # the newest come last
    heavy = [name for name in fresh if name in payload.HEAVY or name.startswith(payload.OWN)]
    jobs.send({"done": True, "group": dist.is_initialized(), "heavy": heavy}, [data])
    os.close(data)
    return True


def _report(jobs: Channel, part: str, error: BaseException) -> None:
    with contextlib.suppress(AttributeError):
        error.__traceback__ = error.__traceback__.tb_next  # type: ignore[union-attr]  # this file's own frame
    said: dict[str, Any] = {"type": type(error).__name__, "text": _safely(str, error)}
    said["traceback"] = _safely(lambda e: "".join(traceback.format_exception(e)), error)
    fd = blob(json.dumps(said).encode())
    jobs.send({"failed": part}, [fd])
    os.close(fd)


def _safely(told: Callable[[BaseException], str], error: BaseException) -> str:
    try:
        return told(error)
    except Exception as again:  # an exception whose own text raises
        return f"its text can't be shown: {type(again).__name__}"


def _wait_for_end(jobs: Channel) -> int:
    while (message := jobs.receive()) is not None and "end" not in message[0]:
        pass
    return 1


def _exit_handlers() -> None:
    """What a process does before it ends, without the slow rest: no interpreter is taken apart."""
    gc.collect(0)
    with contextlib.suppress(Exception):
        multiprocessing.util._exit_function()  # type: ignore[attr-defined]  # ends DataLoader workers left over
    with contextlib.suppress(Exception):
        atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()


def main(words: list[str]) -> NoReturn:
    """A rank started by exec, where fork isn't available: the fields of `Place` in order."""
    rank, ranks, backend, *numbers, folder = words
    counting.install()
    live(Place(int(rank), int(ranks), backend, *map(int, numbers), folder=folder))  # type: ignore[arg-type,misc]


def listener() -> tuple[socket.socket, int]:
    """A loopback socket that rank 0's store will answer on, and its port: nobody has to wait until rank 0 is up."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    sock.bind(("127.0.0.1", 0))
    sock.listen(128)
    return sock, int(sock.getsockname()[1])


if __name__ == "__main__":
    main(sys.argv[1:])
