"""The errors a person sees: one line that names the value and the way out."""


class LabkitError(Exception):
    """Base of every error labkit raises on purpose; its text is one line, meant for a person."""


class UsageError(LabkitError, ValueError):
    """A value from the caller can't be used. The text names the value and what would work."""
