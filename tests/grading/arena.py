"""Where attacks are run: a judge with slots, and outside of them everything an attack might want or harm."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
from cheats.attack import Attack

from labkit.checks.result import Result
from labkit.course import load
from labkit.course.answers import read_answer_file
from labkit.grading.confine import Limits, Program, Slots, Usage
from labkit.grading.judging import judge_and_measure

ROOT = Path(__file__).parents[2]
KEY = b"key-of-this-class-81736"
HONEST = ("pipeline.waits", "01")  # what the same submission answers well


@dataclass
class Arena:
    """Slots, and around them a gradebook, another submission, listeners, and what this machine was like before."""

    slots: Slots
    canary: Path
    listener: socket.socket
    abstract: socket.socket
    port: int
    name: str

    def attack(self, attack: Attack) -> tuple[Result, Usage]:
        """The attack's result."""
        code = attack.code
        for mark, value in {
            "@CANARY@": str(self.canary),
            "@PORT@": str(self.port),
            "@JUDGE@": str(os.getpid()),
            "@ABSTRACT@": self.name,
            "@SHM@": self.name,
        }.items():
            code = code.replace(mark, value)
        limits = Limits(**{"seconds": 15.0, "memory_mib": 512, "files_mib": 32, **attack.limits})
        return self.judge(attack.exercise, attack.lab, code, limits)

    def honest(self) -> Result:
        """The result of an honest answer of the same submission."""
        exercise, number = HONEST
        source = reference(exercise, number) + "\nhonest = 'this learner is'\n"
        return self.judge(exercise, number, source, Limits())[0]

    def judge(self, exercise: str, number: str, code: str, limits: Limits) -> tuple[Result, Usage]:
        lab = load(notebook(number))
        program = Program(lab.path, exercise, {lab.exercise(exercise).answer[0]: code}, "ada")
        return judge_and_measure(program, self.slots, KEY, limits)

    def outside(self) -> dict[str, object]:
        """What must not change: files, shared memory, processes, callers at the door."""
        return {
            "files": fingerprint(self.canary),
            "shared memory": sorted(n for n in os.listdir("/dev/shm") if self.name in n),
            "processes": living(),
            "calls": self.calls(),
            "package": (ROOT / "labkit" / "__init__.py").stat().st_mtime_ns,
        }

    def calls(self) -> int:
        """Connections that arrived from inside."""
        arrived = 0
        for door in (self.listener, self.abstract):
            try:
                door.accept()[0].close()
                arrived += 1
            except BlockingIOError:
                pass
        return arrived


@contextmanager
def arena(folder: Path, way: str = "") -> Iterator[Arena]:
    """An arena; `way` as for `Slots`."""
    (folder / "other").mkdir()
    (folder / "gradebook.json").write_text(json.dumps({"ada": 0, "ben": 100}))
    (folder / "other" / "submission.ipynb").write_text('{"answer": 42}')
    for place in (folder, *folder.rglob("*")):  # anybody may: so that only the confinement stands before it
        place.chmod(0o777)
    name = f"labkit-arena-{os.getpid()}-{folder.name}"
    with socket.socket() as listener, socket.socket(socket.AF_UNIX) as abstract, socket.socket(socket.AF_UNIX) as local:
        listener.bind(("127.0.0.1", 0))
        abstract.bind(f"\0{name}")
        local.bind(str(folder / "socket"))
        (folder / "socket").chmod(0o777)
        for door in (listener, abstract, local):
            door.listen()
            door.setblocking(False)
        with Slots(1, way=way) as slots:
            yield Arena(slots, folder, listener, abstract, listener.getsockname()[1], name)


def fingerprint(folder: Path) -> str:
    """Names, modes and contents below a folder."""
    found = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        found.update(f"{path.relative_to(folder)} {path.lstat().st_mode}".encode())
        if path.is_file():
            found.update(path.read_bytes())
    return found.hexdigest()


def living() -> list[int]:
    """Processes below this one; not those that other tests killed and nobody has waited for yet."""
    found = []
    for child in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            if child.status() != psutil.STATUS_ZOMBIE:
                found.append(child.pid)
    return sorted(found)


def notebook(number: str) -> Path:
    return next((ROOT / "notebooks").glob(f"{number}_*.ipynb"))


def reference(exercise: str, number: str) -> str:
    """The code of the reference answer."""
    file = ROOT / "tests" / "answers" / number / f"{exercise.replace('.', '_')}.py"
    answer = next(answer for answer in read_answer_file(file) if answer.right)
    return next(iter(answer.sources.values()))
