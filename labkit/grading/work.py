"""What a grading process does, wherever it runs: hold one sandbox slot, judge one answer after the other."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any

TRIES = 3  # of an answer whose sandbox server ended under it


class Judge:
    """One slot and the labs. Takes tasks and gives results as plain JSON values.

    Raises UsageError where nothing here can confine an answer and `unsafe` isn't true.
    """

    def __init__(self, setting: Mapping[str, Any]) -> None:
        from labkit.checks.registry import exercises
        from labkit.grading.confine import Slots

        self._key = base64.b64decode(setting["key"])
        self._labs = {stem: Path(path) for stem, path in setting["labs"].items()}
        self._slots = Slots(1, unsafe=setting["unsafe"])
        self._slots.__enter__()
        exercises()  # every check is loaded before the first answer
        self.isolation = asdict(self._slots.report)

    def __enter__(self) -> Judge:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._slots.close()

    def judge(self, task: Mapping[str, Any]) -> dict[str, Any]:
        """The result record of a task: {"lab", "exercise", "learner", "sources"}."""
        from labkit.errors import LabkitError
        from labkit.grading.confine import Program
        from labkit.grading.judging import judge

        program = Program(self._labs[task["lab"]], task["exercise"], task["sources"], task["learner"])
        for again in range(TRIES):
            try:
                return judge(program, self._slots, self._key).to_json()
            except LabkitError:  # the server of the slot has ended; the next try starts another
                if again == TRIES - 1:
                    raise
        raise AssertionError("unreachable")


def setting(key: bytes, labs: Mapping[str, str], *, unsafe: bool) -> dict[str, Any]:
    """What a Judge is made of, as plain JSON values."""
    return {"key": base64.b64encode(key).decode(), "labs": dict(labs), "unsafe": unsafe}
