"""Dispatch mode: rank 0 reads every sample and sends the ranks their share, in place of every rank reading its own."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from labkit.errors import UsageError
from labkit.inputs import whole
from labkit.sharding.planning import Plan, plan_dispatch
from labkit.sharding.wire import bytes_sent, sent_since

if TYPE_CHECKING:
    import pandas as pd

WAYS = ("broadcast", "scatter")


class Dispatch:
    """This rank's batches, read by rank 0 from `data` and sent through the process group. Iterate it on every rank.

    Samples are tensors of one shape and type. What each rank gets is what `plan_dispatch` says. Without a process group
    the one process there is reads and keeps everything.

    Args:
        data: the data set: `data[i]` gives a tensor. Only rank 0 reads it; others may pass it and never touch it.
        batch_size: samples in a batch of one rank.
        way: "broadcast": every rank gets the whole round and cuts out its slice, as accelerate does. "scatter": every
            rank gets its slice alone.
        drop_last: leave out a round that isn't full.

    Attributes:
        reads: samples this rank has read from `data`.
        payload: bytes of samples that this rank has been sent (rank 0: has handed on, once for each other rank).

    Raises:
        UsageError: a value can't be used.
    """

    def __init__(self, data: Any, batch_size: int, *, way: str = "broadcast", drop_last: bool = False) -> None:
        import torch.distributed as dist

        if way not in WAYS:
            raise UsageError(f"way is {way!r}: give broadcast or scatter")
        grouped = dist.is_available() and dist.is_initialized()
        self.rank, self.ranks = (dist.get_rank(), dist.get_world_size()) if grouped else (0, 1)
        self.data, self.way = data, way
        self.plan: Plan = plan_dispatch(whole("samples", len(data), 0), batch_size, self.ranks, drop_last=drop_last)
        self.reads = self.payload = 0

    def __len__(self) -> int:
        """Steps, the same on every rank."""
        return self.plan.steps[self.rank]

    def __iter__(self) -> Iterator[Any]:
        """This rank's batches, each one tensor with a sample a row."""
        kind: tuple[tuple[int, ...], Any] | None = None
        for step in range(len(self)):
            slices = [self.plan.per_rank[rank][step] for rank in range(self.ranks)]
            pieces = [self._read(ids) for ids in slices] if self.rank == 0 else None
            if self.ranks == 1:
                assert pieces is not None
                yield pieces[0]
                continue
            kind = kind or self._agree_on_kind(pieces)
            yield self._send(pieces, len(slices[0]), *kind)

    def _agree_on_kind(self, pieces: list[Any] | None) -> tuple[tuple[int, ...], Any]:
        """Shape and type of a sample: ranks that don't read have to be told before the first batch."""
        import torch.distributed as dist

        kind = [(tuple(pieces[0].shape[1:]), pieces[0].dtype) if pieces else None]
        dist.broadcast_object_list(kind, src=0)
        assert kind[0] is not None
        return kind[0]

    def _read(self, ids: list[int]) -> Any:
        import torch

        self.reads += len(ids)
        return torch.stack([self.data[i] for i in ids])

    def _send(self, pieces: list[Any] | None, rows: int, shape: tuple[int, ...], dtype: Any) -> Any:
        import torch
        import torch.distributed as dist

        if self.way == "scatter":
            mine = torch.empty((rows, *shape), dtype=dtype)
            dist.scatter(mine, pieces, src=0)
            self.payload += mine.nbytes * (self.ranks - 1 if self.rank == 0 else 1)
            return mine
        everything = torch.cat(pieces) if pieces else torch.empty((rows * self.ranks, *shape), dtype=dtype)
        dist.broadcast(everything, src=0)
        self.payload += everything.nbytes * (self.ranks - 1 if self.rank == 0 else 1)
        return everything[self.rank * rows : (self.rank + 1) * rows]


@dataclass(frozen=True)
class Mode:
    """One epoch in one mode, on real ranks; every tuple has an entry a rank.

    Attributes:
        name: "shard" (every rank reads its own batches), "broadcast" or "scatter" (rank 0 reads for all).
        reads: samples read. All on rank 0: its storage and CPU feed every rank.
        payload: bytes of samples received (rank 0: handed on). 0 in shard mode.
        sent: bytes really sent, as the system counts them; None where it doesn't. Includes what a step costs anyway.
        seconds: time for the epoch on the slowest rank.
    """

    name: str
    reads: tuple[int, ...]
    payload: tuple[int, ...]
    sent: tuple[int, ...] | None
    seconds: float


