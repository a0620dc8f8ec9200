"""The line's checkpoint as a JSON file: its fields by name, a version, and a checksum over all of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from labkit.atomic_file import write_atomic
from labkit.errors import UsageError, reason
from labkit.resume.line import FIELDS

TASK, VERSION = "labkit.line", 1


def write_checkpoint(path: str | Path, state: Mapping[str, Any]) -> None:
    """Write the fields of `state` to `path`, atomically.

    Raises:
        WriteError: it can't be written; the file that was there is as it was.
    """
    fields = {"task": TASK, "version": VERSION, **{name: state[name] for name in FIELDS}}
    text = json.dumps({**fields, "sha256": checksum(fields)}, indent=1, allow_nan=False)
    write_atomic(path, text.encode() + b"\n")


def read_checkpoint(path: str | Path) -> dict[str, Any]:
    """The fields of a checkpoint that `write_checkpoint` wrote.

    A file without `sha256` is taken as it is, so that one may be written by hand.

    Raises:
        UsageError: it isn't there, cut short, damaged, from a newer version or from another task.
    """
    found = read_json(path, "checkpoint")
    if found.get("task") != TASK:
        raise UsageError(f"{path} is a checkpoint of task {found.get('task')!r}: this is {TASK!r}")
    version = found.get("version")
    if type(version) is not int or version < 1:
        raise UsageError(f"{path} has version {version!r}: this labkit writes version {VERSION}")
    if version > VERSION:
        raise UsageError(
            f"{path} has version {version}, this labkit reads up to {VERSION}: upgrade labkit to resume it"
        )
    claimed = found.pop("sha256", None)
    if claimed is not None and claimed != checksum(found):
        raise UsageError(f"{path} is damaged: its content doesn't match its sha256; use an older checkpoint")
    known = {"task", "version", *FIELDS}
    if unknown := sorted(found.keys() - known):
        raise UsageError(f"{path} has a field {unknown[0]!r} that this labkit doesn't know: it would be lost")
    if missing := [name for name in FIELDS if name not in found]:
        raise UsageError(f"{path} lacks {missing[0]}: without it the next update can't be the same")
    return {name: found[name] for name in FIELDS}


def read_json(path: str | Path, kind: str) -> dict[str, Any]:
    """The object in a JSON file.

    Raises:
        UsageError: the file can't be read, or isn't one JSON object.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
        found = json.loads(text, parse_constant=_refuse)
    except OSError as error:
        raise UsageError(f"{path} can't be read: {reason(error)}") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} isn't a whole JSON file ({error}): it was cut short or isn't a {kind}") from None
    if not isinstance(found, dict):
        raise UsageError(f"{path} holds a {type(found).__name__}: a {kind} is a JSON object")
    return found


def checksum(fields: Mapping[str, Any]) -> str:
    """SHA-256 over the fields in one fixed form, whatever the file's spacing and order."""
    return hashlib.sha256(json.dumps(fields, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} isn't a number that JSON has")
