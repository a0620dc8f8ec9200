"""One pass as it happened, before anything is left out or worked out: what `probe` and `diagnose` both read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from labkit.pipeline.probe_loader import Made


@dataclass(frozen=True)
class Trace:
    """Moments in seconds of time.perf_counter, one an entry for each batch, warm-up included.

    Attributes:
        begin: the pass began: iter(loader) is called.
        iterated: iter(loader) returned. Late: workers were slow to start.
        asked: the trainer asked for the batch.
        taken: it had the batch in hand.
        moved: the batch was on its device.
        ended: the step was over, the device waited for.
        made: what the workers saw; empty where it can't be seen.
        samples: samples in each batch.
        octets: bytes in the first batch's arrays.
        workers: worker processes; 0 for preparing in the trainer's process; None where it can't be seen.
        prefetch_factor: batches handed out ahead, per worker; None without workers.
        in_order: batches arrive in the order in which they were handed out.
        pids: process ids of the workers, by worker.
        states: what each worker said of itself: threads, tasks, cores.
        trainer_cpu: seconds of processor time that the trainer's process spent in the pass.
        others: cores that other programs of this machine kept busy meanwhile; None where it can't be seen.
        ending: what ended the pass: "loader", "batches" or "budget".
        device: where the batches went.
        synchronised: the device was waited for at both ends of each step.
    """

    begin: float
    iterated: float
    asked: tuple[float, ...]
    taken: tuple[float, ...]
    moved: tuple[float, ...]
    ended: tuple[float, ...]
    made: tuple[Made, ...]
    samples: tuple[int, ...]
    octets: float
    workers: int | None
    prefetch_factor: int | None
    in_order: bool
    pids: tuple[int, ...]
    states: tuple[dict[str, Any], ...]
    trainer_cpu: float
    others: float | None
    ending: str
    device: str
    synchronised: bool

    def __len__(self) -> int:
        """How many batches."""
        return len(self.ended)
