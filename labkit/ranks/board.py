"""The progress board: shared memory in which each rank notes its collectives, and the supervisor reads."""

from __future__ import annotations

import mmap
import os
from typing import Any, TypeAlias

import numpy as np

Board: TypeAlias = np.ndarray[Any, Any]  # one record a rank

COLLECTIVES = (
    "all_reduce",
    "all_reduce_coalesced",
    "broadcast",
    "broadcast_object_list",
    "reduce",
    "all_gather",
    "all_gather_coalesced",
    "all_gather_into_tensor",
    "all_gather_object",
    "gather",
    "gather_object",
    "scatter",
    "scatter_object_list",
    "reduce_scatter",
    "reduce_scatter_tensor",
    "all_to_all",
    "all_to_all_single",
    "barrier",
    "monitored_barrier",
)
SAME_SIZE = ("all_reduce", "broadcast", "reduce", "all_gather", "gather")  # every rank brings as many numbers
BETWEEN_TWO = ("send", "recv", "send_object_list", "recv_object_list")
NAMES = ("", *COLLECTIVES, *BETWEEN_TWO)  # an operation's code is its index here; 0 is none

GROUPS, HISTORY = 32, 64  # process groups told apart, and their latest collectives remembered
STARTING, READY, RUNNING, FINISHED, FAILED = range(5)

_RECORD = np.dtype(
    [
        ("phase", np.int64),
        ("begun", np.int64),  # collectives begun, all groups together
        ("since", np.int64),  # time.monotonic_ns() of the latest change
        ("op", np.int64),  # the operation it is inside, 0 outside any
        ("members", np.uint64, GROUPS),  # bit r: rank r is in the group; this is why 64 ranks are the most
        ("counts", np.int64, GROUPS),  # collectives begun, by group
        ("history", np.uint8, (GROUPS, HISTORY)),  # code of the k-th collective of the group at k % HISTORY
        ("sizes", np.int64, (GROUPS, HISTORY)),  # numbers this rank brought to it, where all must bring as many; or 0
    ]
)


def size(ranks: int) -> int:
    """Bytes of a board."""
    return ranks * _RECORD.itemsize


def attach(fd: int, ranks: int) -> Board:
    """The board in the file `fd`, grown to size if need be."""
    if os.fstat(fd).st_size < size(ranks):
        os.ftruncate(fd, size(ranks))
    return np.frombuffer(mmap.mmap(fd, size(ranks)), _RECORD)
