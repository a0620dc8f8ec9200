"""The directory that a grading writes to: whether it may be used, and run.json, which says how its marks were made."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from labkit.errors import UsageError
from labkit.grading import finding, journal

RUN = "run.json"
ROUNDS = 200_000  # of the key's fingerprint: a short key isn't guessed from it either


def apart(paths: Iterable[Path], out: Path, learner: str | None) -> None:
    """Raises UsageError where `out` is, or lies in, a directory of submissions: the next run would take it for one."""
    place = out.resolve()
    for path in paths:
        top = path if learner else finding.meant(path)
        if top.is_dir() and (place == top.resolve() or top.resolve() in place.parents):
            said = "is" if place == top.resolve() else f"lies in {top},"
            raise UsageError(f"--out {out} {said} where the submissions are: give it a directory elsewhere")


def prepare(out: Path, key: bytes, *, resume: bool) -> None:
    """Make `out`. Raises UsageError where it can't be, or holds marks that aren't to be gone on with, or can't be."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise UsageError(f"{out} is not a directory: give --out a new one") from None
    results = out / journal.NAME
    if not results.exists() or not results.stat().st_size:  # a start that failed leaves an empty file
        return
    if not resume:
        raise UsageError(f"{out} holds marks already: go on there with --resume, or give another --out")
    if _run(out).get("key", known := fingerprint(key)) != known:
        raise UsageError(f"{out}: marks were made with another course key: give the first one, or another --out")


def fingerprint(key: bytes) -> str:
    """What tells one course key from another. The key can't be had back from it."""
    return hashlib.pbkdf2_hmac("sha256", key, b"labkit grade: run.json", ROUNDS, dklen=8).hex()


def isolation(of: Path) -> dict[str, Any]:
    """How the marks in an --out (or in the directory of a results.jsonl) were kept apart; {} where it isn't told."""
    found = _run(of if of.is_dir() else of.parent).get("isolation")
    return found if isinstance(found, dict) else {}


def note(out: Path, isolation: Mapping[str, Any], key: bytes) -> None:
    """Write run.json."""
    text = json.dumps({"isolation": isolation, "key": fingerprint(key)}, indent=1) + "\n"
    new = out / f".{RUN}.new"
    new.write_text(text, "utf-8")
    new.replace(out / RUN)


def _run(out: Path) -> dict[str, Any]:
    try:
        found = json.loads((out / RUN).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
