"""A line a step, at a bounded cost: what was measured survives a kill, and a spike's batch is kept."""

from __future__ import annotations

import json
import math
import os
import shutil
import sys
import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from labkit.errors import UsageError
from labkit.inputs import whole
from labkit.records import evidence
from labkit.records.anomaly import Spike, SpikeDetector
from labkit.records.identity import identify

ROWS = 16  # steps before a spike whose metrics go into the evidence


class Recorder:
    """Writes `steps.jsonl`, `identity.json` and `evidence/` into one folder.

    with Recorder("run", config=config, data="train.bin") as recorder:
        for step, batch in enumerate(loader, 1):
            loss = ...
            recorder.step(step, loss=loss, lr=lr, batch=batch, ids=ids)

    Each step is one write to the end of the file, so that a killed run has all its steps but a torn last line. A run
    that is resumed opens the same folder again and goes on. Memory is bounded: the last `window` values of the watched
    metrics, the metrics of 16 steps, a reference to the batch before.
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        config: Mapping[str, Any] | None = None,
        data: Any = None,
        seed: int | None = None,
        watch: Sequence[str] = ("loss",),
        window: int = 64,
        threshold: float = 8.0,
        keep: int = 8,
    ) -> None:
        """Open or continue a record.

        Args:
            folder: made where it doesn't exist.
            config: the run's settings, as plain values.
            data: what it reads: a path (its content is digested: seconds for gigabytes), an array, ids; or an
                `Identity.data` text from before.
            seed: what it was seeded with.
            watch: metrics in which to look for spikes.
            window: values that a spike is judged against.
            threshold: spreads above their median that make a spike.
            keep: spikes to keep evidence of; the largest stay.

        Raises:
            UsageError: a value can't be used, or the folder can't be written.
        """
        self.folder, self.keep = Path(folder), whole("keep", keep, 0)
        self._watch = {name: SpikeDetector(window=window, threshold=threshold) for name in watch}
        self._rows: deque[dict[str, Any]] = deque(maxlen=ROWS)
        self._before: Any = None
        self._late: tuple[dict[str, Any], Any, Any, Any] | None = None  # a step whose figures are still on a GPU
        try:
            (self.folder / "evidence").mkdir(parents=True, exist_ok=True)
            self._kept = {one.folder: one.score for one in evidence.read_all(self.folder / "evidence")}
            made = identify(config=config, data=data, seed=seed)
            path = self.folder / "identity.json"
            others = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
            temporary = path.with_suffix(f".{os.getpid()}")
            temporary.write_text(json.dumps([*others, made.as_dict()], default=str), encoding="utf-8")
            os.replace(temporary, path)
            self._fd = os.open(self.folder / "steps.jsonl", os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
        except (OSError, ValueError) as error:
            raise UsageError(f"folder {str(folder)!r} can't hold a record: {error}") from None
        end = os.lseek(self._fd, 0, os.SEEK_END)
        torn = end > 0 and os.pread(self._fd, 1, end - 1) != b"\n"
        start = json.dumps({"run": len(others), "at": time.time(), "pid": os.getpid()})
        os.write(self._fd, f"{chr(10) if torn else ''}{start}\n".encode())
        self._last = time.perf_counter()

    def step(self, step: int, *, batch: Any = None, ids: Iterable[Any] | None = None, **metrics: Any) -> Spike | None:
        """Note one step; returns the spike, where a watched metric is out of line.

        Figures on a GPU are read one step later, so that the GPU isn't waited for; so is their spike found.

        Args:
            step: its number.
            batch: what it trained on; a reference is kept until the next step, a copy only where there is a spike.
            ids: its sample ids, kept in memory for evidence.
            metrics: numbers, or tensors of one number: loss, lr, grad_norm, wait (seconds waited for data), ...
        """
        now = time.perf_counter()
        row: dict[str, Any] = {"step": step, "seconds": round(now - self._last, 6)}
        self._last = now
        ready = None
        for name, value in metrics.items():
            if type(value) is float or type(value) is int:
                row[name] = value
            elif getattr(value, "is_cuda", False):
                row[name], ready = _on_its_way(value)
            else:
                try:
                    row[name] = float(value)
                except (TypeError, ValueError):
                    raise UsageError(f"{name} is {value!r}: give a number, or a tensor of one number") from None
        found = self._finish()
        if ready is not None:
            self._late = (row, batch, ids, ready)
            return found
        return self._note(row, batch, ids) or found

    def _finish(self) -> Spike | None:
        """The step before, whose figures have come from the GPU by now."""
        if self._late is None:
            return None
        row, batch, ids, ready = self._late
        self._late = None
        ready.synchronize()
        return self._note({k: v if isinstance(v, int | float) else float(v) for k, v in row.items()}, batch, ids)

    def _note(self, row: dict[str, Any], batch: Any, ids: Iterable[Any] | None) -> Spike | None:
        line = json.dumps(row)
        if "NaN" in line or "Infinity" in line:  # not JSON: other readers would stop here
            line = json.dumps(
                {k: str(v) if isinstance(v, float) and not math.isfinite(v) else v for k, v in row.items()}
            )
        os.write(self._fd, f"{line}\n".encode())
        worst: tuple[str, Spike] | None = None
        for name, detector in self._watch.items():
            if name in row and (spike := detector.add(row[name])) is not None and (
                worst is None or spike.score > worst[1].score
            ):  # fmt: skip
                worst = (name, spike)
        self._rows.append({**row, "ids": ids} if ids is not None else row)
        if worst is not None:
            self._keep_evidence(row["step"], *worst, batch, ids)
        self._before = batch
        return None if worst is None else worst[1]

    def _keep_evidence(self, step: int, metric: str, spike: Spike, batch: Any, ids: Iterable[Any] | None) -> None:
        if len(self._kept) >= self.keep:
            least = min(self._kept, key=lambda path: self._kept[path], default=None)
            if least is None or self._kept[least] >= spike.score:
                return
            shutil.rmtree(least, ignore_errors=True)
            del self._kept[least]
        folder = self.folder / "evidence" / f"step-{step:09d}"
        content = {
            "step": step, "metric": metric, "value": str(spike.value), "usual": str(spike.usual),
            "score": str(spike.score), "ids": _list(ids), "summary": evidence.summary(batch),
            "before": evidence.summary(self._before),
            "rows": [{k: _list(v) if k == "ids" else v for k, v in row.items()} for row in self._rows],
        }  # fmt: skip
        try:
            evidence.write(folder, content, batch)
        except OSError as error:  # a full disk must not end the training
            print(f"labkit.records: evidence of step {step} can't be kept: {error}", file=sys.stderr)
            return
        self._kept[folder] = spike.score

    def close(self) -> None:
        """Write what is still on its way, and close the file."""
        if self._fd >= 0:
            self._finish()
            os.close(self._fd)
            self._fd = -1

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def _list(ids: Any) -> list[Any]:
    held = ids.tolist() if hasattr(ids, "tolist") else ids
    return [] if held is None else list(held) if isinstance(held, Iterable) else [held]


def _on_its_way(value: Any) -> tuple[Any, Any]:
    """A copy into pinned memory, under way, and the event that says it has arrived."""
    import torch

    copy = torch.empty(value.shape, dtype=value.dtype, pin_memory=True)
    copy.copy_(value.detach(), non_blocking=True)
    event = torch.cuda.Event()  # type: ignore[no-untyped-call]
    event.record()
    return copy, event
