"""From what ranks noted and said to one line: which rank, which step, why. Plain functions of plain data."""

from __future__ import annotations

import signal
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from labkit.ranks.board import HISTORY, NAMES, READY, STARTING, Board

# What gloo and the store say when the other side is gone: a consequence, never the first cause.
_BROKEN = ("Connection closed by peer", "Connection reset", "Broken pipe", "gloo/transport", "DistNetworkError")


@dataclass(frozen=True)
class Verdict:
    """Why a run ended early; the fields of `RankError`."""

    line: str
    rank: int
    step: int
    cause: str


@dataclass(frozen=True)
class Failure:
    """What a rank reported: the part of the job it was in, the exception's type and text, its traceback."""

    part: str
    type: str
    text: str
    traceback: str

    @property
    def consequence(self) -> bool:
        """A connection that a peer closed: look for the reason there first."""
        return any(words in self.text or words == self.type for words in _BROKEN)


def step_of(board: Board, rank: int) -> int:
    """The step a rank is in; 0 before its function runs."""
    row = board[rank]
    return 0 if row["phase"] in (STARTING, READY) else int(row["begun"]) + int(row["op"] == 0)


def raised(board: Board, failures: dict[int, Failure]) -> Verdict:
    """Some ranks reported an exception."""
    rank = min(failures, key=lambda r: (failures[r].consequence, r))
    failure, step = failures[rank], step_of(board, rank)
    first = (failure.text.strip() or "no text").splitlines()[0]
    if failure.part.startswith("result"):
        line = f"rank {rank}: its {failure.part} can't be sent back: {first}; return numbers, arrays or plain objects"
        return Verdict(line, rank, step, "unsendable")
    if failure.part == "join":
        return Verdict(f"rank {rank} could not join the process group: {failure.type}: {first}", rank, 0, "raised")
    if failure.part == "load":
        return Verdict(f"rank {rank} could not load the function: {failure.type}: {first}", rank, 0, "raised")
    same = [r for r in sorted(failures) if r != rank and failures[r].type == failure.type]
    also = f" (so did {named(same)})" if same else ""
    return Verdict(f"rank {rank} raised {failure.type} in step {step}{also}: {first}", rank, step, "raised")


def died(board: Board, rank: int, status: int) -> Verdict:
    """A rank's process ended before its function did; `status` as from waitpid."""
    step = step_of(board, rank)
    if status < 0:
        how = "died (its process vanished)"
    elif status & 0x7F:
        number = status & 0x7F
        how = f"died ({_signal_name(number)})"
        if number == signal.SIGKILL:
            how += ", killed from outside or for want of memory,"
    else:
        how = f"ended its own process (exit status {status >> 8})"
    return Verdict(f"rank {rank} {how} in step {step}", rank, step, "died")


def unequal(board: Board, finished: Collection[int], *, in_trouble: bool) -> Verdict | None:
    """Whether ranks made unequal collectives: other ones, or one has ended and another began more.

    `in_trouble`: ranks wait or have failed, so tensors of unequal sizes are the reason too (some backends take them).
    """
    for members, slots in _groups(board).items():
        for a in members:
            for b in members:
                if a < b and (found := _other_operation(board, a, b, slots, in_trouble)):
                    return found
        counts = {r: int(board[r]["counts"][slots[r]]) if r in slots else 0 for r in members}
        ended = min((r for r in members if r in finished), key=lambda r: counts[r], default=None)
        if ended is None:
            continue
        ahead = max(members, key=lambda r: counts[r])
        if counts[ahead] > counts[ended]:
            nth = counts[ended] + 1
            verb = "waits in" if board[ahead]["op"] else "began"
            op = NAMES[int(board[ahead]["history"][slots[ahead], nth % HISTORY])]
            line = (
                f"rank {ended} ended after {_collectives(counts[ended])} while rank {ahead} {verb} "
                f"its {ordinal(nth)} ({op}): all ranks of a group must make the same collectives"
            )
            return Verdict(line, ended, step_of(board, ended), "unequal")
    return None


