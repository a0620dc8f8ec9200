"""Targeted experiments: one thing is changed, and the workers' prepare time is looked at again."""

from __future__ import annotations

import os
import pickle
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from statistics import fmean
from typing import Any

from labkit.errors import LabkitError
from labkit.pipeline import diagnosis_suspects as suspects
from labkit.pipeline.diagnosis_bench import Bench, Step, fetch_cost, workers_begin
from labkit.pipeline.diagnosis_causes import LIMITS
from labkit.pipeline.diagnosis_record import Record, Trial
from labkit.pipeline.probe_loader import Watched, inner_of, watch
from labkit.pipeline.probe_worker import Settings
from labkit.pipeline.trace import Trace

_MAP: dict[str, Any] = {"_dataset_kind": 0}  # torch's number for a data set with indices


def targeted(bench: Bench, watched: Watched, record: Record, kept: list[Any]) -> Record:
    """Further experiments, as far as the first ones give a reason for them and the budget lasts."""
    if watched.inner is None:
        return record
    inner: Any = inner_of(watched.given)
    if suspects.one_thread(record):
        record = replace(record, one_thread=_trial(bench, inner, Settings(threads=1)))
    if suspects.all_cores(record):
        cores = frozenset(os.sched_getaffinity(0))
        record = replace(record, all_cores=_trial(bench, inner, Settings(cores=cores)))
    if workers := suspects.more_workers(record):
        found = _trial(bench, inner, None, num_workers=workers, prefetch_factor=inner.prefetch_factor or 2)
        record = replace(record, more_workers=workers, with_more=found)
    if suspects.canned(record) and kept:
        same = Same(kept[0], inner.dataset)
        record = replace(record, canned=_trial(bench, inner, None, dataset=same, collate_fn=as_is, **_MAP))
    if suspects.in_one(record) and kept:
        import torch

        flat = Same(torch.ones(int(record.batch_bytes), dtype=torch.uint8), inner.dataset)
        changes: dict[str, Any] = {"dataset": flat, "collate_fn": as_is, **_MAP}
        step = partial(_instead, bench.step, kept[0])
        record = replace(record, in_one=_trial(bench, inner, None, step, **changes))
    if least := suspects.fewer_ready(record):
        record = replace(record, fewer_ready=_trial(bench, inner, None, prefetch_factor=least))
    if suspects.second_read(record):
        record = replace(record, second_read=_second_read(bench, inner))
    if suspects.kept_workers(record):
        record = replace(record, start_kept=_kept(bench, inner))
    if suspects.pickled(record):
        record = _pickled(record, inner)
        if (record.pickled or 0) >= LIMITS.pickled_bytes:
            bare = {"dataset": Same(0, inner.dataset), "collate_fn": as_is, **_MAP}
            record = replace(record, bare_start=_begin(bench, inner, **bare), again_start=_begin(bench, inner))
    return record


class Same:
    """A data set whose every batch is a copy of the same one, in new shared memory: as a default collate leaves it."""

    def __init__(self, batch: Any, other: Any) -> None:
        self.batch = batch
        self.length = len(other) if hasattr(other, "__len__") else 1 << 40

    def __len__(self) -> int:
        """As long as the one it stands for."""
        return self.length

    def __getitem__(self, index: Any) -> Any:
        """The batch."""
        return in_shared_memory(self.batch)

    def __getitems__(self, indices: Any) -> Any:
        """The batch."""
        return in_shared_memory(self.batch)


def in_shared_memory(batch: Any) -> Any:
    """A copy, its tensors in shared memory. Sent as they are, they would be moved there once and for all."""
    import torch
    from torch.utils._pytree import tree_map

    share: Any = torch.UntypedStorage._new_shared

    def copy(leaf: Any) -> Any:
        if not isinstance(leaf, torch.Tensor) or leaf.device.type != "cpu" or leaf.layout != torch.strided:
            return leaf
        made = torch.empty(0, dtype=leaf.dtype)
        return made.set_(share(leaf.nbytes), 0, leaf.shape, leaf.contiguous().stride()).copy_(leaf)

    return tree_map(copy, batch)


