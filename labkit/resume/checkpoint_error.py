"""What goes wrong with a checkpoint on disk: one line that names the file, and what was lost (nothing, as a rule)."""

from __future__ import annotations

from labkit.errors import LabkitError


class CheckpointError(LabkitError):
    """A store's checkpoint can't be written or read. The text says which, why, and what still stands."""


class Unverified(Exception):
    """A checkpoint, or a part of one, that can't be trusted; the text says why. Never reaches a caller of a store."""
