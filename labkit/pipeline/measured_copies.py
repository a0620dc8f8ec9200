"""Copies to a GPU beside computing on it: what pinned memory and a stream of its own change. Skipped without CUDA."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

from labkit import device


def copy_overlap(mib: int = 64, *, repeats: int = 7) -> str:
    """Time a copy, a computation, and both, from pageable and from pinned memory; medians in ms, as a few lines.

    Args:
        mib: size of the copy.
        repeats: how often each is timed.
    """
    if device.pick() != "cuda":
        return (
            "Skipped: no CUDA device here, so there is nothing to copy to.\n"
            "On one, a copy from pageable memory makes the program wait; one from pinned memory, with "
            "non_blocking=True and on a stream of its own, runs beside the computation."
        )
    import torch

    here = torch.device("cuda")
    pageable = torch.empty(mib << 18)  # float32: 4 bytes a number
    pinned = pageable.pin_memory()
    there = torch.empty_like(pageable, device=here)
    matrix = torch.randn(2048, 2048, device=here)
    beside = torch.cuda.Stream()  # type: ignore[no-untyped-call]

    def compute() -> None:
        for _ in range(8):
            matrix @ matrix

    def on_its_own_stream() -> None:
        with torch.cuda.stream(beside):
            there.copy_(pinned, non_blocking=True)

    def timed(*parts: Callable[[], object]) -> float:
        found = []
        for _ in range(repeats + 1):
            torch.cuda.synchronize()
            began = time.perf_counter()
            for part in parts:
                part()
            torch.cuda.synchronize()  # without this only the launch is timed
            found.append(1000 * (time.perf_counter() - began))
        return statistics.median(found[1:])  # the first one pays for what is set up once

    rows = {
        f"copy of {mib} MiB, pageable": timed(lambda: there.copy_(pageable)),
        f"copy of {mib} MiB, pinned": timed(lambda: there.copy_(pinned, non_blocking=True)),
        "compute": timed(compute),
        "pageable copy, then compute": timed(lambda: there.copy_(pageable), compute),
        "pinned copy on its own stream, and compute": timed(on_its_own_stream, compute),
    }
    lines = [f"{name:45}{ms:8.2f} ms" for name, ms in rows.items()]
    return "\n".join([f"Measured here, on {torch.cuda.get_device_name()}; medians of {repeats}:", *lines])