def _instead(step: Step, batch: Any, _: Any) -> None:
    """The step on `batch`, whatever the loader sends."""
    step(batch)


def as_is(batch: Any) -> Any:
    """A collate function for what needs none."""
    return batch


def _trial(
    bench: Bench, inner: Any, settings: Settings | None, step: Step | None = None, **changes: Any
) -> Trial | None:
    """Loader and step with something changed, once all workers are at work. None: no time for it, or it failed."""
    budget = min(bench.budget_s * 0.06, bench.left * 0.5)
    if budget < 0.1:
        return None
    workers = changes.get("num_workers", inner.num_workers)
    watched = watch(inner, settings, **changes)
    try:
        trace = bench.run(watched, step or bench.step, budget_s=budget, from_first=True)
    except LabkitError:
        return None
    finally:
        watched.close()
    return trial_of(trace, skip=min(2 * workers, len(trace) // 3))


def trial_of(trace: Trace, skip: int) -> Trial | None:
    """The means of a pass, its first batches left out; None where nothing is left."""
    made = trace.made[skip:]
    if not made:
        return None
    return Trial(
        prepare=fmean((m.end - m.start) * 1000 for m in made),
        train=fmean((b - a) * 1000 for a, b in zip(trace.moved[skip:], trace.ended[skip:], strict=True)),
        get_cost=fetch_cost([trace], skip),
        sending=fmean(max(0.0, m.packing) * 1000 for m in made),
        start=workers_begin(trace),
    )


def _begin(bench: Bench, inner: Any, **changes: Any) -> float | None:
    """Until new workers begin, in ms."""
    if bench.left < 1:
        return None
    watched = watch(inner, None, **changes)
    try:
        trace = bench.run(watched, None, most=2 * inner.num_workers)
    except LabkitError:
        return None
    finally:
        watched.close()
    return workers_begin(trace) if len(trace) else None


def _second_read(bench: Bench, inner: Any) -> float | None:
    """Read a few batches twice with one worker: what preparing them takes the second time, when the cache is warm."""
    from torch.utils.data import IterableDataset

    if isinstance(inner.dataset, IterableDataset):
        return None
    budget = min(bench.budget_s * 0.06, bench.left * 0.5)
    indices, until = [], time.perf_counter() + budget
    times: list[float] = []
    for index in inner._index_sampler:
        indices.append(index)
        if len(indices) >= 3:
            break
    fetch = _fetcher(inner)
    for turn in range(3):
        for index in indices:
            begin = time.perf_counter()
            fetch(index)
            if turn:
                times.append((time.perf_counter() - begin) * 1000)
        if times and time.perf_counter() > until:
            break
    return fmean(times)


def _fetcher(inner: Any) -> Callable[[Any], Any]:
    from torch.utils.data import _DatasetKind

    create: Any = _DatasetKind.create_fetcher
    made = create(inner._dataset_kind, inner.dataset, inner._auto_collation, inner.collate_fn, inner.drop_last)
    return made.fetch  # type: ignore[no-any-return]


def _kept(bench: Bench, inner: Any) -> float | None:
    """The start of a second epoch when the workers of the first are kept."""
    if bench.left < 0.3:
        return None
    watched = watch(inner, None, persistent_workers=True)
    try:
        most = max(2, inner.num_workers)
        bench.run(watched, None, most=most, budget_s=bench.left * 0.5, end=False)
        again = bench.run(watched, None, most=most, budget_s=bench.left * 0.5)
    except LabkitError:
        return None
    finally:
        watched.close()
    return workers_begin(again) if len(again) else None


def _pickled(record: Record, inner: Any) -> Record:
    """How large the data set is when it travels to a worker, and how long packing and unpacking it takes."""
    try:
        begin = time.perf_counter()
        packed = pickle.dumps(inner.dataset, pickle.HIGHEST_PROTOCOL)
        middle = time.perf_counter()
        pickle.loads(packed)
        end = time.perf_counter()
    except Exception:  # a data set may refuse in any way; then it isn't what is sent
        return record
    return replace(record, pickled=float(len(packed)), pickling=(end - begin) * 1000 if middle else None)
