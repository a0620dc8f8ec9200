"""Own numbers for every learner and exercise: one seed each, the same after every restart.

A seed is HMAC-SHA256 (RFC 2104), under the course key, of learner, exercise and purpose. A class that sets its own key
draws figures that nobody outside can compute; without one the key is public, so that a learner alone gets figures too.
"""

from __future__ import annotations

import getpass
import hashlib
import hmac
import os

from labkit.errors import UsageError

PUBLIC_KEY = "labkit-public-course-key"
"""The course key where none is set. Everyone knows it: it makes figures differ, it keeps nothing secret."""

TEACHER = "teacher:"
"""A key that begins so stays with the teacher: figures come from what `learner_key` derives from it, a grader's hidden
inputs from the key itself, which nobody who knows the derived one can compute."""

LONGEST = 256
"""Characters in a learner's name, a key or an exercise id: longer ones are a mistake (a file's content, a token)."""


def learner() -> str:
    """Who is learning: LABKIT_LEARNER, else JUPYTERHUB_USER, else the login name.

    Raises:
        UsageError: the name is longer than 256 characters or holds control characters such as a newline.
    """
    for name in ("LABKIT_LEARNER", "JUPYTERHUB_USER"):
        if value := os.environ.get(name, "").strip(" "):
            return _plain(name, value)
    try:
        return _plain("the login name", getpass.getuser())
    except (KeyError, ImportError, OSError):  # no passwd entry, as in a container that runs under a made-up user id
        return f"user-{os.getuid()}" if hasattr(os, "getuid") else "learner"


def course_key() -> bytes:
    """The course key: LABKIT_COURSE_KEY, else `PUBLIC_KEY`.

    Raises:
        UsageError: the key is set but empty, longer than 256 characters, or holds control characters.
    """
    return _plain("LABKIT_COURSE_KEY", os.environ.get("LABKIT_COURSE_KEY", PUBLIC_KEY)).encode()


def learner_key(key: bytes) -> bytes:
    """The course key that learners' machines get: of a teacher's key a derived one, any other key itself."""
    if not key.startswith(TEACHER.encode()):
        return key
    return hmac.new(key, b"labkit learner key", hashlib.sha256).hexdigest().encode()


_at_the_keyboard = learner  # `seed` has an argument of the same name


def seed(exercise: str, *, learner: str | None = None, key: bytes | None = None, purpose: str = "figures") -> int:
    """The seed of one learner's exercise, 0 <= seed < 2**63 (fits random, numpy, torch, SQLite).

    Args:
        exercise: the exercise id, such as "pipeline.makespan".
        learner: whose; None for the person at the keyboard (see `learner`).
        key: the course key, 1 to 256 bytes; None for the one in force (see `course_key`).
        purpose: seeds for different purposes tell nothing of each other ("figures" are shown, a check's inputs not).

    Raises:
        UsageError: a part is empty, longer than 256 characters, or holds control characters.
    """
    secret = course_key() if key is None else key
    if not isinstance(secret, bytes) or not 0 < len(secret) <= LONGEST:
        raise UsageError(f"the course key must be 1 to {LONGEST} bytes")  # the key itself is never shown
    if purpose == "figures":
        secret = learner_key(secret)
    person = _at_the_keyboard() if learner is None else learner
    message = b""
    for name, part in (("learner", person), ("exercise", exercise), ("purpose", purpose)):
        text = _plain(name, part).encode()
        # The length before each part: ("ab", "c") and ("a", "bc") can't give the same message.
        message += len(text).to_bytes(4, "big") + text
    return int.from_bytes(hmac.new(secret, message, hashlib.sha256).digest()[:8], "big") >> 1


def _plain(name: str, value: object) -> str:
    """`value` when it is a usable name; else UsageError. The value of a key is never repeated in the message."""
    shown = "" if "KEY" in name else f" {str(value)[:40]!r}"
    if not isinstance(value, str):
        raise UsageError(f"{name} is{shown or ' not text'}: it must be a string")
    if not value.strip():
        raise UsageError(f"{name} is empty: give at least one character")
    if len(value) > LONGEST:
        raise UsageError(f"{name} has {len(value)} characters: at most {LONGEST}")
    if value.splitlines() != [value] or any(ord(character) < 32 or ord(character) == 127 for character in value):
        raise UsageError(f"{name}{shown} holds a newline or another control character: write it on one line")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise UsageError(f"{name}{shown} can't be written as UTF-8") from None
    return value
