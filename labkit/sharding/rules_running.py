"""How the epochs run: rules about steps, lengths, orders, random draws and what ended early. Each is one function."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from itertools import combinations, pairwise

from labkit.sharding.findings import Finding, count, every, listed
from labkit.sharding.ledger import Ledger, Stream, Trouble

ORDER_LEAST = 8  # samples of a rank below which two shuffled epochs may be alike by chance


def _ended_early(ledger: Ledger) -> Finding | None:
    """An exception, a dead process, a wait without end, an epoch without end."""
    if not ledger.troubles:
        return None
    first = min(ledger.troubles, key=lambda t: (t.epoch, t.step, t.rank))
    others = sorted({t.rank for t in ledger.troubles if t is not first and t.kind == first.kind and t.rank >= 0})
    also = f" (so {'did rank' if len(others) == 1 else 'did ranks'} {listed(others)})" if others else ""
    where = f"rank {first.rank}, epoch {first.epoch}, step {first.step}"
    if first.kind == "raised":
        return Finding(
            "raised",
            f"Rank {first.rank} raised in step {first.step} of epoch {first.epoch}{also}: {first.said}",
            (where, *_frames(first)),
            "Fix the exception: the other ranks would wait for this rank in their next collective."
            + (
                " An empty batch here means fewer samples than ranks."
                if "does not contain any data" in first.said
                else ""
            ),
        )
    if first.kind == "endless":
        return Finding(
            "endless",
            f"Rank {first.rank}'s epoch {first.epoch} has no end{also}: more than 100,000 steps.",
            (where,),
            "Say steps=... to audit a stream that never ends, or end the epoch (webdataset: with_epoch).",
        )
    fixes = {
        "died": "Find what ended the process: memory (see dmesg), a worker's crash, os._exit in the data set.",
        "hung": "All ranks must walk their loaders in step: a rank whose stream is shorter leaves the others waiting.",
    }
    return Finding(
        first.kind,
        f"{first.said[0].upper()}{first.said[1:]}.",
        tuple(f"rank {r}: {listed_steps(ledger, r)}" for r in range(ledger.ranks)),
        fixes.get(
            first.kind,
            "Loaders that send batches to other ranks make collectives: every rank must take the same steps.",
        ),
    )


def listed_steps(ledger: Ledger, rank: int) -> str:
    """How far a rank got."""
    return ", ".join(f"{len(ledger.walks[epoch, rank])} steps in epoch {epoch}" for epoch in range(ledger.epochs))


def _frames(trouble: Trouble) -> tuple[str, ...]:
    """The line of the caller's own code where it was raised."""
    lines = [line.strip() for line in trouble.traceback.splitlines() if line.strip().startswith("File ")]
    return (lines[-1],) if lines else ()


def _no_steps(ledger: Ledger) -> Finding | None:
    """A rank without a single step, or a data set without a sample."""
    if ledger.troubles:
        return None
    for epoch in range(ledger.epochs):
        idle = [rank for rank, steps in enumerate(ledger.steps(epoch)) if not steps]
        if not idle or not all((epoch, rank) in ledger.whole for rank in idle):
            continue
        setup = ledger.setups[idle[0]] or ledger.setup
        length = setup.length if setup else None
        if length == 0 or (len(idle) == ledger.ranks and not ledger.samples):
            return Finding(
                "empty-data",
                "The data set holds no sample: no rank takes a step.",
                (f"len(dataset) is {length}" if length is not None else "the stream yields nothing on any rank",),
                "Look at the path, the filter and the split that the data set is made from.",
            )
        who = "No rank takes" if len(idle) == ledger.ranks else f"Rank {listed(idle)} never takes"
        size = f"batch size {setup.batch_size}" if setup and setup.batch_size else "batch size unknown"
        drop = ", drop_last" if setup and setup.drop_last else ""
        return Finding(
            "no-steps",
            f"{who} a step in epoch {epoch}: "
            f"{ledger.samples:,} samples on {count(ledger.ranks, 'rank')} don't fill a batch.",
            (f"{ledger.samples:,} samples, {size}{drop}, {count(ledger.ranks, 'rank')}",),
            "Take a smaller batch, or drop_last=False: a training loop over nothing ends without an error.",
        )
    return None


