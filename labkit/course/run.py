"""Run a lab in a fresh kernel, or one exercise of it in this process.

The whole lab answers "does the notebook work, top to bottom?"; one exercise answers "what does this answer do?" in
milliseconds, by running only the cells an exercise may need.
"""

from __future__ import annotations

import linecache
import os
import re
import subprocess
import sys
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labkit.course.notebook import Lab, cell_of
from labkit.errors import LabkitError, UsageError

RESULT_MIME = "application/vnd.labkit.result+json"  # a check cell's result record, among its outputs

_IPYTHON = re.compile(r"\s*[%!?]|.*\?\s*$|.*=\s*[%!]")


@dataclass(frozen=True)
class CellOutcome:
    """What one code cell of a lab did.

    cell: its id. role, exercise: from its metadata, "" where it has none.
    record: a check cell's result record; None where the cell showed none.
    error: "NameError: name 'x' is not defined", or why the cell never ended; "" where it ran to the end.
    text: what the cell printed, and the plain text of what it showed.
    """

    cell: str
    role: str
    exercise: str
    record: dict[str, Any] | None
    error: str
    text: str


def run_lab(
    notebook: Mapping[str, Any], *, cwd: str | Path, timeout: float = 120, env: Mapping[str, str] | None = None
) -> list[CellOutcome]:
    """Run every code cell of a notebook in a fresh kernel, going on past errors.

    notebook: a dictionary, as `lay` gives it. cwd: where the kernel runs. timeout: seconds a cell may take; one that
    takes longer is interrupted and the next cell runs. env: variables added to this process's for the kernel.
    Where the kernel dies, that cell and all later ones say so.
    """
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import DeadKernelError

    node = nbformat.from_dict(notebook)
    slow = {"ename": "Timeout", "evalue": f"took longer than {timeout:g} s", "traceback": []}
    replies: dict[int, Mapping[str, Any]] = {}

    def keep(cell: Any, cell_index: int, execute_reply: Mapping[str, Any]) -> None:
        replies[cell_index] = execute_reply["content"]

    client = NotebookClient(
        node,
        timeout=timeout,
        interrupt_on_timeout=True,
        error_on_timeout=slow,
        allow_errors=True,
        kernel_name="python3",
        resources={"metadata": {"path": str(cwd)}},
        on_cell_executed=keep,
    )
    outcomes: list[CellOutcome] = []
    dead = ""
    # A kernel's own log (it warns of TCP, to this machine alone) is no output of the lab's.
    with client.setup_kernel(env={**os.environ, **(env or {})}, stderr=subprocess.DEVNULL):
        for index, raw in enumerate(node.cells):
            if raw.cell_type != "code":
                continue
            error = dead
            if not dead:
                try:
                    client.execute_cell(raw, index)
                except DeadKernelError:
                    error = "the kernel died in this cell"
                    dead = f"the kernel died in cell {raw.get('id') or index + 1}"
                else:
                    error = _reply_error(replies.get(index, {}))
            outcomes.append(_outcome(dict(raw), index, error))
    return outcomes


def _reply_error(reply: Mapping[str, Any]) -> str:
    """The error of an execute reply. It counts although no error is shown: an unknown magic stops a cell that way."""
    if reply.get("status", "ok") == "ok":
        return ""
    if reply.get("ename") == "Timeout":
        return str(reply["evalue"])
    return f"{reply.get('ename', reply['status'])}: {reply.get('evalue', '')}"


def _outcome(raw: dict[str, Any], index: int, error: str) -> CellOutcome:
    cell = cell_of(raw, index)
    record: dict[str, Any] | None = None
    text: list[str] = []
    for output in raw.get("outputs", []):
        data = output.get("data", {})
        if RESULT_MIME in data:
            record = dict(data[RESULT_MIME])
        text.append(output.get("text", "") or data.get("text/plain", ""))
        if output["output_type"] == "error" and not error:
            error = f"{output['ename']}: {output['evalue']}"
    return CellOutcome(cell.id, cell.role, cell.exercise, record, error, "\n".join(part for part in text if part))


def run_exercise(lab: Lab, exercise_id: str, sources: Mapping[str, str], *, check: Callable[..., Any]) -> Any:
    """Run one exercise with an answer, in this process, and return what `check` returned.

    Run, in the order of the notebook and in one fresh namespace: the setup cells, the exercise's given cells, its
    answer cells, its check cell. No other cell runs.

    sources: answer cell's id -> code; an answer cell not named keeps its stub.
    check: called in place of the name `check` in the check cell.
    Raises UsageError for an unknown exercise or cell, or an answer in IPython's own syntax; LabkitError where the check
    cell never called `check`; and whatever the cells raise, with their lines in the traceback.
    """
    exercise = lab.exercise(exercise_id)
    unknown = next((name for name in sources if name not in exercise.answer), None)
    if unknown is not None:
        raise UsageError(f"{exercise_id} has no answer cell {unknown!r}: it has {', '.join(exercise.answer)}")
    wanted = (*exercise.given, *exercise.answer, exercise.check)
    seen: list[Any] = []

    def called(*args: Any, **kwargs: Any) -> Any:
        seen.append(check(*args, **kwargs))
        return seen[-1]

    # As in a kernel, the namespace is the module __main__: what the answer defines can be sent to workers.
    main = types.ModuleType("__main__")
    main.__dict__["display"] = lambda *objects, **options: None  # a kernel has it built in; here nobody looks
    before = sys.modules["__main__"]
    sys.modules["__main__"] = main
    try:
        for cell in lab.cells:
            if cell.role != "setup" and cell.id not in wanted:
                continue
            if cell.id == exercise.check:
                main.__dict__["check"] = called  # here, because the setup cell imports the real one
            place = "setup" if cell.role == "setup" else f"{exercise_id} {cell.role}"
            exec(compile_cell(sources.get(cell.id, cell.source), place), main.__dict__)
    finally:
        sys.modules["__main__"] = before
    if not seen:
        raise LabkitError(f"{exercise_id}: its check cell never called check({exercise_id!r}, ...)")
    return seen[-1]


def compile_cell(source: str, place: str) -> types.CodeType:
    """Compile a cell so that a traceback shows its lines. place: "pipeline.makespan answer", shown as the file's name.

    Raises UsageError for IPython's own syntax (magics, !, ?), SyntaxError for other code that isn't Python.
    """
    filename = f"<{place}>"
    # no modification time: linecache then keeps the lines although there is no such file
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    try:
        return compile(source, filename, "exec", dont_inherit=True)
    except SyntaxError as error:
        line = (source.splitlines() or [""])[max((error.lineno or 1) - 1, 0) :][:1]
        if line and _IPYTHON.match(line[0]):
            raise UsageError(
                f"{place}: line {error.lineno}, {line[0].strip()!r}, is an IPython command: write plain Python there"
            ) from None
        raise
    except ValueError as error:  # a null byte
        raise SyntaxError(f"{place}: {error}") from None
