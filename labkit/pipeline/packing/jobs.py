"""Samples made up for experiments, packs of them in a scratch directory, and ways to read them that a job may have."""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import random
import shutil
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from labkit.errors import UsageError
from labkit.inputs import whole
from labkit.pipeline.packing.manifest import FORMATS
from labkit.pipeline.packing.passes import Pass, read_pass
from labkit.pipeline.packing.reading import Packed
from labkit.pipeline.packing.sample import Sample
from labkit.pipeline.packing.writing import pack

if TYPE_CHECKING:
    import pandas as pd


_PREFIX, _OLD = "labkit-packs-", 1800  # seconds: younger ones may be of a process that we can't see


def scratch() -> tempfile.TemporaryDirectory[str]:
    """A directory for packs, removed with its last reference. On a disk where we may write: memory can't be cold.

    A kernel that is killed removes nothing, so what earlier processes of the same user left is removed here.
    """
    place = "/var/tmp" if os.access("/var/tmp", os.W_OK | os.X_OK) else tempfile.gettempdir()
    for left in Path(place).glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError, ValueError):
            owner = int(left.name.removeprefix(_PREFIX).partition("-")[0])
            told = left.stat()
            if told.st_uid == os.getuid() and time.time() - told.st_mtime > _OLD and not psutil.pid_exists(owner):
                shutil.rmtree(left)
    return tempfile.TemporaryDirectory(prefix=f"{_PREFIX}{os.getpid()}-", dir=place)


def fresh(folder: tempfile.TemporaryDirectory[str]) -> Path:
    """A path in a scratch directory that isn't there yet: a cell that is run again packs into another one."""
    return Path(folder.name) / next(str(n) for n in itertools.count() if not Path(folder.name, str(n)).exists())


def made(samples: int, record_bytes: int, *, seed: int = 0) -> list[Sample]:
    """Samples of `record_bytes` random bytes each, called s000000, s000001, ..."""
    rng = random.Random(f"samples/{seed}")
    size = whole("record_bytes", record_bytes, 1)
    return [Sample(f"s{i:06d}", {"bin": rng.randbytes(size)}) for i in range(whole("samples", samples, 1))]


def pack_all(samples: Sequence[Sample], directory: str | Path, shard_samples: int) -> list[Packed]:
    """The same samples in all four formats, each in a directory of its name below the new `directory`.

    shard_samples: in a shard, for the formats that have shards.
    """
    Path(directory).mkdir()
    sharded = {to: {"shard_samples": shard_samples} if to in ("tar", "tfrecord") else {} for to in FORMATS}
    return [pack(samples, Path(directory) / to, to, **sharded[to]) for to in FORMATS]


@dataclass(frozen=True)
class Job:
    """What a job reads of its samples.

    Attributes:
        samples: in the data set.
        record_bytes: of each.
        shard_samples: in a shard, for formats that have shards.
        reads: "all" in order; "single": `count` samples one by one, drawn at random; "restart": in order from sample
            `start` on, as a worker does that died there.
        count: of single reads.
        start: where a restarted reader goes on.
    """

    samples: int
    record_bytes: int
    shard_samples: int
    reads: str
    count: int = 0
    start: int = 0


@functools.lru_cache(maxsize=12)
def _packed(samples: int, record_bytes: int, shard_samples: int, format: str) -> tuple[object, Packed]:
    folder = scratch()
    sharded = {"shard_samples": shard_samples} if format in ("tar", "tfrecord") else {}
    return folder, pack(made(samples, record_bytes), Path(folder.name) / format, format, **sharded)


def run_job(job: Job, format: str, *, index: bool, cold: bool) -> Pass:
    """Make the samples, pack them, and read what the job reads. The packs of the last few jobs are kept.

    Raises:
        UsageError: a format or a way of reading that there isn't.
    """
    _, packed = _packed(job.samples, job.record_bytes, job.shard_samples, format)
    if job.reads == "all":
        return read_pass(packed, cold=cold, index=index)
    if job.reads == "restart":
        return read_pass(packed, cold=cold, index=index, start=job.start)
    if job.reads == "single":
        order = random.Random(job.count).sample(range(job.samples), job.count)
        return read_pass(packed, cold=cold, index=index, order=order)
    raise UsageError(f"reads is {job.reads!r}: give all, single or restart")


def access_costs(packs: Sequence[Packed], want: int, restart: int) -> pd.DataFrame:
    """What it costs to read sample `want` alone, and sample `restart` after a restart there, in each format.

    Rows "no index" are those of a reader that knows no offsets and must go through the shard from its start.
    `thrown away` counts the samples that a restarted reader reads again before it comes to its own.
    """
    import pandas as pd

    rows = []
    for packed in packs:
        for index in (True, False) if packed.format in ("tar", "tfrecord") else (True,):
            one = read_pass(packed, cold=False, index=index, order=[want]).reads
            again = 0 if index else packed.place(restart)[1]
            rows.append({
                "format": packed.format, "reader": "index" if index else "no index", "opens": one.opens,
                "requests": one.requests, "bytes for one": one.bytes, "thrown away": again,
            })  # fmt: skip
    return pd.DataFrame(rows)
