"""What a failure costs, measured: a process that trains and saves is really killed, found dead, started again.

The four parts: detect (from the kill until somebody knows), restart (until the new process runs), load (the newest
checkpoint), replay (the steps that were done and not saved).
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from labkit.errors import UsageError
from labkit.inputs import whole
from labkit.resume.checkpoint_error import CheckpointError

if TYPE_CHECKING:
    import pandas as pd

    from labkit.picture import Picture

PARTS = {
    "detect": "from the kill until it is noticed",
    "restart": "until the new process runs and has imported what it needs",
    "load": "finding, verifying and restoring the newest checkpoint",
    "replay": "doing again the steps that were not saved",
}


@dataclass(frozen=True)
class RecoveryLedger:
    """One killed run, and what it took to stand where it stood. Times in seconds, of this machine, this once.

    Attributes:
        killed_at: updates done when the process was killed.
        resumed_from: updates in the checkpoint it went on from.
        detect, restart, load, replay: the parts of `PARTS`. A large detect: look more often. A large replay: save more
            often. A large restart: imports and set-up, which no interval helps.
        save: mean time of a save before the kill, which is what saving more often costs.
        step: mean time of a step before the kill.
        saves: saves before the kill.
    """

    killed_at: int
    resumed_from: int
    detect: float
    restart: float
    load: float
    replay: float
    save: float
    step: float
    saves: int

    @property
    def total(self) -> float:
        """Seconds from the kill until the run stood where it had stood."""
        return self.detect + self.restart + self.load + self.replay

    @property
    def lost_steps(self) -> int:
        """Steps that had to be done again."""
        return self.killed_at - self.resumed_from

    def frame(self) -> pd.DataFrame:
        """One row a part: part, seconds, share of the total, meaning."""
        import pandas as pd

        rows = [(name, getattr(self, name), getattr(self, name) / self.total, what) for name, what in PARTS.items()]
        return pd.DataFrame(rows, columns=["part", "seconds", "share", "meaning"])

    def text(self) -> str:
        """The ledger in a few lines."""
        lines = [f"killed at step {self.killed_at}, resumed from {self.resumed_from}: {self.lost_steps} steps again"]
        lines += [f"  {name:8}{1000 * getattr(self, name):9.1f} ms  {what}" for name, what in PARTS.items()]
        saves = f"a save took {1000 * self.save:.1f} ms ({self.saves} saves)"
        lines.append(f"  total   {1000 * self.total:9.1f} ms; {saves}")
        return "\n".join(lines)

    def plot(self) -> Picture:
        """The parts, end to end."""
        from labkit.resume.ledger_drawing import draw

        return draw(self)

    def to_json(self) -> str:
        """Everything, as JSON."""
        return json.dumps(asdict(self))


def recovery_ledger(
    *, kill_at: int = 25, save_every: int = 10, step_seconds: float = 0.02, poll_seconds: float = 0.05
) -> RecoveryLedger:
    """Train the line in a process of its own, saving as it goes; kill it (SIGKILL); bring it back; measure.

    Args:
        kill_at: kill it once this many updates are done.
        save_every: updates between saves; each save goes through `Store` and is waited for.
        step_seconds: what each update is made to last, so that a replay costs something.
        poll_seconds: how often the watcher looks whether the process is alive.

    Raises:
        UsageError: an argument can't be used.
        CheckpointError: the process ended in another way than planned; the text has its last words.
    """
    kill_at, save_every = whole("kill_at", kill_at, 1), whole("save_every", save_every, 1)
    for name, value in (("step_seconds", step_seconds), ("poll_seconds", poll_seconds)):
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 10:
            raise UsageError(f"{name} is {value!r}: give seconds, from 0 to 10")
    with tempfile.TemporaryDirectory(prefix="labkit-ledger-") as place:
        first = _start(place, save_every, step_seconds, kill_at + 1_000_000)
        steps: list[float] = []
        saves: list[float] = []
        for event in _events(first):
            if event["event"] == "save":
                saves.append(event["seconds"])
            elif event["event"] == "step":
                steps.append(event["seconds"])
                if event["step"] >= kill_at:
                    break
        killed = time.monotonic()
        first.kill()
        while first.poll() is None:
            time.sleep(poll_seconds)
        for event in _events(first, strict=False):  # what it had still done before the signal arrived
            if event["event"] == "step":
                kill_at = max(kill_at, event["step"])
        noticed = time.monotonic()
        second = _start(place, save_every, step_seconds, kill_at)
        marks: dict[str, Any] = {}
        for event in _events(second):
            marks[event["event"]] = event
        _wait(second)
    return RecoveryLedger(
        kill_at,
        marks["loaded"]["step"],
        noticed - killed,
        marks["running"]["at"] - noticed,
        marks["loaded"]["at"] - marks["running"]["at"],
        marks["caught up"]["at"] - marks["loaded"]["at"],
        sum(saves) / len(saves) if saves else 0.0,
        sum(steps) / len(steps),
        len(saves),
    )


def _start(place: str, save_every: int, step_seconds: float, target: int) -> subprocess.Popen[str]:
    words = [sys.executable, "-m", "labkit.resume.ledger_job", place, str(save_every), str(step_seconds), str(target)]
    return subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]
    )


def _events(job: subprocess.Popen[str], *, strict: bool = True) -> Any:
    assert job.stdout is not None
    lines: IO[str] = job.stdout
    for line in lines:
        if line.endswith("\n"):  # a killed process may leave half a line
            yield json.loads(line)
    if strict:
        _wait(job)


def _wait(job: subprocess.Popen[str]) -> None:
    if job.wait() != 0:
        assert job.stderr is not None
        last = (job.stderr.read().strip().splitlines() or ["no word"])[-1]
        raise CheckpointError(f"the training process ended with code {job.returncode}: {last}")
