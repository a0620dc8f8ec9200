"""labkit: labs and instruments for training data and recovery.

Everything is imported on first use, so that `import labkit` and `labkit --version` stay instant.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from labkit import metrics as metrics
    from labkit import pipeline as pipeline
    from labkit import ranks as ranks
    from labkit import records as records
    from labkit import resume as resume
    from labkit import scaling as scaling
    from labkit import sharding as sharding
    from labkit.checks import check as check
    from labkit.checks import progress as progress
    from labkit.checks import variant as variant
    from labkit.checks.result import CheckFailed as CheckFailed
    from labkit.checks.result import NotAnswered as NotAnswered

_MEMBERS = {  # name -> module that holds it
    "check": "labkit.checks",
    "progress": "labkit.checks",
    "variant": "labkit.checks",
    "CheckFailed": "labkit.checks.result",
    "NotAnswered": "labkit.checks.result",
}
_PACKAGES = ("checks", "course", "doctor", "metrics", "pipeline", "ranks", "records", "resume", "scaling", "sharding")

__all__ = [
    "CheckFailed",
    "NotAnswered",
    "__version__",
    "check",
    "metrics",
    "pipeline",
    "progress",
    "ranks",
    "records",
    "resume",
    "scaling",
    "sharding",
    "variant",
]


def __getattr__(name: str) -> Any:
    if name in _MEMBERS:
        return getattr(importlib.import_module(_MEMBERS[name]), name)
    if name in _PACKAGES:
        return importlib.import_module(f"labkit.{name}")
    raise AttributeError(f"module 'labkit' has no attribute {name!r}")
