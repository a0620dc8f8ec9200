"""Counts a rank's collectives: torch.distributed's functions, wrapped, note on the board where the rank is.

Wrapped before any other module is imported, so that `from torch.distributed import all_reduce` gets the wrapped one.
What DistributedDataParallel reduces from C++ doesn't pass here; such a wait ends when the peer's connection closes.
"""

from __future__ import annotations

import functools
import inspect
import threading
import time
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist

from labkit.ranks.board import BETWEEN_TWO, COLLECTIVES, GROUPS, HISTORY, NAMES, SAME_SIZE, Board

_inside = threading.local()  # all_gather_object calls all_gather: only the outer one counts


class Row:
    """One rank's record on the board, written by that rank alone."""

    def __init__(self, board: Board, rank: int) -> None:
        self._board, self._rank = board, rank
        self.fields = {name: board[name][rank : rank + 1] for name in ("phase", "begun", "since", "op")}
        self.clear()

    def clear(self) -> None:
        """Nothing counted yet."""
        phase = int(self.fields["phase"][0])
        self._board[self._rank] = 0
        self._slots: dict[int, int] = {}
        self.phase(phase)

    def phase(self, phase: int) -> None:
        """Note where the rank is in its life."""
        self.fields["since"][0] = time.monotonic_ns()
        self.fields["phase"][0] = phase

    def enter(self, code: int, group: Any, numbers: int) -> None:
        """An operation begins, on a tensor of so many numbers."""
        if NAMES[code] in COLLECTIVES:
            members = sum(1 << r for r in dist.get_process_group_ranks(group) if r < 64)
            slot = self._slots.setdefault(members, len(self._slots))
            if slot < GROUPS:
                count = int(self._board["counts"][self._rank, slot]) + 1
                self._board["members"][self._rank, slot] = members
                self._board["history"][self._rank, slot, count % HISTORY] = code
                self._board["sizes"][self._rank, slot, count % HISTORY] = numbers
                self._board["counts"][self._rank, slot] = count
            self.fields["begun"][0] += 1
        self.fields["since"][0] = time.monotonic_ns()
        self.fields["op"][0] = code

    def leave(self) -> None:
        """The operation is over."""
        self.fields["since"][0] = time.monotonic_ns()
        self.fields["op"][0] = 0

    @property
    def step(self) -> int:
        """The step the rank is in: the collective it is inside of, or the one that comes next."""
        return int(self.fields["begun"][0]) + int(self.fields["op"][0] == 0)


_row: Row | None = None


def count_on(row: Row) -> None:
    """From now on this process's collectives are noted on `row`."""
    global _row
    _row = row


def count_off() -> None:
    """Back to uncounted."""
    global _row
    _row = None


def install() -> None:
    """Wrap torch.distributed's functions; they stay as they were until `count_on`."""
    for code, name in enumerate(NAMES):
        function = getattr(dist, name, None) if name else None
        if function is None or hasattr(function, "_labkit_counts"):
            continue
        wrapped = _counted(function, code)
        setattr(dist, name, wrapped)
        setattr(dist.distributed_c10d, name, wrapped)


def _counted(function: Callable[..., Any], code: int) -> Callable[..., Any]:
    names = list(inspect.signature(function).parameters)
    where = names.index("group") if "group" in names else len(names)
    at = names.index("tensor") if NAMES[code] in SAME_SIZE else len(names)
    collective = NAMES[code] not in BETWEEN_TWO

    @functools.wraps(function)
    def counted(*args: Any, **kwargs: Any) -> Any:
        row, group = _row, args[where] if len(args) > where else kwargs.get("group")
        outside = group is dist.GroupMember.NON_GROUP_MEMBER or not dist.is_initialized()
        if row is None or outside or getattr(_inside, "call", False):
            return function(*args, **kwargs)
        _inside.call = True
        try:
            tensor = args[at] if len(args) > at else kwargs.get("tensor") if at < len(names) else None
            numbers = tensor.numel() if isinstance(tensor, torch.Tensor) else 0
            row.enter(code, group or dist.group.WORLD if collective else None, numbers)
            return _finish(row, function(*args, **kwargs))
        finally:
            _inside.call = False

    counted._labkit_counts = True  # type: ignore[attr-defined]
    return counted


def _finish(row: Row, result: Any) -> Any:
    """Left only when it succeeds: a rank that raises inside all_reduce is reported in that step."""
    row.leave()
    return result