def left_early(board: Board, finished: Collection[int], failures: dict[int, Failure]) -> Verdict:
    """A rank lost its connection to one that had ended: collectives nobody counted (DistributedDataParallel's)."""
    ended, waiting = min(finished), min(failures)
    line = (
        f"rank {ended} ended while rank {waiting} still needed it (its traceback shows where): "
        "all ranks must take the same number of steps"
    )
    return Verdict(line, ended, step_of(board, ended), "unequal")


def hung(board: Board, finished: Collection[int], timeout: float, now_ns: int) -> Verdict:
    """The time is over: blame a rank that waits for nobody, else the one that made the fewest collectives."""
    ranks = range(len(board))
    late = [r for r in ranks if r not in finished]
    rank = min(late, key=lambda r: (bool(board[r]["op"] != 0), int(board[r]["begun"]), r))
    quiet = (now_ns - int(board[rank]["since"])) / 1e9 if board[rank]["since"] else timeout
    if step_of(board, rank) == 0:
        where = "while joining the process group" if board[rank]["phase"] == STARTING else "before its function ran"
    elif board[rank]["op"]:
        where = f"in {NAMES[int(board[rank]['op'])]}, collective number {int(board[rank]['begun'])}"
    else:
        where = f"after {_collectives(int(board[rank]['begun']))}"
    rest = [r for r in late if r != rank]
    inside = [r for r in rest if board[r]["op"]]
    others = [
        f"{named(group)} {what}"
        for group, what in (
            (sorted(finished), "had finished"),
            (inside, f"waited in {NAMES[int(board[inside[0]]['op'])]}" if inside else ""),
            ([r for r in rest if r not in inside], "ran on"),
        )
        if group
    ]
    tail = "; " + ", ".join(others) if others else ""
    line = f"rank {rank} hung: no progress for {_seconds(quiet)}, {where}, when the {_seconds(timeout)} were over{tail}"
    return Verdict(line, rank, step_of(board, rank), "hung")


def _groups(board: Board) -> dict[tuple[int, ...], dict[int, int]]:
    """Ranks of each process group seen, with the slot that each of them keeps it in."""
    groups: dict[tuple[int, ...], dict[int, int]] = {}
    for rank in range(len(board)):
        for slot in np.flatnonzero(board[rank]["members"]):
            mask = int(board[rank]["members"][slot])
            members = tuple(r for r in range(len(board)) if mask >> r & 1)
            groups.setdefault(members, {})[rank] = int(slot)
    return groups


def _other_operation(board: Board, a: int, b: int, slots: dict[int, int], in_trouble: bool) -> Verdict | None:
    if a not in slots or b not in slots:
        return None
    counts = [int(board[r]["counts"][slots[r]]) for r in (a, b)]
    for k in range(max(1, max(counts) - HISTORY + 1), min(counts) + 1):
        ops = [NAMES[int(board[r]["history"][slots[r], k % HISTORY])] for r in (a, b)]
        if ops[0] != ops[1]:
            line = (
                f"rank {b} calls {ops[1]} as its {ordinal(k)} collective where rank {a} calls {ops[0]}: "
                "all ranks of a group must make the same collectives"
            )
            return Verdict(line, b, k, "unequal")
        sizes = [int(board[r]["sizes"][slots[r], k % HISTORY]) for r in (a, b)]
        if in_trouble and sizes[0] != sizes[1]:
            line = (
                f"rank {b} brings {sizes[1]} numbers to its {ordinal(k)} collective ({ops[1]}) where rank {a} "
                f"brings {sizes[0]}: {ops[1]} needs tensors of the same size on all ranks"
            )
            return Verdict(line, b, k, "unequal")
    return None


def named(ranks: Collection[int]) -> str:
    """`rank 2` or `ranks 0, 2, 3`."""
    return ("rank " if len(ranks) == 1 else "ranks ") + ", ".join(str(r) for r in ranks)


def ordinal(n: int) -> str:
    """1st, 2nd, 3rd, 11th."""
    ending = "th" if n % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return f"{n}{ending}"


def _collectives(n: int) -> str:
    return f"{n} collective{'' if n == 1 else 's'}"


def _seconds(value: float) -> str:
    return f"{value:.3g} s"


def _signal_name(number: int) -> str:
    try:
        return f"signal {number}, {signal.Signals(number).name}"
    except ValueError:
        return f"signal {number}"
