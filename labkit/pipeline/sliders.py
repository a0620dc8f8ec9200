"""Sliders over an experiment: each move runs it, and shows its picture with the words that say what it shows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ipywidgets

from labkit.picture import Picture


class Sliders(ipywidgets.VBox):  # type: ignore[misc]
    """A slider for each argument of `run`, and the picture that it returns.

    Attributes:
        sliders: by the argument's name.
        picture: of the last run.
        runs: how many there were.
    """

    def __init__(self, run: Callable[..., Picture], **choices: Sequence[Any]) -> None:
        self._run, self.runs = run, 0
        shape = {"style": {"description_width": "9em"}, "layout": {"width": "34em"}, "continuous_update": False}
        self.sliders = {
            name: ipywidgets.SelectionSlider(options=list(values), description=name, **shape)
            for name, values in choices.items()
        }
        self._shown = ipywidgets.HTML()
        super().__init__([*self.sliders.values(), self._shown])
        for slider in self.sliders.values():
            slider.observe(self._moved, "value")
        self._moved()

    def _moved(self, _: Any = None) -> None:
        self.picture = self._run(**{name: slider.value for name, slider in self.sliders.items()})
        self.runs += 1
        words = f'<p role="status" style="margin:4px 0">Run {self.runs}: {self.picture.alt}</p>'
        self._shown.value = words + self.picture._repr_mimebundle_()["text/html"]

    def __repr__(self) -> str:
        """The text twin: what the last picture shows."""
        return self.picture.alt

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        bundle = super()._repr_mimebundle_(**kwargs)
        data = bundle[0] if isinstance(bundle, tuple) else bundle
        data["text/plain"] = repr(self)
        return bundle
