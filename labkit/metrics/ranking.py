"""AUC: a metric that needs every prediction, since it compares each positive with each negative."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from labkit.errors import UsageError
from labkit.metrics.arrays import floats, integers, pair


def auc(scores: Any, targets: Any) -> float:
    """Area under the ROC curve: the chance that a positive scores above a negative, ties counting half.

    Worked out from ranks (Mann and Whitney, 1947), in n log n. The pairs that make it up cross ranks' borders, so the
    mean of the ranks' AUCs is another number: gather the scores, then call this once.

    Args:
        scores: one finite number a sample; larger says "more likely positive".
        targets: 0 or 1, one a sample.

    Returns:
        The area, 0 to 1; NaN where one of the two classes is missing.

    Raises:
        UsageError: the lengths differ, a score isn't finite, or a target isn't 0 or 1.
    """
    pair(scores, targets)
    values, labels = floats("scores", scores, empty=True), integers("targets", targets)
    if (labels > 1).any():
        i = int(np.argmax(labels > 1))
        raise UsageError(f"targets[{i}] is {labels[i]}: give 0 or 1")
    positive = labels == 1
    n, m = int(positive.sum()), int((~positive).sum())
    if not n or not m:
        return math.nan
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    mean_place = last - (counts - 1) / 2  # tied scores share the mean of their places, counted from 1
    return float((mean_place[place][positive].sum() - n * (n + 1) / 2) / (n * m))
