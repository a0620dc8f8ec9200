"""Where accelerate's own removal of the borrowed tail goes wrong, each run live on real ranks beside the right value.

`gather_for_metrics` gathers every rank's rows and cuts the last step's to `length of the data set % global batch`. That
is by position, so it is wrong where the length is unknown or means something else, and where what is gathered doesn't
have one row a sample. Needs accelerate (`pip install "labkit[labs]"`).
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from labkit.errors import UsageError

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Pitfall:
    """One situation, run on real ranks.

    Attributes:
        name: a short name.
        setting: samples, batch size, ranks and flags, in words.
        seen: what accelerate gave: a number of samples, a mean, steps by rank, or an error's line.
        right: what is right.
        why: the reason, in a sentence.
    """

    name: str
    setting: str
    seen: Any
    right: Any
    why: str

    @property
    def wrong(self) -> bool:
        """Whether what accelerate gave isn't what is right."""
        return bool(self.seen != self.right)


def sized_stream() -> Pitfall:
    """An iterable data set with a length, every rank reading for itself."""
    ids = _gathered(_stream(9, sized=True), 2, 2, dispatch_batches=False)
    return Pitfall(
        "stream with a length",
        "9 samples from an iterable with __len__, batches of 2, 2 ranks, dispatch_batches=False",
        _count(ids),
        9,
        "The shard of the stream reports its own rounded length, so the remainder comes out as 0 and nothing is cut.",
    )


def nameless_batches() -> Pitfall:
    """A batch sampler that doesn't say its batch size."""
    ids = _gathered(_own_batches(10, 2), 2, 2)
    return Pitfall(
        "batch sampler without batch_size",
        "10 samples, own batch sampler with batches of 2 and no batch_size, 2 ranks",
        _count(ids),
        10,
        "The remainder can't be computed without a batch size; the error is swallowed and nothing is cut.",
    )


def scalar_per_step() -> Pitfall:
    """A rank's mean, gathered once a step instead of once a sample."""
    seen = _run(2, _rank_means, 9, 4)
    return Pitfall(
        "one mean a rank and step",
        "values 0 to 8, batches of 4, 2 ranks: each rank's mean gathered, then averaged",
        seen,
        4.0,
        "The last step is cut to 1 row, meant as one sample; here a row is a rank's mean, borrowed values too, and "
        "unequal means count as equals.",
    )


def uneven_batches() -> Pitfall:
    """Ranks that take unequal steps gather in every step."""
    seen = _gathered(_numbers(9), 2, 2, even_batches=False)
    return Pitfall(
        "even_batches=False",
        "9 samples, batches of 2, 2 ranks, even_batches=False, a gather in every step",
        seen if isinstance(seen, str) else _count(seen),
        9,
        "One rank has a step more than the other, and its last batch is short: the gather has no partner.",
    )


def dispatch_with_too_few() -> Pitfall:
    """Rank 0 reads one sample for three ranks."""
    seen = _gathered(_numbers(1), 1, 3, dispatch_batches=True)
    return Pitfall(
        "dispatch, fewer samples than ranks",
        "1 sample, batches of 1, 3 ranks, dispatch_batches=True",
        seen if isinstance(seen, str) else _count(seen),
        1,
        "One sample is filled up with itself, once: two ranks get it and the third gets an empty batch.",
    )


def promised_length() -> Pitfall:
    """len() of a split loader whose tail isn't filled up."""
    seen = _run(2, _lengths, 9, 4)
    return Pitfall(
        "len() with split_batches",
        "9 samples, batches of 4 split on 2 ranks, even_batches=False: (len(loader), steps) of each rank",
        seen,
        [(3, 3), (2, 2)],
        "len() counts the whole batches for every rank; the last one holds a single sample, and only rank 0 gets it.",
    )


def after_skipping() -> Pitfall:
    """The tail after skip_first_batches."""
    seen = _run(2, _skipped, 9, 2, 1)
    return Pitfall(
        "skip_first_batches",
        "9 samples, batches of 2, 2 ranks, the first step of each skipped",
        seen if isinstance(seen, str) else _count(seen),
        5,
        "The sampler that skips doesn't say its batch size, so the remainder can't be computed and nothing is cut.",
    )


