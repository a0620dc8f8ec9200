"""Does the run go on as if nothing had happened?

The line y = 3x + 2 (`train`, its torch twin `train_torch`, `reconcile`: the first component that differs between two
runs), checkpoints that survive kills and power cuts (`Store`), and how often to save (`young`, `daly`,
`exact_interval`). Steps count updates that are done; a cursor points at the next sample that is not yet applied.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from labkit.resume.checkpoint_error import CheckpointError as CheckpointError
    from labkit.resume.checkpoint_file import read_checkpoint as read_checkpoint
    from labkit.resume.checkpoint_file import write_checkpoint as write_checkpoint
    from labkit.resume.line import FAULTS as FAULTS
    from labkit.resume.line import FIELDS as FIELDS
    from labkit.resume.line import Line as Line
    from labkit.resume.line import StepRecord as StepRecord
    from labkit.resume.line import train as train
    from labkit.resume.line_report import Report as Report
    from labkit.resume.line_torch import TorchLine as TorchLine
    from labkit.resume.line_torch import train_torch as train_torch
    from labkit.resume.reconciliation import COMPONENTS as COMPONENTS
    from labkit.resume.reconciliation import Divergence as Divergence
    from labkit.resume.reconciliation import reconcile as reconcile

_LATER = {  # name -> module, imported on first use
    "COMPONENTS": "reconciliation",
    "CheckpointError": "checkpoint_error",
    "Divergence": "reconciliation",
    "FAULTS": "line",
    "FIELDS": "line",
    "Line": "line",
    "Report": "line_report",
    "StepRecord": "line",
    "TorchLine": "line_torch",
    "read_checkpoint": "checkpoint_file",
    "reconcile": "reconciliation",
    "train": "line",
    "train_torch": "line_torch",
    "write_checkpoint": "checkpoint_file",
}

__all__ = [
    "COMPONENTS",
    "FAULTS",
    "FIELDS",
    "CheckpointError",
    "Divergence",
    "Line",
    "Report",
    "StepRecord",
    "TorchLine",
    "read_checkpoint",
    "reconcile",
    "train",
    "train_torch",
    "write_checkpoint",
]


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(importlib.import_module(f"labkit.resume.{_LATER[name]}"), name)
    raise AttributeError(f"module 'labkit.resume' has no attribute {name!r}")