@dataclass(frozen=True)
class DispatchReport:
    """Reads and bytes of the three modes over the same samples.

    Attributes:
        samples: how many.
        sample_bytes: bytes of one sample.
        batch_size: samples in a batch of one rank.
        ranks: how many.
        modes: "shard", "broadcast" and "scatter", in this order.
    """

    samples: int
    sample_bytes: int
    batch_size: int
    ranks: int
    modes: tuple[Mode, ...]

    def frame(self) -> pd.DataFrame:
        """One row for each mode and rank: mode, rank, reads, payload, sent."""
        import pandas as pd

        rows = [
            (mode.name, rank, mode.reads[rank], mode.payload[rank], None if mode.sent is None else mode.sent[rank])
            for mode in self.modes
            for rank in range(self.ranks)
        ]
        return pd.DataFrame(rows, columns=["mode", "rank", "reads", "payload", "sent"])

    def text(self) -> str:
        """One line a mode."""
        lines = [
            f"{self.samples} samples of {self.sample_bytes:,} bytes on {self.ranks} ranks, batches of {self.batch_size}"
        ]
        for mode in self.modes:
            sent = "" if mode.sent is None else f", {sum(mode.sent):,} bytes really sent"
            lines.append(
                f"{mode.name}: reads by rank {', '.join(map(str, mode.reads))}; "
                f"{sum(mode.payload[1:]):,} bytes of samples received by ranks 1 to {self.ranks - 1}{sent}"
            )
        return "\n".join(lines)


def compare_dispatch(samples: int, batch_size: int, ranks: int = 4, *, sample_bytes: int = 4096) -> DispatchReport:
    """One epoch in shard mode and in both dispatch modes, on real ranks: who reads, and what goes over the wire.

    Args:
        samples: how many, made up; each is `sample_bytes` of zeros.
        batch_size: samples in a batch of one rank.
        ranks: how many, 2 or more.
        sample_bytes: bytes of one sample.

    Raises:
        UsageError: a value can't be used.
    """
    from labkit.ranks import run

    samples, batch_size = whole("samples", samples, 1), whole("batch_size", batch_size, 1)
    ranks, sample_bytes = whole("ranks", ranks, 2), whole("sample_bytes", sample_bytes, 1)
    by_rank = run(_one_epoch_each, samples, batch_size, sample_bytes, ranks=ranks)
    modes = []
    for i, name in enumerate(("shard", *WAYS)):
        reads, payload, sent, seconds = zip(*(mine[i] for mine in by_rank), strict=True)
        modes.append(Mode(name, reads, payload, None if None in sent else sent, max(seconds)))
    return DispatchReport(samples, sample_bytes, batch_size, ranks, tuple(modes))


def _one_epoch_each(
    rank: int, samples: int, batch_size: int, sample_bytes: int
) -> list[tuple[int, int, int | None, float]]:
    """On one rank: reads, payload, bytes sent and seconds of an epoch; for shard, broadcast and scatter."""
    import torch
    import torch.distributed as dist
    from torch.utils.data import DataLoader

    from labkit.sharding.samplers import BatchShards

    class Counted:
        """A data set that counts how often it is read."""

        reads = 0

        def __len__(self) -> int:
            return samples

        def __getitem__(self, index: int) -> Any:
            self.reads += 1
            return torch.zeros(sample_bytes, dtype=torch.uint8)

    def timed(loader: Any) -> tuple[int | None, float]:
        dist.barrier()
        before, start = bytes_sent(), time.perf_counter()
        for _ in loader:
            pass
        seconds = time.perf_counter() - start
        return sent_since(before), seconds

    data = Counted()
    shards: Any = DataLoader(data, batch_sampler=BatchShards(data, batch_size, dist.get_world_size(), rank))  # type: ignore[arg-type]
    found = [(0, *timed(shards))]
    rows = [(data.reads, *found[0])]
    for way in WAYS:
        loader = Dispatch(Counted(), batch_size, way=way)
        sent, seconds = timed(loader)
        rows.append((loader.reads, loader.payload, sent, seconds))
    return rows
