"""What `probe` returns: each batch's times on both sides of the queue, the sums that matter, ways to look at them."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labkit.errors import UsageError
from labkit.pipeline.line import simulate

if TYPE_CHECKING:
    import pandas as pd

    from labkit.picture import Picture
    from labkit.pipeline.timeline import Timeline
    from labkit.pipeline.trace import Trace

Times = tuple[float, ...]
Seen = tuple[float | None, ...]


@dataclass(frozen=True)
class Measurement:
    """One real pass, warm-up left out. Times in ms; 0 is when the last warm-up step ended (with warmup=0: when the
    loader was asked for its iterator); index i is batch i after the warm-up.

    Worker-side times are None where they can't be seen: generators, lists, loaders that hide their workers.

    Attributes:
        fetch_waits: the trainer's time without work before each batch. About the cost of a fetch, 0.1 to 0.3 ms: the
            batch was there. Much more: it wasn't. The first one of a pass without warm-up fills the line.
        transfer: moving each batch to the device. 0 where the step does it itself (it is part of `train` then).
        train: each step, from batch in hand to device done. Large against prepare / workers: the line is healthy.
        prepare: a worker's time on each batch: reading, decoding, collating; sending it comes after.
        collate: the part of `prepare` that joins samples into a batch. Near `prepare`: joining is the work.
        sending: packing each batch for the trip, in the worker. Large: bytes are the load, not preparing.
        prepare_start: when a worker began on each batch. Negative: before the warm-up ended.
        prepare_end: when the worker had it ready.
        train_start: when the step on each batch began.
        train_end: when it ended.
        worker: the worker of each batch, from 0; 0 too where batches are prepared in the trainer's process.
        queue_depth: finished batches that waited as each batch was asked for. 0 most of the time: supply is short.
        cpu: processor time a worker spent while preparing each batch, in ms. Below `prepare`: it waited, for a disk or
            for a core. Above: several threads.
        samples: samples in all batches together.
        batch_bytes: bytes in the arrays of one batch.
        first_wait: from calling iter() to the first batch in hand, warm-up or not: what the start of an epoch costs.
        starting: the part of `first_wait` inside iter(loader): starting workers, pickling the data set to them.
        workers: worker processes; 0 where the trainer's process prepares; None where it can't be seen.
        prefetch_factor: batches handed out ahead, per worker; None without workers.
        in_order: batches arrive in the order in which they were handed out.
        pids: process ids of the workers, by worker.
        warmup: batches left out.
        ending: what ended the pass: "loader" (no more batches), "batches" (as asked), "budget" (out of time).
        device: where the step ran.
        synchronised: the device was waited for at both ends of each step. Without that, a GPU's work is blamed on the
            next fetch.
    """

    fetch_waits: Times
    transfer: Times
    train: Times
    prepare: Seen
    collate: Seen
    sending: Seen
    prepare_start: Seen
    prepare_end: Seen
    train_start: Times
    train_end: Times
    worker: tuple[int | None, ...]
    queue_depth: tuple[int | None, ...]
    cpu: Seen
    samples: int
    batch_bytes: float
    first_wait: float
    starting: float
    workers: int | None
    prefetch_factor: int | None
    in_order: bool
    pids: tuple[int, ...]
    warmup: int
    ending: str
    device: str
    synchronised: bool

    @staticmethod
    def of(trace: Trace, warmup: int) -> Measurement:
        """The figures of a pass, its first `warmup` batches left out.

        Raises:
            UsageError: nothing is left.
        """
        count = len(trace) - warmup
        if not len(trace):
            if trace.ending == "budget":
                raise UsageError("the time budget was over before the first batch: give a larger budget_s")
            raise UsageError("the loader yields no batch: is the data set, or the sampler, empty or used up?")
        if count < 1:
            why = "the time budget ended" if trace.ending == "budget" else "the loader ended"
            raise UsageError(f"{why} after {len(trace)} batches, all of them warm-up: give a warmup below {len(trace)}")
        zero = trace.ended[warmup - 1] if warmup else trace.begin

        def ms(moments: tuple[float, ...]) -> Times:
            return tuple((moment - zero) * 1000 for moment in moments[warmup:])

        start, end = ms(trace.moved), ms(trace.ended)
        taken = ms(trace.taken)
        seen = trace.made[warmup:]
        unseen: Seen = (None,) * count
        made_start = tuple((m.start - zero) * 1000 for m in seen) or unseen
        made_end = tuple((m.end - zero) * 1000 for m in seen) or unseen
        return Measurement(
            fetch_waits=tuple(b - a for a, b in zip((0.0, *end[:-1]), taken, strict=True)),
            transfer=tuple(b - a for a, b in zip(taken, start, strict=True)),
            train=tuple(b - a for a, b in zip(start, end, strict=True)),
            prepare=tuple((m.end - m.start) * 1000 for m in seen) or unseen,
            collate=tuple((m.end - m.collate) * 1000 for m in seen) or unseen,
            sending=tuple(m.packing * 1000 if m.packing >= 0 else None for m in seen) or unseen,
            prepare_start=made_start,
            prepare_end=made_end,
            train_start=start,
            train_end=end,
            worker=tuple(m.worker for m in seen) or (None,) * count,
            queue_depth=_waiting(trace)[warmup:],
            cpu=tuple(m.cpu * 1000 for m in seen) or unseen,
            samples=sum(trace.samples[warmup:]),
            batch_bytes=trace.octets,
            first_wait=(trace.taken[0] - trace.begin) * 1000,
            starting=(trace.iterated - trace.begin) * 1000,
            workers=trace.workers if trace.made or not trace.workers else None,
            prefetch_factor=trace.prefetch_factor,
            in_order=trace.in_order,
            pids=trace.pids,
            warmup=warmup,
            ending=trace.ending,
            device=trace.device,
            synchronised=trace.synchronised,
        )

    def __len__(self) -> int:
        """How many batches, warm-up left out."""
        return len(self.train)

    @property
    def makespan(self) -> float:
        """When the last step ended, in ms: the sum of all waits, transfers and steps."""
        return self.train_end[-1]

    @property
    def samples_per_s(self) -> float:
        """Samples trained on per second of the makespan."""
        return self.samples / self.makespan * 1000

    @property
    def wait_share(self) -> float:
        """The trainer's waits after the first, divided by the time after the first wait; 0 to 1.

        The cost of a fetch is in it, so a healthy line is a little above 0.
        """
        rest = self.makespan - self.fetch_waits[0]
        return math.fsum(self.fetch_waits[1:]) / rest if rest > 0 else 0.0

    @property
    def fetch_cost(self) -> float:
        """Ms from a batch being both ready and asked for to having it in hand, the mean. 0 without workers.

        A few tenths are the price of any fetch. More: bytes go through the pipe, or the cores are busy.
        """
        if not self.workers:
            return 0.0
        asked = (0.0, *self.train_end[:-1])
        late = [max(0.0, made - at) for made, at in zip(self.prepare_end, asked, strict=True) if made is not None]
        return statistics.fmean(max(0.0, w - d) for w, d in zip(self.fetch_waits, late, strict=True))

    def timeline(self) -> Timeline:
        """What the ideal line predicts from the measured times: the exact recurrence with the loader's credits.

        A batch that a worker had begun before 0 counts with what was left of it, and the first one of each worker with
        the time its process took to start. Where the trainer's process prepares, the batches' waits are the fetches
        and nothing overlaps.

        Raises:
            UsageError: batches arrive out of order, which the line's rules don't describe.
        """
        if not self.in_order:
            raise UsageError("in_order is False: the line's rules hold for a loader that keeps the order")
        if not self.workers:
            mean = statistics.fmean(self.fetch_waits)
            busy = [a + b for a, b in zip(self.transfer, self.train, strict=True)]
            return simulate([0.0] * len(self), busy, depth=0, get_cost=mean)
        left, busy = line_times(self)
        return simulate(
            left, busy, workers=self.workers, prefetch_factor=self.prefetch_factor, get_cost=self.fetch_cost
        )

    def frame(self) -> pd.DataFrame:
        """One row a batch: batch, worker, all times and the queue's depth. Times in ms."""
        import pandas as pd

        names = "worker prepare_start prepare_end prepare collate sending cpu queue_depth fetch_waits transfer"
        names += " train_start train train_end"
        data = {"batch": range(len(self)), **{name: getattr(self, name) for name in names.split()}}
        return pd.DataFrame(data).rename(columns={"fetch_waits": "wait"})

    def text(self) -> str:
        """The pass in a few lines."""
        return "\n".join(_lines(self))

    def __repr__(self) -> str:
        """The text, so that a bare measurement at the end of a cell says what it is."""
        return self.text()

    def as_dict(self) -> dict[str, Any]:
        """Every field and the sums, as plain JSON values."""
        names = (*self.__dataclass_fields__, "makespan", "samples_per_s", "wait_share", "fetch_cost")
        values = {name: getattr(self, name) for name in names}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}

    def plot(self, *, title: str | None = None) -> Picture:
        """The pass as a picture: one lane for each worker, one for the trainer, and the predicted trainer below."""
        from labkit.pipeline.measurement_views import draw

        return draw(self, title)

    def to_perfetto(self, path: str | Path) -> Path:
        """Write the pass as a Chrome trace (open it at ui.perfetto.dev), each worker process as a track of its own."""
        from labkit.pipeline.measurement_views import write

        return write(self, path)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        return {**self.plot()._repr_mimebundle_(**kwargs), "text/plain": self.text()}


