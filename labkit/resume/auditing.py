"""`audit`: one's own training code, continuous against killed and resumed, at every step and phase, once and twice."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from labkit.errors import UsageError
from labkit.inputs import whole
from labkit.resume import auditing_findings as findings
from labkit.resume.auditing_lives import run_lives
from labkit.resume.auditing_plan import planned
from labkit.resume.auditing_report import ResumeReport, Scenario
from labkit.resume.contract import Statistical, name_of, statistical
from labkit.resume.kill import ALL_PHASES, PHASES
from labkit.resume.programs import Life, as_function, read_notes


def audit(
    program: Any,
    *,
    steps: int,
    kill_at: str | Iterable[int] = "every",
    ranks: int = 1,
    phases: Sequence[str] = PHASES,
    twice: bool = True,
    save_every: int = 1,
    contract: str | Statistical = "bitwise",
    rtol: float = 1e-5,
    timeout: float = 30,
) -> ResumeReport:
    """Run `program` uninterrupted and with real kills, and say where the resumed run first isn't the same.

    A run is killed at every step and phase, resumed in a new process, and followed to its end; and killed again a step
    and three steps after the first kill. After every step all that the state holds is digested, the process's own
    generators and the gradients that wait for an update included, and compared with the uninterrupted run at the same
    step. A difference that is gone soon and changed no sample, loss or weight is called harmless.

    Args:
        program: an object with start(folder), step(state) and save(state, folder), or a function of a run; see
            `labkit.resume.programs`. It may be typed in a notebook.
        steps: steps of the uninterrupted run; an epoch's end should lie within.
        kill_at: "every", or the steps (from 1) in which to kill.
        ranks: on how many real ranks; more than 1 have a process group, and die together.
        phases: which of `PHASES`; add "damaged" to flip a byte of the newest checkpoint after the kill.
        twice: whether to kill a second time.
        save_every: steps between saves.
        contract: "bitwise"; "sample-exact": same samples, orders, cursors and generators, floats equal within `rtol`;
            or `Statistical(...)`: a final measure over seeds, equivalent by TOST.
        rtol: for sample-exact, relative to a tensor's norm.
        timeout: seconds for one process; one that still runs then has hung.

    Raises:
        UsageError: a value can't be used, or the program fails without any kill; the text names it.
    """
    began = time.perf_counter()
    steps, ranks, save_every = whole("steps", steps, 2), whole("ranks", ranks, 1), whole("save_every", save_every, 1)
    wanted_phases, at = _phases(phases), _steps(kill_at, steps)
    declared = name_of(contract)
    _sendable(program)
    with tempfile.TemporaryDirectory(prefix="labkit-resume-", dir=_memory()) as scratch:
        place = Path(scratch)
        life = _lives(place, steps, save_every)
        twins = [life("twin-a"), life("twin-b")]
        ends = run_lives(program, [[twin] for twin in twins], ranks=ranks, timeout=timeout)
        if bad := [end for (end,) in ends if end != "ended"]:
            raise UsageError(_unfit(twins, ranks, bad[0]))
        truth, unequal = findings.truth_of(twins, ranks)
        if isinstance(contract, Statistical):
            return statistical(program, contract, steps, ranks, save_every, place, timeout, began)
        if unequal:  # nothing after a kill can be judged against a run that isn't the same by itself
            return _report(declared, (), unequal, truth, ranks, steps, len(twins), began)
        chains, kills = planned(truth.notes, at, wanted_phases, twice, save_every, steps, life)
        ends = run_lives(program, chains, ranks=ranks, timeout=timeout)
        judged = [
            findings.judge(one, kill, end, truth, ranks, rtol, save_every)
            for one, kill, end in zip(chains, kills, ends, strict=True)
        ]
    scenarios = tuple(one for one in judged if one is not None)
    return _report(declared, scenarios, unequal, truth, ranks, steps, len(twins) + sum(map(len, ends)), began)


def _report(
    declared: str,
    scenarios: tuple[Scenario, ...],
    unequal: Any,
    truth: findings.Continuous,
    ranks: int,
    steps: int,
    lives: int,
    began: float,
) -> ResumeReport:
    exact, harmless = findings.gathered(scenarios, lambda one: one.difference)
    loose, _ = findings.gathered(scenarios, lambda one: one.inexact)
    exact = ([unequal] if unequal else []) + exact
    loose = ([unequal] if unequal else []) + loose
    attained = "bitwise" if not exact else "sample-exact" if not loose else "none"
    told = exact if declared == "bitwise" else loose
    return ResumeReport(
        declared, not told, attained, tuple(told), tuple(harmless), scenarios, None, ranks, steps, lives,
        truth.unseen, time.perf_counter() - began,
    )  # fmt: skip


def _memory() -> str | None:
    """A folder in memory, where there is room: a kill leaves the same files there, and a save costs less."""
    try:
        return "/dev/shm" if shutil.disk_usage("/dev/shm").free > 2**30 else None
    except OSError:
        return None


def _lives(place: Path, steps: int, save_every: int) -> Callable[..., Life]:
    def life(name: str, kill: Any = None, *, number: int = 0, watch: bool = True) -> Life:
        folder = place / name
        notes = place / f"{name}.notes-{number}"
        return Life(str(folder), str(notes), steps, save_every, kill, 0, watch)

    return life


def _sendable(program: Any) -> None:
    as_function(program)
    from labkit.ranks.payload import pack

    try:
        pack(lambda rank: program, ())
    except UsageError as error:
        raise UsageError(f"program: {error}") from None


def _unfit(twins: Sequence[Life], ranks: int, end: str) -> str:
    said = [n for t in twins for r in range(ranks) for n in read_notes(t.notes, r) if n["kind"] == "raised"]
    if said:
        first = said[0]
        return f"program raises without any kill, after step {max(first['step'], 0)}: {first['type']}: {first['text']}"
    return f"program {end} without any kill: run it once by itself, without the audit"


def _phases(phases: Sequence[str]) -> tuple[str, ...]:
    named = (phases,) if isinstance(phases, str) else tuple(phases)
    if bad := [one for one in named if one not in ALL_PHASES]:
        raise UsageError(f"phases holds {bad[0]!r}: choose from {', '.join(ALL_PHASES)}")
    return named


def _steps(kill_at: str | Iterable[int], steps: int) -> tuple[int, ...]:
    if kill_at == "every":
        return tuple(range(1, steps))
    if isinstance(kill_at, str) or not isinstance(kill_at, Iterable):
        raise UsageError(f'kill_at is {kill_at!r}: give "every", or steps such as [3, 5]')
    named = tuple(whole("kill_at", one, 1) for one in kill_at)
    if bad := [one for one in named if one >= steps]:
        raise UsageError(
            f"kill_at holds {bad[0]}: kills fall in steps 1 to {steps - 1}, so that one is left to compare"
        )
    return named
