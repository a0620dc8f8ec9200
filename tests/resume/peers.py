"""Ways to save that are compared: the Store, torch's distributed checkpoint (DCP) used in three ways, torch.save.

Each saves number n (1, 2, ...) under a directory and loads: the number it finds, -1 for a mix or damage that it didn't
notice, None for nothing. What it does to the file system can be recorded.
"""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.api import CheckpointException
from torch.distributed.checkpoint.filesystem import FileSystem

from labkit.resume.store import Store
from labkit.resume.store_backend import LocalBackend
from labkit.resume.store_files import Operation, RecordedFiles

NAMES = ("model", "momentum", "step")


def state(n: int, size: int) -> dict[str, torch.Tensor]:
    return {name: torch.full((size,), float(n), dtype=torch.float64) for name in NAMES}


def number(found: dict[str, torch.Tensor], size: int) -> int:
    """The save that this is; -1 where it is none."""
    n = int(found["step"][0].item()) if found["step"].isfinite().all() else -1
    whole = all(found[name].shape == (size,) and bool((found[name] == n).all()) for name in NAMES)
    return n if whole and n > 0 else -1


class RecordedStream(io.FileIO):
    """A file whose writes are recorded as the kernel gets them: what Python still buffers isn't there yet."""

    def __init__(self, path: Path, mode: str, recorder: Recorder) -> None:
        exists = path.exists()
        super().__init__(path, mode)
        self.recorder = recorder
        if "w" in mode:
            recorder.note("truncate" if exists else "create", path)

    def write(self, data) -> int:
        offset = self.tell()
        count = super().write(data)
        self.recorder.note("write", Path(self.name), data=bytes(data)[:count], offset=offset)
        return count


class Recorder(FileSystem):
    """DCP's own seam to the file system, with a log."""

    def __init__(self, root: Path) -> None:
        self.root, self.log = root, []

    def note(self, kind: str, path: Path, **more) -> None:
        self.log.append(Operation(kind, Path(path).relative_to(self.root).as_posix(), **more))

    @contextlib.contextmanager
    def create_stream(self, path, mode):
        with io.BufferedWriter(RecordedStream(Path(path), mode, self)) as stream:
            yield stream

    def rename(self, path, new_path) -> None:
        super().rename(path, new_path)
        self.note("rename", path, target=Path(new_path).relative_to(self.root).as_posix())

    def mkdir(self, path) -> None:
        for above in reversed([Path(path), *Path(path).parents]):
            if not above.exists():
                above.mkdir()
                self.note("mkdir", above)

    def rm_file(self, path) -> None:
        super().rm_file(path)
        self.note("unlink", path)

    @contextlib.contextmanager
    def syncs(self) -> Iterator[None]:
        """Record fsync too: DCP calls os.fsync by itself."""
        real = os.fsync

        def fsync(handle) -> None:
            real(handle)
            path = Path(os.readlink(f"/proc/self/fd/{handle if isinstance(handle, int) else handle.fileno()}"))
            self.note("fsync_dir" if path.is_dir() else "fsync", path)

        os.fsync = fsync
        try:
            yield
        finally:
            os.fsync = real


@dataclass(frozen=True)
class Peer:
    name: str
    save: Callable[[Path, int, int], None]
    load: Callable[[Path, int], int | None]
    record: Callable[[Path, int, int], list[Operation]]


def _store_save(place: Path, n: int, size: int) -> None:
    Store(place / "store", keep=2).save(state(n, size), n)


def _store_load(place: Path, size: int) -> int | None:
    found = Store(place / "store", keep=2).load()
    return None if found is None else number(found.state, size)


def _store_record(place: Path, n: int, size: int) -> list[Operation]:
    files = RecordedFiles(place)
    Store(LocalBackend(place / "store", files), keep=2).save(state(n, size), n)
    return files.log


def _dcp(name: str, directory: Callable[[Path, int], Path], one_file: bool) -> Peer:
    def write(place: Path, n: int, size: int, recorder: Recorder | None) -> None:
        writer = dcp.FileSystemWriter(directory(place, n), single_file_per_rank=one_file)
        if recorder is not None:
            writer.fs = recorder
        dcp.save(state(n, size), storage_writer=writer, no_dist=True)

    def load(place: Path, size: int) -> int | None:
        if not place.is_dir():
            return None
        held = sorted(p.parent for p in place.glob("*/.metadata"))
        if not held:
            return None
        found = state(0, size)
        try:
            dcp.load(found, storage_reader=dcp.FileSystemReader(held[-1]), no_dist=True)
        except CheckpointException as error:  # a BaseException: `except Exception` lets it through
            raise RuntimeError(str(error)) from None
        return number(found, size)

    def record(place: Path, n: int, size: int) -> list[Operation]:
        recorder = Recorder(place)
        with recorder.syncs():
            write(place, n, size, recorder)
        return recorder.log

    return Peer(name, lambda place, n, size: write(place, n, size, None), load, record)


def _torch_save(place: Path, n: int, size: int) -> None:
    torch.save(state(n, size), place / "checkpoint.pt")


def _torch_load(place: Path, size: int) -> int | None:
    path = place / "checkpoint.pt"
    return number(torch.load(path, weights_only=True), size) if path.exists() else None


def _torch_record(place: Path, n: int, size: int) -> list[Operation]:
    recorder = Recorder(place)
    with recorder.create_stream(place / "checkpoint.pt", "wb") as stream:
        torch.save(state(n, size), stream)
    return recorder.log


PEERS = (
    Peer("labkit Store", _store_save, _store_load, _store_record),
    _dcp("DCP, a directory a step", lambda place, n: place / f"step-{n:06d}", True),
    _dcp("DCP, one directory", lambda place, n: place / "checkpoint", True),
    _dcp("DCP, one directory, a file a tensor", lambda place, n: place / "checkpoint", False),
    Peer("torch.save in place", _torch_save, _torch_load, _torch_record),
)
