"""Ranks that share data on purpose: the ranks of a tensor or context parallel group must all get the same batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from labkit.errors import UsageError

if TYPE_CHECKING:
    from labkit.sharding.ledger import Ledger


def checked(groups: Sequence[Sequence[int]] | None, ranks: int) -> tuple[tuple[int, ...], ...] | None:
    """The caller's groups, if every rank is in exactly one.

    Raises:
        UsageError: the text names the rank.
    """
    if groups is None:
        return None
    try:
        found = tuple(tuple(sorted(int(rank) for rank in group)) for group in groups)
    except (TypeError, ValueError):
        raise UsageError(f"groups is {groups!r}: give lists of ranks, such as [[0, 1], [2, 3]]") from None
    flat = sorted(rank for group in found for rank in group)
    for rank in range(ranks):
        if flat.count(rank) != 1:
            raise UsageError(f"groups is {groups!r}: rank {rank} is in {flat.count(rank)} groups, it must be in one")
    if len(flat) != ranks:
        raise UsageError(f"groups is {groups!r}: there are only ranks 0 to {ranks - 1}")
    return found


def shared_on_purpose(ledger: Ledger, given: Sequence[Sequence[int]] | None) -> tuple[tuple[tuple[int, ...], ...], str]:
    """The groups and how they are known: "given", "seen", or none.

    Seen means: neighbouring ranks in blocks of one size g, 1 < g < ranks, got the same samples in the same steps of
    every epoch; two blocks never did; and where the loader says how many shares it makes, it makes ranks / g. Such
    groups are the innermost dimension of a device mesh, so their ranks are neighbours. Ranks 0 and 2 alike is a fault,
    and so is all ranks alike unless the caller says that it is meant.
    """
    fixed = checked(given, ledger.ranks)
    if fixed is not None:
        return fixed, "given"
    walks = [
        tuple(tuple(d.ids for d in ledger.walks[epoch, rank]) for epoch in range(ledger.epochs))
        for rank in range(ledger.ranks)
    ]
    if not all(any(walk) for walk in walks):
        return (), ""
    for size in range(ledger.ranks // 2, 1, -1):
        if ledger.ranks % size:
            continue
        blocks = [tuple(range(first, first + size)) for first in range(0, ledger.ranks, size)]
        alike = all(walks[rank] == walks[block[0]] for block in blocks for rank in block)
        if alike and _apart(ledger, blocks) and _told(ledger, len(blocks)):
            return tuple(blocks), "seen"
    return (), ""


def _apart(ledger: Ledger, blocks: list[tuple[int, ...]]) -> bool:
    """Whether different blocks read different samples, but for a few that fill up the end."""
    sets = [set(ledger.ids(0, block[0])) for block in blocks]
    return all(len(a & b) * 2 < min(len(a), len(b)) for i, a in enumerate(sets) for b in sets[i + 1 :])


def _told(ledger: Ledger, shares: int) -> bool:
    said = {n for setup in ledger.setups if setup is not None for n in setup.shares}
    return not said or said == {shares}
