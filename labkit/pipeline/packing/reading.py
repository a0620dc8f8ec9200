"""Read a pack: on from any record, or one record alone; and say what that cost and what could not be read."""

from __future__ import annotations

import bisect
import itertools
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from labkit.errors import LabkitError, UsageError
from labkit.inputs import whole
from labkit.pipeline.packing import format_files, format_lmdb, format_tar, format_tfrecord
from labkit.pipeline.packing.counting import CountedFile, Reads, Tally, streamed
from labkit.pipeline.packing.manifest import Entry, Manifest, Shard
from labkit.pipeline.packing.sample import Sample, checksum

_HELD = 32  # files kept open for reads of single records


class ShardError(LabkitError):
    """A record can't be read. The text names shard and record.

    Attributes:
        shard: the file's name.
        record: the record's number within its shard; None where the shard is missing altogether.
        key: the record's key, "" where the shard is missing.
    """

    def __init__(self, shard: str, record: int | None, key: str, why: str) -> None:
        self.shard, self.record, self.key, self.why = shard, record, key, why
        where = shard if record is None else f"{shard}, record {record} ({key})"
        super().__init__(f"{where}: {why}; samples(skipped=[]) reads the rest and lists what is lost")

    def __reduce__(self) -> tuple[Any, ...]:
        """So that it comes out of another process as it is."""
        return ShardError, (self.shard, self.record, self.key, self.why)


@dataclass(frozen=True)
class Skipped:
    """What was left out of a reading.

    Attributes:
        shard: the file's name.
        record: the first record left out, by its number within the shard.
        records: how many, from that one on. All of a shard that is missing.
        why: what is wrong, in a few words.
    """

    shard: str
    record: int
    records: int
    why: str


