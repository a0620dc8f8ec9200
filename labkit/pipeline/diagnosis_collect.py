"""The experiments of a diagnosis: both, read-only, train-only, then the probes that a suspicion asks for."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import fmean, median
from typing import Any

from labkit.errors import UsageError
from labkit.pipeline.diagnosis_bench import Bench, Step, fetch_cost, workers_begin
from labkit.pipeline.diagnosis_causes import LIMITS
from labkit.pipeline.diagnosis_record import Record
from labkit.pipeline.diagnosis_trials import in_shared_memory, targeted
from labkit.pipeline.probe_batch import octets
from labkit.pipeline.probe_loader import Made, Watched, watch
from labkit.pipeline.probe_machine import memory, shm_room
from labkit.pipeline.trace import Trace

_KEPT = 4  # batches of the cached control
_KEPT_BYTES = 256 << 20  # and what they may take together


def collect(make_loader: Callable[[], Any], step: Step, budget_s: float) -> tuple[Record, Trace]:
    """Run the experiments; the record, and the trace of the pass in which loader and step ran together."""
    bench = Bench(make_loader, step, budget_s)
    loader = bench.loader()
    watched = watch(loader)
    try:
        record, trace, kept = _basis(bench, watched)
        return targeted(bench, watched, record, kept), trace
    finally:
        watched.close()


def _basis(bench: Bench, watched: Watched) -> tuple[Record, Trace, list[Any]]:
    room = shm_room()
    inner = watched.inner
    kept: list[Any] = []
    growth = _Growth(watched)
    ahead = (inner.num_workers * (inner.prefetch_factor or 1)) if inner is not None else 0
    short = bench.run(
        watched,
        bench.step,
        most=ahead + max(4, inner.num_workers if inner is not None else 0),
        budget_s=bench.budget_s * 0.1,
        from_first=True,
        every=growth.look,
        keep=_Few(kept),
        end=False,
    )
    if not len(short):
        raise UsageError("the loader yields no batch: is the data set, or the sampler, empty or used up?")
    passes = [_both(bench, watched, growth)]
    while sum(map(len, passes)) < 2 * LIMITS.fewest and bench.left > bench.budget_s * 0.6 and len(passes[-1]):
        passes.append(_both(bench, watched, growth))
    whole = passes[0]
    if not len(whole):
        whole = short
        passes = [short]
    record = _describe(watched, short, passes, room, growth)
    read = bench.run(watched, None, budget_s=min(bench.budget_s * 0.04, bench.left * 0.2), end=True)
    if len(read) > ahead + 2:
        record = replace(record, read_only=(read.ended[-1] - read.ended[ahead]) * 1000 / max(1, len(read) - 1 - ahead))
    kept_ms = _train_only(bench, kept)
    return replace(record, cached_train=kept_ms, floor=_floor(kept)), whole, kept


class _Few(list[Any]):
    """A list that takes the first few batches, copied to plain memory, and forgets the others."""

    def __init__(self, kept: list[Any]) -> None:
        super().__init__()
        self.kept = kept

    def append(self, batch: Any) -> None:
        if len(self.kept) < _KEPT and sum(map(octets, self.kept)) < _KEPT_BYTES:
            self.kept.append(_copied(batch))


def _copied(batch: Any) -> Any:
    """The batch in memory of this process: what a worker sent lies in shared memory, which costs when first touched."""
    from torch.utils._pytree import tree_map

    return tree_map(lambda leaf: leaf.clone() if hasattr(leaf, "clone") else leaf, batch)


def _both(bench: Bench, watched: Watched, growth: _Growth) -> Trace:
    if watched.inner is None:
        watched.loader = bench.loader()
    share = max(0.5, bench.budget_s * 0.12)
    trace = bench.run(watched, bench.step, budget_s=share, from_first=True, every=growth.look, end=False)
    if len(trace) < LIMITS.fewest and trace.ending == "budget":
        how = {"most": 2 * LIMITS.fewest, "budget_s": bench.left * 0.4, "from_first": True}
        trace = bench.run(watched, bench.step, every=growth.look, end=False, **how)
    return trace


class _Growth:
    """Pages that the workers shared with the trainer and now have for themselves: looked at now and then in a pass."""

    def __init__(self, watched: Watched) -> None:
        self.watched = watched
        self.points: list[tuple[int, float, float]] = []
        self.next = 0

    def begin(self) -> None:
        self.points, self.next = [], 1

    def look(self, batches: int) -> None:
        if batches >= self.next:
            self._note(batches)
            self.next = batches * 2

    def copied(self) -> float | None:
        """Bytes since the pass began, all workers together; None where it can't be seen."""
        if len(self.points) < 2:
            return None
        (_, own, shared), (_, more, less) = self.points[0], self.points[-1]
        return max(0.0, min(more - own, shared - less))

    def _note(self, batches: int) -> None:
        seen = [found for pid in self.watched.pids.values() if (found := memory(pid)) is not None]
        if seen and len(seen) == len(self.watched.pids):
            self.points.append((batches, math.fsum(own for own, _ in seen), math.fsum(shared for _, shared in seen)))


