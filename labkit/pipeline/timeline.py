"""What `simulate` returns: every batch's times, the sums that matter, and the ways to look at them."""

from __future__ import annotations

import math
from array import array
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labkit.pipeline.recurrence import handed_over

if TYPE_CHECKING:
    import pandas as pd

    from labkit.picture import Picture
    from labkit.pipeline.widget import TimelineWidget

STAGES = ("prepare", "blocked", "queue", "wait", "train")


@dataclass(frozen=True, eq=False, repr=False)
class Timeline:
    """One run of the line. Times are in the unit that went in; index i is batch i, counted from 0.

    Only what the loop must keep is stored; every other column is worked out on first use, so a long line costs little.

    Attributes:
        depth: finished batches that may wait, None for no limit.
        workers: workers that prepare at the same time.
        get_cost: time to fetch one ready batch.
    """

    _prepare: array[float]
    _train: array[float]
    _starts: list[float]
    depth: int | None = field(kw_only=True)
    workers: int = field(kw_only=True)
    get_cost: float = field(kw_only=True)

    def __len__(self) -> int:
        """How many batches."""
        return len(self._starts)

    def __eq__(self, other: object) -> bool:
        """Same times and settings."""
        if not isinstance(other, Timeline):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__dataclass_fields__)

    __hash__ = None  # type: ignore[assignment]

    @cached_property
    def prepare(self) -> tuple[float, ...]:
        """Time each batch takes to prepare. Large against train * workers: the trainer will wait."""
        return tuple(self._prepare)

    @cached_property
    def train(self) -> tuple[float, ...]:
        """Time each batch takes to train on. Large against prepare / workers: the workers will be blocked."""
        return tuple(self._train)

    @cached_property
    def prepare_start(self) -> tuple[float, ...]:
        """When a worker begins each batch."""
        head = min(self.workers, len(self))
        return (0.0,) * head + self.queued[: len(self) - head]

    @cached_property
    def prepare_end(self) -> tuple[float, ...]:
        """When each batch is finished."""
        return tuple(s + p for s, p in zip(self.prepare_start, self._prepare, strict=True))

    @cached_property
    def queued(self) -> tuple[float, ...]:
        """When each batch is handed over and its worker is free. Later than prepare_end: the queue was full."""
        return tuple(handed_over(self._prepare, self._starts, self.depth, self.workers))

    @cached_property
    def train_start(self) -> tuple[float, ...]:
        """When training on each batch starts; fetching it, `get_cost`, comes before."""
        return tuple(self._starts)

    @cached_property
    def train_end(self) -> tuple[float, ...]:
        """When training on each batch ends."""
        return tuple(g + c for g, c in zip(self._starts, self._train, strict=True))

    @cached_property
    def waits(self) -> tuple[float, ...]:
        """Time the trainer is idle before each batch, `get_cost` included.

        The first one fills the line; later ones say that preparing couldn't keep up at that moment.
        """
        return tuple(g - e for g, e in zip(self._starts, (0.0, *self.train_end[:-1]), strict=True))

    @cached_property
    def blocked(self) -> tuple[float, ...]:
        """Time each batch stays in its worker's hands because the queue is full. Large: workers aren't the limit."""
        return tuple(d - f for d, f in zip(self.queued, self.prepare_end, strict=True))

    @property
    def makespan(self) -> float:
        """When the last batch is trained on: the length of the whole run."""
        return self._starts[-1] + self._train[-1]

    @cached_property
    def serial(self) -> float:
        """What the run would take with nothing overlapped: all prepare and train times, summed."""
        return math.fsum(self._prepare) + math.fsum(self._train)

    @property
    def fill(self) -> float:
        """The first wait. Paid once a run, whatever the queue."""
        return self._starts[0]

    @cached_property
    def stall(self) -> float:
        """All waits after the first, summed. Large: the line is limited by preparing."""
        return math.fsum(self.waits[1:])

    def frame(self) -> pd.DataFrame:
        """Every interval as a row: batch, stage, start, end, lane; ordered by batch, then by stage.

        Stages: `prepare` and `blocked` (lane "worker 0", "worker 1", ...), `queue` (lane "queue"; finished and waiting,
        from prepare_end until the trainer fetches it), `wait` and `train` (lane "trainer"). `prepare` and `train` are
        there for every batch, the others where they last longer than 0. A `blocked` interval lies inside a `queue` one:
        the batch waits in its worker's hands.
        """
        import pandas as pd

        rows = []
        end = 0.0
        for i in range(len(self)):
            worker = f"worker {i % self.workers}"
            ready, start = self.prepare_end[i], self._starts[i]
            rows.append((i, "prepare", self.prepare_start[i], ready, worker))
            if self.queued[i] > ready:
                rows.append((i, "blocked", ready, self.queued[i], worker))
            if start - self.get_cost > ready:
                rows.append((i, "queue", ready, start - self.get_cost, "queue"))
            if start > end:
                rows.append((i, "wait", end, start, "trainer"))
            end = self.train_end[i]
            rows.append((i, "train", start, end, "trainer"))
        return pd.DataFrame(rows, columns=["batch", "stage", "start", "end", "lane"])

    def summary(self) -> str:
        """The run in one paragraph."""
        stalled = sum(wait > self.get_cost for wait in self.waits[1:])
        depth = "no limit on waiting batches" if self.depth is None else f"depth {self.depth}"
        return (
            f"{len(self)} batches, {self.workers} worker{'s' * (self.workers > 1)}, {depth}: serial {self.serial:.6g}, "
            f"overlapped {self.makespan:.6g}. The first wait is {self.fill:.6g}; after it the trainer waits "
            f"{self.stall:.6g} in all{f' ({stalled} times)' if stalled else ''}. "
            f"Workers are blocked for {math.fsum(self.blocked):.6g}."
        )

    def __repr__(self) -> str:
        """The summary, so that a bare `timeline` at the end of a cell says what it is."""
        return f"Timeline({self.summary()})"

    def plot(self, *, title: str | None = None, unit: str = "ms") -> Picture:
        """The run as a picture: one lane for each worker, one for the trainer. `unit` names the time axis."""
        from labkit.pipeline.drawing import draw_timeline

        return draw_timeline(self, title=title, unit=unit)

    def show(self) -> TimelineWidget:
        """The run as an interactive timeline with sliders, opened at this run's own settings."""
        from labkit.pipeline.widget import TimelineWidget

        return TimelineWidget.of(self)

    def to_perfetto(self, path: str | Path) -> Path:
        """Write the run as a Chrome trace (open it at ui.perfetto.dev). Times are taken as milliseconds."""
        from labkit.pipeline.perfetto import write_trace

        return write_trace(self, path)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        return self.plot()._repr_mimebundle_(**kwargs)
