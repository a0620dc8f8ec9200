"""Functions around a person's code that are judged in its place: an open stub inside still counts as not answered."""

from __future__ import annotations

import functools
import traceback
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def around(name: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Call the decorated function `name`, on cards and in tracebacks, and let it raise what a stub inside it raised.

    An answer handle takes NotImplementedError for an open answer only where the judged function raised it itself; a
    library's own is a fault of the answer. Here the person's code lies one call deeper.
    """

    def dress(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def judged(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                return function(*args, **kwargs)
            except NotImplementedError as error:
                last = traceback.extract_tb(error.__traceback__)[-1].filename
                if not last.endswith(".py") or "ipykernel_" in last or "lab08_" in last:  # typed by a person, or `...`
                    raise NotImplementedError from None
                raise

        plain: Any = judged
        plain.__code__ = plain.__code__.replace(co_name=name)  # what a traceback calls it
        plain.__name__ = name
        return judged

    return dress