class Packed:
    """A pack on the disk, open for reading. Nothing is read before it is asked for; `close` lets go of the files.

    It may be handed to other processes (by pickling or by a fork): each opens its own files and keeps its own counts.

    Attributes:
        path: its directory.
        manifest: format, content hash and shards as they were written.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.manifest = Manifest.load(self.path)
        self._starts = [0, *itertools.accumulate(map(len, self.manifest.shards))]
        self._reset()

    def _reset(self) -> None:
        self._tally, self._pid = Tally(), os.getpid()
        self._files: dict[str, Any] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self.path}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["path"])  # type: ignore[misc]

    def __repr__(self) -> str:
        return f"<pack {self.path.name}: {len(self):,} samples as {self.format}, {self.parts()}, {self.bytes:,} bytes>"

    def __len__(self) -> int:
        """How many samples."""
        return self._starts[-1]

    def __enter__(self) -> Packed:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def format(self) -> str:
        """files, tar, lmdb or tfrecord."""
        return self.manifest.format

    def parts(self) -> str:
        """What it is made of, in words: "600 files", "6 shards" or, for LMDB, "1 file"."""
        name, count = "shard", len(self.shards)
        if self.format in ("files", "lmdb"):
            name = "file"
        if self.format == "files":
            count = sum(len(entry.fields) for shard in self.shards for entry in shard.entries)
        return f"{count:,} {name}{'s' * (count != 1)}"

    @property
    def shards(self) -> tuple[Shard, ...]:
        """The shards, in order."""
        return self.manifest.shards

    @property
    def bytes(self) -> int:
        """The size of all shards as written."""
        return sum(shard.bytes for shard in self.shards)

    @property
    def reads(self) -> Reads:
        """What this reader has cost so far, in this process. Reading pack.json isn't in it."""
        return self._tally.now()

    def close(self) -> None:
        """Close what is open; a later read opens it again."""
        self._own()
        for file in self._files.values():
            file.close()
        self._files = {}

    def place(self, number: int) -> tuple[int, int]:
        """Sample `number` -> (shard, record within it). Raises UsageError outside 0 to len - 1."""
        number = whole("number", number, 0)
        if number >= len(self):
            raise UsageError(f"number is {number}: the pack has samples 0 to {len(self) - 1}")
        shard = bisect.bisect_right(self._starts, number) - 1
        return shard, number - self._starts[shard]

    def read(self, number: int, *, index: bool = True) -> Sample:
        """Sample `number`, alone.

        Args:
            number: from 0.
            index: jump to the record by its known offset. False: read the shard from its start up to the record, as a
                reader that knows no offsets must. Small files and LMDB find a record by its name either way.

        Raises:
            UsageError: no such sample.
            ShardError: the record can't be read.
        """
        shard, record = self.place(number)
        if index or self.format in ("files", "lmdb"):
            return self._one(shard, record)
        return next(sample for at, sample in self._on(shard, 0, None) if at == record)

    def samples(self, start: int = 0, *, index: bool = True, skipped: list[Skipped] | None = None) -> Iterator[Sample]:
        """The samples from number `start` on, in order.

        Args:
            start: the first sample wanted: where a restarted reader goes on.
            index: jump to `start`. False: read its shard from the beginning and throw away what comes before.
            skipped: a list. Where it is given, records that can't be read are left out and written down in it.

        Raises (while reading):
            ShardError: a record can't be read, and `skipped` isn't given. It names shard and record.
        """
        if whole("start", start, 0) == len(self):
            return iter(())
        return self._from(*self.place(start), index, skipped)

    def shard(self, number: int, *, skipped: list[Skipped] | None = None) -> Iterator[Sample]:
        """The samples of one shard, in order. Raises as `samples` does; UsageError where there is no such shard."""
        if whole("shard", number, 0) >= len(self.shards):
            raise UsageError(f"shard is {number}: the pack has shards 0 to {len(self.shards) - 1}")
        return (sample for _, sample in self._on(number, 0, skipped))

    def _from(self, shard: int, record: int, index: bool, skipped: list[Skipped] | None) -> Iterator[Sample]:
        first = 0 if not index and self.format in ("tar", "tfrecord") else record
        yield from (sample for at, sample in self._on(shard, first, skipped) if at >= record)
        for later in range(shard + 1, len(self.shards)):
            yield from (sample for _, sample in self._on(later, 0, skipped))

    def _on(self, shard: int, record: int, skipped: list[Skipped] | None) -> Iterator[tuple[int, Sample]]:
        """(record, sample) of a shard from `record` on. After a damaged one, the next offset is known."""
        self._own()
        entries = self.shards[shard].entries
        while record < len(entries):
            try:
                for sample in self._stream(shard, record):
                    self._sound(shard, record, sample)
                    yield record, sample
                    record += 1
                    if record == len(entries):
                        return
            except Exception as error:
                if not _damage(error):
                    raise
            try:  # the stream broke off at this record, or while looking for its end
                yield record, self._one(shard, record)
            except ShardError as error:
                if skipped is None:
                    raise
                lost = 1 if error.record is not None else len(entries) - record
                skipped.append(Skipped(error.shard, record, lost, error.why))
                record += lost
            else:
                record += 1

    def _stream(self, shard: int, record: int) -> Iterator[Sample]:
        path, entries = self.path / self.shards[shard].name, self.shards[shard].entries
        if self.format == "files":
            for entry in entries[record:]:
                yield format_files.read(path, entry, self._tally)
        elif self.format == "lmdb":
            yield from self._tree(shard).walk(record, self._tally)
        else:
            with streamed(CountedFile(path, self._tally)) as file:
                file.seek(entries[record].offset)
                yield from _module(self.format).stream(file)

    def _one(self, shard: int, record: int) -> Sample:
        self._own()
        where, entry = self.shards[shard], self.shards[shard].entries[record]
        path = self.path / where.name
        try:
            if self.format == "files":
                sample = format_files.read(path, entry, self._tally)
            elif self.format == "lmdb":
                sample = self._tree(shard).look(record, self._tally)
            else:
                sample = _module(self.format).parse(self._file(shard).at(entry.offset, entry.length))
        except Exception as error:
            if not _damage(error):
                raise
            if not path.exists():
                raise ShardError(where.name, None, "", "the shard is missing") from None
            raise ShardError(where.name, record, entry.key, _said(error, path)) from None
        return self._sound(shard, record, sample)

    def _sound(self, shard: int, record: int, sample: Sample) -> Sample:
        entry: Entry = self.shards[shard].entries[record]
        if sample.key != entry.key or checksum(sample) != entry.checksum:
            why = "its content is not what was written"
            raise ShardError(self.shards[shard].name, record, entry.key, why)
        return sample

    def _own(self) -> None:
        """After a fork: open files of this process's own, and count from 0."""
        if self._pid != os.getpid():
            self._reset()

    def _file(self, shard: int) -> CountedFile:
        return self._kept(shard, lambda path: CountedFile(path, self._tally))  # type: ignore[no-any-return]

    def _tree(self, shard: int) -> format_lmdb.Tree:
        def opened(path: Path) -> format_lmdb.Tree:
            tree = format_lmdb.Tree.take(path)
            self._tally.opens += 1
            return tree

        return self._kept(shard, opened)  # type: ignore[no-any-return]

    def _kept(self, shard: int, opened: Any) -> Any:
        """The shard's file, open in this process; the one that was wanted longest ago is closed when there are many."""
        name = self.shards[shard].name
        if name in self._files:
            self._files[name] = self._files.pop(name)
        else:
            self._files[name] = opened(self.path / name)
            if len(self._files) > _HELD:
                self._files.pop(next(iter(self._files))).close()
        return self._files[name]


def open_pack(path: str | Path) -> Packed:
    """Open what `pack` wrote. Raises UsageError where there is no pack, LabkitError where its list is damaged."""
    return Packed(path)


def _module(format: str) -> ModuleType:
    return {"tar": format_tar, "tfrecord": format_tfrecord}[format]


def _damage(error: Exception) -> bool:
    """Whether an error says that bytes are missing or wrong, and not that the program is."""
    if isinstance(error, OSError | ValueError | EOFError | ShardError):
        return True
    if "already open in this process" in str(error):  # LMDB: the caller has the map open
        return False
    return type(error).__module__.split(".")[0] in ("tarfile", "lmdb", "google")


def _said(error: Exception, path: Path) -> str:
    if isinstance(error, FileNotFoundError) and error.filename:
        return f"{Path(error.filename).name} is missing"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    if isinstance(error, ShardError):
        return error.why
    return " ".join(str(error).split())[:80] or type(error).__name__