def line_times(measured: Measurement) -> tuple[list[float], list[float]]:
    """Prepare and train times as the line counts them: from 0 on, where each worker is free and every credit is out."""
    left, busy = [], []
    begun: set[int | None] = set()
    for i in range(len(measured)):
        start, end, worker = measured.prepare_start[i], measured.prepare_end[i], measured.worker[i]
        assert start is not None
        assert end is not None
        first = worker not in begun
        begun.add(worker)
        left.append(max(0.0, end) if first else max(0.0, end) - max(0.0, start))
        busy.append(measured.transfer[i] + measured.train[i])
    return left, busy


def _waiting(trace: Trace) -> tuple[int | None, ...]:
    """Batches that were finished, and not yet fetched, as each was asked for."""
    if not trace.made:
        return (None,) * len(trace)
    if not trace.workers:
        return (0,) * len(trace)
    ready = [made.sent if made.sent > 0 else made.end for made in trace.made]
    ahead = trace.workers * (trace.prefetch_factor or 1)
    return tuple(sum(moment <= asked for moment in ready[i : i + ahead]) for i, asked in enumerate(trace.asked))


def _lines(m: Measurement) -> list[str]:
    def middle(values: Seen | Times) -> str:
        known = sorted(value for value in values if value is not None)
        if not known:
            return "not seen"
        return f"{statistics.median(known):.3g} ({known[0]:.3g} to {known[-1]:.3g})"

    if m.workers:
        who = f"{m.workers} worker{'s' * (m.workers > 1)}, prefetch_factor {m.prefetch_factor}"
    else:
        who = "workers not seen" if m.workers is None else "no workers"
    lines = [
        f"{len(m)} batches in {m.makespan:.4g} ms, {m.samples_per_s:.4g} samples/s; {who}; {m.device}; measured here",
        f"  wait     {middle(m.fetch_waits)} ms, {m.wait_share:.1%} of the time after the first",
        f"  train    {middle(m.train)} ms",
        f"  prepare  {middle(m.prepare)} ms" + ("" if m.prepare[0] is None else ", in the worker"),
        f"  queue    {middle(m.queue_depth)} finished batches waiting",
        f"  first    {m.first_wait:.4g} ms from iter() to the first batch, {m.starting:.4g} of it inside iter()",
    ]
    if any(m.transfer):
        lines.insert(2, f"  transfer {middle(m.transfer)} ms")
    if m.ending == "budget":
        lines.append("  the time budget ended the pass: the loader went on")
    return lines
