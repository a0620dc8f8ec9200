"""TFRecord shards, written by the tfrecord package: length, checksum, tf.train.Example, checksum.

The package's reader passes over the checksums, so the frames are read here and their contents decoded by its protocol.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from labkit.pipeline.packing.sample import Sample

ENDING = ".tfrecord"
_KEY = "__key__"


class Writer:
    """Writes one shard."""

    def __init__(self, path: Path) -> None:
        from tfrecord.writer import TFRecordWriter

        self._writer = TFRecordWriter(str(path))

    def add(self, sample: Sample) -> tuple[int, int]:
        """Append a sample; its offset and length in bytes."""
        start = self._writer.file.tell()
        fields = {name: (data, "byte") for name, data in sample.fields.items()}
        self._writer.write({_KEY: (sample.key.encode(), "byte"), **fields})
        return start, self._writer.file.tell() - start

    def close(self) -> None:
        """Close the file; a TFRecord has no end mark."""
        self._writer.close()


def stream(file: BinaryIO) -> Iterator[Sample]:
    """The samples from where the file stands. Raises ValueError at a frame that isn't whole."""
    while head := file.read(12):
        yield _sample(head, file)


def parse(data: bytes) -> Sample:
    """The one sample in these bytes."""
    (sample,) = stream(io.BytesIO(data))
    return sample


def _sample(head: bytes, file: BinaryIO) -> Sample:
    from tfrecord import example_pb2
    from tfrecord.writer import TFRecordWriter

    if len(head) < 12 or TFRecordWriter.masked_crc(head[:8]) != head[8:]:
        raise ValueError("the length of the record is damaged")
    (length,) = struct.unpack("<Q", head[:8])
    data, check = file.read(length), file.read(4)
    if len(data) < length or len(check) < 4:
        raise ValueError("the file ends within the record")
    if TFRecordWriter.masked_crc(data) != check:
        raise ValueError("the record's own checksum differs")
    features = example_pb2.Example.FromString(data).features.feature
    fields = {name: feature.bytes_list.value[0] for name, feature in features.items() if name != _KEY}
    return Sample(features[_KEY].bytes_list.value[0].decode(), fields)
