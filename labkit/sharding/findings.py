"""What an audit may find: a fixed vocabulary of causes, and one finding as plain words."""

from __future__ import annotations

from dataclasses import dataclass

CAUSES = {
    "every-rank-reads-all": "nothing shares the data out: every rank reads every sample",
    "shared-shard": "two ranks read the same share, and another share is read by nobody",
    "every-worker-reads-all": "each worker process of a rank reads the rank's whole stream",
    "padding": "samples from the start are handed out again so that all ranks take equal steps",
    "orders-diverge": "ranks cut their shares out of different permutations",
    "sharded-twice": "a share is shared out again: most samples are read by nobody",
    "ranks-overlap": "ranks read some of the same samples",
    "rank-repeats": "one rank reads a sample more than once in an epoch",
    "dropped": "the same samples are dropped in every epoch, so nobody ever reads them",
    "missing": "samples are read by nobody in an epoch",
    "no-steps": "a rank takes no step at all",
    "empty-data": "the data set holds no sample",
    "empty-batch": "a step gets a batch without samples",
    "steps-differ": "ranks take different numbers of steps: a collective in every step hangs",
    "wrong-length": "len(loader) isn't the number of steps it takes",
    "same-order": "every epoch has the same shuffled order",
    "frozen-epoch": "worker processes that live on never hear of the new epoch",
    "same-draws-in-workers": "worker processes of a rank draw the same random numbers",
    "same-draws-on-ranks": "ranks draw the same random numbers",
    "same-draws-every-epoch": "every epoch draws the same random numbers",
    "group-differs": "ranks that should share their data got different samples",
    "resumed-elsewhere": "the resumed loader doesn't go on where the first one would have",
    "raised": "an exception ended a rank's epoch",
    "died": "a rank's process died",
    "hung": "a rank waited until the time was over",
    "unequal": "ranks made different collectives inside their loaders",
    "endless": "an epoch has no end",
}
"""Cause -> what it means. `Finding.cause` is one of these words."""


@dataclass(frozen=True)
class Finding:
    """One fault.

    Attributes:
        cause: a key of `CAUSES`.
        said: what was seen, in a sentence or two, figures included.
        evidence: the particulars: which ids, ranks, workers, steps.
        fix: what to change.
    """

    cause: str
    said: str
    evidence: tuple[str, ...]
    fix: str

    def text(self) -> str:
        """The finding in a few lines."""
        return "\n".join([f"{self.cause}: {self.said}", *(f"  - {one}" for one in self.evidence), f"  fix: {self.fix}"])

    def as_dict(self) -> dict[str, object]:
        """The finding as plain values."""
        return {
            "cause": self.cause,
            "meaning": CAUSES[self.cause],
            "said": self.said,
            "evidence": list(self.evidence),
            "fix": self.fix,
        }


def listed(values: object, most: int = 8) -> str:
    """The first few of many values, and how many more there are."""
    items = [str(one) for one in values]  # type: ignore[attr-defined]
    rest = len(items) - most
    return ", ".join(items[:most]) + (f" and {rest} more" if rest > 0 else "")


def every(number: int, noun: str) -> str:
    """`Both ranks`, `All 3 ranks`."""
    return f"Both {noun}s" if number == 2 else f"All {number} {noun}s"


def count(number: int, noun: str) -> str:
    """`1 step`, `3 steps`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
