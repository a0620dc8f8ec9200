"""Where the experiments of a diagnosis run: the loader, the step, and the time that is left."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from labkit.errors import LabkitError, UsageError
from labkit.pipeline.probe_loader import Watched
from labkit.pipeline.probe_pass import run
from labkit.pipeline.probing import iterable
from labkit.pipeline.trace import Trace

Step = Callable[[Any], Any]


@dataclass
class Bench:
    """Where the experiments run: the loader, the step, and the time that is left."""

    make_loader: Callable[[], Any]
    step: Step
    budget_s: float
    begun: float = field(default_factory=time.perf_counter)
    last: Any = None

    @property
    def left(self) -> float:
        """Seconds of the budget."""
        return self.budget_s - (time.perf_counter() - self.begun)

    def run(self, watched: Watched, step: Step | None, **how: Any) -> Trace:
        """One pass; a worker may be silent for as long as the whole budget lasts, and a little."""
        return run(watched, step, patience_s=max(self.left, 0.0) + self.budget_s * 0.25, **how)

    def loader(self) -> Any:
        """A new loader.

        Raises:
            UsageError: the same one-shot iterator came twice.
        """
        try:
            made = iterable(self.make_loader())
        except LabkitError:
            raise
        except Exception as error:
            told = " ".join(str(error).split())
            raise LabkitError(f"make_loader raised {type(error).__name__}: {told}") from error
        if made is self.last and hasattr(made, "__next__"):
            raise UsageError("make_loader returned the same one-shot iterator twice: build a new loader in it")
        self.last = made
        return made


def workers_begin(trace: Trace) -> float:
    """Ms from iter() until the workers begin on their first batches: the mean over the workers."""
    first: dict[int, float] = {}
    for made in trace.made:
        first.setdefault(made.worker, made.start)
    if not first or not trace.workers:
        return (trace.iterated - trace.begin) * 1000
    return max(0.0, fmean(first.values()) - trace.begin) * 1000


def fetch_cost(passes: Sequence[Trace], skip: int = 0) -> float:
    """As `Measurement.fetch_cost`, over several passes; without workers, what a fetch takes beyond preparing."""
    costs = []
    for trace in passes:
        for i, made in enumerate(trace.made):
            if i < skip:
                continue
            asked = trace.asked[i]
            ready = max(made.sent, made.end) if trace.workers else made.end
            costs.append(max(0.0, trace.taken[i] - max(asked, ready)) * 1000)
    return fmean(costs) if costs else 0.0
