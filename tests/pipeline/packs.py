"""Samples and packs for the tests of packing."""

from __future__ import annotations

import random

from labkit.pipeline.packing import Sample, pack

FORMATS = ("files", "tar", "lmdb", "tfrecord")


def samples(count=24, *, seed=0, size=700):
    rng = random.Random(seed)
    return [
        Sample(f"part{i // 10}/s{i:04d}", {"bin": rng.randbytes(rng.randint(1, size)), "cls": str(i % 7).encode()})
        for i in range(count)
    ]


def packed(directory, format, items=None, *, shard_samples=6):
    size = {"shard_samples": shard_samples} if format in ("tar", "tfrecord") else {}
    return pack(samples() if items is None else items, directory / format, format, **size)
