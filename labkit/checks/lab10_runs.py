"""Lab 10's runs: five records with planted trouble, names from another process, a keeper at work, a recorded kill."""

from __future__ import annotations

import itertools
import json
import math
import os
import pickle
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from labkit.records.reading import Record

# records.health ----------------------------------------------------------------------------------------------------

TROUBLES = ("nothing", "spike", "not-finite", "not-learning", "gap", "repeated")
STEPS = 32


def planted(job: int) -> dict[str, str]:
    """What is wrong with each record; `quiet spike` is one that the loss doesn't show."""
    rng = random.Random(f"records/{job}")
    kinds = ["nothing", "quiet spike", *rng.sample(("spike", "not-finite", "not-learning", "gap", "repeated"), 3)]
    rng.shuffle(kinds)
    return dict(zip("ABCDE", kinds, strict=True))


def rows_of(kind: str, seed: int) -> list[dict[str, float]]:
    """The steps of a small training of y = 3x + 2, in the order in which they were done, with `kind` as its trouble."""
    rng = random.Random(f"{seed}/{kind}")
    w, b, rows, at = rng.uniform(-1, 1), 0.0, [], rng.randint(20, 28)
    order = [*range(1, STEPS + 1)]
    if kind == "gap":
        order = [step for step in order if not at - 3 <= step < at]
    if kind == "repeated":
        order = [*range(1, at), *range(at - 4, STEPS + 1)]
    for step in order:
        xs = [-1.5 + 3 * i / 15 for i in range(16)]
        errors = [w * x + b - 3 * x - 2 + rng.gauss(0, 0.3) for x in xs]
        if kind == "spike" and step == at:
            errors = [50 * error + 40 for error in errors]
        loss = sum(error**2 for error in errors) / 16
        gw, gb = (2 * sum(e * x for e, x in zip(errors, xs, strict=True)) / 16, 2 * sum(errors) / 16)
        norm = math.hypot(gw, gb)
        rate = -0.01 if kind == "not-learning" else 0.05
        if kind == "spike" and step == at:
            rate = 0.0  # the update was clipped away
        w, b = w - rate * gw, b - rate * gb
        if kind == "quiet spike" and step == at:
            norm *= 60
        if kind == "not-finite" and step >= at:
            norm = math.nan
        rows.append({"step": step, "loss": loss, "grad_norm": norm})
    return rows


def recorded(job: int) -> dict[str, Record]:
    """The five records, written by a real Recorder and read again."""
    from labkit.records import Recorder, read

    found = {}
    for number, (letter, kind) in enumerate(planted(job).items()):
        with tempfile.TemporaryDirectory(prefix="labkit-records-") as folder:
            rows = rows_of(kind, 10 * job + number)
            restart = next((i for i, (a, b) in enumerate(itertools.pairwise(rows)) if b["step"] <= a["step"]), None)
            for part in (rows,) if restart is None else (rows[: restart + 1], rows[restart + 1 :]):
                with Recorder(folder, keep=0) as recorder:
                    for row in part:
                        recorder.step(int(row["step"]), loss=row["loss"], grad_norm=row["grad_norm"])
            found[letter] = read(folder)
    return found


# records.identity --------------------------------------------------------------------------------------------------

Name = Callable[[dict[str, Any], list[str], list[str]], Any]


def _there(name: Name, *args: Any) -> Any:
    """What the function gives in a new interpreter, whose `hash` of texts is another one: a forked process has ours."""
    import cloudpickle

    code = "import os, pickle, sys; out = os.fdopen(os.dup(1), 'wb'); os.dup2(2, 1)\n"  # what it prints is no result
    code += "f, args = pickle.load(sys.stdin.buffer); out.write(pickle.dumps(f(*args)))"
    ran = subprocess.run(
        [sys.executable, "-c", code],
        input=cloudpickle.dumps((name, args)),
        capture_output=True,
        env={**os.environ, "PYTHONHASHSEED": "random"},
        check=False,
    )
    if ran.returncode:
        raise RuntimeError(
            f"in another process: {(ran.stderr.decode(errors='replace').splitlines() or ['it died'])[-1]}"
        )
    return pickle.loads(ran.stdout)


def named_twice(name: Name) -> Callable[..., list[Any]]:
    """The names that a person's function gives two runs here, and the first of them in another process."""

    def named(a: dict[str, Any], a_samples: list[str], b: dict[str, Any], b_samples: list[str],
              ignore: list[str]) -> list[Any]:  # fmt: skip
        here = [name(a, a_samples, ignore), name(b, b_samples, ignore)]
        return [*here, _there(name, a, a_samples, ignore)]

    named.__name__ = "named_twice"  # as cards call it
    return named


