"""A grading process: `python -m labkit.grading.worker`, JSON lines in and out. It ends when the grader does.

First line in: the setting of a `work.Judge`. First line out: {"isolation": ...} or {"refused": why}. Then a line in for
each task, and a line out: {"result": ...} or {"fault": why}.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
import traceback
from typing import Any, TextIO


def main() -> None:
    """Serve until the grader closes the pipe."""
    parent = os.getppid()
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: a killed grader leaves nobody behind
        if os.getppid() != parent:
            return
    # What checks and experiments print must not get among the lines.
    out = os.fdopen(os.dup(1), "w", buffering=1, encoding="utf-8")
    os.dup2(2, 1)
    serve(sys.stdin, out)


def serve(lines: TextIO, out: TextIO) -> None:
    """Answer every line."""
    from labkit.errors import UsageError
    from labkit.grading.work import Judge

    def say(message: dict[str, Any]) -> None:
        out.write(json.dumps(message) + "\n")

    first = lines.readline()
    if not first:
        return
    try:
        judge = Judge(json.loads(first))
    except UsageError as error:
        say({"refused": str(error)})
        return
    with judge:
        say({"isolation": judge.isolation})
        for line in lines:
            try:
                say({"result": judge.judge(json.loads(line))})
            except Exception:
                say({"fault": traceback.format_exc()[-2000:]})


if __name__ == "__main__":
    main()
