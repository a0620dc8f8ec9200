"""How often is the stall doctor right? `python -m benchmarks doctor` plants every cause, many times, and counts.

A run of everything takes about half an hour and wants the machine to itself. With --keep an interrupted one goes on
where it was, and --seconds ends one early; rows that come from other code are measured again.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

import psutil

from benchmarks.doctor_runs import Keep, Row, alone, diagnosed, stamp
from benchmarks.doctor_tables import bars, laid_in, report, verdict

IDLE = 0.25  # cores that may be busy before and after a run for it to count
PAGE = Path(__file__).parents[1] / "docs" / "stall-doctor.md"
SETTINGS = "makespan"


def main(words: list[str]) -> int:
    from labkit.pipeline import CAUSES
    from labkit.pipeline.planted import KINDS

    parser = argparse.ArgumentParser(prog="python -m benchmarks doctor", description=__doc__)
    parser.add_argument("--runs", type=int, default=10, help="runs of each cause (default 10)")
    parser.add_argument("--keep", type=Path, help="a file of results: read, and added to")
    parser.add_argument("--only", action="append", choices=[*KINDS, SETTINGS], metavar="CAUSE", help="may be repeated")
    parser.add_argument("--first-seed", type=int, default=0, help="other sizes: seeds from here on (default 0)")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no run after so many seconds")
    parser.add_argument("--no-gain", action="store_true", help="don't try the advice")
    parser.add_argument("--write", action="store_true", help=f"lay the tables into {PAGE.name}")
    how = parser.parse_args(words)
    if how.runs < 1:
        parser.error(f"--runs is {how.runs}: give 1 or more")
    keep = Keep(how.keep, stamp)
    wanted = todo(how.only or [*KINDS, SETTINGS], how.runs, how.first_seed)
    begin, left = time.perf_counter(), 0
    for what, seed in wanted:
        if keep.has(what, seed):
            continue
        if time.perf_counter() - begin > how.seconds:
            left += 1
            continue
        row = undisturbed(what, seed, gain=not how.no_gain)
        if row is None:
            left += 1
            print(f"{what} {seed}: not counted, other programs keep cores busy", flush=True)
            continue
        keep.add(row)
        print(line(row), flush=True)
    # The first row of each counts, should two commands have worked on one file.
    done = {(row["what"], row["seed"]): row for row in reversed(keep.rows)}
    rows = [done[pair] for pair in wanted if pair in done]
    if left:
        print(f"{left} of {len(wanted)} runs are left: the same command with --keep goes on")
        return 1
    kinds = [k for k in KINDS if any(r["what"] == k for r in rows)]
    text = report(rows, kinds, CAUSES, told(how.runs, how.first_seed, sum(row.get("again", 0) for row in rows)))
    print("\n" + text)
    if how.write:
        PAGE.write_text(laid_in(PAGE.read_text(encoding="utf-8"), text), encoding="utf-8")
    return 0 if all(met for *_, met in bars(rows, KINDS)) else 1


def todo(kinds: list[str], runs: int, first: int) -> list[tuple[str, int]]:
    """What is to be run: kinds in turns, so that a busy moment of the machine hits them all."""
    from benchmarks.doctor_settings import SETTINGS as settings

    pairs = [(kind, first + i) for i in range(runs) for kind in kinds if kind != SETTINGS]
    return pairs + [(SETTINGS, i) for i in range(len(settings)) if SETTINGS in kinds]


def undisturbed(what: str, seed: int, *, gain: bool) -> Row | None:
    """One row from a machine that was idle before and after; None if three attempts found it busy.

    What the diagnosis itself says about other programs isn't asked: if it abstains without a reason, that counts.
    """
    for again in range(3):
        if others() > IDLE:
            time.sleep(2)
            continue
        row = one(what, seed, gain=gain)
        time.sleep(1)  # what a run leaves to the kernel (pages, processes) is no other program
        if others() <= IDLE:
            return {**row, "again": again}
    return None


def others() -> float:
    """Cores that are busy now, while nothing of ours runs."""
    return psutil.cpu_percent(0.5) / 100 * (psutil.cpu_count() or 1)


def one(what: str, seed: int, *, gain: bool) -> Row:
    """One row: a diagnosis, or a setting."""
    from benchmarks.doctor_settings import measured

    row = alone(measured, seed, seed) if what == SETTINGS else alone(diagnosed, what, seed, gain)
    return {"what": what, "seed": seed, "truth": what, **row}


def line(row: Row) -> str:
    """What a person who waits wants to see."""
    name = f"{row['what']} {row['seed']}:"
    if "failed" in row:
        return f"{name} FAILED, {row['failed']}"
    if row["what"] == SETTINGS:
        return f"{name} predicted {row['predicted'] / row['achieved'] - 1:+.1%}"
    text = f"{name} {verdict(row)}, {row['said']} ({row['seconds']:.1f} s)"
    if applied := row.get("applied"):
        text += f"; gain {applied['gain']:.2f}, predicted {applied['predicted_gain']:.2f}"
    if "why" in row:
        text += f"; {row['evidence']}; {json.dumps(row['why'].get('ruled out', {}).get(row['truth'], ''))}"
    return text


def told(runs: int, first: int, again: int) -> str:
    """What was measured, with what."""
    from benchmarks.__main__ import environment

    where = environment()
    names = ("cores", "system", "python", "torch")
    return (
        f"Written by `python -m benchmarks doctor --runs {runs} --first-seed {first} --write`, measured with "
        f"{', '.join(f'{name} {where[name]}' for name in names)}. Every run has sizes of its own. "
        f"Attempts thrown away because other programs kept cores busy: {again}."
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
