"""What went wrong on the ranks: one line that names rank, step and cause."""

from __future__ import annotations

from labkit.errors import LabkitError

CAUSES = ("raised", "died", "hung", "unequal", "unsendable", "lost")


LOST = "the ranks' server ended during the run: killed from outside; run again"


class RankError(LabkitError):
    """A run on ranks ended early; all its processes are gone.

    The text is one line. The traceback is added as a note, so a terminal and pytest show it below the line.

    Attributes:
        rank: the rank to look at; -1 where no single rank is to blame.
        step: step k of a rank ends with its k-th collective (all_reduce, barrier, ...); 0 before the function starts.
        cause: "raised" (an exception), "died" (a signal, or the process ended itself), "hung" (the time was over),
            "unequal" (ranks made other collectives, or another number of them), "unsendable" (its result can't be
            pickled), "lost" (the ranks' server was killed).
        traceback: the rank's own traceback with source lines, for "hung" and "died" where it stood; may be empty.
    """

    def __init__(self, line: str, *, rank: int, step: int, cause: str, traceback: str = "") -> None:
        super().__init__(line)
        self.rank, self.step, self.cause, self.traceback = rank, step, cause, traceback
        if traceback:
            self.add_note(traceback)

    def _render_traceback_(self) -> list[str]:
        """In a notebook: where the rank stood, then the line."""
        return [*self.traceback.rstrip().splitlines(), *super()._render_traceback_()]
