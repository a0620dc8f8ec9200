"""One LMDB file: a B+ tree on a memory map; the key is the sample's number, the value its record."""

from __future__ import annotations

import os
import struct
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from labkit.pipeline.packing.counting import Tally
from labkit.pipeline.packing.sample import Sample

ENDING = ".mdb"
_FIRST_MAP = 16 * 1024 * 1024
_COMMIT_EVERY = 32 * 1024 * 1024


class Writer:
    """Writes one map, a transaction for every 32 MiB."""

    def __init__(self, path: Path) -> None:
        import lmdb

        self._map = lmdb.open(str(path), subdir=False, map_size=_FIRST_MAP, metasync=False, sync=False, lock=False)
        self._waiting: list[bytes] = []
        self._written = self._bytes = 0

    def add(self, sample: Sample) -> tuple[int, int]:
        """Append a sample; its number and the length of its record."""
        record = sample.record()
        number = self._written + len(self._waiting)
        self._waiting.append(record)
        self._bytes += len(record)
        if self._bytes >= _COMMIT_EVERY:
            self._commit()
        return number, len(record)

    def _commit(self) -> None:
        """All that waits, in one transaction; again with a larger map where it doesn't fit."""
        import lmdb

        while True:
            try:
                with self._map.begin(write=True) as transaction:
                    for number, record in enumerate(self._waiting, self._written):
                        transaction.put(_key(number), record, append=True)
                break
            except lmdb.MapFullError:
                self._map.set_mapsize(2 * self._map.info()["map_size"])
        self._written += len(self._waiting)
        self._waiting, self._bytes = [], 0

    def close(self) -> None:
        """Commit what waits and put it on the disk."""
        try:
            self._commit()
            self._map.sync(True)
        finally:
            self._map.close()


class Tree:
    """An open map. LMDB forbids opening one twice in a process, and using it after a fork."""

    _opened: dict[tuple[int, str], Tree] = {}  # noqa: RUF012  (shared on purpose: one map a process and file)
    _lock = threading.Lock()

    def __init__(self, path: Path) -> None:
        import lmdb

        self.map = lmdb.open(str(path), subdir=False, readonly=True, lock=False, create=False)
        told: Any = self.map.stat()
        self.page, self.depth = told["psize"], told["depth"]
        self.entries, self.leaves = told["entries"], told["branch_pages"] + told["leaf_pages"]
        self.users = 0

    @classmethod
    def take(cls, path: Path) -> Tree:
        """The map of `path` in this process, opened where it isn't yet. Give it back with `close`."""
        with cls._lock:
            name = (os.getpid(), str(path.resolve()))
            for inherited in [one for one in cls._opened if one[0] != name[0]]:  # by a fork: closed here, not there
                cls._opened.pop(inherited).map.close()
            if name not in cls._opened:
                cls._opened[name] = cls(path)
            cls._opened[name].users += 1
            return cls._opened[name]

    def close(self) -> None:
        """One user less; the map is closed after the last."""
        with self._lock:
            self.users -= 1
            if self.users == 0:
                self._opened.pop(next(name for name, tree in self._opened.items() if tree is self), None)
                self.map.close()

    def overflow(self, length: int) -> int:
        """Pages that a record of so many bytes has for itself, outside the tree; 0 where it lies in a leaf."""
        largest = ((self.page - 16) // 2 & ~1) - 2  # LMDB's me_nodemax: two keys must fit into a page
        return 0 if 16 + length <= largest else (15 + length) // self.page + 1

    def look(self, number: int, tally: Tally) -> Sample:
        """One record: down the tree, a page a level, then its own pages in one run."""
        with self.map.begin(buffers=False) as transaction:
            return self._found(transaction.get(_key(number)), tally, self.depth)

    def walk(self, first: int, tally: Tally) -> Iterator[Sample]:
        """The samples from number `first` on, by a cursor: the pages of the tree are passed once in all."""
        with self.map.begin(buffers=False) as transaction:
            cursor = transaction.cursor()
            passed = -(-self.leaves * (self.entries - first) // max(self.entries, 1))  # the rest of the tree's pages
            tally.read(passed * self.page, passed)
            found = cursor.set_key(_key(first))
            while found:
                yield self._found(cursor.value(), tally, 0)
                found = cursor.next()

    def _found(self, record: bytes | None, tally: Tally, levels: int) -> Sample:
        if record is None:
            raise ValueError("there is no such record")
        own = self.overflow(len(record))
        tally.read((levels + own) * self.page, levels + bool(own))
        return Sample.of_record(record)


def _key(number: int) -> bytes:
    return struct.pack(">Q", number)
