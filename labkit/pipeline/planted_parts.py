"""What the planted workloads are made of: drawn sizes, real pictures that take real time to decode, a paced step."""

from __future__ import annotations

import io
import math
import os
import random
import shutil
import tempfile
import time
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch.utils.data import Dataset

from labkit.errors import LabkitError

THUMB = 48  # pixels on a side of what a decoded picture is cut down to: batches stay small, so transport costs nothing


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def need_cores(count: int, cause: str) -> None:
    """Raises: LabkitError: the plant shows only on a machine with `count` cores or more."""
    if cores() < count:
        raise LabkitError(f"planted({cause!r}) needs {count} cores to show, this process may use {cores()}")


class Draw:
    """Sizes that follow from (cause, seed) alone, so that a run can be repeated and no two seeds are alike."""

    def __init__(self, cause: str, seed: int, scale: float) -> None:
        self.rng = random.Random(f"{cause}/{seed}")
        self.numpy = np.random.default_rng(self.rng.getrandbits(32))
        self.scale = scale

    def about(self, middle: float, sigma: float = 0.25) -> float:
        """A lognormal draw around `middle`, cut off at two sigmas."""
        return middle * math.exp(max(-2.0, min(2.0, self.rng.gauss(0, 1))) * sigma)

    def size(self, middle: float, sigma: float = 0.25) -> int:
        """The same as a whole number, 1 or more."""
        return max(1, round(self.about(middle, sigma)))

    def batches(self, middle: float) -> int:
        """How many batches an epoch has: the length of a run is what `scale` stretches."""
        return max(8, self.size(middle * self.scale, 0.15))

    def between(self, low: float, high: float) -> float:
        """Uniform."""
        return self.rng.uniform(low, high)


class Step:
    """A training step that sleeps: it stands for a GPU step, during which the CPU is free. `ms` varies by `jitter`."""

    def __init__(self, ms: float, *, jitter: float = 0.08, seed: int = 0) -> None:
        self.ms = ms
        self.jitter = jitter
        self._rng = random.Random(seed)

    def __call__(self, batch: Any) -> None:
        """Sleep; the batch is in hand and isn't looked at."""
        time.sleep(self.ms * max(0.2, self._rng.gauss(1, self.jitter)) / 1000)


def photo(rng: np.random.Generator, pixels: float) -> bytes:
    """A JPEG of about `pixels` pixels, 4:3, with edges and grain, so that decoding it costs what a photograph costs."""
    width = 8 * max(4, round(math.sqrt(pixels * 4 / 3) / 8))
    height = 8 * max(3, round(width * 3 / 32))
    shapes = Image.fromarray(rng.integers(0, 255, (height // 8, width // 8, 3), dtype=np.uint8))
    smooth = np.asarray(shapes.resize((width, height), Image.Resampling.BICUBIC), dtype=np.int16)
    grain = rng.integers(-12, 13, smooth.shape, dtype=np.int16)
    return encoded(np.clip(smooth + grain, 0, 255).astype(np.uint8), "JPEG", quality=90)


def encoded(picture: np.ndarray[Any, Any], kind: str, **how: Any) -> bytes:
    """A picture as the bytes of a file."""
    out = io.BytesIO()
    Image.fromarray(picture).save(out, kind, **how)
    return out.getvalue()


def decoded(data: bytes) -> torch.Tensor:
    """Decode all of a picture and cut it down to THUMB x THUMB, as a data set for small models does."""
    picture = Image.open(io.BytesIO(data)).convert("RGB").resize((THUMB, THUMB), Image.Resampling.BILINEAR)
    return torch.from_numpy(np.asarray(picture).copy())


class Photos(Dataset[torch.Tensor]):
    """`length` samples over the encoded pictures in `files`, in turn, decoded each time."""

    def __init__(self, files: Sequence[bytes], length: int) -> None:
        self.files = list(files)
        self.length = length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> torch.Tensor:
        """Real work for the CPU: nothing is kept from one time to the next."""
        return decoded(self.files[index % len(self.files)])


class Arrays(Dataset[torch.Tensor]):
    """The remedy for decoding: the same samples, decoded once beforehand."""

    def __init__(self, source: Photos) -> None:
        self.rows = torch.stack([decoded(data) for data in source.files])
        self.length = len(source)

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> torch.Tensor:
        """A row that is there already."""
        return self.rows[index % len(self.rows)]


def photos(draw: Draw, pixels: float, count: int = 20) -> list[bytes]:
    """`count` different JPEGs; their sizes vary as those of a photo collection do."""
    return [photo(draw.numpy, draw.about(pixels, 0.15)) for _ in range(count)]


def cost(
    dataset: Dataset[Any], batch_size: int, collate: Callable[[list[Any]], Any] = list, *, batches: int = 5
) -> float:
    """ms that a batch of the data set takes on one free core of this machine: the least of `batches`.

    A step's length is set as a multiple of it, so that a plant that holds here holds on a slower machine too.
    """
    length: int = len(dataset)  # type: ignore[arg-type]
    best = math.inf
    for turn in range(batches):
        begin = time.perf_counter()
        collate([dataset[index % length] for index in range(turn * batch_size, (turn + 1) * batch_size)])
        best = min(best, time.perf_counter() - begin)
    return best * 1000


class Folder:
    """A temporary folder, gone with the last reference or with the process; a worker's copy removes nothing."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="labkit-planted-"))
        self._end = weakref.finalize(self, _remove, self.path, os.getpid())

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self.path}

    def close(self) -> None:
        """Remove it now."""
        if hasattr(self, "_end"):
            self._end()


def _remove(path: Path, owner: int) -> None:
    if os.getpid() == owner:
        shutil.rmtree(path, ignore_errors=True)


@dataclass(frozen=True)
class Pinned:
    """A worker_init_fn that puts every worker on the one core `core`, as a badly set affinity does."""

    core: int

    def __call__(self, worker: int) -> None:
        """Runs inside the worker."""
        os.sched_setaffinity(0, {self.core})
