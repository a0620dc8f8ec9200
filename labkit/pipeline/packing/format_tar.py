"""Tar shards by the webdataset package: a sample is a run of neighbouring members with the same key."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from labkit.pipeline.packing.sample import Sample

ENDING = ".tar"


class Writer:
    """Writes one shard."""

    def __init__(self, path: Path) -> None:
        from webdataset.writer import TarWriter

        self._file = path.open("wb")
        # mtime 0: the same samples give the same bytes. PAX: names may be long, and need not be ASCII.
        self._tar = TarWriter(self._file, encoder=False, mtime=0, format="PAX_FORMAT")

    def add(self, sample: Sample) -> tuple[int, int]:
        """Append a sample; its offset and length in bytes."""
        start = self._tar.tarstream.offset
        self._tar.write({"__key__": sample.key, **{name: sample.fields[name] for name in sorted(sample.fields)}})
        return start, self._tar.tarstream.offset - start

    def close(self) -> None:
        """Write the end of the archive."""
        try:
            self._tar.close()
        finally:
            self._file.close()


def stream(file: BinaryIO) -> Iterator[Sample]:
    """The samples from where the file stands, in one pass, as webdataset's own pipeline reads them."""
    from webdataset.tariterators import group_by_keys, tar_file_expander

    members = tar_file_expander([{"url": "", "stream": file}])
    for found in group_by_keys(members, lcase=False):
        yield _sample(found)


def parse(data: bytes) -> Sample:
    """The one sample in these bytes."""
    (sample,) = stream(io.BytesIO(data))
    return sample


def _sample(found: dict[str, Any]) -> Sample:
    return Sample(found["__key__"], {name: data for name, data in found.items() if not name.startswith("__")})
