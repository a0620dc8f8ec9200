"""Verdicts from boards written by hand: who is blamed, with no process involved."""

from __future__ import annotations

import numpy as np
import pytest

from labkit.ranks import board as boards
from labkit.ranks import verdict
from labkit.ranks.board import FINISHED, NAMES, RUNNING
from labkit.ranks.protocol import nameless


def board_of(*ranks: list[str], inside: tuple[int, ...] = (), members: int | None = None) -> boards.Board:
    """One list of collectives a rank, all in one group; ranks `inside` are still in their last one."""
    board = boards.attach(nameless(), len(ranks))
    for rank, ops in enumerate(ranks):
        row = board[rank]
        row["phase"], row["begun"] = RUNNING, len(ops)
        for k, op in enumerate(ops, 1):
            row["history"][0, k % boards.HISTORY] = NAMES.index(op)
        if ops:
            row["members"][0] = members or (1 << len(ranks)) - 1
            row["counts"][0] = len(ops)
        row["op"] = NAMES.index(ops[-1]) if rank in inside else 0
    return board


def test_equal_collectives_are_no_fault() -> None:
    board = board_of(["barrier", "all_reduce"], ["barrier", "all_reduce"])
    assert verdict.unequal(board, {0, 1}, in_trouble=True) is None


def test_a_rank_behind_is_no_fault_while_it_runs() -> None:
    board = board_of(["barrier"] * 5, ["barrier"] * 2, inside=(0,))
    assert verdict.unequal(board, set(), in_trouble=True) is None


@pytest.mark.parametrize("n", [1, 63, 64, 65, 200])
def test_an_ended_rank_is_blamed_however_long_the_history(n: int) -> None:
    board = board_of(["all_reduce"] * (n + 1), ["all_reduce"] * n, inside=(0,))
    found = verdict.unequal(board, {1}, in_trouble=False)
    assert found is not None
    assert (found.rank, found.step, found.cause) == (1, n + 1, "unequal")
    assert f"while rank 0 waits in its {verdict.ordinal(n + 1)} (all_reduce)" in found.line


def test_a_group_that_a_rank_is_not_in_does_not_count_for_it() -> None:
    board = board_of(["barrier"], ["barrier"], [], members=0b011)
    assert verdict.unequal(board, {2}, in_trouble=True) is None


def test_who_hung() -> None:
    for board, finished, rank in (
        (board_of(["barrier"], [], ["barrier"], inside=(0, 2)), set(), 1),  # the others wait for it
        (board_of(["barrier"] * 2, ["barrier"], inside=(0, 1)), set(), 1),  # fewest collectives
        (board_of([], ["barrier"], inside=(1,)), {0}, 1),
    ):
        found = verdict.hung(board, finished, 5.0, 10**9)
        assert (found.rank, found.cause) == (rank, "hung")


def test_a_consequence_is_never_the_first_cause() -> None:
    board = board_of(["barrier"], ["barrier"], ["barrier"])
    broken = verdict.Failure("call", "RuntimeError", "[x/gloo/transport/tcp/pair.cc:1] Connection closed by peer", "")
    own = verdict.Failure("call", "KeyError", "'label'", "")
    assert verdict.raised(board, {0: broken, 2: own}).rank == 2
    assert verdict.raised(board, {0: broken, 1: broken}).rank == 0


def test_deaths_are_told_from_exits() -> None:
    board = board_of([], [])
    assert "signal 6, SIGABRT" in verdict.died(board, 0, 6).line
    assert "signal 64" in verdict.died(board, 0, 64).line or "RTMAX" in verdict.died(board, 0, 64).line
    assert "exit status 3" in verdict.died(board, 1, 3 << 8).line


def test_a_board_has_room_for_the_most_ranks_and_is_written_through() -> None:
    fd = nameless()
    one, other = boards.attach(fd, 64), boards.attach(fd, 64)
    one["phase"][63] = FINISHED
    assert other["phase"][63] == FINISHED
    assert np.count_nonzero(other["phase"]) == 1


def test_ordinals() -> None:
    assert [verdict.ordinal(n) for n in (1, 2, 3, 4, 11, 12, 13, 21, 101, 111)] == [
        "1st",
        "2nd",
        "3rd",
        "4th",
        "11th",
        "12th",
        "13th",
        "21st",
        "101st",
        "111th",
    ]
