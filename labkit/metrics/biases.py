"""Bias against formula: one accuracy on real ranks under many partitions, each beside what the formula says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from labkit.errors import UsageError
from labkit.inputs import whole
from labkit.metrics.bias import mean_of_means_bias, padding_bias
from labkit.metrics.partitions import Partition, exact_partitions, padded_partitions

if TYPE_CHECKING:
    import pandas as pd

    from labkit.picture import Picture

MEANS, PADDING = "mean of the ranks' means", "borrowed samples counted"


@dataclass(frozen=True)
class Bias:
    """One run.

    Attributes:
        kind: "mean of the ranks' means" or "borrowed samples counted".
        sizes: samples of each rank.
        measured: what real ranks came to, minus the accuracy over all samples once.
        formula: -Cov(n, m) / mean(n), or d / (N + d) * (x_D - M).
    """

    kind: str
    sizes: tuple[int, ...]
    measured: float
    formula: float


@dataclass(frozen=True)
class Biases:
    """Many runs of one accuracy.

    Attributes:
        accuracy: over all samples, once each.
        runs: one entry a partition.
    """

    accuracy: float
    runs: tuple[Bias, ...]

    def frame(self) -> pd.DataFrame:
        """One row a run: kind, sizes, measured, formula."""
        import pandas as pd

        return pd.DataFrame([(one.kind, one.sizes, one.measured, one.formula) for one in self.runs],
                            columns=["kind", "sizes", "measured", "formula"])  # fmt: skip

    def text(self) -> str:
        """The largest bias and the largest distance from the formula."""
        most = max(self.runs, key=lambda one: abs(one.measured))
        off = max(abs(one.measured - one.formula) for one in self.runs)
        return (
            f"{len(self.runs)} partitions of the same samples, accuracy {self.accuracy:.3f}: the bias reaches "
            f"{100 * most.measured:+.1f} points ({most.kind}); formula and measurement differ by at most {off:.0e}."
        )

    def plot(self) -> Picture:
        """Measured against formula, a mark a run; on the diagonal they agree."""
        from matplotlib.figure import Figure

        from labkit import picture

        figure = Figure(figsize=(6.4, 4.2), layout="constrained")
        axes = figure.add_subplot()
        for kind, mark, colour in ((MEANS, "o", picture.BLUE), (PADDING, "s", picture.ORANGE)):
            chosen = [one for one in self.runs if one.kind == kind]
            axes.plot(
                [100 * one.formula for one in chosen],
                [100 * one.measured for one in chosen],
                mark,
                color=colour,
                markeredgecolor="black",
                label=kind,
            )
        reach = 110 * max(abs(value) for one in self.runs for value in (one.measured, one.formula))
        axes.plot([-reach, reach], [-reach, reach], color="black", linewidth=0.8, zorder=0, label="they agree")
        axes.set_xlabel("by formula (points)")
        axes.set_ylabel("on real ranks (points)")
        axes.set_title("Bias of one accuracy under many partitions", fontsize=11, loc="left")
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, fontsize=9)
        return picture.Picture(figure, self.text(), self.frame())

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        return self.plot()._repr_mimebundle_(**kwargs)


def measure_biases(samples: int = 103, ranks: int = 4, *, partitions: int = 16, seed: int = 0) -> Biases:
    """Evaluate one made-up classifier on real ranks under many partitions.

    Its samples are sorted by difficulty, so that ranks and the head of the data differ. Random uneven partitions are
    averaged rank by rank; those of samplers that borrow (torch's, accelerate's with several batch sizes) are added up
    right, borrowed samples included.

    Args:
        samples: how many.
        ranks: how many, 2 or more.
        partitions: random ones.
        seed: of classifier and partitions.

    Raises:
        UsageError: a value can't be used.
    """
    from labkit import ranks as real

    samples, ranks = whole("samples", samples, 2), whole("ranks", ranks, 2)
    partitions, seed = whole("partitions", partitions, 1), whole("seed", seed, 0)
    if ranks > samples:
        raise UsageError(f"ranks is {ranks} for {samples} samples: give at most one rank a sample")
    hits = np.sort(np.random.default_rng(seed).random(samples) < 0.7)[::-1]
    uneven = [p for i in range(partitions) for p in exact_partitions(hits, ranks, seed=seed + i, draws=1)[1:]]
    seen = {p.parts: p for p in uneven}
    padded = [p for size in (1, 2, 3, 4, 6, 8, 12, 16) for p in padded_partitions(samples, ranks, size)]
    chosen = [*seen.values(), *{p.parts: p for p in padded}.values()]
    values = real.run(_values, hits, [(p.parts, p.kind == "padded") for p in chosen], ranks=ranks)[0]
    truth = float(hits.mean())
    runs = [_bias(p, hits, value - truth, truth) for p, value in zip(chosen, values, strict=True)]
    return Biases(truth, tuple(runs))


def _bias(partition: Partition, hits: Any, measured: float, truth: float) -> Bias:
    if partition.kind == "padded":
        borrowed = list(partition.borrowed)
        formula = padding_bias(len(hits), len(borrowed), float(hits[borrowed].mean()), truth)
        return Bias(PADDING, partition.sizes, measured, formula)
    means = [float(hits[list(part)].mean()) for part in partition.parts]
    return Bias(MEANS, partition.sizes, measured, mean_of_means_bias(partition.sizes, means))


def _values(rank: int, hits: Any, chosen: list[tuple[Any, bool]]) -> list[float]:
    """On one rank: for each partition the accuracy that the ranks come to."""
    from labkit.metrics.group import add_up
    from labkit.metrics.group import ranks as count

    found = []
    for parts, add in chosen:
        mine = hits[list(parts[rank])]
        total, number = add_up(np.array([mine.sum(), len(mine)] if add else [mine.mean(), 1.0], np.float64))
        assert add or number == count()
        found.append(float(total / number))
    return found
