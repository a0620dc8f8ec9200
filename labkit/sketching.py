"""Drawings of what a person's answer does: what they share. An answer that can't be drawn gives a picture saying so."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ParamSpec

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from labkit.errors import LabkitError
from labkit.picture import Picture

P = ParamSpec("P")

OPEN = "nothing to draw yet: the answer is still open"


def or_nothing(draw: Callable[P, Picture]) -> Callable[P, Picture]:
    """Where an answer can't be drawn yet, say so in a picture of its own instead of raising."""

    @functools.wraps(draw)
    def drawn(*args: P.args, **kwargs: P.kwargs) -> Picture:
        try:
            return draw(*args, **kwargs)
        except NotImplementedError:
            return nothing(OPEN)
        except Exception as error:  # a learner's function may raise anything; the check names it
            given = (*args, *kwargs.values())
            if any(value is ... for value in given):
                return nothing(OPEN)
            if isinstance(error, LabkitError):  # it says itself what is wrong
                return nothing(f"this answer can't be drawn ({error})"[:160])
            if (text := next((value for value in given if isinstance(value, str)), None)) is not None:
                return nothing(f"this answer can't be drawn: {text!r} is text, give a number"[:160])
            if any(value is None for value in given):
                return nothing("this answer can't be drawn: a value is None")
            return nothing(f"this answer can't be drawn ({type(error).__name__}: {error})"[:160])

    return drawn


def nothing(why: str) -> Picture:
    """A picture that holds one line of text: why there is nothing else in it."""
    figure = Figure(figsize=(9.6, 0.9), layout="constrained")
    axes = figure.add_subplot()
    axes.set_axis_off()
    axes.text(0.01, 0.5, why, fontsize=10, va="center")
    return Picture(figure, why)


def unmarked(names: Iterable[str], met: Mapping[str, Any]) -> str:
    """Which mark in `met` can't be drawn, and what to write in its place; "" where each is a text or False."""
    for name in names:
        if name not in met:
            return f"met has no {name!r}: quote words for it, or write False"
        if met[name] is not False and not isinstance(met[name], str):
            return f"met[{name!r}] is {met[name]!r}: quote words, or write False"[:160]
    return ""


def plain_axes(x: str, y: str, title: str, *, height: float = 3.0) -> tuple[Figure, Axes]:
    """A figure with one pair of axes, named, without the upper and the right line."""
    figure = Figure(figsize=(7.2, height), layout="constrained")
    axes = figure.add_subplot()
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.set_title(title, fontsize=11, loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes
