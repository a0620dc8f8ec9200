"""A two-stage shuffle in a real DataLoader on real shards: the order that arrives, and the shards that were opened."""

from __future__ import annotations

import warnings
from typing import Any

from torch.utils.data import DataLoader

from labkit.pipeline.packing.reading import Packed
from labkit.pipeline.shuffling import Shuffle, shuffle_quality
from labkit.pipeline.shuffling_loader import ShuffledShards


def shuffled_epoch(
    packed: Packed,
    *,
    batch_size: int,
    buffer: int,
    workers: int = 0,
    shuffle_shards: bool = True,
    seed: int = 0,
    epoch: int = 0,
) -> Shuffle:
    """Run one epoch on a real DataLoader; the order of the samples that came, its quality and the shard reads.

    The samples' stored places are those of the pack. With workers, each is a reader of its own, with its own buffer.
    """
    places = {entry.key: place for place, entry in enumerate(e for shard in packed.shards for e in shard.entries)}
    data = ShuffledShards(packed, buffer=buffer, seed=seed, shuffle_shards=shuffle_shards)
    data.set_epoch(epoch)
    loader: DataLoader[Any] = DataLoader(data, batch_size=batch_size, num_workers=workers, collate_fn=_as_is)
    order, opens = list[int](), dict[int, int]()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="This DataLoader will create")
        for batch in loader:
            for one in batch:
                order.append(places[one["key"]])
                opens[one["worker"]] = max(opens.get(one["worker"], 0), one["opens"])
    name = f"{'shards shuffled' if shuffle_shards else 'stored order'}, buffer {buffer}, {workers or 1} reader"
    held = min(buffer, len(packed)) * max(workers, 1)
    return Shuffle(
        name + "s" * (workers > 1),
        tuple(order),
        batch_size,
        shuffle_quality(order, batch_size),
        sum(opens.values()),
        held,
    )


def _as_is(batch: list[Any]) -> list[Any]:
    return batch
