"""One attack: a wrong answer that tries to be taken for a right one, to learn what it must not, or to do harm."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Attack:
    """An attack.

    name: a phrase for the table. chapter: its class (overfitting, evasion, redirection, injection, harm, secrets).
    code: the answer cell. It prints ESCAPED where it got what it wanted. @CANARY@, @PORT@, @JUDGE@, @ABSTRACT@ and
        @SHM@ stand for a directory outside, a listening port, the judge's process, an abstract socket, a name.
    exercise: whose answer cell it is, by its id and the number of its lab.
    said: a word of the report's reason; "" where an ordinary wrong answer's reason stands.
    limits: other limits than usual.
    open_in: ways in which it may print ESCAPED, because nothing there can stop it (written down in the documentation).
    """

    name: str
    chapter: str
    code: str
    exercise: str = "pipeline.makespan"
    lab: str = "01"
    said: str = ""
    limits: dict[str, Any] = field(default_factory=dict)
    open_in: tuple[str, ...] = ()


WRONG = "serial = overlapped = 1\n"
WRONG_FUNCTION = "\ndef train_times(prepare, train, depth):\n    return [(0, 1)] * len(prepare)\n"
