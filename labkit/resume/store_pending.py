"""An async save under way."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable

from labkit.resume.store_report import Saved


class PendingSave:
    """What `Store.async_save` returns.

    Attributes:
        step: of the training.
        stall: seconds that training stood still to copy the state.
    """

    def __init__(self, save: Callable[[], Saved], step: int, stall: float) -> None:
        self.step = step
        self.stall = stall
        self._save = save
        self._saved: Saved | None = None
        self._error: Exception | None = None
        self._told = False
        # Not a daemon: a process that ends by itself finishes the save first.
        self._thread = threading.Thread(target=self._run, name=f"save of step {step}")
        self._thread.start()

    def _run(self) -> None:
        try:
            self._saved = self._save()
        except Exception as error:
            self._error = error
            warnings.warn(f"in the background: {error}", RuntimeWarning, stacklevel=2)  # now, not at the next save

    @property
    def done(self) -> bool:
        """Whether it has ended, well or not."""
        return not self._thread.is_alive()

    def join(self) -> None:
        """Wait for the end, without asking how it went."""
        self._thread.join()

    def result(self) -> Saved:
        """Wait for the end; what was saved.

        Raises:
            CheckpointError: it can't be saved; what was saved before stands.
        """
        self._thread.join()
        self._told = True
        if self._error is not None:
            raise self._error
        assert self._saved is not None
        return self._saved

    def finish(self) -> None:
        """Wait for the end; raise a failure that `result` hasn't raised."""
        self._thread.join()
        if not self._told:
            self.result()
