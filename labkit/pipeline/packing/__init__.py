"""The same samples as small files, tar shards, one LMDB or TFRecord: equal by their hash, unlike in what reading costs.

`pack` writes, `open_pack` reads, `verify` proves; `read_pass` and `compare` count and time, cold and warm.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from labkit.later import members

if TYPE_CHECKING:
    from labkit.pipeline.packing.cache import Cached as Cached
    from labkit.pipeline.packing.cache import cached as cached
    from labkit.pipeline.packing.cache import evict as evict
    from labkit.pipeline.packing.counting import Reads as Reads
    from labkit.pipeline.packing.jobs import Job as Job
    from labkit.pipeline.packing.jobs import access_costs as access_costs
    from labkit.pipeline.packing.jobs import fresh as fresh
    from labkit.pipeline.packing.jobs import made as made
    from labkit.pipeline.packing.jobs import pack_all as pack_all
    from labkit.pipeline.packing.jobs import run_job as run_job
    from labkit.pipeline.packing.jobs import scratch as scratch
    from labkit.pipeline.packing.manifest import FORMATS as FORMATS
    from labkit.pipeline.packing.passes import Pass as Pass
    from labkit.pipeline.packing.passes import Passes as Passes
    from labkit.pipeline.packing.passes import compare as compare
    from labkit.pipeline.packing.passes import read_pass as read_pass
    from labkit.pipeline.packing.reading import Packed as Packed
    from labkit.pipeline.packing.reading import ShardError as ShardError
    from labkit.pipeline.packing.reading import Skipped as Skipped
    from labkit.pipeline.packing.reading import open_pack as open_pack
    from labkit.pipeline.packing.sample import Sample as Sample
    from labkit.pipeline.packing.sample import content_hash as content_hash
    from labkit.pipeline.packing.source import samples_of as samples_of
    from labkit.pipeline.packing.verifying import Verified as Verified
    from labkit.pipeline.packing.verifying import verify as verify
    from labkit.pipeline.packing.writing import pack as pack

_LATER = {
    "Job": "jobs",
    "access_costs": "jobs",
    "fresh": "jobs",
    "made": "jobs",
    "pack_all": "jobs",
    "run_job": "jobs",
    "scratch": "jobs",
    "FORMATS": "manifest",
    "Cached": "cache", "cached": "cache", "evict": "cache", "Reads": "counting", "Pass": "passes", "Passes": "passes",
    "compare": "passes", "read_pass": "passes", "Packed": "reading", "ShardError": "reading", "Skipped": "reading",
    "open_pack": "reading", "Sample": "sample", "content_hash": "sample", "samples_of": "source",
    "Verified": "verifying", "verify": "verifying", "pack": "writing",
}  # fmt: skip

__all__ = [
    "FORMATS",
    "Cached",
    "Job",
    "Packed",
    "Pass",
    "Passes",
    "Reads",
    "Sample",
    "ShardError",
    "Skipped",
    "Verified",
    "access_costs",
    "cached",
    "compare",
    "content_hash",
    "evict",
    "fresh",
    "made",
    "open_pack",
    "pack",
    "pack_all",
    "read_pass",
    "run_job",
    "samples_of",
    "scratch",
    "verify",
]  # fmt: skip

__getattr__ = members(__name__, _LATER)