def _describe(
    watched: Watched, short: Trace, passes: Sequence[Trace], room: tuple[float, float] | None, growth: _Growth
) -> Record:
    inner, last = watched.inner, passes[-1]
    made = [m for trace in passes for m in trace.made]
    length = _length(watched.loader)
    states = last.states or short.states
    wall = math.fsum(m.end - m.start for m in made)
    spent = math.fsum(t.ended[-1] - t.begin for t in passes if len(t))
    seen: dict[str, Any] = {}
    if made and wall > 0:
        seen = {
            "collate": math.fsum(m.end - m.collate for m in made) / wall,
            "computing": math.fsum(m.own for m in made) / wall,
            "starved": math.fsum(m.delay for m in made) / wall,
            "all_threads": math.fsum(m.cpu for m in made) / wall,
            "asked": _each(made, "asked"),
            "disk": _each(made, "disk"),
        }
    cores = {core for state in states for core in state.get("cores", ())}
    shared = room is not None and watched.workers
    return Record(
        workers=watched.workers if made or not watched.workers else None,
        prefetch_factor=(inner.prefetch_factor or 0) if inner is not None else 0,
        persistent=bool(inner is not None and inner.persistent_workers),
        in_order=last.in_order,
        method=_method(inner) if inner is not None and inner.num_workers else "",
        batches=length or max(map(len, passes)),
        batch_size=fmean(short.samples),
        batch_bytes=short.octets,
        cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        prepare=tuple((m.end - m.start) * 1000 for m in made),
        sending=tuple(max(0.0, m.packing) * 1000 for m in made),
        train=tuple((b - a) * 1000 for t in passes for a, b in zip(t.moved, t.ended, strict=True)),
        waits=tuple((b - a) * 1000 for t in passes for a, b in zip(t.ended[:-1], t.taken[1:], strict=True)),
        get_cost=fetch_cost(passes),
        first_wait=(short.taken[0] - short.begin) * 1000,
        later_wait=fmean((t.taken[0] - t.begin) * 1000 for t in passes if len(t)),
        starting=(short.iterated - short.begin) * 1000,
        start=fmean(workers_begin(t) for t in passes if len(t)),
        first_start=workers_begin(short),
        new_pids=set(short.pids) != set(last.pids) if short.pids else None,
        trainer_computing=math.fsum(t.trainer_cpu for t in passes) / spent if spent else None,
        others=last.others,
        threads=max((state["threads"] for state in states if "threads" in state), default=None),
        tasks=max((state["tasks"] for state in states if "tasks" in state), default=None),
        worker_cores=tuple(sorted(cores)) if cores else None,
        copied=growth.copied(),
        shm_free=room[0] if shared and room is not None else None,
        memory_free=_memory(),
        **seen,
    )


def _each(made: Sequence[Made], name: str) -> float | None:
    """A counter of the workers, as a figure for each batch."""
    total, count = 0.0, 0
    last: dict[int, float] = {}
    for m in made:
        value = getattr(m, name)
        if value < 0:
            return None
        if m.pid in last and value >= last[m.pid]:
            total += value - last[m.pid]
            count += 1
        last[m.pid] = value
    return total / count if count else None


def _train_only(bench: Bench, kept: list[Any]) -> float | None:
    """The step on batches in memory while no loader runs: the median."""
    if not kept:
        return None
    from labkit.pipeline.probe_pass import waiting

    synchronise = waiting()
    times: list[float] = []
    until = time.perf_counter() + min(0.4, bench.left * 0.2)
    while len(times) < 4 or (time.perf_counter() < until and len(times) < 50):
        for batch in kept:
            begin = time.perf_counter()
            bench.step(batch)
            synchronise()
            times.append((time.perf_counter() - begin) * 1000)
    return fmean(sorted(times)[: max(1, round(len(times) * 0.9))])


def _floor(kept: list[Any]) -> float | None:
    """Writing one batch's bytes to new shared memory, in ms: what joining ready samples costs a worker at least."""
    if not kept:
        return None
    times = []
    for _ in range(5):
        begin = time.perf_counter()
        in_shared_memory(kept[0])
        times.append((time.perf_counter() - begin) * 1000)
    return median(times)


def _length(loader: Any) -> int | None:
    try:
        return len(loader) or None
    except (TypeError, NotImplementedError):
        return None


def _method(inner: Any) -> str:
    import torch.multiprocessing as mp

    context = inner.multiprocessing_context or mp
    return str(context.get_start_method())


def _memory() -> float | None:
    try:
        import psutil

        return float(psutil.virtual_memory().available)
    except (ImportError, OSError):
        return None
