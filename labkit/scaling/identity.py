"""What a measurement was taken on: the machine, the versions, and the data, each as plain values."""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from functools import cache
from pathlib import Path
from typing import Any

from labkit.errors import UsageError

_CHUNK = 1 << 20


@cache
def hardware() -> tuple[tuple[str, Any], ...]:
    """CPU model, cores this process may use, memory in GiB, and GPUs; as (name, value) pairs."""
    import psutil

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    memory = round(psutil.virtual_memory().total / 2**30)
    return (("cpu", _cpu()), ("cores", cores), ("memory_gib", memory), ("gpus", _gpus()))


def versions() -> tuple[tuple[str, str], ...]:
    """Python, torch, NumPy, labkit and the system; as (name, value) pairs."""
    import numpy as np
    import torch

    import labkit

    return (
        ("python", platform.python_version()),
        ("torch", torch.__version__),
        ("numpy", np.__version__),
        ("labkit", labkit.__version__),
        ("system", f"{platform.system()} {platform.release()}"),
    )


def data_identity(data: Any) -> str:
    """A short name for exactly this data: its size and a SHA-256 of its content.

    Args:
        data: a file's or folder's path (names and contents of the files in it), an array or tensor (type, shape and
            bytes), bytes, or a sequence of ids or numbers (their text). A string is taken for a path.

    Raises:
        UsageError: the path doesn't exist, or nothing can be said about such a value.
    """
    digest = hashlib.sha256()
    if isinstance(data, str | Path):
        path = Path(data)
        if not path.exists():
            raise UsageError(f"data is {str(data)!r}: there is no such file or folder")
        files = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
        size = 0
        for file in files:
            digest.update(f"{file.relative_to(path) if path.is_dir() else file.name}\0".encode())
            with file.open("rb") as stream:
                while chunk := stream.read(_CHUNK):
                    size += len(chunk)
                    digest.update(chunk)
        what = f"{len(files)} files, {size} bytes" if path.is_dir() else f"{size} bytes"
    elif isinstance(data, bytes):
        digest.update(data)
        what = f"{len(data)} bytes"
    elif hasattr(data, "detach") or hasattr(data, "__array__"):
        import numpy as np

        found = np.ascontiguousarray(data.detach().cpu().numpy() if hasattr(data, "detach") else data)
        if found.dtype.hasobject:
            raise UsageError("data is an array of objects: give numbers, or a list of ids")
        digest.update(f"{found.dtype} {found.shape}".encode() + found.tobytes())
        what = f"{found.dtype} {'x'.join(map(str, found.shape))}"
    elif isinstance(data, list | tuple | range):
        for one in data:
            digest.update(f"{one!r}\0".encode())
        what = f"{len(data)} items"
    else:
        raise UsageError(f"data is a {type(data).__name__}: give a path, an array, bytes, or a sequence of ids")
    return f"{what}, sha256 {digest.hexdigest()[:16]}"


def _cpu() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine() or sys.platform


def _gpus() -> tuple[str, ...]:
    from labkit import device

    if device.pick() == "cpu":
        return ()
    import torch

    return tuple(torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count()))