def _empty_batch(ledger: Ledger) -> Finding | None:
    """A step whose batch has no rows."""
    for one in ledger.deliveries:
        if one.size == 0:
            return Finding(
                "empty-batch",
                f"Rank {one.rank} gets an empty batch in step {one.step} of epoch {one.epoch}.",
                (f"{ledger.samples:,} samples on {count(ledger.ranks, 'rank')}",),
                "A mean over it is nan. Fewer samples than ranks can't be shared out: use fewer ranks, or fill up.",
            )
    return None


def _steps_differ(ledger: Ledger) -> Finding | None:
    """Ranks that take fewer steps than others in an epoch."""
    if ledger.troubles or ledger.capped:
        return None
    for epoch in range(ledger.epochs):
        steps = ledger.steps(epoch)
        if len(set(steps)) > 1 and min(steps) > 0 and ledger.complete(epoch):
            low, high = min(steps), max(steps)
            return Finding(
                "steps-differ",
                f"Ranks take different numbers of steps in epoch {epoch}, {low} to {high}: from step {low} on a "
                "collective (DDP's all-reduce, a gather) waits for ranks that are gone.",
                tuple(f"rank {rank}: {n} steps" for rank, n in enumerate(steps)),
                "Give every rank as many batches (drop_last, or padding that is removed by id), stop all ranks at "
                "the shortest, or train inside torch's Join (divide_by_initial_world_size=False keeps the tail's "
                "gradient right).",
            )
    return None


def _wrong_length(ledger: Ledger) -> Finding | None:
    """len(loader) promises other steps than were taken."""
    if ledger.capped:
        return None
    wrong = [
        (epoch, rank, said, len(ledger.walks[epoch, rank]))
        for (epoch, rank), said in sorted(ledger.said.items())
        if (epoch, rank) in ledger.whole and said != len(ledger.walks[epoch, rank])
    ]
    if not wrong:
        return None
    _, rank, said, taken = wrong[0]
    return Finding(
        "wrong-length",
        f"len(loader) says {count(said, 'step')} on rank {rank}, it takes {taken}.",
        tuple(f"epoch {e}, rank {r}: {s} promised, {t} taken" for e, r, s, t in wrong[:8]),
        "Schedulers and progress bars that trust len() end early or late: count one epoch's steps, and set max_steps.",
    )


def _same_order(ledger: Ledger) -> Finding | None:
    """The same shuffled order in every epoch."""
    setup = ledger.setup
    if ledger.epochs < 2 or setup is None:
        return None
    for rank in ledger.leaders:
        orders = [ledger.ids(epoch, rank) for epoch in range(ledger.epochs)]
        if len(set(orders[0])) < ORDER_LEAST or any(one != orders[0] for one in orders):
            return None
        if not _shuffled(ledger, rank):
            return None
    first = ledger.ids(0, ledger.leaders[0])
    evidence = (f"rank {ledger.leaders[0]}, every epoch: {listed(first)}",)
    if setup.persistent and setup.workers and "dataset" in setup.epoch_setters:
        return Finding(
            "frozen-epoch",
            "Every epoch has the same order although the data set has set_epoch: its copies in the persistent workers "
            "never hear of the new epoch.",
            (*evidence, f"persistent_workers=True, {count(setup.workers, 'worker')}"),
            "Keep the epoch in shared memory (torch.tensor(0).share_memory_()), or set persistent_workers=False.",
        )
    how = (
        "Call set_epoch(epoch) on the sampler before every epoch"
        if "sampler" in setup.epoch_setters
        else "Call set_epoch(epoch) on the data set before every epoch"
        if "dataset" in setup.epoch_setters
        else "Seed the shuffle with seed + epoch, or keep one generator running from epoch to epoch"
    )
    return Finding(
        "same-order",
        f"{every(ledger.epochs, 'epoch')} have the same shuffled order on every rank.",
        evidence,
        f"{how}. If your job does, tell the audit: on_epoch=lambda loader, epoch: loader.sampler.set_epoch(epoch). "
        "An order that is fixed on purpose needs nothing.",
    )


