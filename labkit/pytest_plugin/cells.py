"""A lab and its cells as pytest items: names, order, what counts as a failure, and what the report says."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from _pytest._code.code import ReprEntryNative, ReprExceptionInfo, ReprFileLocation, ReprTraceback
from nbval.plugin import IPyNbCell, IPyNbFile, NbCellError

from labkit.course.run import RESULT_MIME
from labkit.errors import UsageError
from labkit.pytest_plugin.kernel import KernelDied, WatchedKernel

TRACEBACK_LINES = 12  # of an error that isn't a check's: enough to see where

_ANSI = re.compile(r"\x1b\[[0-9;]*m")


def as_lab(node: pytest.Collector) -> pytest.Collector:
    """A lab's collector for nbval's, where the notebook carries labkit's metadata; else the node itself."""
    if type(node) is not IPyNbFile or not _is_lab(node.path):
        return node
    lab: pytest.Collector = LabFile.from_parent(node.parent, path=node.path)
    return lab


def _is_lab(path: Path) -> bool:
    from labkit.course.notebook import cells_of, read_notebook

    try:
        return any(cell.role for cell in cells_of(read_notebook(path), where=path.name))
    except UsageError:
        return False  # nbval says what it makes of it


class LabFile(IPyNbFile):  # type: ignore[misc]
    """One lab. ended: why its remaining cells can't run, "" while they can."""

    kernel: Any = None
    ended = ""
    last = ""  # name of the cell that ran last
    scratch = ""  # folder of this lab's progress file

    def collect(self) -> Iterator[pytest.Item]:
        """The lab's code cells, named by exercise and role."""
        taken: set[str] = set()
        for item in super().collect():
            name = _name(item, taken)
            yield LabCell.from_parent(self, name=name, cell_num=item.cell_num, cell=item.cell, options=item.options)

    def setup(self) -> None:
        """Start the kernel; it writes its progress beside the learner's, never into it."""
        self.scratch = tempfile.mkdtemp(prefix="labkit-nbval-")
        mine = {"LABKIT_PROGRESS": os.path.join(self.scratch, "progress.sqlite"), "LABKIT_LEARNER": "nbval"}
        with _environment({name: value for name, value in mine.items() if name not in os.environ}):
            super().setup()
        self.kernel = WatchedKernel(self.kernel)

    def teardown(self) -> None:
        """Stop the kernel and remove the scratch folder."""
        super().teardown()
        if isinstance(self.kernel, WatchedKernel):
            self.kernel.close()
        shutil.rmtree(self.scratch, ignore_errors=True)


class LabCell(IPyNbCell):  # type: ignore[misc]
    """One code cell of a lab."""

    def __init__(self, name: str, parent: LabFile, cell_num: int, cell: Any, options: Any) -> None:
        super().__init__(name, parent, cell_num, cell, options)
        self.labkit_number = cell_num
        mine = _labkit(cell)
        self.exercise = str(mine.get("exercise", "")) if mine.get("role") == "check" else ""
        if self.exercise:  # a tag is for Run All in JupyterLab; here an error in a check is the verdict
            options["check_exception"] = options["skip"] = False

    def setup(self) -> None:
        """nbval expects every cell after a timeout to fail. Here each is judged by what it does."""

    def reportinfo(self) -> tuple[Path, int, str]:
        """Where the cell is, for the report's heading."""
        return self.path, 0, f"{self.name} in {self.path.name}"

    def runtest(self) -> None:
        """Run the cell by nbval, with the kernel watched; the status of the kernel's reply counts too."""
        lab = self.parent
        if not lab.ended and not lab.kernel.is_alive():
            lab.ended = f"the kernel ended after cell {lab.last} ({lab.kernel.obituary()})"
        if lab.ended:
            self.raise_cell_error(f"not run: {lab.ended}")
        lab.last = self.name
        try:
            with _cell_timeout(self.config):
                super().runtest()
        except KernelDied as error:
            lab.ended = f"the kernel died in cell {self.name} ({error})"
            self.raise_cell_error(lab.ended)
        except NbCellError:
            if not lab.kernel.is_alive():
                lab.ended = f"the kernel was stopped in cell {self.name}"
            raise
        reply = lab.kernel.reply
        if reply.get("status") == "error" and not self.options["check_exception"]:
            traceback = "\n".join(reply.get("traceback", []))
            self.raise_cell_error(f"{reply.get('ename')}: {reply.get('evalue')}", traceback)
        if self.exercise and not any(_passed(record, self.exercise) for record in _records(self.test_outputs)):
            self.raise_cell_error(f'no check ran: this cell must call check("{self.exercise}", ...)')

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The card's text for a check; else the error and the end of its traceback."""
        if not isinstance(excinfo.value, NbCellError):
            return super().repr_failure(excinfo)
        summary, text = _failure(self.name, excinfo.value, self.test_outputs or [])
        where = ReprFileLocation(os.path.relpath(self.path), self.cell_num, summary)
        return ReprExceptionInfo(ReprTraceback([ReprEntryNative([f"{text}\n"])], None, style="native"), where)


