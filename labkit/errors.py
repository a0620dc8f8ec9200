"""The errors a person sees: one line that names the value and the way out."""

from __future__ import annotations


class LabkitError(Exception):
    """Base of every error labkit raises on purpose; its text is one line, meant for a person."""

    def _render_traceback_(self) -> list[str]:
        """In a notebook the line is enough: the frames above it are labkit's own."""
        return [f"{type(self).__name__}: {self}"]


class UsageError(LabkitError, ValueError):
    """A value from the caller can't be used. The text names the value and what would work."""


class WriteError(LabkitError):
    """A file can't be written. The text names it, says why, and what still stands."""


def reason(error: OSError) -> str:
    """An operating system's error in a few words: 'no space left on device'."""
    text = error.strerror or str(error) or type(error).__name__
    return text[:1].lower() + text[1:]
