"""From the ranks' notes to one ledger: numbers resolved to ids, and a decision how samples are told apart."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from labkit.errors import UsageError
from labkit.sharding.groups import shared_on_purpose
from labkit.sharding.ledger import Delivery, Ledger, Stream, Trouble
from labkit.sharding.setup import Setup
from labkit.sharding.spool import messages


@dataclass(frozen=True)
class _Read:
    """One sample that a rank read: its id as noted, the index asked for, a digest, the worker, which loader."""

    id: Hashable
    local: int | None
    digest: str | None
    worker: int
    loader: int


@dataclass
class _Notes:
    """One rank's notes, sorted."""

    reads: dict[int, _Read] = field(default_factory=dict)
    steps: list[tuple[int, int, list[tuple[int, int]], int | None]] = field(default_factory=list)
    setups: dict[int, Setup] = field(default_factory=dict)
    probes: dict[int, str | None] = field(default_factory=dict)
    said: dict[int, int] = field(default_factory=dict)
    whole: set[int] = field(default_factory=set)
    streams: dict[tuple[int, int], Stream] = field(default_factory=dict)
    hows: set[str] = field(default_factory=set)
    troubles: list[Trouble] = field(default_factory=list)
    unread: int = 0
    once: bool = False


def gather(
    folder: str,
    ranks: int,
    epochs: int,
    *,
    first_epoch: int = 0,
    samples: frozenset[Hashable] | int | None = None,
    groups: Sequence[Sequence[int]] | None = None,
    capped: bool = False,
    failure: Trouble | None = None,
) -> Ledger:
    """Read all ranks' notes and put them into one ledger.

    Raises:
        UsageError: a rank could not use what the caller gave; the text says what.
    """
    notes = [_sorted(folder, rank, first_epoch) for rank in range(ranks)]
    identity, local, remarks = _identity(notes)
    many = max((len(n.setups) for n in notes), default=0) > 1

    def name(reader: int, serial: int) -> Hashable:
        read = notes[reader].reads[serial]
        one: Hashable = read.digest if local == "digest" else (reader, read.id) if local == "rank" else read.id
        return (read.loader, one) if many else one

    deliveries = []
    for rank, noted in enumerate(notes):
        for epoch, step, rows, size in noted.steps:
            rows = [(reader, serial) for reader, serial in rows if serial in notes[reader].reads]
            reads = [notes[reader].reads[serial] for reader, serial in rows]
            deliveries.append(
                Delivery(
                    rank,
                    epoch - first_epoch,
                    step,
                    tuple(name(*row) for row in rows),
                    tuple(read.worker for read in reads),
                    tuple(reader for reader, _ in rows),
                    size,
                    tuple(read.local for read in reads),
                )
            )
    troubles = [trouble for noted in notes for trouble in noted.troubles]
    if failure is not None and not troubles:
        troubles.append(failure)
    if any(setup.replacement for noted in notes for setup in noted.setups.values()):
        remarks.append("samples are drawn with replacement: what comes twice or never is meant, and isn't judged")
    if any(noted.once for noted in notes):
        remarks.append("make_loader gives an iterator, which can be walked once: one epoch was audited, not more")
        epochs = 1
    ledger = Ledger(
        ranks,
        epochs,
        tuple(deliveries),
        tuple(noted.setups.get(0) for noted in notes),
        said={(e - first_epoch, r): n for r, noted in enumerate(notes) for e, n in noted.said.items()},
        whole=frozenset((e - first_epoch, r) for r, noted in enumerate(notes) for e in noted.whole),
        streams=tuple(stream for noted in notes for stream in noted.streams.values()),
        troubles=tuple(troubles),
        identity=identity,
        notes=tuple(remarks),
        capped=capped,
    )
    ids, count = _expected(ledger, notes, samples, local, many, name)
    ledger = replace(ledger, expected=ids, expected_count=count)
    found, how = shared_on_purpose(ledger, groups)
    return replace(ledger, groups=found, grouped_by=how)


