"""Four ways to gather an evaluation with accelerate, each a few lines, run for real; and what each gives, by rule.

Sample i has the value i, so gathered values say which samples came out. Needs accelerate: `pip install "labkit[labs]"`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from labkit.errors import UsageError
from labkit.inputs import whole

LETTERS = "ABCD"


@dataclass(frozen=True)
class Gathered:
    """What one program has in the end, on rank 0.

    Attributes:
        program: its letter.
        values: what was gathered, in order. Program D: rank means; the others: one value a sample.
        right: how many values there should be: one a sample.
    """

    program: str
    values: tuple[float, ...]
    right: int

    @property
    def mean(self) -> float:
        """Mean of what was gathered: the metric that the program reports."""
        return sum(self.values) / len(self.values)


def each_step(rank: int, samples: int, batch_size: int) -> list[float]:
    """Program A: a map-style data set, `gather_for_metrics` in every step."""
    accelerator, loader = _prepared(_numbers(samples), batch_size)
    return [float(one) for values in loader for one in accelerator.gather_for_metrics(values)]


def from_a_stream(rank: int, samples: int, batch_size: int) -> list[float]:
    """Program B: the same, from an iterable data set that has a length; every rank reads for itself."""
    accelerator, loader = _prepared(_stream(samples), batch_size, dispatch_batches=False)
    return [float(one) for values in loader for one in accelerator.gather_for_metrics(values)]


def after_the_loop(rank: int, samples: int, batch_size: int) -> list[float]:
    """Program C: values are kept, and gathered once, after the last step."""
    import torch

    accelerator, loader = _prepared(_numbers(samples), batch_size)
    kept = torch.cat(list(loader))
    return [float(one) for one in accelerator.gather_for_metrics(kept)]


def rank_means(rank: int, samples: int, batch_size: int) -> list[float]:
    """Program D: each rank takes the mean of its batch, and the means are gathered in every step."""
    accelerator, loader = _prepared(_numbers(samples), batch_size)
    return [float(one) for values in loader for one in accelerator.gather_for_metrics(values.mean().reshape(1))]


PROGRAMS: dict[str, Callable[[int, int, int], list[float]]] = dict(
    zip(LETTERS, (each_step, from_a_stream, after_the_loop, rank_means), strict=True)
)


def run_programs(samples: int, batch_size: int, ranks: int = 2) -> dict[str, Gathered]:
    """Run the four programs on real ranks with real accelerate.

    Args:
        samples: how many; sample i has the value i.
        batch_size: of one rank.
        ranks: how many.

    Raises:
        UsageError: a value can't be used, or accelerate isn't installed.
    """
    from labkit import ranks as real
    from labkit.sharding.accelerate_cases import need_accelerate

    need_accelerate()
    samples, batch_size = whole("samples", samples, 1), whole("batch_size", batch_size, 1)
    with contextlib.suppress(UsageError):  # a version that starts a thread when imported; then every rank imports it
        real.warm_up("accelerate")
    found = real.run(_all, samples, batch_size, ranks=ranks)[0]
    return {letter: Gathered(letter, tuple(found[letter]), samples) for letter in LETTERS}


def predict_programs(samples: int, batch_size: int, ranks: int = 2) -> dict[str, Gathered]:
    """The same by rule, from the plan of who reads what and from where accelerate 1.15 cuts. Runs nothing.

    A is cut to `samples` by position, and its borrowed rows are the last ones. B's remainder comes out as 0, and C has
    left the loop, where the remainder is known: nothing is cut. D's last step is cut to as many values as samples were
    left for it, although a value there is a rank's mean.
    """
    from labkit.sharding.planning import plan

    made = plan(samples, batch_size, ranks).per_rank
    steps = range(len(made[0]))
    by_step = [i for step in steps for batches in made for i in batches[step]]
    by_rank = [i for batches in made for batch in batches for i in batch]
    means = [[sum(batches[step]) / len(batches[step]) for batches in made] for step in steps]
    left = samples % (batch_size * ranks)
    if left:
        means[-1] = means[-1][:left]
    values: dict[str, list[float]] = {
        "A": [float(i) for i in by_step[:samples]],
        "B": [float(i) for i in by_step],
        "C": [float(i) for i in by_rank],
        "D": [one for row in means for one in row],
    }
    return {letter: Gathered(letter, tuple(values[letter]), samples) for letter in LETTERS}


def _all(rank: int, samples: int, batch_size: int) -> dict[str, list[float]]:
    return {letter: program(rank, samples, batch_size) for letter, program in PROGRAMS.items()}


def _prepared(dataset: Any, batch_size: int, **options: Any) -> tuple[Any, Any]:
    from torch.utils.data import DataLoader

    from labkit.sharding.accelerate_cases import prepare

    return prepare(DataLoader(dataset, batch_size=batch_size), **options)


def _numbers(samples: int) -> Any:
    import torch

    return torch.arange(samples, dtype=torch.float64)


def _stream(samples: int) -> Any:
    from torch.utils.data import IterableDataset

    class Stream(IterableDataset[Any]):
        def __len__(self) -> int:
            return samples

        def __iter__(self) -> Iterator[Any]:
            return iter(_numbers(samples))

    return Stream()
