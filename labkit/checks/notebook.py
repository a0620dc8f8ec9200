"""The edge towards IPython: display, and a kind word when an answer's name doesn't exist yet."""

from __future__ import annotations

import linecache
import re
import sys
from collections.abc import Callable
from typing import Any

from labkit.checks.engine import undefined_answer
from labkit.checks.result import CheckError, Result


def display(bundle: dict[str, Any]) -> None:
    """Show all views in a notebook; print the text one anywhere else."""
    if _shell() is None:
        print(bundle["text/plain"])
        return
    from IPython.display import display as show

    show(bundle, raw=True)


def _shell() -> Any:
    ipython = sys.modules.get("IPython")
    return ipython.get_ipython() if ipython else None


_CHECK_CELL = re.compile(r"^\s*(?:\w+\.)*check\(\s*(['\"])(?P<id>[\w.]+)\1", re.MULTILINE)


def explain_undefined_answers(show: Callable[[Result], None]) -> None:
    """In a notebook, let a check cell whose answer was never run say so, instead of a bare NameError."""
    shell = _shell()
    if shell is None or not hasattr(shell, "kernel"):
        return

    def handler(shell: Any, kind: type[BaseException], error: NameError, tb: Any, tb_offset: int | None = None) -> Any:
        exercise = _check_of(tb)
        if exercise is None:
            shell.showtraceback((kind, error, tb), tb_offset=tb_offset)
            return None
        try:
            show(undefined_answer(exercise, error.name or "the answer"))
        except CheckError as unanswered:
            lines = unanswered._render_traceback_()
            shell._showtraceback(type(unanswered), unanswered, lines)
            return lines

    shell.set_custom_exc((NameError,), handler)


def _check_of(tb: Any) -> str | None:
    """The exercise id, where the error arose in the top level of a cell that calls `check("id", ...)`."""
    while tb.tb_next is not None:
        tb = tb.tb_next
    code = tb.tb_frame.f_code
    match = _CHECK_CELL.search("".join(linecache.getlines(code.co_filename)))
    return match["id"] if match and code.co_name == "<module>" else None
