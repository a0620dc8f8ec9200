"""One diagnosis of a planted job, or one setting of a loader, in a process of its own; the file that keeps them."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import re
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import psutil

from labkit.pipeline.planted import MAKERS

Row = dict[str, Any]

LIMIT_S = 120  # a run that takes longer has failed
PIPELINE = Path(__file__).parents[1] / "labkit" / "pipeline"
MEASURED = ("planted*", "diagnos*", "prob*", "remedy*", "measurement", "trace", "recurrence", "line", "timeline")


def stamp(what: str = "") -> str:
    """Of the code that the figures of `what` come from, without other kinds' plants: rows of other code are stale."""
    digest = hashlib.sha256()
    files = {path for pattern in MEASURED for path in PIPELINE.glob(f"{pattern}.py")}
    if kind := MAKERS.get(what):
        files -= set(PIPELINE.glob("planted_*.py")) - _plants(kind[0])
    for path in [*sorted(files), *sorted(Path(__file__).parent.glob("doctor_[rs]*.py"))]:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def _plants(module: str) -> set[Path]:
    """The plants' modules that this one stands on, itself included."""
    found: set[Path] = set()
    waiting = [module]
    while waiting:
        path = PIPELINE / f"{waiting.pop()}.py"
        if path not in found:
            found.add(path)
            waiting += re.findall(r"labkit\.pipeline\.(planted_\w+)", path.read_text(encoding="utf-8"))
    return found


class Keep:
    """Rows in a file, one JSON object a line; those of other code are ignored. version: the code's stamp, by kind."""

    def __init__(self, path: Path | None, version: Callable[[str], str]) -> None:
        self.path = path
        self.version = cache(version)
        self.rows: list[Row] = []
        if path is not None and path.exists():
            told = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip())
            self.rows = [row for row in told if row["stamp"] == self.version(row["what"])]

    def has(self, what: str, seed: int) -> bool:
        return any((row["what"], row["seed"]) == (what, seed) for row in self.rows)

    def add(self, row: Row) -> None:
        row = {"stamp": self.version(row["what"]), **row}
        self.rows.append(row)
        if self.path is not None:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")


def alone(work: Callable[..., Row], *args: Any, limit_s: float = LIMIT_S) -> Row:
    """`work(*args)` in a forked process: what one run leaves behind (threads, servers, memory) another doesn't find.

    A run that fails or takes too long gives a row with "failed".
    """
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_answer, args=(there, work, args))
    process.start()
    there.close()
    try:
        if here.poll(limit_s):
            row: Row = here.recv()
            process.join(5)
        else:
            row = {"failed": f"no answer within {limit_s:.3g} s"}
    except EOFError:
        row = {"failed": "the process died"}
    finally:
        _end(process)
        here.close()
    return row


def _answer(pipe: Any, work: Callable[..., Row], args: tuple[Any, ...]) -> None:
    try:
        pipe.send(work(*args))
    except Exception as error:
        pipe.send({"failed": f"{type(error).__name__}: {error}"[:500]})


def _end(process: Any) -> None:
    try:
        family = psutil.Process(process.pid).children(recursive=True) if process.is_alive() else []
    except psutil.NoSuchProcess:
        family = []
    if process.is_alive():
        process.kill()
        process.join()
    for child in family:
        try:
            child.kill()
        except psutil.NoSuchProcess:
            continue


def diagnosed(kind: str, seed: int, gain: bool) -> Row:
    """Plant, diagnose, and if the verdict is right try the advice."""
    from labkit.pipeline import diagnose
    from labkit.pipeline.planted import planted

    begin = time.perf_counter()
    job = planted(kind, seed=seed)
    try:
        found = diagnose(job.make_loader, job.step)
        record, measured = found.record, found.measured
        row: Row = {
            "truth": job.cause,
            "also": list(job.also),
            "sizes": job.sizes,
            "note": job.note,
            "said": found.cause,
            "evidence": found.evidence,
            "second": list(found.second),
            "seconds": found.seconds,
            "share": None if measured is None else measured.wait_share,
            "others": None if record is None else record.others,
            "predicted": found.predicted_gain,
            "saves": 0.0 if found.verdict.remedy is None else found.verdict.remedy.saves,
            "advice": found.advice,
        }
        if found.cause != job.cause:
            row["why"] = {"ruled out": found.ruled_out, "unseen": found.verdict.unseen}
        elif gain and found.verdict.remedy is not None and record is not None:
            fixed = None if found.verdict.remedy.applies_itself else job.make_fixed
            done = found.apply(job.make_loader, job.step, fixed)
            row["applied"] = done.as_dict()
        row["whole"] = time.perf_counter() - begin
        return row
    finally:
        job.close()
