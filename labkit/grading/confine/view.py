"""What an answer sees of the machine: programs and libraries, read-only, and labkit without the judges' knowledge."""

from __future__ import annotations

import ast
import functools
import os
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import labkit
from labkit.course import load
from labkit.errors import LabkitError

PACKAGE = Path(labkit.__file__).parent
CHECKS = PACKAGE / "checks"
_ETC = (
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "nsswitch.conf",
    "localtime",
    "mime.types",
    "alternatives",
    "fonts",
)
_DEVICES = ("null", "zero", "full", "random", "urandom")
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_LAB_MODULE = re.compile(r"labkit\.checks(?:\.| import )(lab\d\d_\w+)")
# Read by torch: how many cores there are.
_CORES = "/sys/devices/system/cpu"


def programs() -> list[str]:
    """Directories with the interpreter, its packages and the system's libraries, as far as they exist."""
    prefixes = {sys.prefix, sys.base_prefix, os.path.realpath(sys.prefix), os.path.realpath(sys.base_prefix)}
    prefixes |= {str(PACKAGE), os.path.realpath(PACKAGE), os.path.dirname(os.path.realpath(sys.executable))}
    named = [*_SYSTEM, *sorted(prefixes)]
    below = [place for place in named if not any(place != other and _within(place, other) for other in named)]
    return [place for place in below if os.path.exists(place)]


@functools.cache
def below_tmp() -> tuple[str, ...]:
    """Those of `programs` that an answer's own /tmp would cover."""
    return tuple(os.path.realpath(place) for place in programs() if _within(os.path.realpath(place), "/tmp"))


def _within(place: str, other: str) -> bool:
    return place.startswith(other.rstrip("/") + "/")


def small_files() -> list[str]:
    """Single files and directories of the system that programs read."""
    return [path for path in (*(f"/etc/{name}" for name in _ETC), _CORES) if os.path.exists(path)]


def devices() -> list[str]:
    """Device nodes that hold nothing."""
    return [f"/dev/{name}" for name in _DEVICES if os.path.exists(f"/dev/{name}")]


def visible_checks() -> list[str]:
    """Files of labkit.checks that answers may see: all but the labs' checks, which hold the right values.

    Of those, the parts that the labs' own cells import stay (loaders with planted faults, disks that keep a record),
    and what those import. Tests and notebooks are not in the view at all.
    """
    kept = needed_checks()
    return [p.name for p in sorted(CHECKS.glob("*.py")) if not p.name.startswith("lab") or p.stem in kept]


def readable() -> list[str]:
    """The view as paths to read, where nothing can be mounted: labkit piece by piece, if it isn't inside the rest."""
    package = os.path.realpath(PACKAGE)
    others = [place for place in programs() if os.path.realpath(place) != package]
    if any(_within(package, place) for place in others):
        return [*others, *small_files()]
    pieces = [os.path.join(package, name) for name in sorted(os.listdir(package)) if name != CHECKS.name]
    pieces += [os.path.join(package, CHECKS.name, name) for name in visible_checks()]
    return [*others, *small_files(), *pieces]


@functools.cache
def needed_checks() -> frozenset[str]:
    """Modules `labkit.checks.labNN_*` that the code of the labs' own cells imports, directly or by another one.

    None that registers exercises: such a module holds the right values, and a cell that imports from it must fail.
    """
    kept: set[str] = set()
    waiting = {name.split(".")[2] for name, _ in imports() if name.startswith("labkit.checks.lab")}
    while waiting:
        stem = waiting.pop()
        if stem in kept or not (CHECKS / f"{stem}.py").exists() or registers(stem):
            continue
        kept.add(stem)
        waiting |= set(_LAB_MODULE.findall((CHECKS / f"{stem}.py").read_text(encoding="utf-8")))
    return frozenset(kept)


def registers(stem: str) -> bool:
    """Whether a module of checks holds exercises, or the figures of some."""
    return "labkit.checks.registry" in (CHECKS / f"{stem}.py").read_text(encoding="utf-8")


@functools.cache
def imports() -> tuple[tuple[str, str], ...]:
    """What the labs' setup, given and check cells import: (module, name), "" for a module as a whole."""
    return tuple(sorted(set(_imports(notebooks()))))


def preloaded() -> list[tuple[str, str]]:
    """Of what cells import, all that answers may see: a server loads it before the first answer."""
    kept = needed_checks()
    prefix = "labkit.checks.lab"
    return [one for one in imports() if not one[0].startswith(prefix) or one[0].split(".")[2] in kept]


def notebooks() -> list[Path]:
    """The pristine labs: beside an editable install, or inside an installed package."""
    for place in (PACKAGE.parent / "notebooks", PACKAGE / "notebooks"):
        if found := sorted(place.glob("[0-9][0-9]_*.ipynb")):
            return found
    return []


def _imports(paths: Iterable[Path]) -> Iterator[tuple[str, str]]:
    for path in paths:
        try:
            cells = [cell for cell in load(path).cells if cell.role in ("setup", "given", "check")]
            nodes = [node for cell in cells for node in ast.walk(ast.parse(cell.source))]
        except (LabkitError, SyntaxError):  # a lab that is being written; its own tests say what is wrong with it
            continue
        for node in nodes:
            if isinstance(node, ast.Import):
                yield from ((alias.name, "") for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                yield from ((node.module, alias.name) for alias in node.names)
