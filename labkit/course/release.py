"""The learner's bundle: blank labs, the files they point to, pins, a README; no answers, no tests.

The same course gives the same bytes, on every machine and in every directory: names sorted, one fixed time, fixed
modes, nothing of the machine in any file. SHA256SUMS is the manifest; `sha256sum -c SHA256SUMS` verifies a bundle.
"""

from __future__ import annotations

import hashlib
import os
import re
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import Any

from labkit.atomic_file import write_atomic
from labkit.course.leaks import leaks, secrets
from labkit.course.lint import lint
from labkit.course.notebook import Lab, dumps, load
from labkit.course.release_texts import environment_text, readme_text, requirements_text
from labkit.course.updating_match import edition_of
from labkit.errors import LabkitError, UsageError

MANIFEST = "SHA256SUMS"
LABS = "notebooks"
EPOCH = 315_532_800  # 1980-01-01 UTC, the earliest time that a zip file can hold
LATEST = 4_354_819_198  # 2107-12-31 23:59:58 UTC, the last
FILE_MODE, DIRECTORY_MODE = 0o644, 0o755

_LINK = re.compile(r"\]\(\s*<?([^)\s>#?]+)|<img\b[^>]*?\bsrc\s*=\s*[\"']?([^\"'\s>]+)", re.IGNORECASE)
_ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:|//|/|#", re.IGNORECASE)


class Refused(LabkitError):
    """The labs may not go out as they are: a rule is broken, or an answer is in them. One finding a line."""


@dataclass(frozen=True)
class Bundle:
    """What learners get.

    files: path with / -> content, in the order of the paths; MANIFEST is one of them.
    labs: the labs in it.
    secrets: right answers that were looked for; 0 where no answers were at hand.
    """

    files: dict[str, bytes]
    labs: tuple[Lab, ...]
    secrets: int


def bundle(
    course: Path, numbers: Sequence[str] = (), *, constraints: bytes, licence: bytes, answers: Path | None,
    wheel: Path | None = None,
) -> Bundle:  # fmt: skip
    """Put a bundle together in memory.

    Args:
        course: the directory of the labs.
        numbers: the labs wanted, "01" or their file names; none: all.
        constraints, licence: content of the files of these names.
        answers: where the right answers are, to look for them in what goes out; None where there are none.
        wheel: labkit's own wheel, where learners can't install it by its name.

    Raises:
        UsageError: a lab that isn't there, or a file that can't be read.
        Refused: a lab breaks a rule (it isn't blank, ...), points to a missing file, or holds an answer.
    """
    labs = tuple(load(path) for path in _chosen(course, numbers))
    found = [str(finding) for lab in labs for finding in lint(lab.path)]
    files = {f"{LABS}/{lab.path.name}": dumps(_marked(lab)).encode() for lab in labs}
    for lab in labs:
        beside, missing = _beside(lab, course)
        files |= beside
        found += missing
    wheels = [] if wheel is None else [_wheel(wheel)]
    files |= {
        "README.md": readme_text(labs, wheel=wheel is not None).encode(),
        "LICENSE": licence,
        "constraints.txt": constraints,
        "requirements.txt": requirements_text(wheel=next((f"wheels/{name}" for name, _ in wheels), "")).encode(),
        "environment.yml": environment_text().encode(),
        **{f"wheels/{name}": content for name, content in wheels},
    }
    secret = [] if answers is None else [one for lab in labs for one in secrets(lab, answers)]
    found += leaks(files, secret)
    if found:
        raise Refused("\n".join(found))
    files[MANIFEST] = manifest(files).encode()
    return Bundle(dict(sorted(files.items())), labs, len(secret))


def _chosen(course: Path, numbers: Sequence[str]) -> list[Path]:
    every = sorted(course.glob("[0-9][0-9]_*.ipynb"))
    if not numbers:
        return every
    names = {name: path for path in every for name in (path.name[:2], path.stem, path.name)}
    unknown = next((number for number in numbers if number not in names), None)
    if unknown is not None:
        raise UsageError(f"no lab {unknown!r}: the labs are {', '.join(path.name[:2] for path in every)}")
    return sorted({names[number] for number in numbers})


def _marked(lab: Lab) -> dict[str, Any]:
    """The notebook, with a note of what is the lab's in it: `labkit update` then knows what a learner added."""
    notebook = lab.notebook()
    notebook["metadata"] = {**notebook["metadata"], "labkit": {"cells": edition_of(lab)}}
    return notebook


def _beside(lab: Lab, course: Path) -> tuple[dict[str, bytes], list[str]]:
    """The files that a lab's prose points to, without other labs; and what is wrong with where it points."""
    files: dict[str, bytes] = {}
    wrong = []
    for cell in lab.cells:
        for match in _LINK.finditer(cell.source) if cell.type == "markdown" else ():
            target = match[1] or match[2]
            if _ELSEWHERE.match(target):
                continue
            path = course / target
            if ".." in PurePosixPath(target).parts or not path.resolve().is_relative_to(course.resolve()):
                wrong.append(f"{lab.path} [{cell.id}]: {target} lies outside the labs, so learners won't have it")
            elif not path.is_file():
                wrong.append(f"{lab.path} [{cell.id}]: {target} is not there")
            elif path.suffix != ".ipynb":
                files[f"{LABS}/{PurePosixPath(target)}"] = path.read_bytes()
    return files, wrong


def _wheel(path: Path) -> tuple[str, bytes]:
    if not re.fullmatch(r"labkit-[\w.!+]+-[\w.]+-[\w.]+-[\w.]+\.whl", path.name):
        raise UsageError(f"{path} is not a wheel of labkit (labkit-VERSION-py3-none-any.whl): make one with pip wheel")
    try:
        return path.name, path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} can't be read: {error.strerror or error}") from None


