"""How a loader is put together, read from its attributes: what it says it does, beside what the ledger saw."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any

from labkit.sharding import identity
from labkit.sharding.fingerprints import content
from labkit.sharding.watching import unwatched


@dataclass(frozen=True)
class Setup:
    """One rank's loader.

    Attributes:
        kind: "map", "iterable", or "plain" where no DataLoader was found.
        loader: the type of what `make_loader` returned.
        dataset: the type of the data set underneath.
        samplers: types of its samplers and batch samplers, outermost first.
        length: samples the data set says it has; None if it doesn't say.
        batch_size: samples a batch; None if it doesn't say.
        workers: worker processes of this rank.
        persistent: whether they live on from epoch to epoch.
        drop_last: whether some part is told to drop what doesn't fill up.
        shuffles: whether it is told to shuffle; None if nothing says so.
        replacement: whether samples are drawn with replacement.
        shares: for each part that shards by rank, how many shares it makes.
        epoch_setters: parts with a `set_epoch`: "sampler", "dataset".
        indices: the samples of a `Subset`, as places in the data set underneath; None where all of it is read.
        indices_digest: tells whether two ranks have the same `Subset`.
    """

    kind: str
    loader: str
    dataset: str = ""
    samplers: tuple[str, ...] = ()
    length: int | None = None
    batch_size: int | None = None
    workers: int = 0
    persistent: bool = False
    drop_last: bool = False
    shuffles: bool | None = None
    replacement: bool = False
    shares: tuple[int, ...] = ()
    epoch_setters: tuple[str, ...] = ()
    indices: tuple[Hashable, ...] | None = None
    indices_digest: str | None = None


def setup_of(loader: Any, outer: Any) -> Setup:
    """Read a DataLoader's set-up. `outer` is what `make_loader` returned, which may wrap it."""
    dataset = unwatched(loader.dataset)
    samplers = list(_samplers(loader))
    layers = list(_layers(dataset))
    root = identity.root_of(dataset)
    parts = [loader, *samplers, *layers, outer]
    shares = [n for part in [*samplers, *layers] for n in [_share_count(part)] if n is not None]
    told = [part.shuffle for part in samplers if isinstance(getattr(part, "shuffle", None), bool)]
    told += [True for part in samplers if isinstance(getattr(part, "replacement", None), bool)]
    told += [False for part in samplers if type(part).__name__ == "SequentialSampler"]
    stages = [_stage_name(stage) for stage in getattr(dataset, "pipeline", None) or ()]
    told += [True for name in stages if "shuffle" in name or "resample" in name]
    setters = [n for n, some in (("sampler", samplers), ("dataset", layers)) if any(_sets_epoch(p) for p in some)]
    mapped = not _iterable(loader)
    indices = _indices(dataset) if mapped else None
    return Setup(
        kind="map" if mapped else "iterable",
        loader=_outer_name(outer, loader),
        dataset=type(root).__name__,
        samplers=tuple(type(one).__name__ for one in samplers),
        length=_length(_source(dataset)),
        batch_size=_batch_size([*samplers, loader]),
        workers=int(loader.num_workers),
        persistent=bool(loader.persistent_workers),
        drop_last=any(getattr(p, name, False) is True for p in parts for name in ("drop_last", "_drop_last")),
        shuffles=any(told) if told else None,
        replacement=any(getattr(one, "replacement", False) is True for one in samplers)
        or any("resample" in name for name in stages),
        shares=tuple(shares),
        epoch_setters=tuple(setters),
        indices=indices,
        indices_digest=None if indices is None else content(list(indices)),
    )


def plain_setup(outer: Any) -> Setup:
    """The set-up of something that holds no DataLoader."""
    return Setup("plain", type(outer).__name__)


def probe(dataset: Any) -> str | None:
    """A digest of the data set's type, length and first, middle and last sample, read with all generators at one seed.

    Equal on two ranks: the same data, so an index means the same sample on both. None if it can't be read.
    """
    import random

    import numpy as np
    import torch

    root = identity.root_of(unwatched(dataset))
    try:
        size = len(root)
        parts: list[Any] = [type(root).__qualname__, size]
        for i in sorted({0, size // 2, size - 1}) if size else []:
            random.seed(0)
            np.random.seed(0)  # noqa: NPY002  the state that a data set's code draws from
            torch.manual_seed(0)
            parts.append(content(root[i]))
    except Exception:  # the caller's code: whatever it raises, the answer is "can't be told"
        return None
    return None if any(part is None for part in parts) else content(parts)


def _samplers(loader: Any) -> Iterator[Any]:
    """Every sampler and batch sampler of a loader, outermost first, each once."""
    seen: list[Any] = []
    queue = [getattr(loader, "batch_sampler", None), getattr(loader, "sampler", None)]
    while queue:
        one = queue.pop(0)
        if one is None or any(one is other for other in seen) or len(seen) > 12:
            continue
        if type(one).__name__ == "_InfiniteConstantSampler":  # torch's filler for iterable data sets
            continue
        seen.append(one)
        yield one
        queue += [getattr(one, "batch_sampler", None), getattr(one, "sampler", None)]


def _layers(dataset: Any) -> Iterator[Any]:
    """The data set and those it wraps."""
    for _ in range(12):
        yield dataset
        dataset = getattr(dataset, "dataset", None)
        if dataset is None:
            return


def _share_count(part: Any) -> int | None:
    for name in ("num_replicas", "num_processes"):
        value = getattr(part, name, None)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    return None


def _sets_epoch(part: Any) -> bool:
    """Whether a part has a `set_epoch` that a shuffle hangs on; accelerate's wrappers only pass it on."""
    return callable(getattr(part, "set_epoch", None)) and type(part).__name__ not in (
        "IterableDatasetShard",
        "BatchSamplerShard",
    )


def _iterable(loader: Any) -> bool:
    from torch.utils.data import _DatasetKind

    return bool(loader._dataset_kind == _DatasetKind.Iterable)


def _indices(dataset: Any) -> tuple[Hashable, ...] | None:
    root = identity.root_of(dataset)
    if root is dataset:
        return None
    try:
        return tuple(identity.root_index(dataset, i) for i in range(len(dataset)))
    except Exception:
        return None


def _source(dataset: Any) -> Any:
    """The data set that accelerate cuts up for the ranks; its wrapper's own length is that of one rank, rounded up."""
    while type(dataset).__name__ == "IterableDatasetShard":
        dataset = dataset.dataset
    return dataset


def _length(dataset: Any) -> int | None:
    try:
        return len(dataset)
    except Exception:  # TypeError where there is none; a caller's __len__ may raise anything
        return None


def _batch_size(parts: list[Any]) -> int | None:
    sizes = [getattr(part, "batch_size", None) for part in parts]
    return next((size for size in sizes if isinstance(size, int)), None)


def _stage_name(stage: Any) -> str:
    stage = getattr(stage, "f", getattr(stage, "func", stage))
    return str(getattr(stage, "__name__", type(stage).__name__)).lower()


def _outer_name(outer: Any, loader: Any) -> str:
    name = type(outer).__name__  # accelerate's wrappers claim the class of what they wrap; type() doesn't listen
    return name if name != "generator" else type(loader).__name__
