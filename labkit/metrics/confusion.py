"""ConfusionCounts: what accuracy, precision, recall and F1 need from every rank, added up before any ratio is taken."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from labkit.errors import UsageError
from labkit.inputs import whole
from labkit.metrics.arrays import integers, pair

if TYPE_CHECKING:
    import pandas as pd

Average = Literal["micro", "macro", "binary"]


class ConfusionCounts:
    """How many samples of class i were predicted as class j, in int64.

    A ratio such as F1 isn't linear, so it has to come after the reduction: shards with (tp, fp, fn) of (1, 0, 0) and
    (1, 8, 1) have F1 1.0 and 0.182, mean 0.591; together (2, 8, 1) they have 0.308.

    Attributes:
        matrix: (classes, classes) int64; row = target, column = prediction.
    """

    def __init__(self, classes: int = 2) -> None:
        self.classes = whole("classes", classes, 2)
        self.matrix: npt.NDArray[np.int64] = np.zeros((self.classes, self.classes), np.int64)

    @classmethod
    def of(cls, tp: int, fp: int, fn: int, tn: int = 0) -> ConfusionCounts:
        """Two classes from their four counts; class 1 is the positive one."""
        made = cls(2)
        cells = [whole(name, n, 0) for name, n in (("tn", tn), ("fp", fp), ("fn", fn), ("tp", tp))]
        made.matrix[:] = np.array(cells).reshape(2, 2)
        return made

    def update(self, predictions: Any, targets: Any) -> None:
        """Count one batch: predicted and true classes, whole numbers from 0 to classes - 1, one of each a sample.

        Raises:
            UsageError: the lengths differ, or something in them isn't such a class.
        """
        pair(predictions, targets)
        given, true = integers("predictions", predictions), integers("targets", targets)
        for name, values in (("predictions", given), ("targets", true)):
            if (values >= self.classes).any():
                i = int(np.argmax(values >= self.classes))
                raise UsageError(
                    f"{name}[{i}] is {values[i]}: with classes={self.classes} give classes 0 to {self.classes - 1}"
                )
        pairs = true * self.classes + given
        self.matrix += np.bincount(pairs, minlength=self.classes**2).reshape(self.classes, self.classes)

    def all_reduce(self) -> ConfusionCounts:
        """The counts of all ranks, as a new ConfusionCounts, on every rank; a copy without a process group."""
        from labkit.metrics.group import add_up

        total = ConfusionCounts(self.classes)
        total.matrix = add_up(self.matrix)
        return total

    def accuracy(self) -> float:
        """Share of samples on the diagonal; NaN without samples."""
        return _ratio(int(np.trace(self.matrix)), int(self.matrix.sum()))

    def precision(self, average: Average = "binary") -> float:
        """tp / (tp + fp): of what was predicted as a class, how much is one."""
        return self._averaged(average, lambda tp, fp, _: _ratio(tp, tp + fp, empty=0.0))

    def recall(self, average: Average = "binary") -> float:
        """tp / (tp + fn): of what is a class, how much was predicted as one."""
        return self._averaged(average, lambda tp, _, fn: _ratio(tp, tp + fn, empty=0.0))

    def f1(self, average: Average = "binary") -> float:
        """2 tp / (2 tp + fp + fn)."""
        return self._averaged(average, lambda tp, fp, fn: _ratio(2 * tp, 2 * tp + fp + fn, empty=0.0))

    def compute(self) -> float:
        """F1: of class 1 with two classes, macro with more."""
        return self.f1("binary" if self.classes == 2 else "macro")

    def frame(self) -> pd.DataFrame:
        """One row a class: class, tp, fp, fn, precision, recall, f1."""
        import pandas as pd

        rows = [(c, tp, fp, fn, *_three(tp, fp, fn)) for c, (tp, fp, fn) in enumerate(self._classes())]
        return pd.DataFrame(rows, columns=["class", "tp", "fp", "fn", "precision", "recall", "f1"])

    def _classes(self) -> list[tuple[int, int, int]]:
        hits = np.diag(self.matrix)
        false, missed = self.matrix.sum(axis=0) - hits, self.matrix.sum(axis=1) - hits
        return [(int(t), int(f), int(m)) for t, f, m in zip(hits, false, missed, strict=True)]

    def _averaged(self, average: str, ratio: Any) -> float:
        """binary: class 1 alone. micro: counts of all classes first. macro: mean over classes that occur at all."""
        classes = self._classes()
        if average == "binary":
            if self.classes != 2:
                raise UsageError(f"average is 'binary' and classes is {self.classes}: give average='micro' or 'macro'")
            return float(ratio(*classes[1]))
        if average == "micro":
            return float(ratio(*(sum(column) for column in zip(*classes, strict=True))))
        if average == "macro":
            seen = [counts for counts in classes if any(counts)]
            return sum(ratio(*counts) for counts in seen) / len(seen) if seen else math.nan
        raise UsageError(f"average is {average!r}: give 'binary', 'micro' or 'macro'")


def _ratio(part: int, whole_: int, empty: float = math.nan) -> float:
    return part / whole_ if whole_ else empty


def _three(tp: int, fp: int, fn: int) -> tuple[float, float, float]:
    return _ratio(tp, tp + fp, 0.0), _ratio(tp, tp + fn, 0.0), _ratio(2 * tp, 2 * tp + fp + fn, 0.0)
