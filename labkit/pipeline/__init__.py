"""When is each batch ready, and who waits?

The ideal line (`simulate`, `simulate_many`, `required_depth`), its pictures (`Timeline`, `TimelineWidget`,
`draw_lanes`) and the same line on a real DataLoader (`run_line`, `compare`). Times are in any one unit; the labs use
milliseconds. Batches and workers are numbered from 0, as in Python and in `torch.utils.data`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from labkit.later import members
from labkit.pipeline.diagnosis_causes import CAUSES
from labkit.pipeline.jitter import jittered
from labkit.pipeline.line import simulate
from labkit.pipeline.timeline import Timeline

if TYPE_CHECKING:
    from labkit.pipeline.comparison import Comparison as Comparison
    from labkit.pipeline.comparison import compare as compare
    from labkit.pipeline.depth import required_depth as required_depth
    from labkit.pipeline.diagnosing import diagnose as diagnose
    from labkit.pipeline.diagnosis import Diagnosis as Diagnosis
    from labkit.pipeline.drawing import draw_lanes as draw_lanes
    from labkit.pipeline.measurement import Measurement as Measurement
    from labkit.pipeline.probing import probe as probe
    from labkit.pipeline.real import LineRun as LineRun
    from labkit.pipeline.real import run_line as run_line
    from labkit.pipeline.replications import Replications as Replications
    from labkit.pipeline.replications import simulate_many as simulate_many
    from labkit.pipeline.widget import TimelineWidget as TimelineWidget

_LATER = {  # name -> module, imported on first use: these bring torch, numpy, matplotlib or anywidget along
    "Comparison": "comparison",
    "Diagnosis": "diagnosis",
    "LineRun": "real",
    "Measurement": "measurement",
    "Replications": "replications",
    "TimelineWidget": "widget",
    "compare": "comparison",
    "diagnose": "diagnosing",
    "draw_lanes": "drawing",
    "probe": "probing",
    "required_depth": "depth",
    "run_line": "real",
    "simulate_many": "replications",
}

__all__ = [
    "CAUSES",
    "Comparison",
    "Diagnosis",
    "LineRun",
    "Measurement",
    "Replications",
    "Timeline",
    "TimelineWidget",
    "compare",
    "diagnose",
    "draw_lanes",
    "jittered",
    "probe",
    "required_depth",
    "run_line",
    "simulate",
    "simulate_many",
]

__getattr__ = members(__name__, _LATER)