PITFALLS: tuple[Callable[[], Pitfall], ...] = (
    sized_stream,
    nameless_batches,
    scalar_per_step,
    uneven_batches,
    dispatch_with_too_few,
    promised_length,
    after_skipping,
)
"""The situations, in the order of `all_pitfalls`."""


def all_pitfalls() -> list[Pitfall]:
    """Run every situation on real ranks (about a second each).

    Raises:
        UsageError: accelerate isn't installed.
    """
    return [one() for one in PITFALLS]


def frame(pitfalls: Sequence[Pitfall]) -> pd.DataFrame:
    """One row for each: name, setting, seen, right, why."""
    import pandas as pd

    columns = ("name", "setting", "seen", "right", "why")
    return pd.DataFrame([{name: getattr(p, name) for name in columns} for p in pitfalls])


def need_accelerate() -> None:
    """Stop with one line where accelerate is missing.

    Raises:
        UsageError: accelerate isn't installed.
    """
    if importlib.util.find_spec("accelerate") is None:
        raise UsageError('accelerate is not installed: pip install "labkit[labs]" brings it')


def prepare(loader: Any, **options: Any) -> tuple[Any, Any]:
    """In a rank: an Accelerator with these DataLoaderConfiguration options, and the loader it prepares."""
    import accelerate.utils  # type: ignore[import-untyped]

    accelerator = accelerate.Accelerator(
        cpu=True, dataloader_config=accelerate.utils.DataLoaderConfiguration(**options)
    )
    return accelerator, accelerator.prepare(loader)


def _run(ranks: int, fn: Callable[..., Any], *args: Any) -> Any:
    """Rank 0's result, or the line of the error that ended the run."""
    from labkit import ranks as real

    need_accelerate()
    try:
        return real.run(fn, *args, ranks=ranks, timeout=30)[0]
    except real.RankError as error:
        return f"error: {error}"


def _gathered(make_loader: Callable[[int], Any], batch: int, ranks: int, **options: Any) -> Any:
    return _run(ranks, _gather_ids, make_loader, batch, options)


def _gather_ids(rank: int, make_loader: Callable[[int], Any], batch: int, options: dict[str, Any]) -> list[int]:
    accelerator, loader = prepare(make_loader(batch), **options)
    return [int(one) for values in loader for one in accelerator.gather_for_metrics(values)]


def _rank_means(rank: int, size: int, batch: int) -> float:
    import torch

    accelerator, loader = prepare(_numbers(size)(batch))
    means = [accelerator.gather_for_metrics(values.float().mean().reshape(1)) for values in loader]
    return float(torch.cat(means).mean())


def _lengths(rank: int, size: int, batch: int) -> list[tuple[int, int]]:
    import torch.distributed as dist

    _, loader = prepare(_numbers(size)(batch), split_batches=True, even_batches=False)
    pairs: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(pairs, (len(loader), sum(1 for _ in loader)))
    return pairs


def _skipped(rank: int, size: int, batch: int, skip: int) -> list[int]:
    from accelerate import skip_first_batches

    accelerator, loader = prepare(_numbers(size)(batch))
    rest = skip_first_batches(loader, skip)
    return [int(one) for values in rest for one in accelerator.gather_for_metrics(values)]


def _count(ids: Any) -> Any:
    return ids if isinstance(ids, str) else len(ids)


def _numbers(size: int) -> Callable[[int], Any]:
    def make(batch: int) -> Any:
        import torch
        from torch.utils.data import DataLoader

        return DataLoader(torch.arange(size), batch)  # type: ignore[arg-type]

    return make


def _stream(size: int, sized: bool) -> Callable[[int], Any]:
    def make(batch: int) -> Any:
        from torch.utils.data import DataLoader, IterableDataset

        class Stream(IterableDataset[int]):
            def __iter__(self) -> Any:
                return iter(range(size))

        class SizedStream(Stream):
            def __len__(self) -> int:
                return size

        return DataLoader(SizedStream() if sized else Stream(), batch)

    return make


def _own_batches(size: int, batch: int) -> Callable[[int], Any]:
    def make(_: int) -> Any:
        import torch
        from torch.utils.data import DataLoader

        class Batches:
            def __iter__(self) -> Any:
                return (list(range(i, min(i + batch, size))) for i in range(0, size, batch))

            def __len__(self) -> int:
                return -(-size // batch)

        return DataLoader(torch.arange(size), batch_sampler=Batches())  # type: ignore[arg-type]

    return make