def _shuffled(ledger: Ledger, rank: int) -> bool:
    """Whether a rank's order is meant to be shuffled: the loader says so, or its indices don't rise."""
    setup = ledger.setups[rank]
    if setup is None:
        return False
    if setup.shuffles is not None:
        return setup.shuffles
    if setup.kind != "map":
        return "dataset" in setup.epoch_setters
    seen: set[Hashable] = set()
    places: list[int] = []
    for delivery in ledger.walks[0, rank]:
        for one, place in zip(delivery.ids, delivery.places, strict=True):
            if one not in seen and place is not None:
                places.append(place)
            seen.add(one)
    return len(places) >= ORDER_LEAST and any(a > b for a, b in pairwise(places))


def _alike(pairs: Sequence[tuple[Stream, Stream]]) -> list[tuple[Stream, Stream, list[str]]]:
    """Pairs that stood at the same place in a generator that both draw from."""
    found = []
    for a, b in pairs:
        names = sorted(n for n in a.drawn & b.drawn if n in a.stood and a.stood.get(n) == b.stood.get(n))
        if names:
            found.append((a, b, names))
    return found


def _draws_in_workers(ledger: Ledger) -> Finding | None:
    """Two workers of a rank that draw the same numbers."""
    streams = [s for s in ledger.streams if s.worker >= 0]
    pairs = [(a, b) for a, b in combinations(streams, 2) if (a.rank, a.epoch) == (b.rank, b.epoch)]
    return _draws(
        ledger,
        "same-draws-in-workers",
        _alike(pairs),
        "Workers of one rank draw the same random numbers: their samples are augmented alike.",
        lambda a, b: f"rank {a.rank}, epoch {a.epoch}: workers {a.worker} and {b.worker}",
        "Seed in worker_init_fn from torch.initial_seed(), which differs by worker (a generator that the data set "
        "holds is copied into every worker as it is), or draw from torch.",
    )


def _draws_on_ranks(ledger: Ledger) -> Finding | None:
    """Two ranks that draw the same numbers; ranks of a group may."""
    streams = [s for s in ledger.streams if s.rank in ledger.leaders]
    pairs = [
        (a, b)
        for a, b in combinations(streams, 2)
        if a.rank != b.rank and (a.worker, a.epoch) == (b.worker, b.epoch) and a.epoch == 0
    ]
    return _draws(
        ledger,
        "same-draws-on-ranks",
        _alike(pairs),
        "Ranks draw the same random numbers: what they augment in the same step is augmented alike.",
        lambda a, b: f"ranks {a.rank} and {b.rank}, {_place(a)}",
        "Seed data work with seed + rank (the model's initial weights may keep the common seed), and seed what the "
        "data set draws from: its own generator, or torch's, numpy's and Python's.",
    )


def _draws_every_epoch(ledger: Ledger) -> Finding | None:
    """A worker that draws the same numbers in every epoch."""
    streams = sorted(ledger.streams, key=lambda s: (s.rank, s.worker, s.epoch))
    pairs = [
        (a, b) for a, b in pairwise(streams) if (a.rank, a.worker) == (b.rank, b.worker) and b.epoch == a.epoch + 1
    ]
    return _draws(
        ledger,
        "same-draws-every-epoch",
        _alike(pairs),
        "Every epoch draws the same random numbers: a sample is augmented in the same way each time.",
        lambda a, b: f"rank {a.rank}, {_place(a)}: epochs {a.epoch} and {b.epoch}",
        "Don't seed with a constant at the start of an epoch or in worker_init_fn: torch.initial_seed() in a worker "
        "changes from epoch to epoch; a generator that the data set holds starts anew in every new worker.",
    )


