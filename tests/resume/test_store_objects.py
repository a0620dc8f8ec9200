"""The store on an object store: no rename, no locks, answers that get lost."""

from __future__ import annotations

import threading

import fsspec
import pytest
import torch
from fsspec.implementations.memory import MemoryFileSystem

from labkit.errors import UsageError
from labkit.resume.store import Store
from labkit.resume.store_objects import ObjectBackend


class Bucket(MemoryFileSystem):
    """An object store with conditional PUT, as S3 has it: the check and the write are one."""

    cachable = False
    lock = threading.Lock()

    def __init__(self):
        super().__init__()
        self.store = {}
        self.pseudo_dirs = [""]

    def pipe_file(self, path, value, mode="overwrite", **kwargs):
        with self.lock:
            return super().pipe_file(path, value, mode=mode, **kwargs)


def test_an_object_store():
    bucket = Bucket()
    store = Store(ObjectBackend(bucket, "/bucket/run"), keep=2)
    for step in range(1, 6):
        store.save({"w": torch.full((3,), float(step))}, step)
    found = Store(ObjectBackend(bucket, "/bucket/run")).load()
    assert (found.step, found.state["w"].tolist()) == (5, [5, 5, 5])
    assert [entry.sequence for entry in store.verify().entries] == [5, 4]
    assert len([name for name in bucket.store if "/data/" in name]) == 4  # the files of two checkpoints, no more
    name = next(name for name in bucket.store if "step-5" in name and name.endswith("state.json"))
    bucket.pipe_file(name, b"{}")
    assert Store(ObjectBackend(bucket, "/bucket/run")).load().step == 4


def test_many_savers_on_one_object_store():
    bucket = Bucket()
    taken = []

    def saver(who):
        store = Store(ObjectBackend(bucket, "/bucket/run"), keep=100)
        taken.extend(store.save({"who": who, "n": n}, n).sequence for n in range(8))

    threads = [threading.Thread(target=saver, args=(who,)) for who in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken) == list(range(1, 33))
    assert Store(ObjectBackend(bucket, "/bucket/run")).verify().ok


def test_a_lost_answer_to_the_publishing_put():
    """The PUT arrives, its answer doesn't: asked again, the key is there, and it holds our own content."""

    class Flaky(Bucket):
        def pipe_file(self, path, value, mode="overwrite", **kwargs):
            super().pipe_file(path, value, mode=mode, **kwargs)
            if "/manifests/" in path:
                super().pipe_file(path, value, mode=mode, **kwargs)  # as a client that tries again by itself

    store = Store(ObjectBackend(Flaky(), "/bucket/run"))
    assert store.save({"x": 1}, 1).sequence == 1
    assert store.save({"x": 2}, 2).sequence == 2


def test_a_file_system_that_overwrites_in_silence_is_refused():
    class Old(Bucket):
        def pipe_file(self, path, value, mode="overwrite", **kwargs):
            super().pipe_file(path, value, **kwargs)

    with pytest.raises(UsageError, match="Old overwrites a key when asked to create it"):
        ObjectBackend(Old(), "/bucket/run")


def test_fsspecs_own_local_file_system(tmp_path):
    store = Store(ObjectBackend(fsspec.filesystem("file", auto_mkdir=True), str(tmp_path / "s")), keep=1)
    store.save({"x": 1}, 1)
    store.save({"x": 2}, 2)
    assert store.load().state == {"x": 2}
    assert Store(tmp_path / "s").load().state == {"x": 2}  # the same layout
