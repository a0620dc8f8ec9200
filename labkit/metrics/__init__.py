"""What does sharding do to the number?

Metrics that stay right across ranks (`SumCount`, `MeanOf`, `ConfusionCounts`, `Predictions`, `auc`), how far off a
wrong one is (`padding_bias`, `mean_of_means_bias`, `float_stall`), what reducing costs (`measure_traffic`), and
`audit`: any metric run on real ranks over many partitions, with and without borrowed samples.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from labkit.later import members

if TYPE_CHECKING:
    from labkit.metrics.auditing import audit as audit
    from labkit.metrics.bias import mean_of_means_bias as mean_of_means_bias
    from labkit.metrics.bias import mean_of_means_bound as mean_of_means_bound
    from labkit.metrics.bias import padding_bias as padding_bias
    from labkit.metrics.bias import pooled_mean as pooled_mean
    from labkit.metrics.bias import tail_weight as tail_weight
    from labkit.metrics.bias import worst_padding_bias as worst_padding_bias
    from labkit.metrics.confusion import ConfusionCounts as ConfusionCounts
    from labkit.metrics.precision import Stall as Stall
    from labkit.metrics.precision import float_stall as float_stall
    from labkit.metrics.predictions import Predictions as Predictions
    from labkit.metrics.ranking import auc as auc
    from labkit.metrics.report import MetricReport as MetricReport
    from labkit.metrics.sums import MeanOf as MeanOf
    from labkit.metrics.sums import SumCount as SumCount
    from labkit.metrics.traffic import Traffic as Traffic
    from labkit.metrics.traffic import measure_traffic as measure_traffic

_LATER = {  # name -> module, imported on first use: these bring NumPy or torch along
    "ConfusionCounts": "confusion",
    "MeanOf": "sums",
    "MetricReport": "report",
    "Predictions": "predictions",
    "Stall": "precision",
    "SumCount": "sums",
    "Traffic": "traffic",
    "auc": "ranking",
    "audit": "auditing",
    "float_stall": "precision",
    "mean_of_means_bias": "bias",
    "mean_of_means_bound": "bias",
    "measure_traffic": "traffic",
    "padding_bias": "bias",
    "pooled_mean": "bias",
    "tail_weight": "bias",
    "worst_padding_bias": "bias",
}

__all__ = [
    "ConfusionCounts",
    "MeanOf",
    "MetricReport",
    "Predictions",
    "Stall",
    "SumCount",
    "Traffic",
    "auc",
    "audit",
    "float_stall",
    "mean_of_means_bias",
    "mean_of_means_bound",
    "measure_traffic",
    "padding_bias",
    "pooled_mean",
    "tail_weight",
    "worst_padding_bias",
]

__getattr__ = members(__name__, _LATER)
