"""Which exercises exist: their facts, their check, and how their figures are drawn."""

from __future__ import annotations

import difflib
import functools
import importlib
import pkgutil
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from labkit import device
from labkit.checks.answer import Answer
from labkit.checks.result import Evidence
from labkit.errors import UsageError

KINDS = ("predict", "build", "diagnose", "experiment", "explain")


@dataclass(frozen=True)
class Context:
    """What a check is given beside the answer.

    Attributes:
        learner: whose answer it is.
        figures: the learner's own numbers, {} where the exercise has none.
        seed: for the check's own fresh inputs; differs by learner and exercise, the same on a second run.
        asked: the devices that the check asked for, in order; the card names the first.
    """

    learner: str
    figures: Mapping[str, Any]
    seed: int
    asked: list[str] = field(default_factory=list, compare=False)

    @property
    def device(self) -> str:
        """ "cpu" or "cuda", for checks that run experiments on it; asking for it puts it on the card."""
        self.asked.append(device.pick())
        return self.asked[-1]

    def rng(self) -> random.Random:
        """A generator for fresh inputs, always from its start."""
        return random.Random(self.seed)


CheckFunction = Callable[[Answer, Context], Iterator[Evidence]]


@dataclass(frozen=True)
class Figures:
    """How an exercise's own numbers are drawn.

    Attributes:
        draw: numbers from a generator.
        truth: the right value for them.
        mistakes: the values that people's usual mistakes give, by a phrase that names the mistake.
        units: what each number is, for display.
    """

    draw: Callable[[random.Random], dict[str, Any]]
    truth: Callable[[Mapping[str, Any]], Any]
    mistakes: Callable[[Mapping[str, Any]], Mapping[str, Any]]
    units: Mapping[str, str] = field(default_factory=dict)

    def pick(self, seed: int) -> dict[str, Any]:
        """Numbers for one learner, drawn again until no usual mistake gives the right value."""
        for attempt in range(10_000):
            figures = self.draw(random.Random(f"{seed}/{attempt}"))
            truth = self.truth(figures)
            if all(value != truth for value in self.mistakes(figures).values()):
                return figures
        raise AssertionError("no figures tell the truth from the mistakes: the drawing of this exercise is wrong")


@dataclass(frozen=True)
class Exercise:
    """An exercise and its check. The facts stand in the notebook too; a test holds the two together."""

    id: str
    lab: str
    title: str
    kind: str
    points: float
    minutes: int
    function: CheckFunction
    figures: Figures | None = None


_exercises: dict[str, Exercise] = {}


def exercise(
    id: str, *, lab: str, title: str, kind: str, points: float, minutes: int, figures: Figures | None = None
) -> Callable[[CheckFunction], CheckFunction]:
    """Register the decorated generator as the check of exercise `id` of `lab` ("01")."""
    assert kind in KINDS, kind
    assert id not in _exercises, id

    def register(function: CheckFunction) -> CheckFunction:
        _exercises[id] = Exercise(id, lab, title, kind, points, minutes, function, figures)
        return function

    return register


def _modules() -> list[str]:
    """The modules of checks, in the order of the labs."""
    package = importlib.import_module("labkit.checks")
    return sorted(m.name for m in pkgutil.iter_modules(package.__path__) if m.name.startswith("lab"))


@functools.cache
def _load(module: str) -> str:
    """Import one module of checks; why it can't be, or "". One broken lab must not take the others down."""
    before = set(_exercises)
    try:
        importlib.import_module(f"labkit.checks.{module}")
    except Exception as error:
        for id in set(_exercises) - before:  # half a lab is none
            del _exercises[id]
        return f"labkit.checks.{module} can't be loaded: {type(error).__name__}: {error}"
    return ""


def broken() -> list[str]:
    """What is wrong with the modules of checks that can't be loaded, one line each; [] where all is well."""
    return [why for module in _modules() if (why := _load(module))]


def exercises() -> list[Exercise]:
    """All exercises that can be loaded, in the order of the labs; `broken()` names the rest."""
    broken()
    return sorted(_exercises.values(), key=lambda exercise: exercise.lab)


def find(id: str) -> Exercise:
    """The exercise `id`. Raises UsageError with the nearest ids where there is none."""
    faults = broken()
    if not isinstance(id, str):
        raise UsageError(f'exercise id {id!r} is not text: check("pipeline.makespan", answer) takes the id first')
    if id not in _exercises:
        if faults:
            raise UsageError(f"unknown exercise {id!r}; some labs are missing: {faults[0]}")
        near = difflib.get_close_matches(id, _exercises, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]!r}?" if near else f"the ids are {', '.join(_exercises)}"
        raise UsageError(f"unknown exercise {id!r}: {hint}")
    return _exercises[id]
