"""Where experiments run: the one place that chooses."""

from __future__ import annotations

import functools
import os
import sys

from labkit.errors import UsageError

# NVIDIA's driver, WSL, AMD's driver, Jetson: without one of these nodes no build of torch finds a GPU on Linux.
_NODES = ("/dev/nvidiactl", "/dev/dxg", "/dev/kfd", "/dev/nvhost-ctrl", "/dev/nvgpu")


@functools.cache
def _cuda() -> bool:
    if sys.platform == "darwin" or (sys.platform == "linux" and not any(map(os.path.exists, _NODES))):
        return False  # answered without loading torch
    import torch

    # device_count asks the driver's library; is_available would start CUDA, and a child forked later could not use it.
    return torch.cuda.device_count() > 0


def pick() -> str:
    """ "cuda" where a GPU is present, else "cpu". LABKIT_DEVICE=cpu keeps experiments off the GPU.

    Raises:
        UsageError: LABKIT_DEVICE is set to anything but cpu.
    """
    wish = os.environ.get("LABKIT_DEVICE", "")
    if wish not in ("", "cpu"):
        raise UsageError(f"LABKIT_DEVICE is {wish!r}: set it to cpu, or leave it unset to use a GPU where there is one")
    return "cuda" if not wish and _cuda() else "cpu"
