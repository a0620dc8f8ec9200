"""Weak scaling: the work of a rank stays, their number grows; the step time should stay too."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from labkit.errors import UsageError
from labkit.scaling.result import Benchmark
from labkit.words import counted

if TYPE_CHECKING:
    import pandas as pd

    from labkit.picture import Picture


@dataclass(frozen=True)
class WeakScaling:
    """One benchmark a number of ranks, alike in everything else.

    Attributes:
        benchmarks: by number of ranks, 1 first.
    """

    benchmarks: tuple[Benchmark, ...]

    def __post_init__(self) -> None:
        from labkit.scaling.comparison import differences

        if not self.benchmarks or self.benchmarks[0].ranks != 1:
            raise UsageError("benchmarks must begin with one on 1 rank, since efficiency is T1 / TR")
        for other in self.benchmarks[1:]:
            unlike = [one for one in differences(self.benchmarks[0], other) if one.field not in ("ranks", "data")]
            if unlike:
                raise UsageError(f"these runs can't be one scaling study: {unlike[0]}")
            if other.data != self.benchmarks[0].data:
                raise UsageError(
                    f"these runs can't be one scaling study: data is {self.benchmarks[0].data!r} and {other.data!r}"
                )

    @cached_property
    def efficiency(self) -> dict[int, float]:
        """T1 / TR by number of ranks: step time on one rank over step time on R. 1: more ranks cost nothing."""
        first = self.benchmarks[0].interval_seconds  # intervals have as many steps on any number of ranks
        return {one.ranks: first / one.interval_seconds for one in self.benchmarks}

    @cached_property
    def efficiency_range(self) -> dict[int, tuple[float, float]]:
        """The least and the most that the intervals allow for T1 / TR: their extremes against each other."""
        first = self.benchmarks[0].kept
        rest = {one.ranks: (first[0] / one.kept[-1], first[-1] / one.kept[0]) for one in self.benchmarks[1:]}
        return {1: (1.0, 1.0), **rest}

    def frame(self) -> pd.DataFrame:
        """One row a number of ranks: ranks, samples per second, step in ms, efficiency, its least and most."""
        import pandas as pd

        rows = [
            (b.ranks, b.rate, 1000 * b.step_seconds, self.efficiency[b.ranks], *self.efficiency_range[b.ranks])
            for b in self.benchmarks
        ]
        return pd.DataFrame(rows, columns=["ranks", "samples per second", "step ms", "efficiency", "least", "most"])

    def text(self) -> str:
        """One line a number of ranks, and whether ranks had to share cores."""
        first = self.benchmarks[0]
        lines = [
            f"weak scaling, batch size {first.batch_size} a rank, on {counted(first.hardware.get('cores', 0), 'core')}"
        ]
        for one in self.benchmarks:
            least, most = self.efficiency_range[one.ranks]
            lines.append(
                f"{counted(one.ranks, 'rank')}: {one.rate:,.1f} samples/s, {1000 * one.step_seconds:.3g} ms a step, "
                f"efficiency {self.efficiency[one.ranks]:.2f} ({least:.2f} to {most:.2f})"
            )
        cores = first.hardware.get("cores")
        most = self.benchmarks[-1].ranks
        if first.device == "cpu" and isinstance(cores, int) and most > cores:
            lines.append(f"{most} ranks share {counted(cores, 'core')}: efficiency falls for that reason alone.")
        return "\n".join(lines)

    def plot(self) -> Picture:
        """Samples per second and efficiency over the number of ranks, with their spread."""
        from labkit.scaling.drawing import draw_weak

        return draw_weak(self)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        return self.plot()._repr_mimebundle_(**kwargs)
