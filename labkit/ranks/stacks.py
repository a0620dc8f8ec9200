"""Tracebacks as a person wants them: the newest call last, without labkit's own frames, with source lines."""

from __future__ import annotations

import linecache
import os
import re

_FRAME = re.compile(r'\s*File "(?P<file>.+)", line (?P<line>\d+),? in (?P<name>.*)')
_OWN = os.path.dirname(__file__) + os.sep


def from_dump(dump: str) -> str:
    """A fault handler's dump (newest call first, all of the process) as a traceback of the function it ran."""
    blocks = re.split(r"^(?=Current thread |Thread )", dump, flags=re.MULTILINE)
    newest = next((block for block in reversed(blocks) if block.startswith("Current thread")), blocks[-1])
    frames = []
    for line in newest.splitlines():
        if not (found := _FRAME.match(line)):
            continue
        if found["file"].startswith(_OWN):
            if found["name"] == "_job":  # below is how a rank is started, the same for all
                break
            continue
        frames.append(f'  File "{found["file"]}", line {found["line"]}, in {found["name"]}')
    fatal = re.findall(r"^Fatal Python error: (.+)", dump, flags=re.MULTILINE)
    return "\n".join(["Stack (most recent call last):", *reversed(frames), *fatal]) if frames else "\n".join(fatal)


def with_source(traceback: str) -> str:
    """Frames of labkit.ranks left out, and source lines that only this process knows filled in: notebook cells'."""
    told: list[str] = []
    lines = iter(traceback.splitlines())
    held = next(lines, None)
    while held is not None:
        found, following = _FRAME.match(held), next(lines, None)
        own = bool(found) and found["file"].startswith(_OWN)  # type: ignore[index]
        if not own:
            told.append(held)
        if found and following is not None and following.startswith("    "):
            while following is not None and following.startswith("    "):  # the source line and its marks
                told += [] if own else [following]
                following = next(lines, None)
        elif found and not own and (source := linecache.getline(found["file"], int(found["line"])).strip()):
            told.append(f"    {source}")
        held = following
    return "\n".join(told)
