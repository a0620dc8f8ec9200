"""A real data set on shards for a real DataLoader: every worker is one reader of the two-stage shuffle."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torch.utils.data import IterableDataset, get_worker_info

from labkit.inputs import whole
from labkit.pipeline.packing.reading import Packed
from labkit.pipeline.shuffling import two_stage


class ShuffledShards(IterableDataset[dict[str, Any]]):
    """Samples of a pack in two-stage order; call `set_epoch` before each epoch.

    It gives dictionaries: `key`, `worker` (who read it), `opens` (files that this worker has opened so far) and the
    fields, as bytes. Workers share the shards out among themselves. Persistent workers don't see `set_epoch`: torch
    copies the data set into them when they start.
    """

    def __init__(self, packed: Packed, *, buffer: int, seed: int = 0, shuffle_shards: bool = True) -> None:
        super().__init__()
        self.packed, self.buffer, self.seed, self.shuffle_shards = packed, buffer, seed, shuffle_shards
        self.epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Which order comes next."""
        self.epoch = whole("epoch", epoch, 0)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        info = get_worker_info()
        worker, workers = (info.id, info.num_workers) if info else (0, 1)
        before = self.packed.reads.opens if info is None else 0
        order = two_stage(
            len(self.packed.shards), self.packed.shard, buffer=self.buffer, seed=self.seed, epoch=self.epoch,
            reader=worker, readers=workers, shuffle_shards=self.shuffle_shards,
        )  # fmt: skip
        for sample in order:
            opens = self.packed.reads.opens - before
            yield {"key": sample.key, "worker": worker, "opens": opens, **sample.fields}
