"""The batch behind a spike, kept with what was going on around it."""

from __future__ import annotations

import contextlib
import json
import math
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LARGEST = 64 << 20  # bytes of a batch that are kept; of a larger one only the summary is


@dataclass(frozen=True)
class Evidence:
    """What was kept of one spike.

    Attributes:
        step: the step.
        metric: which metric spiked.
        value: its value there; not a number where it was none.
        usual: the median before.
        score: spreads above the median.
        ids: the batch's sample ids, where they were given.
        summary: of every tensor in the batch: size, smallest, largest, mean, values that aren't finite.
        before: the same of the batch before it, for comparison.
        rows: the metrics of the steps up to the spike, oldest first.
        folder: where it lies.
    """

    step: int
    metric: str
    value: float
    usual: float
    score: float
    ids: tuple[Any, ...]
    summary: Mapping[str, Mapping[str, Any]]
    before: Mapping[str, Mapping[str, Any]]
    rows: tuple[Mapping[str, Any], ...]
    folder: Path

    def batch(self) -> Any:
        """The batch itself, or None where it was too large to keep. Loading runs no code."""
        import torch

        path = self.folder / "batch.pt"
        return torch.load(path, weights_only=True) if path.exists() else None

    def text(self) -> str:
        """What was seen, in a few lines."""
        lines = [
            f"step {self.step}: {self.metric} {self.value:.6g}, usually {self.usual:.6g} ({self.score:.3g} spreads)"
        ]
        if self.ids:
            lines.append(f"  samples {', '.join(map(str, self.ids[:16]))}" + (" ..." if len(self.ids) > 16 else ""))
        for name, one in self.summary.items():
            lines.append(f"  {name}: " + ", ".join(f"{key} {value}" for key, value in one.items()))
        return "\n".join(lines)


def write(folder: Path, content: Mapping[str, Any], batch: Any) -> None:
    """Write one piece of evidence; it is there whole or not at all."""
    import torch

    temporary = folder.with_name(f".{folder.name}.{os.getpid()}")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    held = plain(batch)
    if held is not None and size(held) <= LARGEST:
        torch.save(held, temporary / "batch.pt")
    (temporary / "evidence.json").write_text(json.dumps(content, default=str), encoding="utf-8")
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(folder)
    os.replace(temporary, folder)


def read_all(folder: Path) -> list[Evidence]:
    """All evidence in a record's folder, by step. What can't be read is left out."""
    found = []
    for path in sorted(folder.glob("step-*/evidence.json")):
        with contextlib.suppress(ValueError, KeyError, OSError):
            held = json.loads(path.read_text(encoding="utf-8"))
            found.append(
                Evidence(
                    held["step"], held["metric"], _number(held["value"]), _number(held["usual"]),
                    _number(held["score"]), tuple(held["ids"]), held["summary"], held["before"],
                    tuple(held["rows"]), path.parent,
                )
            )  # fmt: skip
    return sorted(found, key=lambda one: one.step)


def summary(batch: Any) -> dict[str, dict[str, Any]]:
    """Figures of every tensor and array in a batch, by its place."""
    import torch

    found: dict[str, dict[str, Any]] = {}
    for name, tensor in _tensors(plain(batch), ""):
        one: dict[str, Any] = {"size": "x".join(map(str, tensor.shape)) or "1", "type": str(tensor.dtype)[6:]}
        if tensor.numel() and not tensor.is_complex():
            values = tensor.detach().double()
            finite = values[torch.isfinite(values)]
            one["not finite"] = int(values.numel() - finite.numel())
            if finite.numel():
                one |= {"smallest": float(finite.min()), "largest": float(finite.max()), "mean": float(finite.mean())}
        found[name or "batch"] = one
    return found


def plain(batch: Any) -> Any:
    """The batch as dicts, lists, tensors on the CPU, numbers and texts; other things by their type's name."""
    import numpy as np
    import torch

    if isinstance(batch, torch.Tensor):
        return batch.detach().cpu().clone()
    if isinstance(batch, np.ndarray) and batch.dtype.kind in "biuf":
        return torch.from_numpy(np.array(batch))
    if isinstance(batch, Mapping):
        return {str(key): plain(value) for key, value in batch.items()}
    if isinstance(batch, list | tuple):
        return [plain(value) for value in batch]
    if batch is None or isinstance(batch, bool | int | float | str | bytes):
        return batch
    return f"<{type(batch).__name__}>"


def size(held: Any) -> int:
    """Bytes of the tensors in a plain batch."""
    return sum(tensor.numel() * tensor.element_size() for _, tensor in _tensors(held, ""))


def _tensors(held: Any, path: str) -> list[tuple[str, Any]]:
    import torch

    if isinstance(held, torch.Tensor):
        return [(path, held)]
    if isinstance(held, dict):
        return [one for key, value in held.items() for one in _tensors(value, f"{path}.{key}".lstrip("."))]
    if isinstance(held, list):
        return [one for i, value in enumerate(held) for one in _tensors(value, f"{path}[{i}]")]
    return []


def _number(value: Any) -> float:
    return math.nan if value is None else float(value)
