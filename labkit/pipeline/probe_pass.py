"""One pass of a loader and a step, timed on both sides of the queue; whatever goes wrong is told in one line."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable
from typing import Any

import psutil

from labkit.device import pick
from labkit.errors import LabkitError
from labkit.pipeline.probe_batch import octets, samples
from labkit.pipeline.probe_loader import Watched
from labkit.pipeline.probe_machine import Busy
from labkit.pipeline.trace import Trace


def run(
    watched: Watched,
    step: Callable[[Any], Any] | None,
    *,
    most: int | None = None,
    budget_s: float = math.inf,
    patience_s: float | None = None,
    from_first: bool = False,
    to: str | None = None,
    keep: list[Any] | None = None,
    every: Callable[[int], None] | None = None,
    end: bool = True,
) -> Trace:
    """One pass, as it happened.

    Args:
        watched: the loader.
        step: None for a pass that only reads.
        most: the most batches.
        budget_s: the most seconds; the batch that is due then is still waited for.
        from_first: the budget counts from the first batch on, however long the workers take to start.
        patience_s: a worker that is silent beyond so many seconds is taken to hang; the budget where it isn't given.
        to: a device for the batches.
        keep: batches are appended to it as they come.
        every: called after each step with the number of batches so far.
        end: end the workers afterwards; otherwise persistent ones stay for the next pass.
    """
    synchronise, move = waiting(), _mover(to)
    clock = time.perf_counter
    asked: list[float] = []
    taken: list[float] = []
    moved: list[float] = []
    ended: list[float] = []
    counts: list[int] = []
    size = -1.0
    ending = "loader"
    limit = math.inf if most is None else most
    machine = Busy()
    trainer = time.process_time()
    begin = clock()
    until = begin + budget_s
    try:
        if from_first:
            until = math.inf
        source = _guard(watched, 0, lambda: watched.begin(begin + (budget_s if patience_s is None else patience_s)))
        iterated = clock()
        machine.begin(watched.pids.values())
        batch = None
        while True:
            if len(ended) >= limit:
                ending = "batches"
                break
            now = clock()
            if now >= until:
                ending = "budget"
                break
            try:
                batch = next(source)
            except StopIteration:
                break
            except Exception as error:
                raise _fault(watched, len(ended), error) from error
            asked.append(now)
            taken.append(clock())
            if move is not None:
                batch = move(batch)
                synchronise()
            moved.append(taken[-1] if move is None else clock())
            if step is not None:
                try:
                    step(batch)
                except Exception as error:
                    raise _step_fault(len(ended), error) from error
                synchronise()
            ended.append(clock())
            counts.append(samples(batch))
            if from_first and len(ended) == 1:
                until = ended[0] + budget_s
            if size < 0:
                size = octets(batch)
            if keep is not None:
                keep.append(batch)
            if every is not None:
                every(len(ended))
        trainer = time.process_time() - trainer
        others = machine.others()
        states = watched.states()
    except BaseException:
        watched.end()
        raise
    inner = watched.inner
    if end or inner is None or not inner.persistent_workers:
        del source
        watched.end()
    made = watched.made()
    return Trace(
        begin=begin,
        iterated=iterated,
        asked=tuple(asked),
        taken=tuple(taken),
        moved=tuple(moved),
        ended=tuple(ended),
        made=tuple(made[: len(ended)]) if len(made) >= len(ended) else (),
        samples=tuple(counts),
        octets=size,
        workers=watched.workers,
        prefetch_factor=None if inner is None else inner.prefetch_factor,
        in_order=True if inner is None else bool(getattr(inner, "in_order", True)),
        pids=tuple(pid for _, pid in sorted(watched.pids.items())),
        states=tuple(states),
        trainer_cpu=trainer,
        others=others,
        ending=ending,
        device=to or pick(),
        synchronised=True,
    )


def waiting() -> Callable[[], None]:
    """What to call so that the device has done its work before the clock is read."""
    if pick() == "cuda":
        import torch

        return torch.cuda.synchronize
    return _at_once


def _mover(to: str | None) -> Callable[[Any], Any] | None:
    """How to move a batch to a device; None where nothing is to be moved."""
    if to is None:
        return None
    from torch.utils._pytree import tree_map

    return lambda batch: tree_map(lambda leaf: leaf.to(to) if hasattr(leaf, "to") else leaf, batch)


def _at_once() -> None:
    """Nothing to wait for: a CPU has done its work when a call returns."""


def _guard(watched: Watched, batch: int, call: Callable[[], Any]) -> Any:
    try:
        return call()
    except Exception as error:
        raise _fault(watched, batch, error) from error


def _step_fault(number: int, error: Exception) -> LabkitError:
    return LabkitError(f"the step raised at step {number}: {_told(error)}: call it by hand on one batch to see more")


def _fault(watched: Watched, batch: int, error: Exception) -> LabkitError:
    """One line for whatever a loader raised: the batch, the worker, the original error."""
    if isinstance(error, LabkitError):
        packing = watched.packing_error()
        reason = f"a worker couldn't send its batch: {packing}" if packing else str(error)
        return LabkitError(f"the loader gave no batch {batch}: {reason}")
    text = str(error)
    where = re.search(r"DataLoader worker process (\d+)", text)
    if where:  # torch repeats the worker's traceback; its last line is the original error
        lines = [line for line in text.splitlines() if line.strip()]
        return LabkitError(f"the loader raised at batch {batch}, in worker {where[1]}: {lines[-1].strip()}")
    dead = re.search(r"worker \(pid(?:\(s\))? (\d+)[^)]*\)(.*)", text, re.DOTALL)
    if dead:
        names = {pid: number for number, pid in watched.pids.items()}
        who = f"worker {names.get(int(dead[1]), '?')} (pid {dead[1]})"
        packing = watched.packing_error()
        return LabkitError(f"the loader lost {who} before batch {batch}: {packing or ' '.join(dead[2].split())}")
    if isinstance(error, EOFError | ConnectionError):  # as it looks from here when a worker ends while it sends
        for number, pid in watched.pids.items():
            if _ended(pid):
                how = "it ended while it sent a batch"
                return LabkitError(f"the loader lost worker {number} (pid {pid}) before batch {batch}: {how}")
    return LabkitError(f"the loader raised at batch {batch}: {_told(error)}")


def _ended(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


def _told(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