# records.evidence --------------------------------------------------------------------------------------------------


def watched(make: Callable[[int], Any]) -> Callable[..., dict[str, Any]]:
    """A training loop around a person's keeper; its loader uses one buffer for all batches, as fast loaders do.

    The result takes (losses, batches, keep) and gives what is kept, [step, batch] each, and the bytes that it holds.
    """

    def watch(losses: Sequence[float | None], batches: Sequence[Sequence[int]], keep: int) -> dict[str, Any]:
        keeper, buffer = make(keep), [0] * len(batches[0])
        for step, (loss, batch) in enumerate(zip(losses, batches, strict=True), start=1):
            buffer[:] = batch
            keeper.step(step, math.nan if loss is None else loss, buffer)
        kept = keeper.kept()
        buffer[:] = [0] * len(buffer)
        try:
            held = len(pickle.dumps(vars(keeper)))
        except (TypeError, AttributeError, pickle.PicklingError):
            held = 0
        return {"kept": [[step, list(batch)] for step, batch in kept], "held": held}

    watch.__name__ = "watched"  # as cards call it
    return watch


# records.overhead --------------------------------------------------------------------------------------------------

WRITES = ("each step", "every 50 steps", "at the end")
KEEPS = ("nothing", "spikes", "every batch")
STEP = 0.005  # seconds of one step's training


def killed_run(write: str, keep: str, killed: int, spike: int) -> dict[str, Any]:
    """A real process that records 5 ms steps in one way, and is killed by SIGKILL after step `killed`.

    Returns:
        The rows that are left, `lost` steps, whether the batch of the spike is there, and `share`: the median time of
        recording a step over the median time of a whole step, both from the same run.
    """
    with tempfile.TemporaryDirectory(prefix="labkit-records-") as folder:
        code = "import sys; from labkit.checks.lab10_runs import live; live(*sys.argv[1:])"
        command = [sys.executable, "-c", code, folder, write, keep, str(killed), str(spike)]
        died = subprocess.run(command, capture_output=True, text=True)
        if died.returncode != -signal.SIGKILL:
            raise RuntimeError(f"the run ended by itself ({died.returncode}): {died.stderr[-400:]}")
        place = Path(folder)
        path = place / "steps.jsonl"
        rows = len(path.read_text().splitlines()) if path.exists() else 0
        times = [[float(x) for x in line.split()] for line in (place / "times").read_text().splitlines()]
        share = statistics.median(a for a, _ in times) / statistics.median(b for _, b in times)
        return {"rows": rows, "lost": killed - rows, "batch": (place / f"batch-{spike}.json").exists(), "share": share}


def live(folder: str, write: str, keep: str, killed: str, spike: str) -> None:
    """In its own process: train, record, and die."""
    place, batch = Path(folder), list(range(60_000))
    waiting: list[str] = []
    steps = os.open(place / "steps.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    with open(place / "times", "w") as times:  # the stopwatch's own, and not part of what is judged
        for step in range(1, int(killed) + 1):
            began = time.perf_counter()
            time.sleep(STEP)
            loss = 40.0 if step == int(spike) else 1 / step
            before = time.perf_counter()
            waiting.append(json.dumps({"step": step, "loss": loss}) + "\n")
            if write == "each step" or (write == "every 50 steps" and step % 50 == 0):
                os.write(steps, "".join(waiting).encode())
                waiting.clear()
            if keep == "every batch" or (keep == "spikes" and loss > 10):
                (place / f"batch-{step}.json").write_text(json.dumps(batch))
            after = time.perf_counter()
            times.write(f"{after - before} {after - began}\n")
        times.flush()
        os.kill(os.getpid(), signal.SIGKILL)


class Records(Mapping[str, Any]):
    """Five records by letter, drawn from a number that doesn't show what is wrong with them."""

    def __init__(self, job: int) -> None:
        self._held = recorded(job)

    def __getitem__(self, letter: str) -> Record:
        return self._held[letter]

    def __iter__(self) -> Iterator[str]:
        return iter(self._held)

    def __len__(self) -> int:
        return len(self._held)

    def __repr__(self) -> str:
        return f"five records of {STEPS} steps, A to E; metrics loss and grad_norm"
