"""The interactive timeline: sliders and an SVG drawing that recompute in the browser, without a kernel round trip."""

from __future__ import annotations

from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from labkit.errors import UsageError
from labkit.inputs import whole
from labkit.pipeline.inputs import number, sequence, share
from labkit.pipeline.jitter import jittered
from labkit.pipeline.line import simulate
from labkit.pipeline.timeline import Timeline

_HERE = Path(__file__).parent


class TimelineWidget(anywidget.AnyWidget):  # type: ignore[misc]
    """A line to play with: move a slider, and the drawing, the sums and the table follow.

    Attributes (all synced both ways: read what the learner chose, or set it):
        prepare, train: time a batch takes; of a recorded trace, its mean. Any unit, named by `unit`.
        batches: how many batches; of a recorded trace, how many of its first ones.
        depth: finished batches that may wait, None for no limit.
        workers: workers that prepare at the same time.
        jitter: 0 (all batches alike) to 1; prepare times are drawn with `seed`, train times with `seed + 1`.
        get_cost: time to fetch one ready batch.
        trace_prepare, trace_train: a recorded trace, or two empty lists. Its shape stays, its mean follows the sliders.
    """

    _esm = _HERE / "timeline.js"
    _css = _HERE / "timeline.css"

    prepare = traitlets.Float(6.0).tag(sync=True)
    train = traitlets.Float(10.0).tag(sync=True)
    batches = traitlets.Int(4).tag(sync=True)
    depth = traitlets.Int(None, allow_none=True).tag(sync=True)
    workers = traitlets.Int(1).tag(sync=True)
    jitter = traitlets.Float(0.0).tag(sync=True)
    seed = traitlets.Int(1).tag(sync=True)
    get_cost = traitlets.Float(0.0).tag(sync=True)
    unit = traitlets.Unicode("ms").tag(sync=True)
    trace_prepare = traitlets.List(traitlets.Float()).tag(sync=True)
    trace_train = traitlets.List(traitlets.Float()).tag(sync=True)

    @classmethod
    def of(cls, timeline: Timeline) -> TimelineWidget:
        """The widget opened at a timeline's own settings; times that differ between batches become a recorded trace."""
        common = {
            "batches": len(timeline),
            "depth": timeline.depth,
            "workers": timeline.workers,
            "get_cost": timeline.get_cost,
        }
        prepare, train = timeline.prepare, timeline.train
        if len(set(prepare)) == len(set(train)) == 1:
            return cls(prepare=prepare[0], train=train[0], **common)
        trace = {"trace_prepare": list(prepare), "trace_train": list(train)}
        return cls(prepare=_mean(prepare), train=_mean(train), **trace, **common)

    @traitlets.validate("prepare", "train", "get_cost")
    def _check_time(self, proposal: Any) -> float:
        return number(proposal.trait.name, proposal.value)

    @traitlets.validate("batches", "workers")
    def _check_count(self, proposal: Any) -> int:
        return whole(proposal.trait.name, proposal.value, 1)

    @traitlets.validate("depth", "seed")
    def _check_size(self, proposal: Any) -> int | None:
        return None if proposal.value is None else whole(proposal.trait.name, proposal.value, 0)

    @traitlets.validate("jitter")
    def _check_jitter(self, proposal: Any) -> float:
        return share("jitter", proposal.value)

    @traitlets.validate("trace_prepare", "trace_train")
    def _check_trace(self, proposal: Any) -> list[float]:
        return list(sequence(proposal.trait.name, proposal.value)) if proposal.value else []

    def timeline(self) -> Timeline:
        """The run that the sliders show now.

        Raises:
            UsageError: the two halves of the trace differ in length.
        """
        if len(self.trace_prepare) != len(self.trace_train):
            raise UsageError(
                f"trace_prepare has {len(self.trace_prepare)} times and trace_train has {len(self.trace_train)}: "
                "give one of each for every batch"
            )
        prepare, train = self._times()
        return simulate(prepare, train, depth=self.depth, workers=self.workers, get_cost=self.get_cost)

    def _times(self) -> tuple[list[float], list[float]]:
        if self.trace_prepare:
            halves = (self.trace_prepare, self.prepare), (self.trace_train, self.train)
            first, second = (_scaled(trace, mean)[: self.batches] for trace, mean in halves)
            return first, second
        return (
            jittered(self.prepare, self.batches, self.jitter, self.seed),
            jittered(self.train, self.batches, self.jitter, (self.seed + 1) % 2**32),
        )

    def __repr__(self) -> str:
        """The text twin: the run in words."""
        return f"TimelineWidget({self.timeline().summary()})"

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        bundle = super()._repr_mimebundle_(**kwargs)
        data = bundle[0] if isinstance(bundle, tuple) else bundle
        data["text/plain"] = repr(self)  # whole; the base class cuts it short
        return bundle


def _mean(times: tuple[float, ...] | list[float]) -> float:
    return reduce(add, times) / len(times)  # from the left, as in the browser; sum() compensates from Python 3.12 on


def _scaled(trace: list[float], mean: float) -> list[float]:
    recorded = _mean(trace)
    return list(trace) if recorded in (0, mean) else [time * (mean / recorded) for time in trace]
