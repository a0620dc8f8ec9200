"""A measurement drawn, and as a Chrome trace."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labkit.errors import UsageError

if TYPE_CHECKING:
    from labkit.picture import Picture
    from labkit.pipeline.drawing import Lane
    from labkit.pipeline.measurement import Measurement

_MOST = 200  # batches that a picture holds; more would be thinner than a pixel
_MICROSECONDS = 1000.0  # a trace counts microseconds; a measurement counts milliseconds


def draw(measured: Measurement, title: str | None) -> Picture:
    """The lanes of the workers and the trainer as measured, and the trainer's as the line predicts it."""
    from labkit.pipeline.drawing import draw_lanes, timeline_lanes

    count = min(len(measured), _MOST)
    lanes = [*worker_lanes(measured, count), ("trainer", trainer_lane(measured, count))]
    shown = f" (the first {count} of {len(measured)} batches)" if count < len(measured) else ""
    words = f"{len(measured)} batches in {measured.makespan:.4g} ms, the trainer waits {measured.wait_share:.0%}"
    alt = f"A measured pass, times in ms. {' '.join(line.strip() for line in measured.text().splitlines())}."
    if measured.workers and measured.in_order:
        line = measured.timeline()
        lanes.append(("predicted", timeline_lanes(line, count)[-1][1]))
        words += f"; the line predicts {line.makespan:.4g}"
        alt += f" The line predicts {line.makespan:.4g} ms from the measured prepare and train times."
    return draw_lanes(lanes, title=f"{title or words}{shown}", alt=alt, table=measured.frame().head(count).round(3))


def worker_lanes(measured: Measurement, count: int) -> list[Lane]:
    """What each worker did, from 0 on: one lane a worker; none where workers can't be seen."""
    lanes: dict[int, list[tuple[float, float, str, str]]] = {}
    for i in range(count):
        start, end, worker = measured.prepare_start[i], measured.prepare_end[i], measured.worker[i]
        if start is not None and end is not None and worker is not None and end > 0 and measured.workers:
            lanes.setdefault(worker, []).append((max(start, 0.0), end, str(i), "prepare"))
    return [(f"worker {worker}", lanes[worker]) for worker in sorted(lanes)]


def trainer_lane(measured: Measurement, count: int) -> list[tuple[float, float, Any, str]]:
    """What the trainer did: waits and steps."""
    lane: list[tuple[float, float, Any, str]] = []
    before = 0.0
    for i in range(count):
        wait, start = measured.fetch_waits[i], measured.train_start[i]
        lane.append((before, before + wait, (f"wait {wait:.3g}", f"{wait:.2g}"), "wait"))
        lane.append((start, measured.train_end[i], str(i), "train"))
        before = measured.train_end[i]
    return lane


def trace(measured: Measurement) -> dict[str, Any]:
    """The pass as a Chrome trace: the trainer's process and each worker's, under their real process ids."""
    trainer = os.getpid()
    names = [(trainer, "trainer", -1)]
    names += [(pid, f"DataLoader worker {worker}", worker) for worker, pid in enumerate(measured.pids)]
    events: list[dict[str, Any]] = []
    for pid, name, order in names:
        events.append({"ph": "M", "name": "process_name", "pid": pid, "tid": pid, "args": {"name": name}})
        events.append({"ph": "M", "name": "process_sort_index", "pid": pid, "tid": pid, "args": {"sort_index": order}})
    first = min([0.0, *(start for start in measured.prepare_start if start is not None)])

    def add(name: str, kind: str, pid: int, start: float, end: float, batch: int) -> None:
        place = {"ts": (start - first) * _MICROSECONDS, "dur": (end - start) * _MICROSECONDS}
        events.append({"ph": "X", "name": name, "cat": kind, "pid": pid, "tid": pid, **place, "args": {"batch": batch}})

    before = 0.0
    for i in range(len(measured)):
        start, end, worker = measured.prepare_start[i], measured.prepare_end[i], measured.worker[i]
        if start is not None and end is not None and worker is not None:
            pid = measured.pids[worker] if worker < len(measured.pids) else trainer
            add(f"prepare {i}", "prepare", pid, start, end, i)
        if pid_is_other(measured, worker):
            add("wait", "wait", trainer, before, before + measured.fetch_waits[i], i)
        if measured.transfer[i] > 0:
            add(f"transfer {i}", "transfer", trainer, before + measured.fetch_waits[i], measured.train_start[i], i)
        add(f"train {i}", "train", trainer, measured.train_start[i], measured.train_end[i], i)
        before = measured.train_end[i]
        depth = measured.queue_depth[i]
        if depth is not None:
            place = {"ts": (measured.train_start[i] - first) * _MICROSECONDS}
            events.append({"ph": "C", "name": "queue", "pid": trainer, **place, "args": {"batches": depth}})
    return {"displayTimeUnit": "ms", "traceEvents": events}


def pid_is_other(measured: Measurement, worker: int | None) -> bool:
    """A wait is a slice of its own, unless the same process prepares meanwhile: slices of a track must not cross."""
    return worker is None or bool(measured.workers)


def write(measured: Measurement, path: str | Path) -> Path:
    """Write `trace(measured)` to `path`; UsageError where that can't be done."""
    path = Path(path)
    try:
        path.write_text(json.dumps(trace(measured)), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"can't write {path}: {error.strerror}") from None
    return path
