"""What a metric costs on the wire: every prediction to rank 0 or to all ranks, or three numbers reduced."""

from __future__ import annotations

import time
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

from labkit.inputs import whole

if TYPE_CHECKING:
    import pandas as pd

WAYS = ("gather to rank 0", "gather to all ranks", "reduce three numbers")
ROW = 12  # bytes a sample: a float32 prediction and an int64 target


@dataclass(frozen=True)
class Way:
    """One way to get a metric over all ranks' samples.

    Attributes:
        name: one of "gather to rank 0", "gather to all ranks", "reduce three numbers".
        payload: bytes that each rank hands to the collective; the predictions and targets, or three float64.
        sent: bytes that each rank really sent in one evaluation, as the system counts them; None where it doesn't.
            Grows with the samples when rows are gathered; stays when numbers are reduced.
        seconds: time on rank 0 for one evaluation, median over the rounds.
    """

    name: str
    payload: tuple[int, ...]
    sent: tuple[int, ...] | None
    seconds: float


@dataclass(frozen=True)
class Traffic:
    """Bytes and time of three ways to evaluate the same samples, from real ranks.

    Attributes:
        samples: how many, over all ranks.
        ranks: how many.
        ways: one entry a way.
    """

    samples: int
    ranks: int
    ways: tuple[Way, ...]

    def frame(self) -> pd.DataFrame:
        """One row a way: way, payload, sent (both in bytes over all ranks), milliseconds."""
        import pandas as pd

        rows = [(w.name, sum(w.payload), None if w.sent is None else sum(w.sent), 1000 * w.seconds) for w in self.ways]
        return pd.DataFrame(rows, columns=["way", "payload", "sent", "milliseconds"])

    def text(self) -> str:
        """One line a way."""
        lines = [f"{self.samples} samples on {self.ranks} ranks"]
        for way in self.ways:
            sent = "not counted here" if way.sent is None else f"{sum(way.sent):,} bytes sent"
            lines.append(f"{way.name}: {sum(way.payload):,} bytes of payload, {sent}, {1000 * way.seconds:.2f} ms")
        return "\n".join(lines)


def measure_traffic(samples: int, ranks: int = 4, *, rounds: int = 5) -> Traffic:
    """Evaluate `samples` made-up predictions on real ranks in three ways, and count bytes and time.

    Args:
        samples: over all ranks; each holds its share of them.
        ranks: how many.
        rounds: how often each way is run after one round that doesn't count.

    Raises:
        UsageError: a value can't be used.
    """
    from labkit.ranks import run

    samples, ranks, rounds = whole("samples", samples, 1), whole("ranks", ranks, 1), whole("rounds", rounds, 1)
    by_rank = run(_evaluate, samples, rounds, ranks=ranks)
    ways = []
    for i, name in enumerate(WAYS):
        payload, sent, seconds = zip(*(mine[i] for mine in by_rank), strict=True)
        ways.append(Way(name, payload, None if None in sent else sent, seconds[0]))
    return Traffic(samples, ranks, tuple(ways))


def _evaluate(rank: int, samples: int, rounds: int) -> list[tuple[int, int | None, float]]:
    """On one rank: payload, bytes sent in one round, seconds of one round; for each way."""
    import torch
    import torch.distributed as dist

    from labkit.sharding.wire import bytes_sent, sent_since

    ranks = dist.get_world_size()
    mine = len(range(rank, samples, ranks))
    most = -(-samples // ranks)  # a gather of tensors needs rows of one length
    scores = torch.zeros(most, dtype=torch.float32)
    targets = torch.zeros(most, dtype=torch.int64)

    def to_rank_0() -> Any:
        for rows in (scores, targets):
            dist.gather(rows, [torch.empty_like(rows) for _ in range(ranks)] if rank == 0 else None, dst=0)

    def to_all() -> Any:
        for rows in (scores, targets):
            dist.all_gather([torch.empty_like(rows) for _ in range(ranks)], rows)

    def three() -> Any:
        counts = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)  # tp, fp, fn
        dist.all_reduce(counts)

    found = []
    for way, payload in ((to_rank_0, mine * ROW), (to_all, mine * ROW), (three, 24)):
        way()
        times, sent = [], []
        for _ in range(rounds):
            dist.barrier()
            before = bytes_sent()
            start = time.perf_counter()
            way()
            times.append(time.perf_counter() - start)
            sent.append(sent_since(before))
        found.append((payload, None if None in sent else int(median(n for n in sent if n is not None)), median(times)))
    return found
