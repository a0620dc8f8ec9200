"""Pack samples into one of four formats. The pack appears under its name when it is whole, or not at all."""

from __future__ import annotations

import ctypes
import errno
import itertools
import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from labkit.errors import LabkitError, UsageError
from labkit.inputs import whole
from labkit.pipeline.packing import format_files, format_lmdb, format_tar, format_tfrecord
from labkit.pipeline.packing.manifest import FORMATS, Entry, Manifest, Shard
from labkit.pipeline.packing.reading import Packed, open_pack
from labkit.pipeline.packing.sample import ContentHash, Sample, checksum, hashed

SHARD_BYTES = 16 * 1024 * 1024
"""A shard is closed when the next sample would make it larger than this."""

_MODULES: dict[str, ModuleType] = {
    "files": format_files, "tar": format_tar, "lmdb": format_lmdb, "tfrecord": format_tfrecord,
}  # fmt: skip


def pack(
    samples: Iterable[Sample],
    out: str | Path,
    to: str,
    *,
    shard_bytes: int | None = None,
    shard_samples: int | None = None,
) -> Packed:
    """Write `samples`, in their order, as a pack in the new directory `out`; the pack, open for reading.

    Everything is written under another name beside `out`, flushed to the disk, and renamed at the end. A process that
    is killed leaves a hidden directory `.NAME.partial-...`, which no reader takes for a pack.

    Args:
        samples: the samples; keys differ.
        out: a directory that doesn't exist yet.
        to: files, tar, lmdb or tfrecord.
        shard_bytes: for tar and tfrecord: about so many bytes of content a shard, SHARD_BYTES where None.
        shard_samples: for tar and tfrecord: at most so many samples a shard.

    Raises:
        UsageError: a value can't be used, `out` exists, or a key comes twice.
        LabkitError: the disk is full, or can't be written.
    """
    out = Path(out)
    if to not in FORMATS:
        raise UsageError(f"format {to!r}: give one of {', '.join(FORMATS)}")
    sharded = to in ("tar", "tfrecord")
    if not sharded and (shard_bytes is not None or shard_samples is not None):
        raise UsageError(f"{to} has no shards: a shard's size is for tar and tfrecord")
    largest = SHARD_BYTES if shard_bytes is None else whole("shard_bytes", shard_bytes, 1)
    most = None if shard_samples is None else whole("shard_samples", shard_samples, 1)
    if out.exists() or out.is_symlink():
        raise UsageError(f"{out} exists: name a new directory")
    if not out.absolute().parent.is_dir():
        raise UsageError(f"there is no directory {out.absolute().parent}: make it first")

    partial = out.absolute().parent / f".{out.name}.partial-{os.getpid()}"
    try:
        partial.mkdir()
        total = ContentHash()
        ordered = hashed(_distinct(samples), total)
        groups = _groups(ordered, largest, most) if sharded else iter([ordered])
        shards = tuple(_shard(_MODULES[to], partial, number, group) for number, group in enumerate(groups))
        if not any(map(len, shards)):
            raise UsageError("there are no samples to pack")
        Manifest(to, total.hexdigest(), shards).save(partial)
        _flush(partial)
        os.rename(partial, out)
    except Exception as error:
        shutil.rmtree(partial, ignore_errors=True)
        if (why := _disk(error)) is None:
            raise
        raise LabkitError(f"{out} can't be written: {why}; nothing was left behind") from None
    except BaseException:  # Ctrl-C too leaves nothing
        shutil.rmtree(partial, ignore_errors=True)
        raise
    return open_pack(out)


def _distinct(samples: Iterable[Sample]) -> Iterator[Sample]:
    """The samples; an error of the source is told from one of the disk that is written."""
    seen: set[str] = set()
    source = iter(samples)
    while True:
        try:
            sample = next(source)
        except StopIteration:
            return
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            raise LabkitError(f"{error.filename or 'a sample'} can't be read: {why}") from None
        if sample.key in seen:
            raise UsageError(f"key {sample.key!r} comes twice: a sample is found by its key")
        seen.add(sample.key)
        yield sample


def _groups(samples: Iterator[Sample], largest: int, most: int | None) -> Iterator[Iterator[Sample]]:
    """One iterator a shard, each to be exhausted before the next is asked for."""
    waiting: list[Sample] = list(itertools.islice(samples, 1))

    def one() -> Iterator[Sample]:
        size = count = 0
        while waiting:
            size += sum(map(len, waiting[0].fields.values()))
            if count and (size > largest or count == most):
                return
            yield waiting.pop()
            count += 1
            waiting.extend(itertools.islice(samples, 1))

    while waiting:
        yield one()


def _shard(module: ModuleType, directory: Path, number: int, samples: Iterable[Sample]) -> Shard:
    name = {"files": "files", "lmdb": "samples.mdb"}.get(
        module.__name__.rsplit("_", 1)[1], f"shard-{number:05d}{module.ENDING}"
    )
    path, entries = directory / name, []
    writer = module.Writer(path)
    try:
        for sample in samples:
            offset, length = writer.add(sample)
            fields = tuple(sample.fields) if module is format_files else ()
            entries.append(Entry(sample.key, offset, length, checksum(sample), fields))
    finally:
        writer.close()
    size = sum(entry.length for entry in entries) if path.is_dir() else path.stat().st_size
    return Shard(name, size, tuple(entries))


def _flush(directory: Path) -> None:
    """Put everything on the disk before the name says that it is there: once for all files, since each fsync waits."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        if (syncfs := getattr(ctypes.CDLL(None), "syncfs", None)) is None or syncfs(handle):
            os.sync()
    finally:
        os.close(handle)


def _disk(error: Any) -> str | None:
    """In words, what the disk refused; None for any other error."""
    if type(error).__module__.startswith("lmdb"):  # a short write is an I/O error to LMDB, and a full disk gives one
        said = str(error).rsplit(": ", 1)[-1].lower()
        return "the disk is full or fails" if said == "input/output error" else said
    if not isinstance(error, OSError):
        return None
    full = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    return "the disk is full" if error.errno in full else (error.strerror or str(error)).lower()