def manifest(files: Mapping[str, bytes]) -> str:
    """The manifest of these files, as `sha256sum` writes it."""
    return "".join(f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in sorted(files.items()))


def stamp() -> int:
    """The one time that every file carries: SOURCE_DATE_EPOCH, else 1980. UsageError where it can't be used."""
    text = os.environ.get("SOURCE_DATE_EPOCH", "")
    if not text:
        return EPOCH
    if not re.fullmatch(r"[0-9]{1,12}", text) or not EPOCH <= int(text) <= LATEST:
        raise UsageError(f"SOURCE_DATE_EPOCH is {text!r}: give whole seconds from {EPOCH} (1980) to {LATEST} (2107)")
    return int(text)


def zipped(files: Mapping[str, bytes], when: int) -> bytes:
    """The files as a zip archive. Stored, not compressed: what a compressor writes differs by its version."""
    moment = datetime.fromtimestamp(when, UTC).timetuple()[:6]
    memory = BytesIO()
    with zipfile.ZipFile(memory, "w", zipfile.ZIP_STORED) as archive:
        for name, content in sorted(files.items()):
            entry = zipfile.ZipInfo(name, moment)
            entry.create_system, entry.external_attr = 3, (0o100000 | FILE_MODE) << 16  # as Unix writes it
            archive.writestr(entry, content)
    return memory.getvalue()


def write_directory(files: Mapping[str, bytes], out: Path, when: int) -> None:
    """Write a bundle to a directory: new, empty, or one that holds an earlier bundle nobody has edited.

    Other files there, a repository's .git for one, stay. Files of the earlier bundle that are in this one no more go.

    Raises:
        UsageError: a file that somebody wrote or edited is in the way; nothing is written then.
    """
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        raise UsageError(f"{out} is not a directory: name a new one")
    before = _earlier(out)
    for name in sorted({*before, *files}):
        _clear(out, name, before.get(name), files.get(name))
    for name in (*(name for name in files if name != MANIFEST), MANIFEST):  # the manifest last: it says all is there
        path = out / name
        _directories(out, path.parent)
        if not path.is_file() or path.read_bytes() != files[name]:
            write_atomic(path, files[name])
        path.chmod(FILE_MODE)
        os.utime(path, (when, when))
    for name in before.keys() - files.keys():
        (out / name).unlink(missing_ok=True)
    for name in sorted({str(PurePosixPath(name).parent) for name in files}, reverse=True):
        os.utime(out / name, (when, when))  # after the files: writing one touches its directory


def keep_others(labs: Sequence[Lab], out: Path) -> None:
    """UsageError where an earlier bundle at `out` holds other labs: writing these alone would delete them."""
    there = {PurePosixPath(name) for name in _earlier(out) if name.endswith(".ipynb")}
    lost = {path.name[:2] for path in there if path.parent == PurePosixPath(LABS) and (out / path).is_file()}
    lost -= {lab.number for lab in labs}
    if lost:
        which = f"{'lab' if len(lost) == 1 else 'labs'} {', '.join(sorted(lost))}"
        it = "it" if len(lost) == 1 else "them"
        raise UsageError(f"{out} holds {which} that you didn't name: name {it} too, or give a new --out")


def _earlier(out: Path) -> dict[str, str]:
    """path -> sha256 by the manifest of the bundle that is there."""
    try:
        lines = (out / MANIFEST).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return {}
    split = [line.split("  ", 1) for line in lines]
    named = {parts[1]: parts[0] for parts in split if len(parts) == 2 and parts[1]}
    safe = {name: digest for name, digest in named.items() if ".." not in PurePosixPath(name).parts and name[0] != "/"}
    return safe | {MANIFEST: hashlib.sha256((out / MANIFEST).read_bytes()).hexdigest()}


def _clear(out: Path, name: str, earlier: str | None, wanted: bytes | None) -> None:
    """Nothing where this file goes, or what an earlier release put there, or what this one would."""
    path = out / name
    within = [above for above in path.parents if out in above.parents]
    wrong = [above for above in within if above.is_symlink() or (above.exists() and not above.is_dir())]
    if path.is_symlink() or (path.exists() and not path.is_file()):
        wrong.append(path)
    if wrong:
        raise UsageError(f"{wrong[0]} is in the way: move it, or name a new directory")
    if not path.exists():
        return
    content = path.read_bytes()
    if content != wanted and hashlib.sha256(content).hexdigest() != earlier:
        raise UsageError(f"{path} was written or edited by somebody: move it, or name a new directory")


def _directories(out: Path, place: Path) -> None:
    """Make the directory and those above it up to `out`, all with one mode; what is there keeps its own."""
    for new in (*reversed([above for above in place.parents if above == out or out in above.parents]), place):
        if not new.is_dir():
            new.mkdir(parents=True)
            new.chmod(DIRECTORY_MODE)


def write_zip(content: bytes, path: Path) -> None:
    """Write the archive. UsageError where another file is there, unless it is an earlier release's, unchanged."""
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise UsageError(f"{path} is not an ordinary file: name a new one")
    if path.exists() and path.read_bytes() != content and not _whole_release(path):
        raise UsageError(f"{path} is there already and is not a release: move it, or name a new file")
    if not path.parent.is_dir():
        raise UsageError(f"there is no directory {path.parent}")
    write_atomic(path, content)
    path.chmod(FILE_MODE)


def _whole_release(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            files = {name: archive.read(name) for name in archive.namelist()}
    except (zipfile.BadZipFile, OSError):
        return False
    said = files.pop(MANIFEST, b"")
    return said.decode(errors="replace") == manifest(files)
