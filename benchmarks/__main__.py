"""Run every `bench_*.py` (or those named), print one table, write results/<topic>.json and RESULTS.md.

`python -m benchmarks doctor ...` and `python -m benchmarks classroom ...` are commands of their own: see their files.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
import os
import platform
import sys
import time
from importlib.metadata import version
from pathlib import Path

from benchmarks.harness import HEADINGS, Row

HERE = Path(__file__).parent
RESULTS = HERE / "results"


def environment() -> dict[str, str]:
    """What a reader needs to know before comparing figures."""
    names = ("numpy", "torch", "simpy", "ciw")
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": str(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()),
        **{name: version(name) for name in names},
    }


def table(rows: list[Row]) -> str:
    """The rows as a Markdown table, padded so that it reads in a terminal too."""
    lines = [HEADINGS, *(row.cells() for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(HEADINGS))]
    text = ["| " + " | ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)) + " |" for line in lines]
    text.insert(1, "|" + "|".join("-" * (w + 2) for w in widths) + "|")
    return "\n".join(text)


def main(chosen: list[str]) -> int:
    if chosen[:1] == ["doctor"]:
        from benchmarks import doctor

        return doctor.main(chosen[1:])
    if chosen[:1] == ["classroom"]:
        from benchmarks import classroom

        return classroom.main(chosen[1:])
    topics = sorted(path.stem.removeprefix("bench_") for path in HERE.glob("bench_*.py"))
    if unknown := [name for name in chosen if name not in topics]:
        print(f"no benchmark called {unknown[0]!r}: choose from {', '.join(topics)}", file=sys.stderr)
        return 2
    begin, where = time.perf_counter(), environment()
    RESULTS.mkdir(exist_ok=True)
    parts, met = [], True
    for topic in chosen or topics:
        rows = importlib.import_module(f"benchmarks.bench_{topic}").rows()
        record = {"environment": where, "rows": [dataclasses.asdict(row) for row in rows]}
        (RESULTS / f"{topic}.json").write_text(json.dumps(record, indent=1) + "\n")
        parts.append(f"## {topic}\n\n{table(rows)}\n")
        met = met and all(row.met for row in rows)
        print(parts[-1])
    told = ", ".join(f"{name} {value}" for name, value in where.items())
    print(f"{told}; {time.perf_counter() - begin:.0f} s in all")
    if not chosen:
        words = "Written by `make bench`. Rivals run in turns; a ratio compares two rates of the same round."
        (HERE / "RESULTS.md").write_text(f"# Benchmarks\n\n{words}\n\nMeasured with {told}.\n\n" + "\n".join(parts))
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
