"""The process's own random generators, taken and put back as plain data."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch


def take_generators() -> dict[str, Any]:
    """States of `random`, numpy's and torch's global generators, and of every GPU's where CUDA is in use."""
    version, numbers, spare = random.getstate()
    kind, keys, position, has_gauss, gauss = np.random.get_state(legacy=True)  # noqa: NPY002  the state that programs draw from
    held: dict[str, Any] = {
        "python": [version, list(numbers), spare],
        "numpy": [str(kind), torch.from_numpy(np.asarray(keys).astype(np.int64)), position, has_gauss, gauss],
        "torch": torch.get_rng_state(),
    }
    if torch.cuda.is_available() and torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        held["cuda"] = list(torch.cuda.get_rng_state_all())
    return held


def restore_generators(held: Mapping[str, Any]) -> None:
    """Put states from `take_generators` back. GPUs that the snapshot doesn't know keep theirs."""
    version, numbers, spare = held["python"]
    random.setstate((version, tuple(numbers), spare))
    kind, keys, position, has_gauss, gauss = held["numpy"]
    np.random.set_state((kind, keys.numpy().astype(np.uint32), position, has_gauss, gauss))  # noqa: NPY002
    torch.set_rng_state(held["torch"])
    for i, state in enumerate(held.get("cuda", [])):
        if torch.cuda.is_available() and i < torch.cuda.device_count():
            torch.cuda.set_rng_state(state, i)
