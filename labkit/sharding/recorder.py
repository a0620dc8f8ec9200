"""In a rank: every DataLoader that is iterated hands its notes to this rank's ledger, whoever built or wraps it.

Two methods of torch's loader iterators are replaced while the recorder is on, and `__iter__` of accelerate's loaders
where accelerate is in use. accelerate's loaders cut, repeat and send batches to other ranks after torch's loader, so
there the sample numbers travel on inside the batch, as one more tensor, and are taken out when the step gets it.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any

from labkit.errors import UsageError
from labkit.sharding.identity import SampleId, leading, rows_in
from labkit.sharding.setup import Setup, setup_of
from labkit.sharding.spool import Spool
from labkit.sharding.watching import Carrier, watch

_ROWS, _BATCH = "labkit rows", "labkit batch"
_ACCELERATE = "accelerate.data_loader"


class Recorder:
    """Notes what one rank reads and what its steps get; a context manager that puts everything back."""

    def __init__(self, rank: int, spool: Spool, sample_id: SampleId) -> None:
        self.rank, self.spool, self.sample_id = rank, spool, sample_id
        self.outer: Any = None  # what make_loader returned
        self.epoch: int | None = None
        self.loaders: list[Any] = []
        self._serial = 0  # number of the next sample that this rank reads
        self._got: list[tuple[int, int]] = []  # (rank that read it, its number there) since the last step
        self._undo: list[Callable[[], None]] = []

    def __enter__(self) -> Recorder:
        from torch.utils.data.dataloader import _BaseDataLoaderIter

        recorder = self
        start, follow = _BaseDataLoaderIter.__init__, _BaseDataLoaderIter.__next__

        @functools.wraps(start)
        def begin(iterator: Any, loader: Any) -> None:
            recorder._prepare(loader)
            iterator._labkit_loader = loader
            start(iterator, loader)

        @functools.wraps(follow)
        def following(iterator: Any) -> Any:
            data = follow(iterator)
            return recorder._arrived(iterator, data) if isinstance(data, Carrier) else data

        self._replace(_BaseDataLoaderIter, "__init__", begin)
        self._replace(_BaseDataLoaderIter, "__next__", following)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for undo in reversed(self._undo):
            undo()

    def _replace(self, owner: Any, name: str, value: Any) -> None:
        before = getattr(owner, name)
        setattr(owner, name, value)
        self._undo.append(lambda: setattr(owner, name, before))

    def built(self, outer: Any) -> None:
        """`make_loader` has returned; accelerate, if it is used, has been imported by now."""
        self.outer = outer
        module = sys.modules.get(_ACCELERATE)
        for name in ("DataLoaderShard", "DataLoaderDispatcher", "SkipDataLoader"):
            if module is not None and hasattr(module, name):
                self._follow_rows(getattr(module, name), 0 if name == "DataLoaderDispatcher" else self.rank)

    def _follow_rows(self, owner: Any, reader: int) -> None:
        original = owner.__iter__

        @functools.wraps(original)
        def stepping(adapter: Any) -> Iterator[Any]:
            adapter.base_dataloader.__dict__["_labkit_rows"] = True
            for batch in original(adapter):
                if isinstance(batch, dict) and _ROWS in batch:
                    self._got += [(reader, int(row)) for row in batch[_ROWS]]
                    yield batch[_BATCH]
                else:
                    yield batch

        self._replace(owner, "__iter__", stepping)

    def _prepare(self, loader: Any) -> None:
        if not any(loader is one for one in self.loaders):
            self.loaders.append(loader)
            number = len(self.loaders) - 1
            setup: Setup = setup_of(loader, self.outer)
            self.spool.put("setup", number, setup)
        watch(loader, self.sample_id)

    def _arrived(self, iterator: Any, carrier: Carrier) -> Any:
        if carrier.problem:
            raise UsageError(carrier.problem)
        loader = iterator._labkit_loader
        number = next(i for i, one in enumerate(self.loaders) if one is loader)
        serials = range(self._serial, self._serial + len(carrier.entries))
        self._serial = serials.stop
        plain = [(e.id, e.local, e.digest) for e in carrier.entries]
        draws = None if carrier.draws is None else (carrier.draws.stood, carrier.draws.moved)
        self.spool.put("read", self.epoch, number, carrier.worker, carrier.how, serials.start, plain, draws)
        if loader.__dict__.get("_labkit_rows"):
            import torch

            return {_BATCH: carrier.batch, _ROWS: torch.tensor(list(serials), dtype=torch.int64)}
        self._got += [(self.rank, serial) for serial in serials]
        return carrier.batch

    def step(self, epoch: int, step: int, batch: Any) -> None:
        """A step has got its batch: note which samples came with it."""
        if not self.loaders:
            self._by_value(batch)
        self.spool.put("step", epoch, step, self._got, leading(batch))
        self._got = []

    def rest(self, epoch: int) -> None:
        """The epoch is over: what was read and reached no step."""
        self.spool.put("rest", epoch, len(self._got))
        self._got = []

    def _by_value(self, batch: Any) -> None:
        """No DataLoader anywhere: the ids are in the batch, or are read from it by the caller's `sample_id`."""
        from labkit.sharding.identity import Unusable, ids_in

        try:
            how, ids = ids_in(batch, self.sample_id) if self.sample_id else rows_in(batch)
        except Unusable as problem:
            raise UsageError(str(problem)) from None
        self.spool.put("read", self.epoch, 0, -1, how, self._serial, [(one, None, None) for one in ids], None)
        self._got = [(self.rank, self._serial + i) for i in range(len(ids))]
        self._serial += len(ids)