def _labkit(cell: Any) -> Mapping[str, Any]:
    mine = cell.metadata.get("labkit")
    return mine if isinstance(mine, Mapping) else {}


def _name(item: Any, taken: set[str]) -> str:
    """`pipeline.makespan` for a check cell, `pipeline.makespan: answer` for an answer cell, else the cell's id."""
    mine = _labkit(item.cell)
    role, exercise = mine.get("role"), mine.get("exercise")
    stem = str(item.cell.get("id") or item.name)
    if exercise:
        stem = str(exercise) if role == "check" else f"{exercise}: {role}"
    name, number = stem, 1
    while name in taken:
        number += 1
        name = f"{stem} {number}"
    taken.add(name)
    return name


def _failure(name: str, error: Any, outputs: list[Mapping[str, Any]]) -> tuple[str, str]:
    """One line for the summary, where the name stands already, and the text of the report, which starts with it."""
    shown = next((output for output in outputs if output["output_type"] == "error"), None)
    message = str(error)
    raised = shown is not None and "Timeout" not in message  # an interrupted cell shows an error of its own
    if shown is not None and raised:
        message = f"{shown['ename']}: {shown['evalue']}"
    cards = [output["data"] for output in outputs if RESULT_MIME in output.get("data", {})]
    if cards and raised:
        return _verdict(cards[-1][RESULT_MIME]), _led_by(name, str(cards[-1].get("text/plain", message)))
    lines = _ANSI.sub("", error.inner_traceback or "").strip().splitlines()
    if len(lines) > TRACEBACK_LINES:
        lines = ["...", *lines[-TRACEBACK_LINES:]]
    return message.splitlines()[0], "\n".join([_led_by(name, message), *(["", *lines] if lines else [])])


def _records(outputs: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [output["data"][RESULT_MIME] for output in outputs if RESULT_MIME in output.get("data", {})]


def _passed(record: Mapping[str, Any], exercise: str) -> bool:
    return record.get("exercise") == exercise and record.get("verdict") == "passed"


def _verdict(record: Mapping[str, Any]) -> str:
    """A check's verdict, and for a failed one why."""
    failure: Mapping[str, Any] = next((item for item in reversed(record.get("evidence", [])) if not item.get("ok")), {})
    why = failure.get("why") or failure.get("claim")
    verdict = str(record.get("verdict", "failed"))
    return f"{verdict}: {why}" if verdict == "failed" and why else verdict


def _led_by(name: str, text: str) -> str:
    return text if text.startswith(name) else f"{name}: {text}"


@contextmanager
def _environment(changes: Mapping[str, str]) -> Iterator[None]:
    """These variables in this process's environment, from which a kernel inherits; gone again afterwards."""
    os.environ.update(changes)
    try:
        yield
    finally:
        for name in changes:
            os.environ.pop(name, None)


@contextmanager
def _cell_timeout(config: pytest.Config) -> Iterator[None]:
    """labkit's default for a cell's time, unless a person gave one."""
    before = config.option.nbval_cell_timeout
    mine = getattr(config.option, "labkit_cell_timeout", None)
    config.option.nbval_cell_timeout = before if mine is None else mine
    try:
        yield
    finally:
        config.option.nbval_cell_timeout = before
