"""Sliders that drive a real DataLoader: each move predicts the pass, runs it, and lays one over the other."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable
from typing import Any

import ipywidgets

from labkit.picture import Picture
from labkit.pipeline.line import simulate
from labkit.pipeline.measured_overlay import overlay
from labkit.pipeline.measurement import Measurement
from labkit.pipeline.probing import probe
from labkit.pipeline.timeline import Timeline

Make = Callable[..., Iterable[Any]]


class LoaderSliders(ipywidgets.VBox):  # type: ignore[misc]
    """Two sliders, `num_workers` and `prefetch_factor`, and the pass that they give.

    The first pass, with one worker, is measured. From its prepare and train times the exact recurrence predicts every
    other setting, before that setting is run.

    Attributes:
        workers, prefetch_factor: the sliders.
        measured: the last pass.
        predicted: what was predicted for it.
        runs: passes so far.
    """

    def __init__(self, make_loader: Make, step: Callable[[Any], Any], *, most: int = 6) -> None:
        self._make, self._step = make_loader, step
        self.runs = 0
        shape = {"style": {"description_width": "9em"}, "layout": {"width": "34em"}, "continuous_update": False}
        self.workers = ipywidgets.IntSlider(1, 1, most, description="num_workers", **shape)
        self.prefetch_factor = ipywidgets.IntSlider(2, 1, most, description="prefetch_factor", **shape)
        self._picture = ipywidgets.HTML()
        self._first = self._measure()
        super().__init__([self.workers, self.prefetch_factor, self._picture])
        for slider in (self.workers, self.prefetch_factor):
            slider.observe(self._moved, "value")
        self._moved()

    def _measure(self) -> Measurement:
        loader = self._make(num_workers=self.workers.value, prefetch_factor=self.prefetch_factor.value)
        self.runs += 1
        return probe(loader, self._step, warmup=0)

    def _moved(self, _: Any = None) -> None:
        """Predict, then run: the first pass is there already."""
        self.predicted = self.predict(self.workers.value, self.prefetch_factor.value)
        self.measured = self._first if self.runs == 1 and self.workers.value == 1 else self._measure()
        picture = self._overlay()
        # The words stand in the page, so that a screen reader says them when they change.
        words = f'<p role="status" style="margin:4px 0">Run {self.runs}: {picture.alt}</p>'
        self._picture.value = words + picture._repr_mimebundle_()["text/html"]

    def predict(self, workers: int, prefetch_factor: int) -> Timeline:
        """The line with these settings, from the times of the first pass; 0 is when the workers begin."""
        first = self._first
        prepare = [time for time in first.prepare if time is not None]
        return simulate(
            prepare, first.train, workers=workers, prefetch_factor=prefetch_factor, get_cost=_usual_cost(first)
        )

    def _overlay(self) -> Picture:
        """Starting processes isn't predicted: the prediction is laid on where the first worker began."""
        return overlay(
            self.measured, self.predicted, start=min(s for s in self.measured.prepare_start if s is not None)
        )

    def __repr__(self) -> str:
        """The text twin: the last pass, and the prediction beside it."""
        return self._overlay().alt

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        bundle = super()._repr_mimebundle_(**kwargs)
        data = bundle[0] if isinstance(bundle, tuple) else bundle
        data["text/plain"] = repr(self)  # whole; the base class cuts it short
        return bundle


def _usual_cost(measured: Measurement) -> float:
    """The median ms from a batch being both ready and asked for to having it in hand; one hiccup must not count."""
    asked = (0.0, *measured.train_end[:-1])
    costs = [
        wait - max(0.0, (ready or 0.0) - at)
        for wait, ready, at in zip(measured.fetch_waits, measured.prepare_end, asked, strict=True)
    ]
    return max(0.0, statistics.median(costs))
