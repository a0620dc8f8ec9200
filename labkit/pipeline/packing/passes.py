"""Whole passes over packs, cold and warm: what they cost in counts, and in time with its spread."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from labkit.errors import UsageError
from labkit.inputs import flag, whole
from labkit.pipeline.packing.cache import Cached, evict, storage_bytes, warm
from labkit.pipeline.packing.counting import Reads
from labkit.pipeline.packing.manifest import FORMATS
from labkit.pipeline.packing.reading import Packed
from labkit.pipeline.packing.sample import ContentHash

if TYPE_CHECKING:
    import pandas as pd

    from labkit.picture import Picture


@dataclass(frozen=True)
class Pass:
    """One reading of a pack.

    Attributes:
        format: of the pack.
        cold: whether the files were put out of the page cache before.
        before: what was in the page cache when the reading began. Its `.state` says whether the reading was what it
            is called.
        reads: opens, requests and bytes; the same every time.
        seconds: from the first call to the last sample. Differs from run to run.
        fetched: bytes that storage delivered, by the kernel's count; None where it keeps none. About the size of the
            pack in a cold pass, 0 in a warm one. More: read ahead and thrown away.
        samples: how many were read.
        content: hash of what was read; "" for a pass that does not read everything in order.
    """

    format: str
    cold: bool
    before: Cached
    reads: Reads
    seconds: float
    fetched: int | None
    samples: int
    content: str


def files_of(packed: Packed) -> list[Path]:
    """Every file that holds samples of a pack."""
    if packed.format == "files":
        tree = packed.path / packed.shards[0].name
        return [tree / f"{e.key}.{name}" for e in packed.shards[0].entries for name in e.fields]
    return [packed.path / shard.name for shard in packed.shards]


@contextmanager
def watched(packed: Packed, *, cold: bool) -> Iterator[dict[str, object]]:
    """Put the pack's files out of, or into, the page cache; count and time what happens inside the block."""
    packed.close()  # pages of an open map can't be dropped, and an open file saves an open
    before = evict(files_of(packed)) if flag("cold", cold) else warm(files_of(packed))
    seen: dict[str, object] = {"before": before}
    reads, fetched, begin = packed.reads, storage_bytes(), time.perf_counter()
    yield seen
    seen["seconds"] = time.perf_counter() - begin
    seen["reads"] = packed.reads - reads
    after = storage_bytes()
    seen["fetched"] = None if after is None or fetched is None else after - fetched


def read_pass(
    packed: Packed, *, cold: bool, order: Sequence[int] | None = None, start: int = 0, index: bool = True
) -> Pass:
    """Read a pack once, cold or warm.

    Args:
        packed: the pack.
        cold: True: put its files out of the page cache first. False: read them into it first.
        order: numbers of samples, read one by one. None: the samples in their order, in one stream a shard.
        start: without an order: the first sample wanted, as after a restart there.
        index: jump to records by their known offsets; see `Packed.read`.

    Raises:
        UsageError, ShardError: as `Packed.read` and `Packed.samples` do.
    """
    total, whole_pass = ContentHash(), order is None and start == 0
    with watched(packed, cold=cold) as seen:
        count = 0
        if order is None:
            wanted = packed.samples(start, index=index)
        else:
            wanted = (packed.read(number, index=index) for number in order)
        for sample in wanted:
            if whole_pass:
                total.add(sample)
            count += 1
    content = total.hexdigest() if whole_pass else ""
    return Pass(packed.format, cold, samples=count, content=content, **seen)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Passes:
    """Several passes over the same samples in several formats.

    Attributes:
        passes: every one, in the order in which they were made.
        size: bytes of the samples themselves.
    """

    passes: tuple[Pass, ...]
    size: int

    def times(self, format: str, *, cold: bool) -> list[float]:
        """Milliseconds of each pass of one kind, in the order in which they were made."""
        return [1000 * one.seconds for one in self.passes if (one.format, one.cold) == (format, cold)]

    def reads(self, format: str) -> Reads:
        """The counts of a pass. They are the same in every pass of a format."""
        return next(one.reads for one in self.passes if one.format == format)

    @property
    def states(self) -> Mapping[bool, set[str]]:
        """For cold (True) and warm (False): what the page cache really was. {"cold"} and {"warm"} is what is wanted."""
        return {cold: {one.before.state for one in self.passes if one.cold is cold} for cold in (True, False)}

    def frame(self) -> pd.DataFrame:
        """One row a format and state: counts, fetched bytes, and the time with its spread."""
        import pandas as pd

        rows = []
        kinds = dict.fromkeys((one.format, one.cold) for one in self.passes)
        for format, cold in sorted(kinds, key=lambda kind: (not kind[1], FORMATS.index(kind[0]))):
            mine = [one for one in self.passes if (one.format, one.cold) == (format, cold)]
            times = self.times(format, cold=cold)
            fetched = [one.fetched for one in mine if one.fetched is not None]
            rows.append({
                "format": format, "page cache": "/".join(sorted({one.before.state for one in mine})),
                "opens": mine[0].reads.opens, "requests": mine[0].reads.requests, "bytes": mine[0].reads.bytes,
                "fetched": round(statistics.median(fetched)) if fetched else None,
                "ms, median": round(statistics.median(times), 1), "least": round(min(times), 1),
                "most": round(max(times), 1), "passes": len(times),
            })  # fmt: skip
        return pd.DataFrame(rows)

    def plot(self) -> Picture:
        """Time of each pass, a dot a pass, cold and warm beside each other."""
        from labkit.pipeline.packing.drawing import draw_passes

        return draw_passes(self)


def compare(packs: Sequence[Packed], *, repeats: int = 5, seed: int = 0) -> Passes:
    """Read the same samples from several packs, cold and warm, `repeats` times each, in an order that is shuffled.

    The shuffle keeps a drift of the machine from being taken for a difference of formats.

    Raises:
        UsageError: no packs, or packs that don't hold the same samples in the same order.
    """
    whole("repeats", repeats, 1)
    if not packs:
        raise UsageError("packs is empty: give at least one pack")
    if len({packed.manifest.content for packed in packs}) > 1:
        raise UsageError("these packs don't hold the same samples in the same order: a comparison would say nothing")
    rng = random.Random(seed)
    made = []
    for packed in packs:
        read_pass(packed, cold=False)  # what is loaded on first use isn't a format's cost
    for _ in range(repeats):
        rounds = [(packed, cold) for packed in packs for cold in (True, False)]
        rng.shuffle(rounds)
        made += [read_pass(packed, cold=cold) for packed, cold in rounds]
    size = sum(len(data) for sample in packs[0].samples() for data in sample.fields.values())
    return Passes(tuple(made), size)
