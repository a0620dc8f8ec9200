"""Length buckets in a real DataLoader with a real step: positions computed, and the time they took."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils.data import DataLoader

from labkit.pipeline.bucketing import Trade, trade

REPEATS = 3
"""How often a step runs; the least of its times counts."""


@dataclass(frozen=True)
class PaddedRun:
    """One epoch of padded batches.

    Attributes:
        figures: padding, correlation and between-batch variance, from the lengths that arrived.
        positions: of all batches together, padding included: what the step computed on.
        tokens: of them, real ones.
        seconds: in the steps alone: processor time, of each step the least of three runs. Nearly in proportion to
            `positions`.
        shapes: (samples, positions each) of every batch.
    """

    figures: Trade
    positions: int
    tokens: int
    seconds: float
    shapes: tuple[tuple[int, int], ...]

    def text(self) -> str:
        """One line for people."""
        spent = f"steps {1000 * self.seconds:.0f} ms"
        return f"{self.positions:,} positions for {self.tokens:,} tokens; {spent}; {self.figures.text()}"


class _Tokens(torch.utils.data.Dataset[Any]):
    def __init__(self, lengths: Sequence[int]) -> None:
        self.lengths = list(lengths)

    def __getitem__(self, number: int) -> Any:
        return torch.ones(self.lengths[number], dtype=torch.long)

    def __len__(self) -> int:
        return len(self.lengths)


def _padded(samples: list[Any]) -> tuple[Any, Any]:
    lengths = torch.tensor([len(one) for one in samples])
    return torch.nn.utils.rnn.pad_sequence(samples, batch_first=True), lengths


def run_padded(lengths: Sequence[int], batches: Sequence[Sequence[int]], *, width: int = 128) -> PaddedRun:
    """Run the batches through a real DataLoader (`batch_sampler`) and a small layer that works on every position.

    Args:
        lengths: tokens of each sample.
        batches: numbers of samples.
        width: of the layer; a position costs about 2 * width * width operations.
    """
    torch.manual_seed(0)
    table, layer = torch.nn.Embedding(2, width), torch.nn.Linear(width, width)
    loader: DataLoader[Any] = DataLoader(_Tokens(lengths), batch_sampler=[list(b) for b in batches], collate_fn=_padded)
    shapes, real, spent = [], list[list[int]](), 0.0
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # for layers as small as this one, threads cost more than they save
    with torch.no_grad():
        for tokens, own in loader:
            runs = []
            for _ in range(REPEATS):
                begin = time.thread_time()  # what other processes do meanwhile doesn't count
                layer(table(tokens)).relu().sum().item()
                runs.append(time.thread_time() - begin)
            spent += min(runs)
            shapes.append((int(tokens.shape[0]), int(tokens.shape[1])))
            real.append(own.tolist())
    torch.set_num_threads(threads)
    flat = [one for batch in real for one in batch]
    numbers, at = [], 0
    for batch in real:
        numbers.append(range(at, at + len(batch)))
        at += len(batch)
    positions = sum(samples * longest for samples, longest in shapes)
    return PaddedRun(trade(flat, numbers), positions, sum(flat), spent, tuple(shapes))
