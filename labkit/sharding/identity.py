"""Which sample is it? The id of a sample as it passes, and the place of an index in the data set underneath."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any, TypeAlias

from labkit.sharding.fingerprints import content

SampleId: TypeAlias = "Callable[[Any], Any] | None"
ID_KEYS = ("sample_id", "id", "idx", "index", "uid")  # a dict's keys that name a sample, in this order


class Unusable(Exception):
    """An id that can't be used; its text says which and why."""


def ids_in(sample: Any, sample_id: SampleId) -> tuple[str, list[Hashable]]:
    """How samples are told apart, and the ids in `sample` (several where it is a batch already).

    The first that applies: the caller's `sample_id`; a webdataset sample's file and key; a dict's `id` or the like; the
    value itself where it is a number or text; else a digest of the content, by row where the item is a batch.

    Raises:
        Unusable: `sample_id` raised, or gave something that isn't hashable.
    """
    if sample_id is not None:
        try:
            given = sample_id(sample)
        except Exception as error:
            raise Unusable(
                f"sample_id raised {type(error).__name__} on a sample of type {type(sample).__name__}: {error}"
            ) from None
        return "sample_id", [_usable(one) for one in (given if isinstance(given, list) else _listed(given))]
    if isinstance(sample, Mapping):
        if "__key__" in sample:
            keys, url = sample["__key__"], sample.get("__url__", "")
            many = keys if isinstance(keys, list | tuple) else [keys]
            urls = url if isinstance(url, list | tuple) else [url] * len(many)
            return "key", [f"{u}:{k}" if u else str(k) for u, k in zip(urls, many, strict=False)]
        for name in ID_KEYS:
            if name in sample:
                try:
                    return "key", [_usable(one) for one in _listed(sample[name])]
                except Unusable:
                    break
    value = plain(sample)
    if value is not None:
        return "value", [value]
    return "content", [content(sample) or "unknown"]


def rows_in(batch: Any) -> tuple[str, list[Hashable]]:
    """Ids of a ready-made batch: a flat list or tensor of numbers or texts holds ids; else each row's content."""
    if isinstance(batch, Mapping) and any(name in batch for name in ("__key__", *ID_KEYS)):
        return ids_in(batch, None)
    listed = batch.tolist() if hasattr(batch, "tolist") and getattr(batch, "ndim", 0) == 1 else batch
    if isinstance(listed, list | tuple) and all(plain(one) is not None for one in listed):
        return "value", [plain(one) for one in listed]
    size = leading(batch)
    if size is None:
        return ids_in(batch, None)
    return "content", [content(_row(batch, i)) or "unknown" for i in range(size)]


def leading(batch: Any) -> int | None:
    """How many samples a batch holds: the length of its first tensor or list; None where that can't be seen."""
    if isinstance(batch, str | bytes) or batch is None:
        return None
    if hasattr(batch, "shape"):
        return int(batch.shape[0]) if len(batch.shape) else None
    if isinstance(batch, Mapping):
        return next((n for n in map(leading, batch.values()) if n is not None), None)
    if isinstance(batch, tuple) or (isinstance(batch, list) and batch and hasattr(batch[0], "shape")):
        inner = next((n for n in map(leading, batch) if n is not None), None)
        return len(batch) if inner is None else inner
    return len(batch) if isinstance(batch, list) else None


def _row(batch: Any, i: int) -> Any:
    if isinstance(batch, Mapping):
        return [_row(value, i) for value in batch.values()]
    if isinstance(batch, tuple) or (isinstance(batch, list) and batch and hasattr(batch[0], "shape")):
        return [_row(value, i) for value in batch]
    try:
        return batch[i]
    except (TypeError, IndexError, KeyError):
        return batch


def plain(value: Any) -> Hashable | None:
    """A number or text as a plain Python value; None for anything else."""
    if getattr(value, "ndim", None) == 0 and hasattr(value, "item"):
        value = value.item()
    return value if isinstance(value, int | str | bytes | float) else None


def _listed(value: Any) -> list[Any]:
    """Ids as a list: tensors and arrays of ids become their values, one id a list of one."""
    if hasattr(value, "tolist"):
        value = value.tolist()
        return value if isinstance(value, list) else [value]
    return [value]


def _usable(value: Any) -> Hashable:
    value = plain(value) if plain(value) is not None else value
    try:
        hash(value)
    except TypeError:
        text = repr(value)
        text = text if len(text) <= 60 else f"{text[:57]}..."
        raise Unusable(f"sample_id gave {text}, which isn't hashable: give a number, a text or a tuple") from None
    return value  # type: ignore[no-any-return]


def root_of(dataset: Any) -> Any:
    """The data set underneath `Subset`s (anything with `.dataset` and `.indices`)."""
    while _is_subset(dataset):
        dataset = dataset.dataset
    return dataset


def root_index(dataset: Any, index: Any) -> Hashable:
    """Where `index` of `dataset` lies in the data set underneath."""
    while _is_subset(dataset):
        index = dataset.indices[index]
        dataset = dataset.dataset
    value = plain(index)
    if value is not None:
        return value
    try:
        hash(index)
    except TypeError:
        return content(index) or repr(index)
    return index  # type: ignore[no-any-return]


def _is_subset(dataset: Any) -> bool:
    return hasattr(dataset, "indices") and hasattr(dataset, "dataset") and hasattr(dataset.indices, "__getitem__")
