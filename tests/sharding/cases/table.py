"""The table of public reports: run every case on real ranks, print what was found, and write docs/sharding-audit.md.

python tests/sharding/cases/table.py               all of them; writes the table
python tests/sharding/cases/table.py accelerate    those whose report has this word in it; writes nothing
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import orders
import padding
import shares
import values
from case import Case, judge

CASES: list[Case] = [*padding.CASES, *shares.CASES, *orders.CASES, *values.CASES]
PAGE = Path(__file__).parents[3] / "docs" / "sharding-audit.md"
OPENING = """# What the sharding audit catches

`labkit.sharding.audit` walks a loader on real ranks and names what is wrong with who reads what. Each row is a small
reproduction of a public report, with a clean twin on which nothing may be found; rows about a number rather than a
loader are `labkit.metrics.audit`'s. Written by `python tests/sharding/cases/table.py`, from a run of all of them.

"""
CLOSING = """
## What can't be seen

- What a model does with a batch. Averages of averages and the like pass through a right loader: `labkit.metrics.audit`.
- What the job does between epochs, unless `on_epoch=` says so: an audit without it finds the order that a job has that
  never calls `set_epoch`.
- Samples that are equal, in a stream without ids: they count as one. Samples that change on reading (random
  augmentation), in a stream without ids or in data sets that differ by rank: repeats can't be recognised. Both need
  `sample_id=`. A note says when this is so.
- Which samples a stream lost, if no epoch ever yielded them and neither `samples=` nor its length tells.
- Whether all ranks read everything on purpose, and which ranks share data where they aren't neighbours: `groups=`.
- Draws of a generator that lives in a closure or a module. Generators of torch, numpy and Python, and those that a data
  set or an object it holds keeps as an attribute, are seen. An iterable data set's own generator isn't judged: it may
  only shuffle.
- Batches rebuilt after the DataLoader (webdataset's WebLoader with `unbatched`, wrappers that prefetch): who read what
  in an epoch is right, the step within the epoch may be off.
- With dispatch, only rank 0 reads: workers are rank 0's. A `slice_fn_for_dispatch` of one's own that can't cut one more
  tensor in a dictionary fails.
- More than an epoch of 100,000 steps: say `steps=`.
"""


def page(rows: list[tuple[Case, str, tuple[str, ...], tuple[str, ...]]]) -> str:
    """The table as Markdown."""
    lines = ["| report | what goes wrong | instrument | fault | twin |", "|---|---|---|---|---|"]
    for case, verdict, fault, clean in rows:
        caught = f"**{verdict}**" if verdict != "detected" else "detected"
        lines.append(
            f"| {case.report} | {case.shows} | {case.by} | {caught}: {', '.join(fault) or 'nothing'} "
            f"| {', '.join(clean) or 'silent'} |"
        )
    counts = [f"{sum(verdict == name for _, verdict, _, _ in rows)} {name}" for name in VERDICTS]
    return OPENING + "\n".join(lines) + f"\n\n{len(rows)} rows: {', '.join(counts)}.\n" + CLOSING


VERDICTS = ("detected", "missed", "false alarm")


def main(words: list[str]) -> int:
    """Print the table and, where all cases ran, write it. 1 if anything was missed or a false alarm, else 0."""
    from labkit import ranks

    ranks.warm_up("accelerate", "webdataset")
    rows, started = [], time.perf_counter()
    for case in CASES:
        if all(word in case.report for word in words):
            rows.append((case, *judge(case)))
            _, verdict, fault, clean = rows[-1]
            twin = f"; on the twin {', '.join(clean)}" if clean else ""
            print(f"{verdict:12} {case.report:48} {', '.join(fault) or 'nothing'}{twin}", flush=True)
    if not words:
        PAGE.parent.mkdir(exist_ok=True)
        PAGE.write_text(page(rows), encoding="utf-8")
    print(f"{len(rows)} rows in {time.perf_counter() - started:.0f} s")
    return int(any(verdict != "detected" for _, verdict, _, _ in rows))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
