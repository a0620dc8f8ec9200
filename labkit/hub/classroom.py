"""A classroom as data: who is in it, where its files lie, which limits hold. Kept in DIR/classroom.json."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from labkit.atomic_file import write_atomic
from labkit.errors import UsageError
from labkit.inputs import whole

FILE = "classroom.json"
NAME = re.compile(r"[a-z_][a-z0-9_-]{0,30}")
"""Names that every Linux accepts for an account."""


@dataclass(frozen=True)
class Classroom:
    """What `labkit hub` needs to know; the services read the same file.

    Attributes:
        place: the directory of the classroom: accounts, results, hand-ins, logs. Of the teacher alone.
        learners, teachers: account names, lower case. A teacher sees the board and collects; nobody is both.
        host, port: where the hub listens.
        accounts: "own": each learner has an account of this machine (the hub runs as root). "shared": all share the
            teacher's, to try the hub out; nothing then keeps learners out of each other's files.
        memory_mib: address space a learner's process may map; 3072 lets torch run and stops a runaway.
        processes: processes and threads a learner may have; below about 100 kernels fail to start.
        cull_minutes: a server that nobody used for so long is stopped; the files stay.
        fork_kernels: kernels are forked from a parent with torch loaded: a third of the memory, a start at once.
    """

    place: Path
    learners: tuple[str, ...]
    teachers: tuple[str, ...]
    host: str = "127.0.0.1"
    port: int = 8000
    accounts: str = "own"
    memory_mib: int = 3072
    processes: int = 400
    cull_minutes: int = 60
    fork_kernels: bool = True

    def __post_init__(self) -> None:
        for kind, names in (("learner", self.learners), ("teacher", self.teachers)):
            if not names:
                raise UsageError(f"the classroom has no {kind}: name at least one")
            for name in names:
                if not NAME.fullmatch(name):
                    hint = "lower-case letters, digits, - and _, a letter first, at most 31 characters"
                    raise UsageError(f"{kind} {name!r} can't be an account's name: {hint}")
        twice = sorted(name for name in {*self.everybody} if self.everybody.count(name) > 1)
        if twice:
            raise UsageError(f"{twice[0]} is named twice: a name stands once, for a learner or a teacher")
        if self.accounts not in ("own", "shared"):
            raise UsageError(f"accounts is {self.accounts!r}: give own or shared")
        if whole("port", self.port, 1) > 65535:
            raise UsageError(f"port is {self.port}: give a number from 1 to 65535")
        whole("memory_mib", self.memory_mib, 1024)
        whole("processes", self.processes, 100)
        whole("cull_minutes", self.cull_minutes, 1)

    @property
    def everybody(self) -> tuple[str, ...]:
        """Learners, then teachers."""
        return (*self.learners, *self.teachers)

    @property
    def address(self) -> str:
        """Where the hub listens, as an address that this machine can open."""
        return f"http://{self.host}:{self.port}/"

    def save(self) -> None:
        """Write DIR/classroom.json, whole or not at all."""
        said = {**asdict(self), "place": None}
        write_atomic(self.place / FILE, (json.dumps(said, indent=1) + "\n").encode())

    @classmethod
    def load(cls, place: Path) -> Classroom:
        """The classroom kept in `place`. Raises UsageError where there is none, or its file can't be used."""
        file = place / FILE
        try:
            said: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
            return cls(
                **{**said, "place": place, "learners": tuple(said["learners"]), "teachers": tuple(said["teachers"])}
            )
        except FileNotFoundError:
            raise UsageError(
                f"{place} holds no classroom: labkit hub --dir {place} --learners FILE makes one"
            ) from None
        except OSError as error:
            raise UsageError(f"{file} can't be read: {(error.strerror or str(error)).lower()}") from None
        except (ValueError, TypeError, KeyError) as error:
            raise UsageError(
                f"{file} is damaged ({error}): correct it, or remove it and name the learners again"
            ) from None


def read_names(file: Path) -> tuple[str, ...]:
    """Names from a file, one a line; empty lines and what follows # are left out. Raises UsageError."""
    try:
        lines = file.read_text(encoding="utf-8-sig").splitlines()  # Windows writes a mark at the beginning
    except UnicodeDecodeError:
        raise UsageError(f"{file} can't be read as names: it isn't UTF-8; save it as that") from None
    except (OSError, ValueError) as error:
        raise UsageError(f"{file} can't be read as names: {error}") from None
    return tuple(name for line in lines if (name := line.partition("#")[0].strip()))


def names(given: Sequence[str]) -> tuple[str, ...]:
    """Names given one by one or, where a word is a file, one a line in it."""
    found: list[str] = []
    for word in given:
        if os.path.exists(word) and not (NAME.fullmatch(word) and os.path.isdir(word)):
            found += read_names(Path(word))
        elif NAME.fullmatch(word):
            found.append(word)
        else:
            raise UsageError(
                f"{word!r} is neither an account's name (lower-case letters, digits, - and _) nor a file of names"
            )
    return tuple(found)
