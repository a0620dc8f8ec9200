"""A timeline as a Chrome trace-event file: the format that ui.perfetto.dev and chrome://tracing open."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labkit.errors import UsageError

if TYPE_CHECKING:
    from labkit.pipeline.timeline import Timeline

_MICROSECONDS = 1000.0  # the format counts microseconds; a timeline counts milliseconds


def trace(timeline: Timeline) -> dict[str, Any]:
    """The trace as a JSON-ready dict: a named lane (thread) for each worker and the trainer; waits are slices too.

    The time a batch spends in the queue is left out: those intervals overlap, and a lane's slices must not.
    """
    frame = timeline.frame()
    frame = frame[frame["lane"] != "queue"]
    lanes = [f"worker {w}" for w in range(min(timeline.workers, len(timeline)))] + ["trainer"]
    number = {lane: i + 1 for i, lane in enumerate(lanes)}
    events: list[dict[str, Any]] = [{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "labkit timeline"}}]
    for lane, thread in number.items():
        events.append({"ph": "M", "name": "thread_name", "pid": 1, "tid": thread, "args": {"name": lane}})
        events.append({"ph": "M", "name": "thread_sort_index", "pid": 1, "tid": thread, "args": {"sort_index": thread}})
    for batch, stage, start, end, lane in frame.itertuples(index=False, name=None):
        events.append(
            {
                "ph": "X",
                "name": stage if stage in ("wait", "blocked") else f"{stage} {batch}",
                "cat": stage,
                "pid": 1,
                "tid": number[lane],
                "ts": start * _MICROSECONDS,
                "dur": (end - start) * _MICROSECONDS,
                "args": {"batch": int(batch)},
            }
        )
    return {"displayTimeUnit": "ms", "traceEvents": events}


def write_trace(timeline: Timeline, path: str | Path) -> Path:
    """Write `trace(timeline)` to `path` and return the path.

    Raises:
        UsageError: the file can't be written.
    """
    path = Path(path)
    try:
        path.write_text(json.dumps(trace(timeline)), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"can't write {path}: {error.strerror}") from None
    return path
