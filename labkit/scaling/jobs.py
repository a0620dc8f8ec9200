"""Real runs to read: a job that warms up, intervals of every rank, and seven reports of which some may be compared."""

from __future__ import annotations

import functools
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from labkit.scaling.protocol import benchmark
from labkit.scaling.result import Benchmark

if TYPE_CHECKING:
    import pandas as pd

    from labkit.picture import Picture

STEPS = 26
QUICK, SLOW = 0.004, 0.028
"""Seconds of a step once warm, and about those of a slow one."""


@dataclass(frozen=True)
class StepTimes:
    """Every step of a job on real ranks.

    Attributes:
        seconds: by rank, the time of its own work in each step, before the ranks meet. A step that is slow on one rank
            is slow for all.
    """

    seconds: tuple[tuple[float, ...], ...]

    def frame(self) -> pd.DataFrame:
        """One row a step: step, and each rank's own time in ms."""
        import pandas as pd

        columns = {f"rank {rank} (ms)": [1000 * s for s in times] for rank, times in enumerate(self.seconds)}
        return pd.DataFrame({"step": range(len(self.seconds[0])), **columns}).round(1)

    def plot(self) -> Picture:
        """Each rank's own time, step by step."""
        from labkit.picture import BLUE, ORANGE, Picture
        from labkit.sketching import plain_axes

        figure, axes = plain_axes("step", "ms of own work", "Every step of the job, on real ranks")
        figure.set_size_inches(9.6, 3.0)
        for rank, times in enumerate(self.seconds):
            mark, colour = ("o", BLUE) if rank % 2 == 0 else ("s", ORANGE)
            steps = range(len(times))
            axes.plot(steps, [1000 * s for s in times], f"{mark}-", color=colour, linewidth=0.8, label=f"rank {rank}")
        axes.set_ylim(bottom=0)
        axes.set_xticks(range(0, len(self.seconds[0]), 2))
        axes.legend(frameon=False, fontsize=9)
        slow = [f"rank {r}: {', '.join(map(str, _above(times)))}" for r, times in enumerate(self.seconds)]
        return Picture(figure, f"Steps above three times a rank's median. {'; '.join(slow)}.", self.frame())

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        return self.plot()._repr_mimebundle_(**kwargs)


def _above(times: tuple[float, ...]) -> list[int]:
    middle = sorted(times)[len(times) // 2]
    return [step for step, seconds in enumerate(times) if seconds > 3 * middle]


def slow_steps(job: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Steps that job number `job` plans to be slow, for rank 0 and rank 1.

    Both warm up, one of them longer; later a few single steps are slow, on one rank or the other.
    """
    rng = random.Random(job)
    first, second = rng.choice([(a, b) for a in range(2, 8) for b in range(2, 8) if abs(a - b) >= 2])
    later = sorted(rng.sample(range(max(first, second) + 3, STEPS, 2), rng.randint(1, 4)))
    owners = [rng.randint(0, 1) for _ in later]
    of_rank = [
        (*range(warm), *(step for step, owner in zip(later, owners, strict=True) if owner == rank))
        for rank, warm in enumerate((first, second))
    ]
    return of_rank[0], of_rank[1]


def run_job(job: int) -> StepTimes:
    """Run job number `job` on two real ranks: each step is work of its own (a sleep), then an all-reduce."""
    from labkit import ranks

    found = ranks.run(_steps, slow_steps(job), ranks=2)
    return StepTimes(tuple(tuple(times) for times in found))


def _steps(rank: int, slow: tuple[tuple[int, ...], ...]) -> list[float]:
    import torch
    import torch.distributed as dist

    one, own = torch.ones(1), []
    for step in range(STEPS):
        start = time.perf_counter()
        time.sleep(SLOW if step in slow[rank] else QUICK)
        own.append(time.perf_counter() - start)
        dist.all_reduce(one)
    return own


def interval_times(ranks: int = 2, intervals: int = 9, steps: int = 3) -> list[list[float]]:
    """Seconds of each interval on each real rank, first the ranks, then the intervals; the first one is cold.

    Ranks don't wait for each other inside an interval, so their times differ.
    """
    from labkit import ranks as real

    return list(real.run(_intervals, intervals, steps, ranks=ranks))


def _intervals(rank: int, intervals: int, steps: int) -> list[float]:
    import torch.distributed as dist

    found = []
    for interval in range(intervals):
        dist.barrier()
        start = time.perf_counter()
        for step in range(steps):
            cold = 0.02 if interval == 0 and step == 0 else 0.0
            time.sleep(0.004 + cold + 0.002 * ((interval + step + 2 * rank) % 3 == 0))
        found.append(time.perf_counter() - start)
    return found


# Reports -----------------------------------------------------------------------------------------------------------

SAME = "nothing"
DIFFERENT = ("batch_size", "data", "ranks", "warmup", "steps", "discard")
"""What may keep a report from being compared with the first."""
_ASKED: dict[str, Any] = {"batch_size": 32, "ranks": 2, "warmup": 4, "steps": 3, "intervals": 5, "discard": 1}
_CHANGED: dict[str, Any] = {"batch_size": 48, "ranks": 1, "warmup": 1, "steps": 6, "discard": 0}


def planned_reports(job: int) -> dict[str, str]:
    """What each of six reports of job number `job` differs in from the first: a field, or "nothing" (two of them)."""
    rng = random.Random(job)
    kinds = [SAME, SAME, *rng.sample(DIFFERENT, 4)]
    rng.shuffle(kinds)
    return dict(zip("ABCDEF", kinds, strict=True))


@functools.cache
def six_reports(job: int) -> tuple[Benchmark, dict[str, Benchmark]]:
    """Seven real benchmarks: the first, and six to compare with it. Run once a session; then the same ones again.

    Of the six, two measure the same job under the same protocol, one of them with another setting (workers).
    """
    first = _report("first", {}, {"workers": 0})
    six, repeats = {}, 0
    for letter, kind in planned_reports(job).items():
        repeats += kind == SAME
        settings = {"workers": 2 if kind == SAME and repeats == 2 else 0}
        six[letter] = _report(letter, {kind: _CHANGED[kind]} if kind in _CHANGED else {}, settings, kind == "data")
    return first, six


def _report(label: str, changes: dict[str, Any], settings: dict[str, Any], other_data: bool = False) -> Benchmark:
    data = list(range(512)) if not other_data else [*range(256), *range(256)]
    return benchmark(make_sleeper(0.002), data=data, label=label, settings=settings, **(_ASKED | changes))


def make_sleeper(seconds: float, a_rank: float = 0.0) -> Callable[[int, int], Callable[[], None]]:
    """A step for `benchmark` that sleeps, `a_rank` seconds longer for each rank beyond the first, and all-reduces."""

    def make_step(rank: int, ranks: int) -> Callable[[], None]:
        import torch
        import torch.distributed as dist

        gradient = torch.zeros(1000)

        def step() -> None:
            time.sleep(seconds + a_rank * (ranks - 1))
            dist.all_reduce(gradient)

        return step

    return make_step


def make_worker(loops: int) -> Callable[[int, int], Callable[[], None]]:
    """A step for `benchmark` that computes, so that ranks compete for cores, and all-reduces."""

    def make_step(rank: int, ranks: int) -> Callable[[], None]:
        import torch
        import torch.distributed as dist

        gradient = torch.zeros(1000)

        def step() -> None:
            total = 0
            for i in range(loops):
                total += i
            dist.all_reduce(gradient)

        return step

    return make_step
