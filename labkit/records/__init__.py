"""Is the run healthy, can it be reproduced, and why did it break?

`Recorder` writes a line a step, at a cost that is bounded and small, and keeps the batch behind a spike. `identify`
says which configuration, data, code and environment a run had. `read` opens a folder again, also after a kill, and
answers: `health()`, `reproduction(other)`, `cause(step)`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from labkit.later import members

if TYPE_CHECKING:
    from labkit.records.anomaly import Spike as Spike
    from labkit.records.anomaly import SpikeDetector as SpikeDetector
    from labkit.records.causes import CAUSES as CAUSES
    from labkit.records.causes import Cause as Cause
    from labkit.records.evidence import Evidence as Evidence
    from labkit.records.healthiness import SIGNS as SIGNS
    from labkit.records.healthiness import Health as Health
    from labkit.records.healthiness import Sign as Sign
    from labkit.records.identity import Identity as Identity
    from labkit.records.identity import Reproduction as Reproduction
    from labkit.records.identity import identify as identify
    from labkit.records.identity import reproduction as reproduction
    from labkit.records.reading import Record as Record
    from labkit.records.reading import read as read
    from labkit.records.recorder import Recorder as Recorder

_LATER = {  # name -> module, imported on first use
    "CAUSES": "causes",
    "Cause": "causes",
    "Evidence": "evidence",
    "Health": "healthiness",
    "Identity": "identity",
    "Record": "reading",
    "Recorder": "recorder",
    "Reproduction": "identity",
    "SIGNS": "healthiness",
    "Sign": "healthiness",
    "Spike": "anomaly",
    "SpikeDetector": "anomaly",
    "identify": "identity",
    "read": "reading",
    "reproduction": "identity",
}

__all__ = [
    "CAUSES",
    "SIGNS",
    "Cause",
    "Evidence",
    "Health",
    "Identity",
    "Record",
    "Recorder",
    "Reproduction",
    "Sign",
    "Spike",
    "SpikeDetector",
    "identify",
    "read",
    "reproduction",
]

__getattr__ = members(__name__, _LATER)
