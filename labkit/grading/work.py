"""What a grading process does, wherever it runs: hold one sandbox slot, judge one answer after the other."""

from __future__ import annotations

import base64
import contextlib
import importlib
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any

from labkit.grading.confine import forking
from labkit.grading.confine.nursery import topics
from labkit.grading.confine.slots import Nursery, Slot
from labkit.grading.worker import SlotLost
from labkit.ranks import client
from labkit.ranks.client import start_servers_with


class Shared:
    """What the grading processes of one machine share: torch and the checks, loaded once, and the slots' nursery."""

    def __init__(self, *, unsafe: bool) -> None:
        self._unsafe = unsafe
        self._nursery = Nursery(unsafe=unsafe)  # loads in a process of its own, while this one does

        from labkit.checks.registry import exercises
        from labkit.ranks import counting, server

        exercises()  # every check is loaded before the first answer
        for name in ("pandas", "torch._dynamo", *topics()):
            with contextlib.suppress(Exception):  # a package that isn't installed; the check that needs it says so
                importlib.import_module(name)
        counting.install()
        server.warm_up()

    def slot(self) -> Slot:
        """A new slot; from a new nursery, should the first have died."""
        if not self._nursery.alive:
            self._nursery.close()
            self._nursery = Nursery(unsafe=self._unsafe)
        return self._nursery.slot()

    def forget(self) -> None:
        """In a forked grading process: the nursery stays with the foreman."""
        self._nursery.forget()


class Judge:
    """One slot and the labs. Takes tasks and gives results as plain JSON values.

    Raises UsageError where nothing here can confine an answer and that isn't accepted.
    """

    def __init__(self, setting: Mapping[str, Any], slot: Slot) -> None:
        self._key = base64.b64decode(setting["key"])
        self._labs = {stem: Path(path) for stem, path in setting["labs"].items()}
        self._slot = slot
        start_servers_with(forking.start)  # for the checks' own ranks: all that they need is loaded here
        client.server()  # now, while this process has one thread
        slot.wait_until_ready()
        self.isolation = asdict(slot.report)

    def __enter__(self) -> Judge:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        client.stop()
        self._slot.close()

    def judge(self, task: Mapping[str, Any]) -> dict[str, Any]:
        """The result record of a task: {"lab", "exercise", "learner", "sources"}. SlotLost where the slot is gone."""
        from labkit.errors import LabkitError
        from labkit.grading.confine import Program
        from labkit.grading.judging import judge

        program = Program(self._labs[task["lab"]], task["exercise"], task["sources"], task["learner"])
        try:
            return judge(program, self._slot, self._key).to_json()
        except LabkitError as error:
            if self._slot.alive:
                raise
            raise SlotLost(str(error)) from None


def setting(key: bytes, labs: Mapping[str, str], *, unsafe: bool) -> dict[str, Any]:
    """What a Judge is made of, as plain JSON values."""
    return {"key": base64.b64encode(key).decode(), "labs": dict(labs), "unsafe": unsafe}
