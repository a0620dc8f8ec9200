"""`measure.fetch_wait`: a person's measuring loop on a replayed line, whose clock is ours, and on a real DataLoader."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

Measure = Callable[[Any, Callable[[Any], None], Callable[[], None], Callable[[], float]], Any]

LAUNCH = 0.1
"""ms that `step` takes to start the device's work, in a replay."""


def replayed(measure: Measure) -> Callable[..., dict[str, Any]]:
    """`measure` as a function of a line: (prepare, train, start, real) gives what it measured and what happened.

    With real False the line is replayed on a clock that only moves when somebody waits, so the times are exact. With
    real True it runs on a real DataLoader with one worker process, and on the machine's clock.

    The result holds `pairs`, what `measure` returned; `began`, when an iterator was asked for; `asked`, `got`,
    `stepped`, `free`, when each batch was asked for, was there, its step returned, and the device was found idle;
    `device`, when it worked on each batch; and `end`, the end of the run. All in ms from its start.
    """

    def run(prepare: list[float], train: list[float], start: float, real: bool) -> dict[str, Any]:
        return _real(measure, prepare, train) if real else _replay(measure, prepare, train, start)

    run.__name__ = f"replayed({getattr(measure, '__name__', 'measure')})"  # as cards call it
    return run


# On a clock of our own ---------------------------------------------------------------------------------------------


class _Clock:
    """Virtual ms: of the program, and of the device that works beside it."""

    def __init__(self) -> None:
        self.now = self.busy_until = 0.0

    def __call__(self) -> float:
        return self.now / 1000


def _replay(measure: Measure, prepare: list[float], train: list[float], start: float) -> dict[str, Any]:
    clock, seen = _Clock(), _Seen(lambda: clock.now)
    left = iter(train)

    class Loader:
        """One worker that never pauses; starting it takes `start` ms."""

        def __iter__(self) -> Iterator[int]:
            seen.begin()
            clock.now += start
            return seen.watch(self._batches(clock.now))

        def _batches(self, ready: float) -> Iterator[int]:
            for i, time_ in enumerate(prepare):
                ready += time_
                clock.now = max(clock.now, ready)
                yield i

        def __len__(self) -> int:
            return len(prepare)

    def step(batch: int) -> None:
        clock.now += LAUNCH
        begun = max(clock.busy_until, clock.now - LAUNCH)
        clock.busy_until = begun + next(left)
        seen.device.append((begun, clock.busy_until))
        seen.stepped.append(clock.now)

    def synchronise() -> None:
        clock.now = max(clock.now, clock.busy_until)
        seen.free.append(clock.now)

    return seen.result(measure(Loader(), step, synchronise, clock))


# On a real DataLoader ----------------------------------------------------------------------------------------------


def _real(measure: Measure, prepare: list[float], train: list[float]) -> dict[str, Any]:
    from labkit.pipeline.measured_jobs import Asleep, loader_of  # brings torch along

    loader = loader_of(Asleep(prepare), num_workers=1)
    zero = time.perf_counter()
    seen = _Seen(lambda: 1000 * (time.perf_counter() - zero))
    left, busy = iter(train), [0.0]

    class Loader:
        """The real one, and a stamp at each of its edges."""

        def __iter__(self) -> Iterator[Any]:
            seen.begin()
            return seen.watch(iter(loader))

        def __len__(self) -> int:
            return len(prepare)

    def step(batch: Any) -> None:  # a device that works by itself: only the end of its work is noted
        begun = max(busy[0], seen.now())
        busy[0] = begun + next(left)
        seen.device.append((begun, busy[0]))
        seen.stepped.append(seen.now())

    def synchronise() -> None:
        time.sleep(max(0.0, busy[0] - seen.now()) / 1000)
        seen.free.append(seen.now())

    return seen.result(measure(Loader(), step, synchronise, time.perf_counter))


class _Seen:
    """Stamps of one run, in ms."""

    def __init__(self, now: Callable[[], float]) -> None:
        self.now = now
        self.began: list[float] = []
        self.asked: list[float] = []
        self.got: list[float] = []
        self.stepped: list[float] = []
        self.free: list[float] = []
        self.device: list[tuple[float, float]] = []

    def begin(self) -> None:
        self.began.append(self.now())

    def watch(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Hand on each batch, and stamp when it was asked for and when it came."""
        while True:
            asked = self.now()
            try:
                batch = next(batches)
            except StopIteration:
                return
            self.asked.append(asked)
            self.got.append(self.now())
            yield batch

    def result(self, pairs: Any) -> dict[str, Any]:
        end = self.now()
        if not isinstance(pairs, list | tuple) and hasattr(pairs, "__iter__"):
            pairs = list(pairs)
        return {
            "pairs": pairs,
            "began": self.began,
            "asked": self.asked,
            "got": self.got,
            "stepped": self.stepped,
            "free": self.free,
            "device": self.device,
            "end": end,
        }


def exact_pairs(prepare: Sequence[float], train: Sequence[float], start: float) -> list[tuple[float, float]]:
    """The (wait, train) pairs of the replayed line, in ms."""
    pairs, ready, now = [], start, 0.0
    for p, c in zip(prepare, train, strict=True):
        ready += p
        begin = max(ready, now)
        pairs.append((begin - now, c))
        now = begin + c
    return pairs


def hasty_pairs(prepare: Sequence[float], train: Sequence[float], start: float) -> list[tuple[float, float]]:
    """The same as a loop sees them that never waits for the device."""
    return exact_pairs(prepare, [LAUNCH] * len(train), start)