def _draws(
    ledger: Ledger,
    cause: str,
    alike: list[tuple[Stream, Stream, list[str]]],
    said: str,
    where: Callable[[Stream, Stream], str],
    fix: str,
) -> Finding | None:
    """A finding about equal draws; none where a stream's own generator may only be shuffling."""
    kept = []
    for a, b, names in alike:
        setup = ledger.setups[a.rank]
        if setup is not None and setup.kind == "iterable":  # its generator shuffles, for all that can be seen
            names = [name for name in names if not name.startswith("dataset.")]
        if names:
            kept.append((a, b, names))
    if not kept:
        return None
    return Finding(cause, said, tuple(f"{where(a, b)}: {', '.join(names)}" for a, b, names in kept[:6]), fix)


def _place(stream: Stream) -> str:
    return "the rank's own process" if stream.worker < 0 else f"worker {stream.worker}"


def _group_differs(ledger: Ledger) -> Finding | None:
    """Ranks of a given group that got different samples."""
    if ledger.grouped_by != "given":
        return None
    for group in ledger.groups:
        for epoch in range(ledger.epochs):
            for rank in group[1:]:
                a, b = ledger.ids(epoch, group[0]), ledger.ids(epoch, rank)
                if a != b:
                    at = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
                    return Finding(
                        "group-differs",
                        f"Ranks {group[0]} and {rank} are in one group but get different samples, from sample {at} of "
                        f"epoch {epoch} on.",
                        (f"rank {group[0]}: {listed(a[at:], 4)}", f"rank {rank}: {listed(b[at:], 4)}"),
                        "Shard by the group's number (rank // group size), and seed the sampler by it, not by rank.",
                    )
    return None


RUNNING: tuple[Callable[[Ledger], Finding | None], ...] = (
    _ended_early,
    _no_steps,
    _empty_batch,
    _group_differs,
    _steps_differ,
    _wrong_length,
    _same_order,
    _draws_in_workers,
    _draws_on_ranks,
    _draws_every_epoch,
)


def running(ledger: Ledger) -> list[Finding]:
    """Findings about how the epochs run."""
    return [one for rule in RUNNING if (one := rule(ledger))]


def resumed(whole: Ledger, again: Ledger, epoch: int, step: int) -> Finding | None:
    """Whether a resumed walk, from `step` of `epoch` on, gets what the uninterrupted one got there."""
    for rank in range(whole.ranks):
        for i in range(again.epochs):
            left = whole.walks[epoch + i, rank][step if i == 0 else 0 :]
            got = again.walks[i, rank]
            for place in range(max(len(left), len(got))):
                a = left[place].ids if place < len(left) else None
                b = got[place].ids if place < len(got) else None
                if a == b:
                    continue
                at = (step if i == 0 else 0) + place
                return Finding(
                    "resumed-elsewhere",
                    f"After the restart rank {rank} gets other samples than without one, from step {at} of epoch "
                    f"{epoch + i} on.{_drift(left, got, whole, epoch + i, rank)}",
                    (
                        f"without a restart: {listed(a, 6) if a is not None else 'the epoch is over'}",
                        f"after the restart: {listed(b, 6) if b is not None else 'the epoch is over'}",
                    ),
                    "Save and restore the sampler's seed and epoch with the position, set the epoch before skipping, "
                    "and skip what was committed: the order of the interrupted epoch must come back.",
                )
    return None


def _drift(left: Sequence, got: Sequence, whole: Ledger, epoch: int, rank: int) -> str:  # type: ignore[type-arg]
    got_ids = tuple(one for d in got for one in d.ids)
    full = whole.ids(epoch, rank)
    if got_ids == full:
        return " It starts the epoch from the beginning."
    for other in range(whole.epochs):
        if other != epoch and got_ids and whole.ids(other, rank)[-len(got_ids) :] == got_ids:
            return f" It is the order of epoch {other}."
    return ""
