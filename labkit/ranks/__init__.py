"""Run a function on N real ranks with a real process group, in milliseconds.

`run(fn, *args, ranks=4)` calls `fn(rank, *args)` on every rank and returns the results by rank; `pool` keeps ranks for
many runs; `torchrun ... -m labkit.ranks pkg.module:fn` runs the same function across machines. A rank that raises,
dies, hangs or makes other collectives ends the run with one `RankError`; no process outlives its run.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from labkit.ranks.errors import RankError

if TYPE_CHECKING:
    from labkit.ranks.calls import Pool as Pool
    from labkit.ranks.calls import pool as pool
    from labkit.ranks.calls import run as run
    from labkit.ranks.calls import stop as stop
    from labkit.ranks.calls import warm_up as warm_up
    from labkit.ranks.inputs import MOST_RANKS as MOST_RANKS

__all__ = ["MOST_RANKS", "Pool", "RankError", "pool", "run", "stop", "warm_up"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        module = "inputs" if name == "MOST_RANKS" else "calls"
        return getattr(importlib.import_module(f"labkit.ranks.{module}"), name)
    raise AttributeError(f"module 'labkit.ranks' has no attribute {name!r}")
