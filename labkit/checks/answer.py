"""The answer handle: a check asks it for values and never touches the learner's object.

Here the handle calls directly; a grader's handle crosses a process boundary with the same two methods.
"""

from __future__ import annotations

import copy
import linecache
import reprlib
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from labkit.checks.plain import NotPlain, Unanswered, plain


class AnswerFault(Exception):
    """The answer could not be used: it raised, or gave something that isn't plain data."""

    def __init__(self, given: str, seen: str, expected: str, next_step: str) -> None:
        self.given, self.seen, self.expected, self.next_step = given, seen, expected, next_step
        super().__init__(seen)


class Answer(Protocol):
    """What a check may ask of an answer. Both methods give plain built-in values."""

    def value(self) -> Any:
        """The answer's value: numbers, strings, lists, dicts. Raises Unanswered or AnswerFault."""

    def call(self, *args: Any) -> Any:
        """What the answer, a function, gives for `args`. Raises Unanswered or AnswerFault."""


class LocalAnswer:
    """An answer in this process: the learner's own object, or function, in the learner's kernel."""

    def __init__(self, answer: Any) -> None:
        self._answer = answer

    def value(self) -> Any:
        """See `Answer.value`."""
        if callable(self._answer):
            name = getattr(self._answer, "__name__", "the answer")
            raise AnswerFault("", f"a function, {name}", "a value", f"call it: {name}(...), and give what it returns.")
        try:
            return plain(self._answer)
        except NotPlain as error:
            raise AnswerFault("", str(error), "numbers, text, or lists and dicts of them", error.next_step) from None

    def call(self, *args: Any) -> Any:
        """See `Answer.call`. Arguments are copied, so an answer that changes its input harms nobody."""
        if self._answer is ...:
            raise Unanswered("the answer")
        if not callable(self._answer):
            seen = f"{reprlib.repr(self._answer)}, not a function"
            raise AnswerFault("", seen, "a function", "give the function itself, without calling it.")
        given = call_text(self._answer, args)
        name = getattr(self._answer, "__name__", "the function")
        try:
            return plain(self._answer(*copy.deepcopy(args)))
        except NotImplementedError as error:
            if _is_stub(error, self._answer):
                raise Unanswered(name) from None
            raise AnswerFault(given, described(error), *_RAISED) from None
        except Unanswered:
            raise Unanswered(f"what {name} returns") from None
        except NotPlain as error:
            raise AnswerFault(given, str(error), "numbers, text, or lists and dicts of them", error.next_step) from None
        except (Exception, SystemExit) as error:
            raise AnswerFault(given, described(error), *_RAISED) from None


_LABKIT = str(Path(__file__).parents[1])
_RAISED = (
    "a result for every valid input",
    "run that call in a cell of your own and read the whole traceback.",
)  # what should hold, and what to try, where an answer raised


def _is_stub(error: BaseException, function: Any) -> bool:
    """Whether a stub raised: code that a person typed, the function itself, or labkit around it; no other package."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return _typed(last.filename) or last.filename.startswith(_LABKIT) or last.name == getattr(function, "__name__", "")


def _typed(filename: str) -> bool:
    """Whether code of this file was typed in a notebook: a cell, and not a module on the disk."""
    return not filename.endswith(".py") or "ipykernel_" in filename


def call_text(function: Callable[..., Any] | str, args: tuple[Any, ...]) -> str:
    """A call as a person would type it, long lists shortened: `f([1, 2], 10, 0)`."""
    name = function if isinstance(function, str) else getattr(function, "__name__", "answer")
    shown = reprlib.Repr()
    shown.maxlist = shown.maxtuple = 8
    return f"{name}({', '.join(shown.repr(arg) for arg in args)})"


def described(error: BaseException) -> str:
    """An error as one line with the learner's own line that raised it: `KeyError: 'a' (line 3: rows["a"])`."""
    return f"{type(error).__name__}: {_one_line(error)}{_where(error)}"


def _one_line(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return text if len(text) <= 200 else text[:197] + "..."


def _where(error: BaseException) -> str:
    """The line of the learner's code that raised: the last frame that is not in a file of a package."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename != __file__]
    typed = [f for f in frames if _typed(f.filename)]
    if not typed:
        return ""
    source = linecache.getline(typed[-1].filename, typed[-1].lineno or 0).strip()
    return f" (line {typed[-1].lineno}: {source})" if source else f" (line {typed[-1].lineno})"
