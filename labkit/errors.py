"""The errors a person sees: one line that names the value and the way out."""

from __future__ import annotations


class LabkitError(Exception):
    """Base of every error labkit raises on purpose; its text is one line, meant for a person."""

    def _render_traceback_(self) -> list[str]:
        """In a notebook the line is enough: the frames above it are labkit's own."""
        return [f"{type(self).__name__}: {self}"]


class UsageError(LabkitError, ValueError):
    """A value from the caller can't be used. The text names the value and what would work."""
