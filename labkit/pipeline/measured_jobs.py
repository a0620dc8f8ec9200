"""Jobs to measure: loaders of known make, steps, three passes over them, and the cached control."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch.utils.data import DataLoader

from labkit.pipeline.planted_parts import Photos, photo

if TYPE_CHECKING:
    from torch import Tensor

Step = Callable[[Any], None]
MakeLoader = Callable[[], Iterable[Any]]


class Loader(DataLoader[Any]):
    """A DataLoader that doesn't advise to take as many workers as there are cores: most workers here only wait."""

    def check_worker_number_rationality(self) -> None:
        """Say nothing."""


def loader_of(data: Any, *, batch_size: int | None = None, **settings: Any) -> DataLoader[Any]:
    """A loader; without a batch_size, item i of `data` is batch i."""
    return Loader(data, batch_size=batch_size, **settings)


# Data --------------------------------------------------------------------------------------------------------------


class Asleep:
    """Batch i takes `prepare[i]` ms without using a core, as a read from far away does."""

    def __init__(self, prepare: Sequence[float], numbers: int = 16) -> None:
        self.prepare, self.numbers = list(prepare), numbers

    def __getitem__(self, index: int) -> Tensor:
        """Wait, and give a batch."""
        time.sleep(self.prepare[index] / 1000)
        return torch.full((self.numbers,), float(index))

    def __len__(self) -> int:
        """How many batches."""
        return len(self.prepare)


def pictures(samples: int, pixels: float = 50_000, seed: int = 0) -> Photos:
    """`samples` JPEGs, decoded for real whenever one is asked for: this takes a core."""
    rng = np.random.default_rng(seed)
    return Photos([photo(rng, pixels) for _ in range(8)], samples)


# Steps -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Nap:
    """A step that takes `ms` without using a core, as one on a GPU does."""

    ms: float

    def __call__(self, batch: Any) -> None:
        """Train, so to speak."""
        time.sleep(self.ms / 1000)


class Net:
    """A small convolutional network, trained for real on `device`. Batches are pictures, 48 x 48 pixels of 3 bytes."""

    def __init__(self, channels: int = 16, device: str = "cpu") -> None:
        torch.manual_seed(0)
        self.device = device
        self.net = torch.nn.Sequential(
            torch.nn.Conv2d(3, channels, 3), torch.nn.ReLU(), torch.nn.Conv2d(channels, channels, 3), torch.nn.ReLU(),
            torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(channels, 10),
        ).to(device)  # fmt: skip
        self.optimiser = torch.optim.SGD(self.net.parameters(), lr=1e-3)

    def __call__(self, batch: Any) -> None:
        """One step of training."""
        pixels = _parts(batch)[0].to(self.device, non_blocking=True).permute(0, 3, 1, 2).float() / 255
        labels = torch.zeros(len(pixels), dtype=torch.long, device=self.device)
        self.optimiser.zero_grad()
        torch.nn.functional.cross_entropy(self.net(pixels), labels).backward()  # type: ignore[no-untyped-call]
        self.optimiser.step()


# Passes ------------------------------------------------------------------------------------------------------------


def done_times(batches: Iterable[Any], step: Step) -> list[float]:
    """When each batch was done with, in ms from the start of the pass."""
    done, began = [], time.perf_counter()
    for batch in batches:
        step(batch)
        done.append(1000 * (time.perf_counter() - began))
    return done


def three_passes(make_loader: MakeLoader, step: Step, batches: int = 24) -> dict[str, list[float]]:
    """Read-only, train-only and both: when each of `batches` batches was done, in ms from the start of its pass.

    Train-only uses one batch again and again; the loader, and with it every worker, is gone by then.
    """
    kept = next(iter(make_loader()))
    return {
        "read_only": done_times(itertools.islice(make_loader(), batches), _nothing),
        "train_only": done_times(itertools.repeat(kept, batches), step),
        "both": done_times(itertools.islice(make_loader(), batches), step),
    }


def _nothing(*_: Any) -> None:
    """What read-only does with a batch."""


@dataclass(frozen=True)
class Control:
    """One job with its loader and again with batches held in memory. ms, one number a batch.

    Attributes:
        wait: from asking for a batch until it is there, with the loader.
        copy: copying it into the step's own buffer, with the loader.
        train: the step, with the loader. Above `cached_train`: something took cores away from it.
        cached_copy: the same copy, of a batch that has been in memory for long.
        cached_train: the same step, when no worker is alive.
    """

    wait: tuple[float, ...]
    copy: tuple[float, ...]
    train: tuple[float, ...]
    cached_copy: tuple[float, ...]
    cached_train: tuple[float, ...]

    def rows(self) -> dict[str, tuple[float, ...]]:
        """The same by name."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


def cached_control(make_loader: MakeLoader, step: Step, *, batches: int = 24, held: int = 4) -> Control:
    """Take one pass with the loader, then one over `held` of its batches, copied and held in memory."""
    kept = [_copied(batch) for batch in itertools.islice(make_loader(), held)]
    buffer = _copied(kept[0])
    wait, copy, train = _timed(itertools.islice(make_loader(), batches), buffer, step)
    _, cached_copy, cached_train = _timed(itertools.islice(itertools.cycle(kept), batches), buffer, step)
    return Control(wait, copy, train, cached_copy, cached_train)


def _timed(batches: Iterable[Any], buffer: list[Tensor], step: Step) -> Iterator[tuple[float, ...]]:
    found: list[tuple[float, float, float]] = []
    asked = time.perf_counter()
    for batch in batches:
        got = time.perf_counter()
        for place, part in zip(buffer, _parts(batch), strict=True):
            place.copy_(part)
        there = time.perf_counter()
        step(buffer)
        done = time.perf_counter()
        found.append((1000 * (got - asked), 1000 * (there - got), 1000 * (done - there)))
        asked = done
    return zip(*found, strict=True)


def _parts(batch: Any) -> list[Tensor]:
    return list(batch) if isinstance(batch, list | tuple) else [batch]


def _copied(batch: Any) -> list[Tensor]:
    return [part.clone() for part in _parts(batch)]
