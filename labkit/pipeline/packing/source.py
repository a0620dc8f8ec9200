"""Samples from a directory of files, or from a pack that is already there."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from labkit.errors import UsageError
from labkit.pipeline.packing.manifest import MANIFEST
from labkit.pipeline.packing.sample import Sample

_NAME = re.compile(r"((?:.*/)?[^./]+)\.([^/]+)")


def samples_of(source: str | Path) -> Iterator[Sample]:
    """The samples of a directory, sorted by key; those of a pack in its own order.

    Files that share their path up to the first dot of the name are one sample. Hidden files and directories (their
    names begin with a dot) are left out. All names are looked at before the first sample is given.

    Raises:
        UsageError: no such directory, a file without an ending, or nothing in it.
    """
    source = Path(source)
    if not source.exists():
        raise UsageError(f"there is no directory {source}: name one with your samples, or a pack")
    if not source.is_dir():
        raise UsageError(f"{source} is not a directory: name one with your samples, or a pack")
    if (source / MANIFEST).exists():
        from labkit.pipeline.packing.reading import open_pack

        return open_pack(source).samples()
    grouped = _grouped(source)
    if not grouped:
        raise UsageError(f"{source} holds no files: name a directory with your samples, or a pack")
    return (_read(source, key, grouped[key]) for key in sorted(grouped))


def _grouped(source: Path) -> dict[str, list[str]]:
    """Key -> the endings of its files."""
    grouped: dict[str, list[str]] = {}
    for place, directories, names in os.walk(source):
        directories[:] = [name for name in directories if not name.startswith(".")]
        for name in names:
            if name.startswith("."):
                continue
            path = Path(place, name).relative_to(source).as_posix()
            found = _NAME.fullmatch(path)
            if not found:
                raise UsageError(
                    f"{source / path} has no ending: a sample's files are called KEY.FIELD, such as 17.jpg"
                )
            grouped.setdefault(found[1], []).append(found[2])
    return grouped


def _read(source: Path, key: str, endings: list[str]) -> Sample:
    return Sample(key, {ending: (source / f"{key}.{ending}").read_bytes() for ending in sorted(endings)})
