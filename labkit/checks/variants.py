"""A learner's own numbers for an exercise, shown in the notebook."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping
from typing import Any

from labkit.checks.engine import context
from labkit.checks.registry import find
from labkit.errors import UsageError


class Variant(Mapping[str, Any]):
    """Your own numbers: `figures.prepare` or `figures["prepare"]`."""

    def __init__(self, exercise: str, learner: str, figures: Mapping[str, Any], units: Mapping[str, str]) -> None:
        self.exercise, self.learner = exercise, learner
        self._figures, self._units = dict(figures), units

    def __getitem__(self, name: str) -> Any:
        return self._figures[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._figures)

    def __len__(self) -> int:
        return len(self._figures)

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["_figures"][name]
        except KeyError:
            raise AttributeError(
                f"no figure {name!r}: there are {', '.join(self.__dict__.get('_figures', {}))}"
            ) from None

    def _rows(self) -> list[tuple[str, str, str]]:
        return [(name, _shown(value), self._units.get(name, "")) for name, value in self._figures.items()]

    def __repr__(self) -> str:
        rows = [f"  {name} = {value}  {unit}".rstrip() for name, value, unit in self._rows()]
        return "\n".join([f"Your figures for {self.exercise} (learner {self.learner}):", *rows])

    def _repr_html_(self) -> str:
        style = "padding:2px 12px 2px 0;text-align:left;white-space:pre-wrap"
        rows = "".join(
            f'<tr><th scope="row" style="{style}"><code>{html.escape(name)}</code></th>'
            f'<td style="{style}">{html.escape(value)}</td><td style="{style}">{html.escape(unit)}</td></tr>'
            for name, value, unit in self._rows()
        )
        caption = f"Your figures for {html.escape(self.exercise)} (learner {html.escape(self.learner)})"
        return f'<table><caption style="text-align:left;caption-side:top">{caption}</caption>{rows}</table>'


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        nested = any(isinstance(item, dict) for item in value.values())
        return ("\n" if nested else "  ").join(f"{key}: {_shown(item)}" for key, item in value.items())
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_shown(item) for item in value) + "]"
    return f"{value:g}" if isinstance(value, float) else str(value)


def variant(id: str) -> Variant:
    """Your own numbers for exercise `id`: the same after every restart, others for every learner.

    Raises UsageError for an unknown exercise, or one whose numbers are the same for everybody.
    """
    exercise = find(id)
    if exercise.figures is None:
        raise UsageError(f"exercise {id!r} has no figures of your own: its text holds all you need")
    where = context(exercise)
    return Variant(id, where.learner, where.figures, exercise.figures.units)
