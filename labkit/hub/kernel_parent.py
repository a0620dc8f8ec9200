"""The parent of forked kernels: torch, numpy, pandas and matplotlib loaded once, one fork a kernel.

Run as `python -m labkit.hub.kernel_parent FD`, where FD is one end of a socket pair; the other end is the Jupyter
server's. One JSON message a line. In: {"fork": id, "argv", "env", "cwd", "streams"}, with a descriptor beside it for
every number in `streams` (1 for standard output, 2 for standard error). Out: {"ready": pid}, then
{"forked": id, "pid"} or {"refused": id, "why"}, and {"ended": pid, "code"} for every kernel that ended. When the server
goes, its end of the pair closes: every kernel is killed, and the parent ends.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import selectors
import signal
import socket
import sys
import time
from typing import Any

WARM = (
    "torch",
    "torch.utils.data",
    "numpy",
    "pandas",
    "matplotlib.font_manager",  # the slow part of pyplot; the backend is the kernel's to choose
    "matplotlib.figure",
    "matplotlib.axes",
    "IPython",
    "ipykernel.kernelapp",
    "ipykernel.ipkernel",
    "ipykernel.debugger",
    "IPython.core.oinspect",
    "psutil",
    "labkit.checks",
    "labkit.pipeline",
)
"""What the parent loads before the first fork. Nothing here may start a thread, keep a socket or look for a running
IPython while it loads (ipywidgets and the inline backend do that last)."""

SETTLED = ("LD_PRELOAD", "LD_LIBRARY_PATH", "PYTHONHOME", "MALLOC_CONF", "MALLOC_ARENA_MAX")
"""Variables that act only when a process starts: a kernel that wants others can't be forked from this parent."""


def main(descriptor: int) -> None:
    """Serve forks until the other end closes; in a forked child, become the kernel."""
    control = socket.socket(fileno=descriptor)
    control.set_inheritable(False)
    _warm()
    # What is loaded now is shared with all kernels; a collection in a child must not write to its pages.
    gc.collect()
    gc.freeze()
    request = _serve(control)
    if request is not None:
        _become_kernel(request)


def _warm() -> None:
    os.environ.setdefault("MPLBACKEND", "module://matplotlib_inline.backend_inline")  # as ipykernel would
    for name in WARM:
        importlib.import_module(name)


def _serve(control: socket.socket) -> dict[str, Any] | None:
    """Answer requests. Returns a request in the child forked for it, None in the parent when the server has gone."""
    kernels: set[int] = set()
    wake, signalled = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(signalled, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in the server's terminal is the server's to handle
    chooser = selectors.DefaultSelector()
    chooser.register(control, selectors.EVENT_READ)
    chooser.register(wake, selectors.EVENT_READ)
    _say(control, {"ready": os.getpid()})
    held = b""
    passed: list[int] = []  # descriptors that came with requests not read yet; they never arrive after their request
    while True:
        for key, _ in chooser.select():
            if key.fd == wake:
                with contextlib.suppress(BlockingIOError):
                    os.read(wake, 4096)
                _reap(control, kernels)
                continue
            part, descriptors, _, _ = socket.recv_fds(control, 1 << 16, 2)
            passed += descriptors
            if not part:
                _end(kernels)
                return None
            *lines, held = (held + part).split(b"\n")
            for line in lines:
                request = json.loads(line)
                streams = {number: passed.pop(0) for number in request["streams"]}
                pid = _fork(control, request)
                if pid:
                    for descriptor in streams.values():
                        os.close(descriptor)
                else:
                    chooser.close()
                    signal.set_wakeup_fd(-1)
                    os.close(wake)
                    os.close(signalled)
                    control.close()
                    return {**request, "streams": streams}
                kernels.add(pid)


def _fork(control: socket.socket, request: dict[str, Any]) -> int:
    """Fork; 0 in the child. Where the system refuses, say so and give -1."""
    try:
        pid = os.fork()
    except OSError as error:
        _say(control, {"refused": request["fork"], "why": str(error)})
        return -1
    if pid:
        with contextlib.suppress(OSError):  # here as well as in the child: whoever asks first finds the group there
            os.setpgid(pid, pid)
        _say(control, {"forked": request["fork"], "pid": pid})
    return pid


def _reap(control: socket.socket, kernels: set[int]) -> None:
    for pid in list(kernels):
        with contextlib.suppress(ChildProcessError):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                kernels.discard(pid)
                _say(control, {"ended": pid, "code": os.waitstatus_to_exitcode(status)})
    kernels.discard(-1)


def _end(kernels: set[int]) -> None:
    for how in (signal.SIGTERM, signal.SIGKILL):
        for pid in kernels:
            with contextlib.suppress(OSError):
                os.killpg(pid, how)
        time.sleep(0.2 if how is signal.SIGTERM and kernels else 0)


def _say(control: socket.socket, message: dict[str, Any]) -> None:
    with contextlib.suppress(OSError):  # the server has gone: the next read says so
        control.sendall(json.dumps(message).encode() + b"\n")


def _become_kernel(request: dict[str, Any]) -> None:
    """In the child: make this process what `python -m ipykernel_launcher` would have been, and run it to its end."""
    with contextlib.suppress(OSError):
        os.setpgid(0, 0)
    for number in (signal.SIGCHLD, signal.SIGINT):
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    loaded_with = os.environ.copy()
    os.environ.clear()
    os.environ.update(request["env"])
    parent = os.getppid()  # the kernel ends itself when the parent has gone
    os.environ["JPY_PARENT_PID"] = str(parent)
    os.chdir(request["cwd"])
    _streams(request["streams"])
    _settle(loaded_with)
    sys.argv = list(request["argv"])

    from ipykernel.kernelapp import IPKernelApp

    IPKernelApp.launch_instance(argv=[*sys.argv[1:], f"--IPKernelApp.parent_handle={parent}"])


def _streams(streams: dict[int, int]) -> None:
    """No terminal to read from; what is printed goes where the caller asked, else where the parent prints."""
    nowhere = os.open(os.devnull, os.O_RDONLY)
    for number, descriptor in {0: nowhere, **streams}.items():
        os.dup2(descriptor, number)
        os.close(descriptor)


def _settle(loaded_with: os._Environ[str] | dict[str, str]) -> None:
    """Take over what a fresh process would have read from its environment while loading."""
    import numpy as np
    import torch

    np.random.seed()  # noqa: NPY002 - each kernel its own global state, as in a fresh process
    now = os.environ
    if now.get("OMP_NUM_THREADS") != loaded_with.get("OMP_NUM_THREADS"):
        wanted = now.get("OMP_NUM_THREADS", "")
        torch.set_num_threads(int(wanted) if wanted.isdigit() and int(wanted) else os.cpu_count() or 1)
    if now.get("PYTHONPATH") != loaded_with.get("PYTHONPATH"):
        theirs = [part for part in now.get("PYTHONPATH", "").split(os.pathsep) if part]
        ours = loaded_with.get("PYTHONPATH", "").split(os.pathsep)
        sys.path[:] = [*theirs, *(part for part in sys.path if part not in ours)]
    if "MPLBACKEND" in now:
        import matplotlib as mpl

        mpl.rcParams["backend"] = now["MPLBACKEND"]
    if "TZ" in now or "TZ" in loaded_with:
        time.tzset()


if __name__ == "__main__":
    main(int(sys.argv[1]))
