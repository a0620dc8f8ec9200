"""In the process that reads: a data set and a collate function that note what passes, and change nothing else.

The notes ride in the batch itself, so they come back from worker processes in the order in which batches are handed
over, and what was read ahead and never handed over isn't counted.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from typing import Any

import cloudpickle

from labkit.sharding import identity
from labkit.sharding.fingerprints import content, generators


@dataclass(frozen=True)
class Entry:
    """One sample as it passed: its id (map-style: the index underneath), the index asked for, a digest."""

    id: Hashable
    local: int | None
    digest: str | None


@dataclass(frozen=True)
class Draws:
    """One batch's generators: where they stood before its first sample, and whether a sample moved them."""

    stood: dict[str, int]
    moved: frozenset[str]


@dataclass
class Carrier:
    """A batch and its notes, on the way from the process that read it. Isn't pinned or converted by DataLoader."""

    batch: Any
    entries: list[Entry]
    worker: int
    draws: Draws | None
    how: str
    problem: str = ""


@dataclass
class Tap:
    """What has passed since the last batch. Each process has its own copy."""

    sample_id: identity.SampleId
    entries: list[Entry] = field(default_factory=list)
    how: str = ""
    problem: str = ""
    seen: int = 0
    stood: dict[str, int] | None = None
    moved: frozenset[str] = frozenset()
    _before: dict[str, int] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """For workers that are spawned: a `sample_id` typed in a notebook is sent by value."""
        return {**self.__dict__, "sample_id": cloudpickle.dumps(self.sample_id)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.sample_id = cloudpickle.loads(state["sample_id"])

    def before(self, dataset: Any) -> None:
        """A sample is about to be read. The first two of a batch are enough to see what is drawn."""
        self._before = generators(dataset) if self.seen < 2 else None
        if self.seen == 0:
            self.stood = self._before

    def after(self, dataset: Any) -> None:
        """It has been read. An iterable's first read may also shuffle, so the second one decides where there is one."""
        if self._before is not None:
            now = generators(dataset)
            self.moved = frozenset(name for name, stood in self._before.items() if now.get(name) != stood)
        self.seen += 1

    def mapped(self, dataset: Any, index: Any, sample: Any) -> None:
        """Note a sample of a map-style data set, or several where the index is a list of them."""
        if isinstance(index, list | tuple) and not hasattr(index, "_fields") and self.sample_id is None:
            try:
                self.entries += [Entry(identity.root_index(dataset, i), _whole(i), None) for i in index]
                self.how = "index"
                return
            except Exception:
                pass  # the index is one composite value after all
        if self.sample_id is not None:
            self._named(sample, _whole(index))
            return
        self.how = "index"
        try:
            root = identity.root_index(dataset, index)
        except Exception:  # a look-alike of Subset whose indices mean something else
            root = identity.root_index(None, index)
        self.entries.append(Entry(root, _whole(index), content(sample)))

    def streamed(self, item: Any, batched: bool) -> None:
        """Note an item of an iterable data set: one sample, or a batch where the loader doesn't collate."""
        if batched and self.sample_id is None:
            self.how, ids = identity.rows_in(item)
            self.entries += [Entry(one, None, None) for one in ids]
        else:
            self._named(item, None)

    def _named(self, sample: Any, local: int | None) -> None:
        try:
            self.how, ids = identity.ids_in(sample, self.sample_id)
        except identity.Unusable as problem:
            self.problem = self.problem or str(problem)
            self.entries.append(Entry("?", local, None))
            return
        self.entries += [Entry(one, local, None) for one in ids]

    def take(self, batch: Any) -> Carrier:
        """The batch with everything noted since the last one."""
        from torch.utils.data import get_worker_info

        info = get_worker_info()
        draws = None if self.stood is None else Draws(self.stood, self.moved)
        carrier = Carrier(batch, self.entries, info.id if info else -1, draws, self.how, self.problem)
        self.clear()
        return carrier

    def clear(self) -> None:
        """Forget what no batch took."""
        self.entries, self.problem, self.seen, self.stood, self.moved = [], "", 0, None, frozenset()


def _whole(index: Any) -> int | None:
    """The index as a number, where it is one."""
    value = identity.plain(index)
    return value if isinstance(value, int) else None


class _Watched:
    """Stands in for a data set: attributes, length and `isinstance` are the data set's own."""

    def __init__(self, real: Any, tap: Tap) -> None:
        self.__dict__["_labkit_real"] = real
        self.__dict__["_labkit_tap"] = tap

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return self._labkit_real.__class__

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_labkit"):
            raise AttributeError(name)
        return getattr(self._labkit_real, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._labkit_real, name, value)

    def __len__(self) -> int:
        return len(self._labkit_real)

    def __reduce__(self) -> Any:
        return type(self), (self._labkit_real, self._labkit_tap)


class WatchedMap(_Watched):
    """A map-style data set that notes which indices are asked for and what they hold."""

    def __getitem__(self, index: Any) -> Any:
        real, tap = self._labkit_real, self._labkit_tap
        tap.before(real)
        sample = real[index]
        tap.after(real)
        tap.mapped(real, index, sample)
        return sample

    def __getattr__(self, name: str) -> Any:
        value = super().__getattr__(name)
        if name != "__getitems__" or not value:
            return value
        real, tap = self._labkit_real, self._labkit_tap

        def many(indices: list[Any]) -> Any:
            tap.before(real)
            samples = value(indices)
            tap.after(real)
            for index, sample in zip(indices, samples, strict=False):
                tap.mapped(real, index, sample)
            return samples

        return many


class WatchedStream(_Watched):
    """An iterable data set that notes what it yields."""

    def __init__(self, real: Any, tap: Tap, batched: bool) -> None:
        super().__init__(real, tap)
        self.__dict__["_labkit_batched"] = batched

    def __reduce__(self) -> Any:
        return type(self), (self._labkit_real, self._labkit_tap, self._labkit_batched)

    def __iter__(self) -> Iterator[Any]:
        self._labkit_tap.clear()
        return _Stream(iter(self._labkit_real), self._labkit_real, self._labkit_tap, self._labkit_batched)


class _Stream:
    """The iterator of a `WatchedStream`; its state, where it has one, is the real iterator's."""

    def __init__(self, real: Iterator[Any], dataset: Any, tap: Tap, batched: bool) -> None:
        self._labkit = (real, dataset, tap, batched)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        real, dataset, tap, batched = self._labkit
        tap.before(dataset)
        item = next(real)
        tap.after(dataset)
        tap.streamed(item, batched)
        return item

    def __getattr__(self, name: str) -> Any:
        if name == "_labkit":
            raise AttributeError(name)
        return getattr(self._labkit[0], name)


@dataclass
class WatchedCollate:
    """A collate function whose batches carry the notes."""

    real: Callable[[Any], Any]
    tap: Tap

    def __call__(self, data: Any) -> Carrier:
        """Collate, and hand over the notes with the batch."""
        return self.tap.take(self.real(data))


def watch(loader: Any, sample_id: identity.SampleId) -> None:
    """Make a DataLoader's batches carry notes. Again on the same loader, or on one built from its parts: no change."""
    from torch.utils.data import _DatasetKind

    dataset, collate = loader.dataset, loader.collate_fn
    if type(dataset) in (WatchedMap, WatchedStream):
        if type(collate) is WatchedCollate and collate.tap is dataset._labkit_tap:
            return
        dataset = dataset._labkit_real
    if type(collate) is WatchedCollate:
        collate = collate.real
    tap = Tap(sample_id)
    if loader._dataset_kind == _DatasetKind.Iterable:
        watched: Any = WatchedStream(dataset, tap, loader.batch_size is None)
    else:
        watched = WatchedMap(dataset, tap)
    loader.__dict__["dataset"] = watched  # DataLoader refuses this by assignment once it is built
    loader.__dict__["collate_fn"] = WatchedCollate(collate, tap)


def unwatched(dataset: Any) -> Any:
    """The data set itself, watched or not."""
    return dataset._labkit_real if type(dataset) in (WatchedMap, WatchedStream) else dataset
