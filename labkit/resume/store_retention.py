"""What may be removed from a store: checkpoints older than enough verified ones, and what unfinished saves left."""

from __future__ import annotations

import contextlib

from labkit.errors import reason
from labkit.resume.checkpoint_error import CheckpointError, Unverified
from labkit.resume.store_catalogue import Catalogue, sequence


def retain(catalogue: Catalogue, keep: int, verified: set[int]) -> str:
    """Keep the newest checkpoints down to the `keep`-th that verifies; remove the older ones and the leftovers.

    A damaged checkpoint doesn't count, so the last one that verifies stays whatever lies above it.

    Args:
        catalogue: the store.
        keep: at least 1.
        verified: sequences known to verify; those found to are added. They aren't read again.

    Returns:
        Why it couldn't be done; "" where it was. The next save tries again.
    """
    try:
        found = 0
        for key in catalogue.listing():
            if found >= keep:
                _remove(catalogue, key)
            elif _verifies(catalogue, key, verified):
                found += 1
        with catalogue.backend.alone() as alone:
            if alone:
                _remove_leftovers(catalogue)
    except OSError as error:
        return reason(error)
    except CheckpointError as error:
        return str(error)
    return ""


def sweep(catalogue: Catalogue) -> int:
    """After a failed save: remove what unfinished saves left, where nobody is saving; how many were removed."""
    with contextlib.suppress(OSError, CheckpointError), catalogue.backend.alone() as alone:
        return _remove_leftovers(catalogue) if alone else 0
    return 0


def _remove(catalogue: Catalogue, key: str) -> None:
    """The manifest first: a crash in between leaves files without a manifest, never a manifest without its files."""
    try:
        attempt = catalogue.manifest(key).attempt
    except (Unverified, FileNotFoundError):
        attempt = None
    catalogue.backend.remove(key)
    if attempt is not None:
        catalogue.backend.remove(f"data/{attempt}")


def _verifies(catalogue: Catalogue, key: str, verified: set[int]) -> bool:
    if sequence(key) in verified:
        return True
    try:
        good = not catalogue.fault(catalogue.manifest(key))
    except (Unverified, FileNotFoundError):
        return False
    if good:
        verified.add(sequence(key))
    return good


def _remove_leftovers(catalogue: Catalogue) -> int:
    leftovers = catalogue.unreferenced() or []
    for attempt in leftovers:
        catalogue.backend.remove(f"data/{attempt}")
    return len(leftovers)
