"""Loaders whose state is the committed position: what was applied, not what workers have prepared ahead."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, Sampler

from labkit.errors import UsageError
from labkit.inputs import flag, whole
from labkit.resume.cursor_order import Permutation

Order = Permutation | range


class CommittedLoader:
    """A DataLoader over a map-style data set that goes on from the last committed batch.

    `for batch in loader:` walks the rest of the current epoch. After the update that used what was handed out, call
    `loader.commit()`. Prefetched batches never count, and neither do batches of an update that wasn't finished: 10
    applied and 3 prefetched is cursor 10. Seeking takes the same time wherever it goes: nothing is skipped over.

    Each batch's random augmentation is seeded by (seed, epoch, batch, rank), in whatever worker it is prepared, so
    workers have no state that could be lost, and their number may change.

    Attributes:
        epoch: the epoch that the next batch belongs to, from 0.
        cursor: batches of this epoch that are committed, on this rank.
        handed_out: batches of this epoch given to the loop; at least `cursor`.
    """

    def __init__(
        self,
        dataset: Dataset[Any],
        batch_size: int,
        *,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
        rank: int = 0,
        ranks: int = 1,
        **options: Any,
    ) -> None:
        """Build it at the start of epoch 0.

        Args:
            dataset: has len and [i].
            batch_size: of one rank.
            shuffle: a new order every epoch (`Permutation`), or the data set's own.
            seed: of orders and augmentation.
            drop_last: leave out what doesn't fill a batch on every rank; else the last batch is short, and the ranks
                that find nothing left for a step begin again from the order's start, so that all take equal steps.
            rank: this rank.
            ranks: how many share the data: rank r takes batches r, r + ranks, ...
            options: for DataLoader: num_workers, prefetch_factor, collate_fn, pin_memory, ...

        Raises:
            UsageError: a value can't be used.
        """
        if not hasattr(dataset, "__len__") or not hasattr(dataset, "__getitem__"):
            raise UsageError(
                f"dataset is a {type(dataset).__name__} without len and [i]: use CommittedStream for a stream"
            )
        if bad := set(options) & {"sampler", "batch_sampler", "generator", "worker_init_fn"}:
            raise UsageError(f"{sorted(bad)[0]} can't be given: this loader decides order and seeds itself")
        self.batch_size, self.ranks = whole("batch_size", batch_size, 1), whole("ranks", ranks, 1)
        self.rank, self.seed = whole("rank", rank, 0), whole("seed", seed, 0)
        self.shuffle, self.drop_last = flag("shuffle", shuffle), flag("drop_last", drop_last)
        if self.rank >= self.ranks:
            raise UsageError(f"rank is {rank} of {ranks} ranks: ranks are numbered from 0")
        self.samples = len(dataset)
        if not len(self):
            raise UsageError(f"dataset has {self.samples} samples: too few for one batch of {batch_size} on every rank")
        self.epoch = self.cursor = self.handed_out = 0
        self._order: tuple[int, Order] | None = None
        self._plan = _Plan(self)
        seeded = _Seeded(dataset, self.seed, self.rank)
        self._loader: DataLoader[Any] = DataLoader(seeded, batch_sampler=self._plan, **options)

    def __len__(self) -> int:
        """Batches of one rank in an epoch."""
        per_round = self.batch_size * self.ranks
        return self.samples // per_round if self.drop_last else -(-self.samples // per_round)

    def __iter__(self) -> Iterator[Any]:
        """The rest of the epoch. When it is over and committed, the next call walks the next epoch."""
        if self.cursor >= len(self):
            self.epoch, self.cursor = self.epoch + 1, 0
        self.handed_out = self.cursor
        for batch in self._loader:
            self.handed_out += 1
            yield batch

    def commit(self) -> None:
        """All batches handed out so far were applied: the update is done."""
        self.cursor = self.handed_out

    def seek(self, sample: int) -> None:
        """Go to a sample of the endless stream of epochs, counted on this rank: to the batch it falls in."""
        batch = whole("sample", sample, 0) // self.batch_size
        self.epoch, self.cursor = divmod(batch, len(self))
        self.handed_out = self.cursor

    def ids(self, batch: int) -> list[int]:
        """The samples of batch number `batch` of this rank in the current epoch."""
        return self._ids(self.epoch, batch)

    def _ids(self, epoch: int, batch: int) -> list[int]:
        if self._order is None or self._order[0] != epoch:
            made = Permutation(self.samples, seed=self.seed, epoch=epoch) if self.shuffle else range(self.samples)
            self._order = (epoch, made)
        order = self._order[1]
        start = (batch * self.ranks + self.rank) * self.batch_size
        found = list(order[start : start + self.batch_size])
        if not found:  # this rank has nothing left while another has: as DistributedSampler, begin again
            found = list(order[: min(self.batch_size, self.samples)])
        return found

    def state_dict(self) -> dict[str, Any]:
        """The committed position, and what it is a position in."""
        return {"epoch": self.epoch, "cursor": self.cursor, **self._identity()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go to a committed position.

        Raises:
            UsageError: it is a position in other data, another order or another sharing.
        """
        for key, value in self._identity().items():
            if state.get(key, value) != value:
                raise UsageError(f"{key} is {value!r}, but the saved position is for {state[key]!r}")
        self.epoch, self.cursor = int(state["epoch"]), int(state["cursor"])
        self.handed_out = self.cursor

    def _identity(self) -> dict[str, Any]:
        names = ("samples", "batch_size", "shuffle", "seed", "drop_last", "rank", "ranks")
        return {name: getattr(self, name) for name in names}


