"""`audit`: walk a loader on real ranks and say who read which sample, what came twice or never, and what is wrong."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from labkit import ranks as real_ranks
from labkit.errors import UsageError
from labkit.inputs import whole
from labkit.ranks import RankError
from labkit.sharding import rules_running, rules_sharing
from labkit.sharding.coverage import Coverage
from labkit.sharding.gathering import gather
from labkit.sharding.groups import checked
from labkit.sharding.identity import SampleId
from labkit.sharding.ledger import Ledger, Trouble
from labkit.sharding.rank_side import Job, walk


def audit(
    make_loader: Callable[..., Any],
    *,
    ranks: int = 4,
    epochs: int = 2,
    sample_id: SampleId = None,
    on_epoch: Callable[[Any, int], Any] | None = None,
    samples: int | Iterable[Hashable] | None = None,
    steps: int | None = None,
    groups: Sequence[Sequence[int]] | None = None,
    resumed: Callable[..., Any] | None = None,
    at: tuple[int, int] = (0, 1),
    timeout: float = 60,
) -> Coverage:
    """Walk `make_loader`'s loader on real ranks, and keep a ledger of the samples that every rank and worker read.

    Each rank calls `make_loader`, as the job does, and walks what it returns, epoch by epoch. Nothing has to change in
    the loader: torch's DataLoader (map-style, iterable, with or without workers), what accelerate prepares from one
    (shards and dispatch), torchdata's StatefulDataLoader, webdataset's loaders, and generators or classes around them.
    No model is run and no collective is made beyond the loader's own.

    What is counted is what the steps got. Samples that a worker read ahead, or that a wrapper dropped, are not.
    How samples are told apart: `sample_id`, if given; for a map-style data set the index (underneath any Subset) where
    all ranks hold the same data, else a digest of the content; for streams a webdataset sample's file and key, a dict's
    `id`, `idx`, `index`, `uid` or `sample_id`, the value itself where it is a number or text, else a digest of the
    content, so equal samples then count as one. Without any DataLoader a batch is taken for a list of ids, or its rows.

    Args:
        make_loader: called in every rank with as much of (rank, ranks) as it asks for; the process group is up.
        ranks: how many real ranks.
        epochs: how many epochs to walk; two are needed to see an order or a draw that repeats.
        sample_id: sample -> id (a number, a text, a tuple), or a list of ids where an item is a batch.
        on_epoch: called with (loader, epoch) before every epoch, for what the job does there, such as
            `loader.sampler.set_epoch(epoch)`.
        samples: what an epoch should cover, the ids or how many; by default the data set's length (or the Subsets'),
            for streams everything that was seen in any epoch.
        steps: stop every epoch after so many steps; what is missing can't be told then.
        groups: ranks that share their data on purpose, such as [[0, 1], [2, 3]]. By default neighbouring ranks in
            blocks of one size that get the same samples, step by step, while the blocks differ.
        resumed: builds the loader as the job does after a restart, going on at `at`; its order is compared.
        at: (epoch, step) at which `resumed` goes on.
        timeout: seconds for the walk; ranks that still wait then have hung.

    Raises:
        UsageError: a value can't be used, `make_loader` can't be sent to ranks or raises, or an id isn't hashable.
            What goes wrong while walking is a finding, not an error.
    """
    started = time.perf_counter()
    _check_callables(make_loader, sample_id=sample_id, on_epoch=on_epoch, resumed=resumed)
    epochs = whole("epochs", epochs, 1)
    steps = None if steps is None else whole("steps", steps, 1)
    wanted = _wanted(samples)
    if isinstance(ranks, int) and not isinstance(ranks, bool) and ranks > 0:
        checked(groups, ranks)

    def ledger_of(make: Callable[..., Any], first: int, many: int) -> Ledger:
        with tempfile.TemporaryDirectory(prefix="labkit-audit-") as folder:
            job = Job(folder, ranks, many, first, steps, sample_id, on_epoch)
            failure = None
            try:
                real_ranks.run(walk, make, job, ranks=ranks, timeout=timeout)
            except RankError as error:
                failure = Trouble(error.cause, error.rank, 0, error.step, str(error), error.traceback)
            return gather(
                folder,
                ranks,
                many,
                first_epoch=first,
                samples=wanted,
                groups=groups,
                capped=steps is not None,
                failure=failure,
            )

    ledger = ledger_of(make_loader, 0, epochs)
    findings = rules_running.running(ledger)
    torn = any(one.cause == "group-differs" for one in findings)  # then no rank stands for its group
    findings += rules_sharing.sharing(replace(ledger, groups=()) if torn else ledger)
    if resumed is not None:
        epoch, step = _position(at, epochs)
        again = ledger_of(resumed, epoch, epochs - epoch)
        one = rules_running.resumed(ledger, again, epoch, step)
        findings += [one] if one else []
    return Coverage(ledger, tuple(findings), time.perf_counter() - started)


def _check_callables(make_loader: Any, **others: Any) -> None:
    from labkit.ranks.payload import pack

    if not callable(make_loader):
        raise UsageError(
            f"make_loader is a {type(make_loader).__name__}: give a function that builds the loader, such as "
            "lambda rank, ranks: DataLoader(...)"
        )
    for name, value in others.items():
        if value is not None and not callable(value):
            raise UsageError(f"{name} is {value!r}: give a function")
    for name, value in {"make_loader": make_loader, **others}.items():
        if value is not None:
            try:
                pack(value, ())
            except UsageError as error:
                raise UsageError(f"{name}: {error}") from None


def _wanted(samples: Any) -> frozenset[Hashable] | int | None:
    if samples is None:
        return None
    if isinstance(samples, int) or not isinstance(samples, Iterable):
        return whole("samples", samples, 0)
    ids = samples.tolist() if hasattr(samples, "tolist") else list(samples)
    try:
        return frozenset(ids)
    except TypeError:
        bad = next(one for one in ids if getattr(type(one), "__hash__", None) is None)
        raise UsageError(f"samples holds {bad!r}, which isn't hashable: give numbers, texts or tuples") from None


def _position(at: Any, epochs: int) -> tuple[int, int]:
    try:
        epoch, step = (int(value) for value in at)
    except (TypeError, ValueError):
        raise UsageError(f"at is {at!r}: give (epoch, step), such as (1, 3)") from None
    if not 0 <= epoch < epochs or step < 0:
        raise UsageError(f"at is {at!r}: epochs 0 to {epochs - 1} are walked, and steps count from 0")
    return epoch, step
