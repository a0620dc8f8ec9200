"""What one rank does in an audit: build the loader as the job does, walk its epochs, note everything."""

from __future__ import annotations

import inspect
import random
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from labkit.errors import UsageError
from labkit.sharding.identity import SampleId
from labkit.sharding.recorder import Recorder
from labkit.sharding.setup import plain_setup, probe
from labkit.sharding.spool import Spool

MOST_STEPS = 100_000  # an epoch that is longer has no end, as far as an audit is concerned


@dataclass(frozen=True)
class Job:
    """What every rank of an audit is told."""

    folder: str
    ranks: int
    epochs: int
    first_epoch: int
    steps: int | None
    sample_id: SampleId
    on_epoch: Callable[[Any, int], Any] | None


def walk(rank: int, make_loader: Callable[..., Any], job: Job) -> None:
    """Build and walk the loader; everything learnt is in this rank's spool when it returns."""
    spool = Spool(job.folder, rank)
    try:
        with Recorder(rank, spool, job.sample_id) as recorder:
            _seed(rank)
            warnings.filterwarnings(
                "ignore", "This DataLoader will create"
            )  # ranks share one machine here, not in the job
            try:
                loader = build(make_loader, rank, job.ranks)
            except UsageError as error:
                spool.put("usage", str(error))
                return
            except Exception as error:
                spool.put("unbuilt", type(error).__name__, _line(error), traceback.format_exc())
                return
            recorder.built(loader)
            if not hasattr(type(loader), "__iter__") and not hasattr(type(loader), "__getitem__"):
                spool.put("usage", f"make_loader returned {type(loader).__name__}: return something to iterate over")
                return
            _epochs(loader, recorder, spool, job)
            if not recorder.loaders:
                spool.put("setup", 0, plain_setup(loader))
            for number, one in enumerate(recorder.loaders):
                spool.put("probe", number, probe(one.dataset))
            spool.put("end")
    finally:
        spool.close()


def _epochs(loader: Any, recorder: Recorder, spool: Spool, job: Job) -> None:
    once = iter(loader) is loader if isinstance(loader, Iterator) else False
    for epoch in range(job.first_epoch, job.first_epoch + (1 if once else job.epochs)):
        recorder.epoch, step = epoch, 0
        try:
            if job.on_epoch is not None:
                job.on_epoch(loader, epoch)
            said = _length(loader)
            batches = iter(loader)
            while job.steps is None or step < job.steps:
                if step == MOST_STEPS:
                    spool.put("endless", epoch)
                    return
                try:
                    batch = next(batches)
                except StopIteration:
                    break
                recorder.step(epoch, step, batch)
                step += 1
            recorder.rest(epoch)
            whole = job.steps is None or step < job.steps
            spool.put("epoch", epoch, step, said, whole)
            del batches
        except UsageError as error:
            spool.put("usage", _line(error))
            return
        except Exception as error:
            spool.put("raised", epoch, step, type(error).__name__, _line(error), traceback.format_exc())
            return
    if once and job.epochs > 1:
        spool.put("once")


def build(make_loader: Callable[..., Any], rank: int, ranks: int) -> Any:
    """Call `make_loader` with as much of (rank, ranks) as it asks for.

    Raises:
        UsageError: it asks for more than that.
    """
    try:
        parameters = list(inspect.signature(make_loader).parameters.values())
    except (TypeError, ValueError):  # some built-ins have no signature
        return make_loader()
    named = {p.name for p in parameters if p.kind is not p.VAR_KEYWORD}
    by_place = [
        p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.default is p.empty
    ]
    if len(by_place) > 2:
        names = ", ".join(p.name for p in by_place)
        raise UsageError(f"make_loader({names}) needs {len(by_place)} arguments: it is called with (rank, ranks) or ()")
    given = {name: value for name, value in (("rank", rank), ("ranks", ranks)) if name in named}
    if len(given) >= len(by_place):
        return make_loader(**given)
    return make_loader(*(rank, ranks)[: len(by_place)])


def _seed(rank: int) -> None:
    """As in a job that seeds nothing: every rank draws its own numbers. They are the same in every audit."""
    import numpy as np
    import torch

    random.seed(1000 + rank)
    np.random.seed(1000 + rank)  # noqa: NPY002  the state that a job's own code draws from
    torch.manual_seed(1000 + rank)


def _length(loader: Any) -> int | None:
    try:
        return len(loader)
    except Exception:  # TypeError where there is none; a caller's __len__ may raise anything
        return None


def _line(error: BaseException) -> str:
    """The error's own line; a worker's arrives with its whole traceback in the text, the line last."""
    lines = [line.strip() for line in str(error).strip().splitlines() if line.strip()] or [type(error).__name__]
    line = lines[-1] if lines[0].startswith("Caught ") else lines[0]
    return line.removeprefix(f"{type(error).__name__}: ")
