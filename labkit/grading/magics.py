"""IPython's own syntax in an answer: what is left of it when the answer runs as plain Python.

The rule: a line that Python can't read and that is a magic, a shell command or a question to IPython is left out, and
the report says so. `%time` and `%timeit` before a statement are taken off it. `%%time` and `%%capture` on top of a cell
are left out; any other `%%` cell isn't Python, and stays as it is: then the exercise fails and says why.
"""

from __future__ import annotations

import ast
import re

MOST = 50  # such lines in one cell

_LINE = re.compile(r"(?P<indent>\s*)(?:%(?!%)|!|\?|.*\?\s*$)")
_TIMED = re.compile(r"(?P<indent>\s*)%time(?:it)?\s+(?P<statement>[^-\s].*)")
_CELL = re.compile(r"%%(?:time|capture)\b[^\n]*")


def as_python(source: str) -> tuple[str, tuple[str, ...]]:
    """The source as plain Python where that can be had, and the lines that changed, each in a few words.

    A source that Python can read comes back as it is, so an answer that computes `a % b` is never touched. Lines keep
    their numbers.
    """
    lines = source.split("\n")
    changed: list[str] = []
    first = next((i for i, line in enumerate(lines) if line.strip()), 0)
    if _CELL.fullmatch(lines[first].rstrip()):
        changed.append(f"line {first + 1}, {_shown(lines[first])}, was left out")
        lines[first] = ""
    for _ in range(MOST):
        number = _stumble("\n".join(lines))
        if number is None:
            return "\n".join(lines), tuple(changed)
        line = lines[number - 1] if number <= len(lines) else ""
        timed, other = _TIMED.fullmatch(line), _LINE.match(line)
        if timed:
            lines[number - 1] = timed["indent"] + timed["statement"]
            changed.append(f"line {number}: {_shown(line)} ran without its magic")
        elif other:
            lines[number - 1] = other["indent"] + "pass"
            changed.append(f"line {number}, {_shown(line)}, was left out: it is IPython's, not Python")
        else:
            break
    return source, ()  # not Python, whatever is left out: the error that it gives as it stands says more


def _stumble(source: str) -> int | None:
    """The number of the line at which Python stops reading; None where it can read it all."""
    try:
        ast.parse(source)
    except SyntaxError as error:
        return error.lineno or 1
    except (ValueError, RecursionError, MemoryError):  # a null byte; nested too deep
        return 1
    return None


def _shown(line: str) -> str:
    text = line.strip()
    return f"`{text if len(text) <= 60 else text[:57] + '...'}`"
