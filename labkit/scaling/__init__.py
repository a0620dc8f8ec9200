"""How many samples per second, and what do more ranks cost?

`benchmark` measures by a fixed protocol and records it with the machine, the versions and the data; `weak_scaling` does
so on several numbers of ranks; `compare` puts two results side by side, or refuses and says what differs. What waiting
for the slowest rank costs: `straggler_estimate`, `simulate_straggler`, `measure_straggler`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from labkit.later import members

if TYPE_CHECKING:
    from labkit.scaling.comparison import Comparison as Comparison
    from labkit.scaling.comparison import Difference as Difference
    from labkit.scaling.comparison import NotComparable as NotComparable
    from labkit.scaling.comparison import compare as compare
    from labkit.scaling.comparison import differences as differences
    from labkit.scaling.identity import data_identity as data_identity
    from labkit.scaling.protocol import benchmark as benchmark
    from labkit.scaling.protocol import weak_scaling as weak_scaling
    from labkit.scaling.result import Benchmark as Benchmark
    from labkit.scaling.straggler import Straggling as Straggling
    from labkit.scaling.straggler import measure_straggler as measure_straggler
    from labkit.scaling.straggler import simulate_straggler as simulate_straggler
    from labkit.scaling.straggler import straggler_estimate as straggler_estimate
    from labkit.scaling.weak import WeakScaling as WeakScaling

_LATER = {  # name -> module, imported on first use
    "Benchmark": "result",
    "Comparison": "comparison",
    "Difference": "comparison",
    "NotComparable": "comparison",
    "Straggling": "straggler",
    "WeakScaling": "weak",
    "benchmark": "protocol",
    "compare": "comparison",
    "data_identity": "identity",
    "differences": "comparison",
    "measure_straggler": "straggler",
    "simulate_straggler": "straggler",
    "straggler_estimate": "straggler",
    "weak_scaling": "protocol",
}

__all__ = [
    "Benchmark",
    "Comparison",
    "Difference",
    "NotComparable",
    "Straggling",
    "WeakScaling",
    "benchmark",
    "compare",
    "data_identity",
    "differences",
    "measure_straggler",
    "simulate_straggler",
    "straggler_estimate",
    "weak_scaling",
]

__getattr__ = members(__name__, _LATER)
