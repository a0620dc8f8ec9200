"""A store of checkpoints: each one durable, verified and whole, or not there at all.

A save writes its files under a fresh name, makes them durable, reads them back against their checksums, and only then
publishes a manifest, which is what makes it a checkpoint. Loading takes the newest that verifies and says why it passed
over a newer one. Layout: `data/<attempt>/...`, `manifests/00000012.json`.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import secrets
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from labkit.errors import UsageError, reason
from labkit.inputs import whole
from labkit.resume.checkpoint_error import CheckpointError, Unverified
from labkit.resume.store_backend import Backend, LocalBackend
from labkit.resume.store_catalogue import Catalogue, sequence
from labkit.resume.store_copy import Staging
from labkit.resume.store_encoding import decode, files, flatten
from labkit.resume.store_manifest import Manifest, Part
from labkit.resume.store_pending import PendingSave
from labkit.resume.store_report import Entry, Loaded, PassedOver, Saved, StoreReport
from labkit.resume.store_retention import retain, sweep


class Store:
    """Checkpoints in a directory, or in an object store.

    Args:
        path: a directory, made at the first save; or a Backend, such as
            `labkit.resume.store_objects.ObjectBackend`.
        keep: how many verified checkpoints stay when a save succeeds; older ones are removed, the last verified one
            never. While saving there is room needed for one more.

    Raises:
        UsageError: path is a file, or keep is below 1.
    """

    def __init__(self, path: str | Path | Backend, *, keep: int = 3) -> None:
        if isinstance(path, str | Path):
            if Path(path).exists() and not Path(path).is_dir():
                raise UsageError(f"{path} is a file: a store is a directory")
            if Path(path).is_symlink() and not Path(path).exists():
                raise UsageError(f"{path} is a symbolic link to nothing: make the directory it points to, or remove it")
            self.backend: Backend = LocalBackend(path)
        else:
            self.backend = path
        self.keep = whole("keep", keep, 1)
        self._catalogue = Catalogue(self.backend)
        self._verified: set[int] = set()  # sequences that this object has read back whole
        self._staging = Staging()
        self._pending: PendingSave | None = None

    def save(self, state: Any, step: int) -> Saved:
        """Save now; durable and verified on return.

        Args:
            state: dicts, lists, tuples, numbers, strings, bytes, tensors and arrays, nested as you like.
            step: updates that are done; kept with the state.

        Raises:
            UsageError: the state holds something else; the text says where.
            CheckpointError: it can't be saved; what was saved before stands. Or an earlier async save had failed.
        """
        step = whole("step", step, 0)
        self.wait()
        return self._save(*flatten(state), step)

    def async_save(self, state: Any, step: int) -> PendingSave:
        """Copy the state, then save the copy in the background; training may change the state on return.

        One at a time: while the one before is under way, this waits for it first. The copies' memory is kept for the
        next save. Arguments and errors are those of `save`; a failure in the background is raised by
        `PendingSave.result`, or else by the next call here.
        """
        step = whole("step", step, 0)
        self.wait()
        begin = time.perf_counter()
        tree, leaves = flatten(state, self._staging.copy)
        stall = time.perf_counter() - begin
        self._pending = PendingSave(partial(self._save, tree, leaves, step), step, stall)
        return self._pending

    def wait(self) -> None:
        """Wait for the async save under way, if there is one.

        Raises:
            CheckpointError: it failed, and `PendingSave.result` hasn't said so yet.
        """
        pending, self._pending = self._pending, None
        if pending is not None:
            pending.finish()

    def load(self) -> Loaded | None:
        """The newest checkpoint that verifies; None where nothing was ever saved.

        Raises:
            CheckpointError: there are checkpoints and none verifies, or the newest is from a newer labkit.
        """
        if self._pending is not None:
            self._pending.join()
        while True:
            with _as_checkpoint_error(f"{self.backend.place} can't be read"):
                keys = self._catalogue.listing()
                found, passed = self._newest(keys)
                if found is not None:
                    return found
                if self._catalogue.listing() == keys:  # or else old ones were removed while we read: look again
                    break
        if not keys:
            return None
        reasons = "; ".join(str(one) for one in passed)
        raise CheckpointError(f"{self.backend.place} holds {len(keys)} checkpoints and none verifies: {reasons}")

    def verify(self) -> StoreReport:
        """Read every checkpoint against its checksums, newest first.

        Raises:
            CheckpointError: the place can't be read at all.
        """
        entries, attempts = [], set()
        with _as_checkpoint_error(f"{self.backend.place} can't be read"):
            begun = set(self.backend.names("data"))
            for key in self._catalogue.listing():
                try:
                    manifest = self._catalogue.manifest(key)
                except FileNotFoundError:
                    continue  # removed by another process in between
                except (Unverified, CheckpointError) as error:
                    entries.append(Entry(sequence(key), None, 0, 0, str(error)))
                    continue
                attempts.add(manifest.attempt)
                why = self._catalogue.fault(manifest)
                entries.append(Entry(sequence(key), manifest.step, len(manifest.parts), manifest.size, why))
        unknown = sum(entry.step is None for entry in entries)  # each has files too, and can't say which
        return StoreReport(self.backend.place, tuple(entries), max(0, len(begun - attempts) - unknown))

    def _save(self, tree: Any, leaves: list[Any], step: int) -> Saved:
        """Two attempts at most: the second after a write that read back wrong, or after leftovers made room."""
        begin = time.perf_counter()
        for last in (False, True):
            try:
                with self.backend.saving():
                    manifest = self._attempt(tree, leaves, step)
                break
            except Unverified as error:
                sweep(self._catalogue)
                if last:
                    raise self._failed(step, str(error)) from None
            except OSError as error:
                removed = sweep(self._catalogue)
                if last or error.errno != errno.ENOSPC or not removed:
                    raise self._failed(step, reason(error)) from None
        self._verified.add(manifest.sequence)
        kept = retain(self._catalogue, self.keep, self._verified)
        return Saved(step, manifest.sequence, len(manifest.parts), manifest.size, time.perf_counter() - begin, kept)

    def _attempt(self, tree: Any, leaves: list[Any], step: int) -> Manifest:
        attempt = f"step-{step}-{secrets.token_hex(8)}"
        prefix = f"data/{attempt}"
        parts = []
        for name, pieces in files(tree, leaves):
            digest = hashlib.sha256()
            for piece in pieces:
                digest.update(piece)
            part = Part(name, sum(memoryview(piece).nbytes for piece in pieces), digest.hexdigest())
            self.backend.put(f"{prefix}/{name}", pieces)
            if self.backend.digest(f"{prefix}/{name}") != (part.bytes, part.sha256):
                raise Unverified(f"{name} reads back differently from what was written")
            parts.append(part)
        place = max(map(sequence, self._catalogue.listing()), default=0)
        while True:
            place += 1  # the next free one: another process may just have taken it
            manifest = Manifest(place, step, attempt, tuple(parts))
            if self.backend.publish(manifest.key, manifest.encode(), prefix):
                return manifest

    def _failed(self, step: int, why: str) -> CheckpointError:
        with contextlib.suppress(OSError, CheckpointError):
            stands = len(self._catalogue.listing())
            return CheckpointError(
                f"step {step} can't be saved to {self.backend.place}: {why}; "
                f"{f'the {stands} checkpoints there are as they were' if stands else 'no checkpoint was there before'}"
            )
        return CheckpointError(f"step {step} can't be saved to {self.backend.place}: {why}")

    def _newest(self, keys: list[str]) -> tuple[Loaded | None, list[PassedOver]]:
        passed: list[PassedOver] = []
        for key in keys:
            step = None
            try:
                manifest = self._catalogue.manifest(key)
                step = manifest.step
                state = decode(partial(self._catalogue.part, manifest))
            except (Unverified, OSError, ValueError) as error:
                why = reason(error) if isinstance(error, OSError) else str(error)
                passed.append(PassedOver(sequence(key), step, why))
                continue
            self._verified.add(manifest.sequence)
            return Loaded(state, manifest.step, manifest.sequence, tuple(passed)), passed
        return None, passed


@contextlib.contextmanager
def _as_checkpoint_error(what: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise CheckpointError(f"{what}: {reason(error)}") from None
