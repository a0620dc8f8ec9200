"""The benchmark itself: warm-up, then intervals from barrier to barrier, on real ranks."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from labkit.errors import UsageError
from labkit.inputs import whole
from labkit.scaling.identity import data_identity, hardware, versions
from labkit.scaling.result import Benchmark
from labkit.scaling.weak import WeakScaling


def benchmark(
    make_step: Callable[[int, int], Callable[[], Any]],
    *,
    batch_size: int,
    ranks: int = 1,
    warmup: int = 10,
    steps: int = 10,
    intervals: int = 9,
    discard: int = 1,
    data: Any = None,
    label: str = "",
    settings: Mapping[str, Any] | None = None,
    backend: str = "gloo",
    timeout: float = 120,
) -> Benchmark:
    """Measure samples per second of a training step on real ranks.

    The protocol: every rank makes its step, runs `warmup` steps that don't count, then `intervals` times a barrier,
    `steps` steps, a barrier. An interval's time is the slowest rank's. The `discard` shortest and `discard` longest
    intervals are left out, the rest give mean and spread. On a GPU the device is synchronised at every edge. All of
    this, the machine, the versions and the data's identity are part of the result.

    Args:
        make_step: `make_step(rank, ranks)` runs once on each rank and returns `step()`, which trains on one batch of
            `batch_size` samples, all-reduce and waiting for data included. May be typed in a notebook.
        batch_size: samples that one call of step uses on one rank.
        ranks: how many.
        warmup: steps before the first interval.
        steps: steps in an interval.
        intervals: how many intervals.
        discard: intervals left out at each end, after sorting by time; decided here, before anything is measured.
        data: what the step reads, for its identity: a path, an array, bytes, a sequence of ids. Without it the result
            can't be compared with another.
        label: a name for people.
        settings: what is being varied (workers, prefetch_factor, ...), as plain values; recorded, never compared.
        backend: "gloo", or "nccl" with a GPU a rank.
        timeout: seconds for the whole run.

    Raises:
        UsageError: a value can't be used.
        RankError: a rank failed.
    """
    from labkit import device
    from labkit.ranks import run

    if not callable(make_step):
        raise UsageError(f"make_step is {make_step!r}: give a function of (rank, ranks) that returns the step")
    batch_size, ranks = whole("batch_size", batch_size, 1), whole("ranks", ranks, 1)
    warmup, steps, intervals = whole("warmup", warmup, 0), whole("steps", steps, 1), whole("intervals", intervals, 1)
    discard = whole("discard", discard, 0)
    if 2 * discard >= intervals:
        raise UsageError(f"discard is {discard} and intervals is {intervals}: that leaves none; give more intervals")
    known = "" if data is None else data_identity(data)
    varied = _plain_settings(settings or {})
    where = device.pick()
    by_rank = run(_measure, make_step, warmup, steps, intervals, where, ranks=ranks, backend=backend, timeout=timeout)
    seconds = tuple(max(times) for times in zip(*(times for _, times in by_rank), strict=True))
    return Benchmark(
        label=str(label),
        settings=varied,
        ranks=ranks,
        batch_size=batch_size,
        backend=backend,
        device=where,
        hardware=dict(hardware()),
        versions=dict(versions()),
        data=known,
        warmup=warmup,
        steps=steps,
        intervals=intervals,
        discard=discard,
        seconds=seconds,
        warmup_seconds=max(warm for warm, _ in by_rank),
    )


def weak_scaling(
    make_step: Callable[[int, int], Callable[[], Any]],
    *,
    batch_size: int,
    ranks: Sequence[int] = (1, 2, 4),
    **options: Any,
) -> WeakScaling:
    """The same benchmark on several numbers of ranks, the work of each rank fixed.

    Args:
        make_step: as for `benchmark`.
        batch_size: samples of one rank in one step, the same for every number of ranks.
        ranks: numbers of ranks, 1 among them: efficiency is T1 / TR.
        options: as for `benchmark`.

    Raises:
        UsageError: a value can't be used.
        RankError: a rank failed.
    """
    if isinstance(ranks, str | int) or not isinstance(ranks, Sequence):
        raise UsageError(f"ranks is {ranks!r}: give numbers of ranks, such as (1, 2, 4)")
    counts = sorted({whole(f"ranks[{i}]", count, 1) for i, count in enumerate(ranks)})
    if not counts or counts[0] != 1:
        raise UsageError(f"ranks is {tuple(ranks)!r}: 1 must be among them, since efficiency is T1 / TR")
    return WeakScaling(tuple(benchmark(make_step, batch_size=batch_size, ranks=count, **options) for count in counts))


def _measure(
    rank: int, make_step: Any, warmup: int, steps: int, intervals: int, device: str
) -> tuple[float, list[float]]:
    """On one rank: seconds of the warm-up, and of every interval."""
    import torch
    import torch.distributed as dist

    def settle() -> None:
        if device == "cuda":
            torch.cuda.synchronize()

    step = make_step(rank, dist.get_world_size())
    if not callable(step):
        raise UsageError(f"make_step gave {step!r}: it must return the step, a function without arguments")

    def timed(count: int) -> float:
        settle()
        dist.barrier()
        start = time.perf_counter()
        for _ in range(count):
            step()
        settle()
        dist.barrier()
        return time.perf_counter() - start

    return timed(warmup), [timed(steps) for _ in range(intervals)]


def _plain_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(settings, Mapping):
        raise UsageError(f"settings is {settings!r}: give names and plain values, such as {{'workers': 2}}")
    for name, value in settings.items():
        plain = value is None or isinstance(value, str | int | float | bool)
        if not isinstance(name, str) or not plain or (isinstance(value, float) and not math.isfinite(value)):
            raise UsageError(f"settings[{name!r}] is {value!r}: give a number, a text, True or False")
    return dict(settings)