def _sorted(folder: str, rank: int, first_epoch: int) -> _Notes:
    notes = _Notes()
    for kind, values in messages(folder, rank):
        if kind == "usage":
            raise UsageError(values[0])
        if kind == "unbuilt":
            error = UsageError(f"make_loader raised {values[0]} on rank {rank}: {values[1]}")
            error.add_note(values[2])
            raise error
        if kind == "setup":
            notes.setups[values[0]] = values[1]
        elif kind == "probe":
            notes.probes[values[0]] = values[1]
        elif kind == "read":
            _read(notes, rank, first_epoch, *values)
        elif kind == "step":
            notes.steps.append(values)
        elif kind == "rest":
            notes.unread += values[1]
        elif kind == "epoch":
            epoch, _, said, whole = values
            if whole:
                notes.whole.add(epoch)
            if said is not None and whole:
                notes.said[epoch] = said
        elif kind == "raised":
            epoch, step, name, line, traceback = values
            notes.troubles.append(Trouble("raised", rank, epoch - first_epoch, step, f"{name}: {line}", traceback))
        elif kind == "endless":
            notes.troubles.append(Trouble("endless", rank, values[0] - first_epoch, 0, ""))
        elif kind == "once":
            notes.once = True
    return notes


def _read(
    notes: _Notes,
    rank: int,
    first_epoch: int,
    epoch: int | None,
    loader: int,
    worker: int,
    how: str,
    start: int,
    entries: list[tuple[Any, Any, Any]],
    draws: Any,
) -> None:
    for i, (one, place, digest) in enumerate(entries):
        notes.reads[start + i] = _Read(one, place, digest, worker, loader)
    if entries:
        notes.hows.add(how)
    if epoch is None or draws is None or loader != 0:
        return
    key = (worker, epoch)
    before = notes.streams.get(key)
    stood, moved = draws
    if before is None:
        notes.streams[key] = Stream(rank, worker, epoch - first_epoch, stood, moved)
    elif not moved <= before.drawn:
        notes.streams[key] = replace(before, drawn=before.drawn | moved)


def _identity(notes: list[_Notes]) -> tuple[str, str, list[str]]:
    """How samples are told apart, what stands for an index ("", "digest" or "rank"), and remarks on it."""
    hows = {how for noted in notes for how in noted.hows}
    for how, remark in (
        ("content", "streams without ids: a sample is known by its content, so equal samples count as one"),
        ("value", ""),
    ):
        if how in hows:
            return how, "", [remark] if remark else []
    if "index" not in hows:
        return next(iter(sorted(hows)), "index"), "", []
    readers = [noted for noted in notes if noted.reads]
    probes = [noted.probes.get(0) for noted in readers]
    if len(set(probes)) == 1 and probes[0] is not None:
        return "index", "", []
    if None in probes:
        return (
            "index",
            "",
            ["the data set couldn't be read twice alike: index i is taken for the same sample on all ranks"],
        )
    if all(read.digest is not None for noted in readers for read in noted.reads.values()) and _stable(readers):
        return "content", "digest", ["ranks hold different data sets: a sample is known by its content, not its index"]
    return (
        "index",
        "rank",
        ["ranks hold different data sets whose samples change on reading: two ranks can't be compared; give sample_id"],
    )


def _stable(readers: list[_Notes]) -> bool:
    """Whether the same index always held the same, on each rank by itself."""
    for noted in readers:
        held: dict[Hashable, str | None] = {}
        for read in noted.reads.values():
            if held.setdefault(read.id, read.digest) != read.digest:
                return False
    return True


def _expected(
    ledger: Ledger, notes: list[_Notes], samples: Any, local: str, many: bool, name: Any
) -> tuple[frozenset[Hashable] | None, int | None]:
    """The ids an epoch should cover, and their number where only that is known."""
    if isinstance(samples, int):
        known = frozenset(range(samples)) if ledger.identity == "index" and not local and not many else None
        return known, samples
    if samples is not None:
        return samples, len(samples)
    setups = [one for one in ledger.setups if one is not None]
    if not many and not local and ledger.identity == "index" and setups and setups[0].kind == "map":
        if all(one.indices is not None for one in setups):
            return frozenset(i for one in setups for i in one.indices or ()), None
        sizes = {one.length for one in setups}
        if len(sizes) == 1 and None not in sizes:
            return frozenset(range(sizes.pop() or 0)), None
        return None, None
    seen = frozenset(name(rank, serial) for rank, noted in enumerate(notes) for serial in noted.reads)
    lengths = {one.length for one in setups}
    count = None
    if len(lengths) == 1 and not many and setups[0].kind == "iterable":
        count = next(iter(lengths))
    return (seen if ledger.epochs > 1 or count is not None else None), count
