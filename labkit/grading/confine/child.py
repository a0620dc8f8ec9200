"""The child: one answer. Takes its task from the judge, runs the cells, then serves what the judge asks."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn

from labkit.checks.answer import AnswerFault, LocalAnswer, described
from labkit.checks.plain import Unanswered
from labkit.checks.variants import Variant
from labkit.course.exercises import Cell, Exercise
from labkit.course.notebook import Lab
from labkit.course.run import run_exercise
from labkit.errors import UsageError
from labkit.grading.confine import forking, wire
from labkit.grading.confine.confinement import Way, confine
from labkit.grading.confine.limits import Limits
from labkit.grading.confine.seal import Seal
from labkit.ranks.client import server, start_servers_with


def run(way: Way, limits: Limits, folder: str, fds: list[int], parent: int) -> NoReturn:
    """The whole life of a child, from its fork; never returns. fds: to the judge, and where its prints go."""
    try:
        _print_to(fds[1])
        confine(way, limits, folder, (fds[0],), parent)
        start_servers_with(forking.start)
        serve(fds[0])
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(0)


def _print_to(output: int) -> None:
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    for name, fd in (("stdout", 1), ("stderr", 2)):
        raw = open(fd, "wb", buffering=0, closefd=False)  # noqa: SIM115  open as long as the child lives
        setattr(sys, name, io.TextIOWrapper(raw, "utf-8", "backslashreplace", write_through=True))


def serve(fd: int) -> None:
    """Run the task, then answer questions until the judge hangs up."""
    question = _read(fd)
    if question is None:
        return
    _furnish(question[1])
    seal = Seal() if question[1]["sealed"] else None
    answer, reply = _prepare(question[1])
    while True:
        if seal and (what := seal.broken()):
            reply = ["tampered", what]
        _write(fd, reply)
        question = _read(fd)
        if question is None or answer is None:
            return
        reply = _reply(answer, question)


def _prepare(task: Mapping[str, Any]) -> tuple[LocalAnswer | None, list[Any]]:
    """The answer that the check cell handed over, and the reply that says so; or what its cells raised."""
    if any("ranks" in cell[2] for cell in (*task["cells"], *((0, 0, code) for code in task["sources"].values()))):
        server()  # before the learner's code runs: what that changes in this process doesn't reach the ranks
    try:
        answer: LocalAnswer = run_exercise(
            _lab(task), task["exercise"]["id"], task["sources"], check=lambda id, value: LocalAnswer(value)
        )
    except Unanswered as error:
        return None, ["open", str(error)]
    except BaseException as error:
        return None, _raised(error)
    return answer, ["ready", str(getattr(answer._answer, "__name__", "answer"))]


def _raised(error: BaseException) -> list[Any]:
    """What a cell raised, as a reply."""
    if isinstance(error, NotImplementedError):
        return ["open", "the answer"]
    if isinstance(error, NameError) and traceback.extract_tb(error.__traceback__)[-1].filename.endswith(" check>"):
        return ["open", f"`{error.name}`"]  # the check cell asks for a name that the answer cell didn't define
    expected = "cells that run to the end"
    return ["fault", False, described(error), expected, "restart the kernel, run all cells from the top, and read on."]


def _reply(answer: LocalAnswer, question: list[Any]) -> list[Any]:
    try:
        value = answer.value() if question[0] == "value" else answer.call(*question[1])
    except Unanswered as error:
        return ["open", str(error)]
    except AnswerFault as fault:
        return ["fault", bool(fault.given), fault.seen, fault.expected, fault.next_step]
    except BaseException as error:
        return ["fault", True, described(error), "a result for every valid input", "catch nothing but what you expect."]
    return ["is", value]


def _lab(task: Mapping[str, Any]) -> Lab:
    """The few cells of the lab that may run."""
    fields = task["exercise"]
    listed: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()
    }
    cells = tuple(Cell(id, kind, source, role, of, {}) for id, kind, source, role, of in task["cells"])
    return Lab(Path("lab.ipynb"), "lab", listed["lab"], "", cells, (Exercise(**listed),), {})


def _furnish(task: Mapping[str, Any]) -> None:
    """`variant` answers from the figures that were sent; `check` and `progress` in an answer cell do nothing."""
    import labkit.checks

    def variant(id: str) -> Variant:
        if id != task["exercise"]["id"] or not task["figures"]:
            raise UsageError(f"exercise {id!r} has no figures here: use those of {task['exercise']['id']} alone")
        return Variant(id, task["learner"], task["figures"], task["units"])

    quiet: Callable[..., None] = lambda *args, **kwargs: None  # noqa: E731
    labkit.checks.variant = variant
    labkit.checks.check = labkit.checks.progress = quiet  # type: ignore[assignment]
    os.environ["LABKIT_LEARNER"] = task["learner"]


def _read(fd: int) -> list[Any] | None:
    """The judge's next message; None once it has hung up."""
    head = _exactly(fd, wire.HEAD.size)
    body = _exactly(fd, wire.frame_size(head)) if head else b""
    return list(wire.unpack(body)) if body else None


def _exactly(fd: int, size: int) -> bytes:
    parts = bytearray()
    while len(parts) < size:
        with contextlib.suppress(InterruptedError):
            data = os.read(fd, size - len(parts))
            if not data:
                return b""
            parts += data
    return bytes(parts)


def _write(fd: int, reply: list[Any]) -> None:
    sys.stdout.flush()
    try:
        frame = wire.pack(reply)
    except (wire.NotOnTheWire, ValueError, TypeError, RecursionError, MemoryError) as error:
        told = " ".join(str(error).split())[:200]  # a number of thousands of digits is a ValueError
        expected = "a result that can be handed over as text"
        frame = wire.pack(["fault", True, f"a result that can't be handed over: {told}", expected, "return less."])
    view = memoryview(frame)
    while view:
        view = view[os.write(fd, view) :]
