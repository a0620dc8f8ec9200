"""Small files: one a field, at KEY.FIELD. Nothing to unpack, and a round trip for each."""

from __future__ import annotations

import os
from pathlib import Path

from labkit.pipeline.packing.counting import CountedFile, Tally
from labkit.pipeline.packing.manifest import Entry
from labkit.pipeline.packing.sample import Sample

ENDING = ""


class Writer:
    """Writes the tree of files."""

    def __init__(self, path: Path) -> None:
        self._tree = path
        path.mkdir()

    def add(self, sample: Sample) -> tuple[int, int]:
        """Write a sample's files; 0 and its bytes."""
        for name, data in sample.fields.items():
            path = self._tree / f"{sample.key}.{name}"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        return 0, sum(map(len, sample.fields.values()))

    def close(self) -> None:
        """Nothing is open."""


def paths(tree: Path, entry: Entry) -> list[Path]:
    """The files of one sample."""
    return [tree / f"{entry.key}.{name}" for name in entry.fields]


def read(tree: Path, entry: Entry, tally: Tally) -> Sample:
    """One sample: for each file an open and a read."""
    fields = {}
    for name, path in zip(entry.fields, paths(tree, entry), strict=True):
        with CountedFile(path, tally) as file:
            fields[name] = file.at(0, os.fstat(file.fileno()).st_size)
    return Sample(entry.key, fields)
