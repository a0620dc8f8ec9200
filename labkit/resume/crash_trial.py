"""A way to save, tried on every crash state of its own operations: what a load finds there."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labkit.resume.crash import CrashState, crash_states, lay_out
from labkit.resume.store import Store
from labkit.resume.store_backend import LocalBackend
from labkit.resume.store_files import Operation, RecordedFiles

if TYPE_CHECKING:
    import pandas as pd

    from labkit.picture import Picture

OUTCOMES = {
    "wrong": "loads what was never saved, in silence",
    "lost": "loads less than what was promised, in silence",
    "refused": "finds none, and says so, although one was promised",
    "kept": "loads the last save that was promised",
    "newer": "loads a save that had not yet returned",
    "nothing yet": "finds none, before any was promised",
}
"""What a load may come to; the first three are faults. A save is promised once its call has returned."""
FAULTY = ("wrong", "lost", "refused")


@dataclass(frozen=True)
class CrashReport:
    """What a load finds in every crash state.

    Attributes:
        title: what was tried.
        points: for each crash point, how many operations had been called, and the last of them.
        counts: for each crash point, the number of different states by outcome.
    """

    title: str
    points: tuple[tuple[int, str], ...]
    counts: tuple[dict[str, int], ...]

    @property
    def total(self) -> dict[str, int]:
        """States by outcome, all crash points together."""
        found: Counter[str] = Counter()
        for one in self.counts:
            found.update(one)
        return {outcome: found[outcome] for outcome in OUTCOMES}

    @property
    def ok(self) -> bool:
        """Whether no state loads wrong, loses a promised save or refuses one."""
        return not any(self.total[outcome] for outcome in FAULTY)

    def frame(self) -> pd.DataFrame:
        """One row a crash point: operations, last, and a column for each outcome."""
        import pandas as pd

        rows = [
            {"operations": number, "last": last, **{outcome: count.get(outcome, 0) for outcome in OUTCOMES}}
            for (number, last), count in zip(self.points, self.counts, strict=True)
        ]
        return pd.DataFrame(rows, columns=["operations", "last", *OUTCOMES])

    def text(self) -> str:
        """The totals in a few lines."""
        total = self.total
        lines = [f"{self.title}: {sum(total.values())} crash states at {len(self.points)} points"]
        lines += [
            f"  {total[outcome]:6} {outcome}: {meaning}" for outcome, meaning in OUTCOMES.items() if total[outcome]
        ]
        return "\n".join(lines)

    def plot(self) -> Picture:
        """Crash points across, outcomes down, the number of states in each field."""
        from labkit.resume.crash_drawing import draw_grid

        return draw_grid(self)

    def to_json(self) -> str:
        """Everything, as JSON."""
        return json.dumps(asdict(self))


def judge_crashes(
    title: str,
    log: Sequence[Operation],
    promised: Sequence[int],
    load: Callable[[Path], int | None],
    *,
    before: dict[str, bytes] | None = None,
) -> CrashReport:
    """Lay out every crash state in a scratch directory and load from it.

    Args:
        title: what is tried.
        log: the operations.
        promised: for each save, the number of operations at which its call returned.
        load: given the directory: the number of the save whose content it found, from 1 (with `before`, 0 is what was
            there before); -1 for a content that was never saved; None where it found nothing. Raising is refusing.
        before: files that were there.
    """
    states = crash_states(log, before=before, marks=promised)
    return tally(title, log, states, promised, load, least=None if before is None else 0)


def tally(
    title: str,
    log: Sequence[Operation],
    states: Iterable[CrashState],
    promised: Sequence[int],
    load: Callable[[Path], int | None],
    *,
    least: int | None = None,
) -> CrashReport:
    """The same over states that are given. least: the save that was there at the start; None where there was none."""
    found: dict[int, Counter[str]] = {}
    scratch = Path(tempfile.mkdtemp(prefix="labkit-crash-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None))
    try:
        for number, state in enumerate(states):
            place = scratch / str(number)
            place.mkdir()
            lay_out(state.tree, place)
            done = sum(mark <= state.after for mark in promised) or least
            found.setdefault(state.after, Counter())[_outcome(load, place, done)] += 1
            shutil.rmtree(place)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    points = tuple((after, _label(log[after - 1]) if after else "start") for after in sorted(found))
    return CrashReport(title, points, tuple(dict(found[after]) for after, _ in points))


def crash_store(saves: Sequence[Any], *, keep: int = 3) -> CrashReport:
    """Save each state in turn to a new `Store` and load from every crash state; step i is the i-th save, from 1.

    States are compared by their JSON text, so they hold plain values only.
    """
    with tempfile.TemporaryDirectory(prefix="labkit-crash-") as place:
        files = RecordedFiles(place)
        store, promised = Store(LocalBackend(Path(place) / "store", files), keep=keep), []
        for number, state in enumerate(saves, 1):
            store.save(state, number)
            promised.append(len(files.log))

    def load(directory: Path) -> int | None:
        found = Store(directory / "store", keep=keep).load()
        if found is None:
            return None
        same = json.dumps(found.state) == json.dumps(saves[found.step - 1])
        return found.step if same else -1

    return judge_crashes(f"Store, {len(saves)} saves, keep {keep}", files.log, promised, load)


def _outcome(load: Callable[[Path], int | None], place: Path, done: int | None) -> str:
    try:
        number = load(place)
    except Exception:
        return "nothing yet" if done is None else "refused"
    if number == -1:
        return "wrong"
    if number is None:
        return "nothing yet" if done is None else "lost"
    if done is None or number > done:
        return "newer"
    return "kept" if number == done else "lost"


def _label(op: Operation) -> str:
    name = (op.target or op.path).rpartition("/")[2] or "."
    return f"{op.kind} {name}"