class _Plan(Sampler[Any]):
    """The batches left in the epoch, each with what seeds its draws. A DataLoader asks for it when a walk begins."""

    def __init__(self, loader: CommittedLoader) -> None:
        self.loader = loader

    def __len__(self) -> int:
        return len(self.loader) - self.loader.cursor

    def __iter__(self) -> Iterator[list[tuple[int, int, int]]]:
        epoch, first = self.loader.epoch, self.loader.handed_out
        for batch in range(first, len(self.loader)):
            yield [(epoch, batch, i) for i in self.loader._ids(epoch, batch)]


class _Seeded(Dataset[Any]):
    """The data set, with the process's generators seeded for each batch, and put back afterwards."""

    def __init__(self, dataset: Dataset[Any], seed: int, rank: int) -> None:
        self.dataset, self.seed, self.rank = dataset, seed, rank

    def __getitems__(self, wanted: list[tuple[int, int, int]]) -> list[Any]:
        epoch, batch, _ = wanted[0]
        before = (random.getstate(), np.random.get_state(), torch.get_rng_state())  # noqa: NPY002
        words = np.random.SeedSequence([self.seed, epoch, batch, self.rank]).generate_state(4)
        random.seed(int(words[0]))
        np.random.seed(int(words[1]))  # noqa: NPY002  the state that data sets draw from
        torch.default_generator.manual_seed(int(words[2]) << 32 | int(words[3]))
        try:
            indices = [i for _, _, i in wanted]
            if hasattr(self.dataset, "__getitems__"):
                return list(self.dataset.__getitems__(indices))
            return [self.dataset[i] for i in indices]
        finally:
            random.setstate(before[0])
            np.random.set_state(before[1])  # noqa: NPY002
            torch.set_rng_state(before[2])


class CommittedStream:
    """The same for a stream: around torchdata's StatefulDataLoader, whose state it keeps as of the last commit.

    The stream's data set must have state_dict and load_state_dict itself, or torchdata replays it from the start.
    Resume with the same number of workers: torchdata refuses another.
    """

    def __init__(self, loader: Any, *, on_epoch: Callable[[Any, int], None] | None = None) -> None:
        """Wrap `loader`, a StatefulDataLoader; `on_epoch(loader, epoch)` is called before each epoch.

        Raises:
            UsageError: the loader has no state_dict and load_state_dict.
        """
        if not hasattr(loader, "state_dict") or not hasattr(loader, "load_state_dict"):
            raise UsageError(
                f"loader is a {type(loader).__name__} without state_dict: give torchdata's StatefulDataLoader"
            )
        self._loader, self._on_epoch = loader, on_epoch
        self.epoch = self.cursor = self.handed_out = 0
        self._over = False
        self._state: Any = None  # the loader's, as of the last commit; None: at an epoch's start

    def __iter__(self) -> Iterator[Any]:
        if self._over:
            self.epoch, self.cursor, self._state, self._over = self.epoch + 1, 0, None, False
        if self._on_epoch is not None:
            self._on_epoch(self._loader, self.epoch)
        if self._state is not None:
            self._loader.load_state_dict(self._state)
        self.handed_out = self.cursor
        for batch in self._loader:
            self.handed_out += 1
            yield batch
        self._over = self.cursor == self.handed_out

    def commit(self) -> None:
        """All batches handed out so far were applied."""
        self.cursor = self.handed_out
        self._state = self._loader.state_dict()

    def state_dict(self) -> dict[str, Any]:
        """The committed position."""
        return {"epoch": self.epoch, "cursor": self.cursor, "over": self._over, "loader": self._state}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go to a committed position; to be called before the loader is walked."""
        self.epoch, self.cursor, self._over = int(state["epoch"]), int(state["cursor"]), bool(state["over"])
        self._state, self.handed_out = state["loader"], int(state["cursor"])
