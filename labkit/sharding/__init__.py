"""Who reads which sample?

The plan on paper (`plan`, `plan_distributed_sampler`, `plan_dispatch`: which rank gets which ids, what is repeated,
what is lost, who takes fewer steps), the samplers that carry it out, written to be read (`StrideSampler`,
`BatchShards`, `BatchSlices`), one rank reading for all (`Dispatch`, `compare_dispatch`), ranks that take unequal steps
(`uneven_steps`), and the ledger of what ranks and workers really saw (`audit`). Ranks, steps and samples are numbered
from 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from labkit.later import members

if TYPE_CHECKING:
    from labkit.sharding.auditing import audit as audit
    from labkit.sharding.coverage import Coverage as Coverage
    from labkit.sharding.dispatch import Dispatch as Dispatch
    from labkit.sharding.dispatch import DispatchReport as DispatchReport
    from labkit.sharding.dispatch import compare_dispatch as compare_dispatch
    from labkit.sharding.findings import CAUSES as CAUSES
    from labkit.sharding.findings import Finding as Finding
    from labkit.sharding.planning import Plan as Plan
    from labkit.sharding.planning import plan as plan
    from labkit.sharding.planning import plan_dispatch as plan_dispatch
    from labkit.sharding.planning import plan_distributed_sampler as plan_distributed_sampler
    from labkit.sharding.samplers import BatchShards as BatchShards
    from labkit.sharding.samplers import BatchSlices as BatchSlices
    from labkit.sharding.samplers import StrideSampler as StrideSampler
    from labkit.sharding.uneven import uneven_steps as uneven_steps

_LATER = {  # name -> module, imported on first use
    "BatchShards": "samplers",
    "BatchSlices": "samplers",
    "CAUSES": "findings",
    "Coverage": "coverage",
    "Dispatch": "dispatch",
    "DispatchReport": "dispatch",
    "Finding": "findings",
    "Plan": "planning",
    "StrideSampler": "samplers",
    "audit": "auditing",
    "compare_dispatch": "dispatch",
    "plan": "planning",
    "plan_dispatch": "planning",
    "plan_distributed_sampler": "planning",
    "uneven_steps": "uneven",
}

__all__ = [
    "CAUSES",
    "BatchShards",
    "BatchSlices",
    "Coverage",
    "Dispatch",
    "DispatchReport",
    "Finding",
    "Plan",
    "StrideSampler",
    "audit",
    "compare_dispatch",
    "plan",
    "plan_dispatch",
    "plan_distributed_sampler",
    "uneven_steps",
]

__getattr__ = members(__name__, _LATER)
