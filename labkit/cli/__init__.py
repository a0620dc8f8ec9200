"""The command line: every error is one line on stderr.

Exit codes: 0 right, 1 found a fault, 2 wrong usage, 130 Ctrl-C, 141 the reader of a pipe has gone.
"""

from __future__ import annotations

import contextlib
import difflib
import importlib
import os
import sys
from collections.abc import Sequence

from labkit.errors import LabkitError

PARTS = (
    "app",
    "counting",
    "packing",
    "diagnosing",
    "resuming",
    "auditing_resume",
    "releasing",
    "updating",
    "grading",
    "hub",
    "handing_in",
)

FAULT, USAGE, INTERRUPTED, BROKEN_PIPE = 1, 2, 130, 141


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; its exit code. argv: the words after `labkit`, those of the command line where None."""
    words = list(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a terminal without the symbols shows ? in their place
            stream.reconfigure(errors="replace")
    try:
        code = _run(words)
        sys.stdout.flush()
    except BrokenPipeError:  # whoever read our output has enough, as `head` does
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the interpreter flushes once more at exit
        return BROKEN_PIPE
    except KeyboardInterrupt:
        return INTERRUPTED
    return code


def _run(words: list[str]) -> int:
    import typer

    from labkit.cli.options import app

    for part in PARTS:  # each registers its commands on `app`
        importlib.import_module(f"labkit.cli.{part}")

    command = typer.main.get_command(app)
    known = sorted(command.commands)  # type: ignore[attr-defined]
    first = next((word for word in words if not word.startswith("-")), "")
    place = f"labkit {first}" if first in known else "labkit"
    # typer brings its own copy of click: click's UsageError is reached through the one class that typer shows
    usage_error: type[Exception] = typer.BadParameter.__bases__[0]
    try:
        if first and place == "labkit" and words[0] == first:
            raise LabkitError(f"no command {first!r}: {_nearest(first, known)}")
        return int(command(words, prog_name="labkit", standalone_mode=False) or 0)
    except LabkitError as error:
        message = str(error)
    except usage_error as error:
        message = f"{_sentence(error)}: see {place} --help"
    except typer.Abort:
        return INTERRUPTED
    except BrokenPipeError:
        raise
    except SystemExit:  # typer has seen the broken pipe first
        raise BrokenPipeError from None
    except OSError as error:
        message = f"{error.filename or 'a file'} can't be used: {(error.strerror or str(error)).lower()}"
    except (MemoryError, OverflowError):
        message = "the numbers are too large to compute with: give smaller ones"
    print(f"{place}: {' '.join(message.split())}", file=sys.stderr)
    return USAGE


def _nearest(word: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(word, known, n=1)
    return f"did you mean {near[0]}?" if near else f"the commands are {', '.join(known)}"


def _sentence(error: BaseException) -> str:
    """What click says, begun in lower case and without its full stop."""
    text = " ".join(error.format_message().split()).rstrip(".")  # type: ignore[attr-defined]
    return text[:1].lower() + text[1:]
