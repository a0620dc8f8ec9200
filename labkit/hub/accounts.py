"""Accounts of this machine for a class, each with a generated password (root only)."""

from __future__ import annotations

import csv
import io
import os
import pwd
import secrets
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from labkit.atomic_file import write_atomic
from labkit.errors import LabkitError

PASSWORDS = "passwords.csv"
COMMENT = "labkit learner"
"""Marks accounts that labkit made: only these get a password from it."""

WORDS = 4
"""A password is this many groups of four letters and digits, 80 bits: not guessable, and typed without a mistake."""

LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"


def password() -> str:
    """A new password, without letters that look alike."""
    return "-".join("".join(secrets.choice(LETTERS) for _ in range(4)) for _ in range(WORDS))


def check(names: Sequence[str]) -> None:
    """Raises LabkitError where a name belongs to an account that labkit didn't make; makes nothing."""
    for name in names:
        try:
            account = pwd.getpwnam(name)
        except KeyError:
            continue
        if account.pw_gecos.split(",")[0] != COMMENT:
            raise LabkitError(f"{name} is an account of this machine already: give that person another name")


def ensure(names: Sequence[str], place: Path) -> dict[str, str]:
    """Make the accounts that are missing, with home directories nobody else can open; name -> password, all of them.

    Passwords are kept in DIR/passwords.csv, readable by root alone, so that a second start changes none.
    Raises LabkitError: a name belongs to an account that labkit didn't make, or the machine refuses an account.
    """
    check(names)
    known = read(place)
    for name in names:
        try:
            pwd.getpwnam(name)
        except KeyError:
            _call([_tool("useradd"), "--create-home", "--shell", "/bin/bash", "--comment", COMMENT, name], name)
            known.pop(name, None)
        home = Path(pwd.getpwnam(name).pw_dir)
        if home.is_dir() and not home.is_symlink():
            home.chmod(0o700)
        if name not in known:
            known[name] = password()
            _call([_tool("chpasswd")], name, said=f"{name}:{known[name]}\n")
    _write(place, known)
    return {name: known[name] for name in names}


def remove(names: Sequence[str]) -> None:
    """Remove accounts that `ensure` made, with their homes; other accounts stay."""
    for name in names:
        try:
            account = pwd.getpwnam(name)
        except KeyError:
            continue
        if account.pw_gecos.split(",")[0] == COMMENT:
            _call([_tool("userdel"), "--remove", "--force", name], name)


def read(place: Path) -> dict[str, str]:
    """The passwords kept in `place`; none where there is no file."""
    try:
        text = (place / PASSWORDS).read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    return {row["name"]: row["password"] for row in csv.DictReader(io.StringIO(text))}


def _write(place: Path, known: dict[str, str]) -> None:
    text = io.StringIO()
    rows = csv.writer(text)
    rows.writerow(["name", "password"])
    rows.writerows(sorted(known.items()))
    before = os.umask(0o077)
    try:
        write_atomic(place / PASSWORDS, text.getvalue().encode())
    finally:
        os.umask(before)


def _tool(name: str) -> str:
    path = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if path is None:
        raise LabkitError(f"{name} is missing on this machine: on Debian and Ubuntu, apt-get install passwd")
    return path


def _call(words: list[str], name: str, said: str = "") -> None:
    done = subprocess.run(words, input=said, capture_output=True, text=True, check=False)
    if done.returncode and "mail spool" not in done.stderr:
        why = " ".join(done.stderr.split()) or f"exit code {done.returncode}"
        raise LabkitError(f"no account for {name}: {Path(words[0]).name} says {why}")
