"""Read a pack back and say whether it still is what was written."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from labkit.pipeline.packing.reading import Packed, Skipped
from labkit.pipeline.packing.sample import ContentHash


@dataclass(frozen=True)
class Verified:
    """What a reading of the whole pack found.

    Attributes:
        format: of the pack.
        samples: how many could be read.
        content: hash over them, in order.
        written: hash over what was written.
        skipped: what could not be read, and why.
    """

    format: str
    samples: int
    content: str
    written: str
    skipped: tuple[Skipped, ...]

    @property
    def ok(self) -> bool:
        """Every sample is there, unchanged and in its place."""
        return self.content == self.written and not self.skipped

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self) | {"ok": self.ok, "skipped": [asdict(one) for one in self.skipped]}

    def text(self) -> str:
        """Lines for people: the verdict, then what is lost."""
        if self.ok:
            return f"{self.samples:,} samples, sha256 {self.content[:16]}...: equal to what was written"
        lost = sum(one.records for one in self.skipped)
        lines = [f"{self.samples:,} samples can be read, {lost:,} can't"]
        for one in self.skipped:
            many = (
                f"records {one.record} to {one.record + one.records - 1}" if one.records > 1 else f"record {one.record}"
            )
            lines.append(f"  {one.shard}, {many}: {one.why}")
        return "\n".join(lines)


def verify(packed: Packed) -> Verified:
    """Read every sample and compare the hash with the one taken while writing."""
    total, skipped = ContentHash(), list[Skipped]()
    count = 0
    for sample in packed.samples(skipped=skipped):
        total.add(sample)
        count += 1
    return Verified(packed.format, count, total.hexdigest(), packed.manifest.content, tuple(skipped))
