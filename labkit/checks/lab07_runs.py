"""Lab 07's runs: one that is really killed and what it leaves behind, four that ended well, a stop and a resume."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from labkit.resume.checkpoint_file import read_checkpoint
from labkit.resume.line import Line, StepRecord, spoil, train
from labkit.resume.line_report import Report

WORDS = {None: "nothing", "drop-optimizer": "momentum", "reset-cursor": "cursor", "reset-rng": "shuffler"}
"""What a resume lost, by the fault that loses it."""


def stopped_and_resumed(
    capture: Callable[[Line], Any], restore: Callable[[Line, Any], Any]
) -> Callable[[int, int, int], dict[str, Any]]:
    """A run that is captured, goes on a little, is lost, and is restored into a new line.

    The result takes (seed, at, until): the run's seed, the step at which it is captured, the step to reach. It gives
    the snapshot as JSON at the capture and four updates later, and the updates of the new line.
    """

    def capture_and_restore(seed: int, at: int, until: int) -> dict[str, Any]:
        line = Line(seed)
        for _ in range(at):
            line.advance()
        fresh = Line(seed=0)  # a new process knows nothing of the old one
        try:
            snapshot = capture(line)
            saved = json.dumps(snapshot)
            for _ in range(4):
                line.advance()
            later = json.dumps(snapshot)
            restore(fresh, json.loads(saved))
        except NotImplementedError:  # either of the two is still a stub
            raise NotImplementedError from None
        if [fresh.w, fresh.b, fresh.vw, fresh.vb] == [0.0] * 4 and fresh.step == 0 and at:
            return {"saved": saved, "later": later, "rows": []}
        return {"saved": saved, "later": later, "rows": [row(fresh.advance()) for _ in range(until - at)]}

    return capture_and_restore


def row(record: StepRecord) -> dict[str, Any]:
    """One update by its components, as plain values."""
    return {
        "step": record.step,
        "ids": list(record.ids),
        "parameters": {"w": record.w, "b": record.b},
        "optimizer": {"w": record.vw, "b": record.vb},
        "position": record.position,
        "order": list(record.order),
        "rng": record.rng,
    }


def rows(report: Report) -> list[dict[str, Any]]:
    """All updates of a run by their components."""
    return [row(record) for record in report.records]


def leave_behind(job: Mapping[str, Any]) -> tuple[Report, dict[str, dict[str, Any]]]:
    """Train in a real process that is killed with SIGKILL, and collect what is left.

    Returns:
        Its log, as a report up to the last update, and five checkpoints by letter, as five programs would have saved
        them: at different moments, and not all of them well.
    """
    with tempfile.TemporaryDirectory(prefix="labkit-line-") as folder:
        code = "import sys; from labkit.resume.line_killed import live; live(*sys.argv[1:])"
        command = [sys.executable, "-c", code, folder, str(job["seed"]), str(job["killed"])]
        died = subprocess.run(command, capture_output=True, text=True)
        if died.returncode != -signal.SIGKILL:
            raise RuntimeError(f"the run ended by itself ({died.returncode}): {died.stderr[-400:]}")
        lines = (Path(folder) / "log.jsonl").read_text().splitlines()
        states = {step: read_checkpoint(Path(folder) / f"{step}.json") for step in range(1, job["killed"] + 1)}
    records = tuple(
        StepRecord(**{**found, "ids": tuple(found["ids"]), "order": tuple(found["order"])})
        for found in map(json.loads, lines)
    )
    log = Report(job["seed"], job["killed"], None, None, "python", records, states[job["killed"]])
    return log, {letter: _saved(kind, step, states) for letter, (kind, step) in plan_of(job).items()}


def plan_of(job: Mapping[str, Any]) -> dict[str, tuple[str, int]]:
    """How each lettered checkpoint was saved, and after which update: right, prefetched, mixed or momentum."""
    rng = random.Random(f"{job['seed']}/{job['killed']}")
    killed = job["killed"]
    right = killed - rng.randint(5, 8)
    within = [step for step in range(right + 1, killed + 1) if step % 4]
    kinds = [
        ("right", right),
        ("right", right - rng.randint(3, 5)),
        ("prefetched", rng.choice(within)),
        ("mixed", rng.randint(right + 2, killed)),
        ("momentum", killed),
    ]
    rng.shuffle(kinds)
    return dict(zip("ABCDE", kinds, strict=True))


def _saved(kind: str, step: int, states: Mapping[int, dict[str, Any]]) -> dict[str, Any]:
    state = states[step]
    if kind == "prefetched":  # where the loader stood, not the training
        return {**state, "samplePosition": state["samplePosition"] + 4}
    if kind == "mixed":  # the weights were written one update later than the rest
        return {**states[step - 1], "parameters": state["parameters"]}
    return spoil(state, "drop-optimizer", 0) if kind == "momentum" else state


def four_runs(job: Mapping[str, Any]) -> tuple[Report, dict[str, Report]]:
    """The uninterrupted run, and four that were stopped and resumed: what each lost isn't written in it."""
    state = train(job["stopped"], seed=job["seed"]).state
    made = {}
    for letter, fault in zip("ABCD", job["lost"], strict=True):
        resumed = train(80, seed=job["seed"], resume=state, fault=fault)
        made[letter] = replace(resumed, fault=None)
    return train(80, seed=job["seed"]), made


class Four(Mapping[str, Any]):
    """What a learner gets of `resume.low_loss`: the uninterrupted run and the four, by letter."""

    def __init__(self, job: Mapping[str, Any]) -> None:
        self.continuous, self._runs = four_runs({**job, "lost": unveil(job)})

    def __getitem__(self, letter: str) -> Report:
        return self._runs[letter]

    def __iter__(self) -> Any:
        return iter(self._runs)

    def __len__(self) -> int:
        return len(self._runs)

    def __repr__(self) -> str:
        named = {"continuous": self.continuous, **self._runs}
        return "\n".join(f"{k:10}  w {r.w:.3f}  b {r.b:.3f}  MSE {r.mse:.1e}" for k, r in named.items())


def unveil(job: Mapping[str, Any]) -> list[str | None]:
    """What each of the four lost, drawn from the job's seed: the figures shown don't say it."""
    rng = random.Random(f"{job['seed']}/{job['stopped']}/four")
    lost: list[str | None] = [None, *rng.choice(([None], ["reset-rng"], ["reset-cursor"]))]
    faults = ["drop-optimizer", "reset-cursor", "reset-rng"]
    lost += rng.sample([fault for fault in faults if fault not in lost], 2)
    rng.shuffle(lost)
    return lost
