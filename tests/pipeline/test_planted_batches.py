"""The same for causes in batches, records, threads and files."""

from __future__ import annotations

import gc
import os
import pickle

import pytest
import torch
from torch.utils.data import DataLoader

from labkit.errors import LabkitError
from labkit.pipeline.packing.cache import evict
from labkit.pipeline.planted import KINDS, planted
from labkit.pipeline.planted_batches import can_limit_shm
from labkit.pipeline.planted_parts import cores
from labkit.pipeline.planted_records import Packed, Records, collate
from labkit.pipeline.planted_storage import Files, cached, forget

pytestmark = pytest.mark.slow


def end(loader):
    if loader._iterator is not None:
        loader._iterator._shutdown_workers()
        loader._iterator = None


def first(loader):
    """A batch made here, by the loader's own data set and collate function."""
    indices = range(loader.batch_size)
    dataset = loader.dataset
    return loader.collate_fn(
        dataset.__getitems__(indices) if hasattr(dataset, "__getitems__") else [dataset[i] for i in indices]
    )


@pytest.fixture
def job(request):
    try:
        made = planted(*request.param[:1], seed=request.param[1], scale=0.1)
    except LabkitError as error:
        pytest.skip(str(error))
    yield made
    made.close()


def jobs(*pairs):
    return pytest.mark.parametrize("job", pairs, indirect=True, ids=lambda pair: f"{pair[0]} {pair[1]}")


@jobs(("slow collate", 0), ("slow collate", 1), ("prefetch memory", 0), ("thread oversubscription", 2))
def test_the_remedy_leaves_the_batch_as_it_is(job):
    assert torch.equal(first(job.make_loader()), first(job.make_fixed()))


@jobs(("transport-bound", 0), ("transport-bound", 1))
def test_transport_sends_many_pieces_and_the_remedy_one(job):
    faulty, fixed = first(job.make_loader()), first(job.make_fixed())
    assert isinstance(faulty, list)
    assert torch.is_tensor(fixed)
    parts = [torch.as_tensor(sample) if not isinstance(sample, list) else torch.stack(sample) for sample in faulty]
    assert torch.equal(torch.stack(parts), fixed)


@jobs(("prefetch memory", 0))
def test_prefetching_holds_what_the_note_says(job):
    loader = job.make_loader()
    held = first(loader).nbytes * loader.num_workers * loader.prefetch_factor
    assert held == job.sizes["bytes held"]
    assert job.make_fixed().prefetch_factor == 2 < loader.prefetch_factor
    assert job.sizes["batches"] / 0.1 > loader.num_workers * loader.prefetch_factor  # at scale 1 it fills up


@jobs(("thread oversubscription", 2))
def test_workers_get_more_threads_than_there_are_cores(job):
    init, before = job.make_loader().worker_init_fn, torch.get_num_threads()
    try:
        init(0)
        assert torch.get_num_threads() == init.count == job.sizes["threads"]
    finally:
        torch.set_num_threads(before)
    assert 2 * init.count > cores()
    assert job.make_fixed().worker_init_fn is None


@pytest.mark.slow  # 400,000 records are made
@jobs(("data set pickled to workers", 0))
def test_pickling_the_data_set_is_the_plant(job):
    faulty, fixed = job.make_loader(), job.make_fixed()
    assert len(pickle.dumps(faulty.dataset)) > 8 << 20
    assert len(pickle.dumps(fixed.dataset)) < 4096
    assert faulty.multiprocessing_context.get_start_method() == "forkserver"
    assert [faulty.dataset[i] for i in (0, 7, 9999)] == [fixed.dataset[i] for i in (0, 7, 9999)]


def test_the_packed_twin_of_a_list_is_the_same_after_pickling(tmp_path):
    records = [(f"{i}.jpg", i, (0.5 * i, 1.0, 2.0, 3.0)) for i in range(20)]
    packed = Packed.of(records, tmp_path / "records")
    assert packed[3] == records[3]
    assert [pickle.loads(pickle.dumps(packed))[i] for i in range(20)] == records


def private_growth(dataset, first):
    """Bytes that a fork has to itself more after it has read all samples; `first` is read before, for scratch pages."""
    from pathlib import Path

    def private():
        lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
        return sum(int(line.split()[1]) for line in lines if line.startswith("Private_Dirty")) * 1024

    read, write = os.pipe()
    if not (pid := os.fork()):
        gc.disable()  # a collection writes to the pages of everything that was loaded before
        for index in range(len(first)):
            collate([first[index]])
        before = private()
        for index in range(len(dataset)):
            collate([dataset[index]])
        os.write(write, str(private() - before).encode())
        os._exit(0)
    os.waitpid(pid, 0)
    os.close(write)
    with os.fdopen(read) as pipe:
        return int(pipe.read())


@pytest.mark.skipif(not os.path.exists("/proc/self/smaps_rollup"), reason="memory by page needs Linux")
@jobs(("copy-on-write growth", 1))
def test_reading_python_objects_copies_pages_and_reading_an_array_does_not(job):
    faulty, fixed = job.make_loader().dataset, job.make_fixed().dataset
    assert isinstance(faulty, Records)
    assert faulty[5] == fixed[5]
    listed, packed = private_growth(faulty, fixed), private_growth(fixed, fixed)
    assert listed > 150 * len(faulty)  # an annotation takes about 350 bytes
    assert packed < listed / 3


@pytest.mark.skipif(not can_limit_shm(), reason="no mount namespaces for this user here")
@jobs(("shared memory exhausted", 1))
def test_batches_ahead_do_not_fit_into_dev_shm(job):
    here = os.statvfs("/dev/shm").f_blocks
    loader = job.make_loader()
    try:
        with pytest.raises(RuntimeError, match=r"(?i)shared memory|bus error"):
            list(loader)  # all are held, so that none can go
    finally:
        end(loader)
    fixed = job.make_fixed()
    try:
        assert sum(1 for _ in fixed) == job.sizes["batches"]
    finally:
        end(fixed)
    assert os.statvfs("/dev/shm").f_blocks == here  # this process's own is as it was


def test_no_namespace_is_said(monkeypatch):
    monkeypatch.setattr("labkit.pipeline.planted_batches.can_limit_shm", lambda: False)
    with pytest.raises(LabkitError, match="user namespaces"):
        planted("shared memory exhausted")


@pytest.mark.slow  # every worker reads its vocabulary
@jobs(("workers respawned each epoch", 0))
def test_workers_end_with_the_epoch_or_stay(job):
    pids = {}
    for name, make in (("faulty", job.make_loader), ("fixed", job.make_fixed)):
        loader = make()
        pids[name] = []
        for _ in range(2):
            epoch = iter(loader)
            pids[name].append({worker.pid for worker in epoch._workers})
            assert sum(1 for _ in epoch) == len(loader)
        del epoch
        end(loader)
    assert not pids["faulty"][0] & pids["faulty"][1]
    assert pids["fixed"][0] == pids["fixed"][1]


@jobs(("slow storage", 0), ("mixed", 0))
def test_files_are_cold_then_warm_and_old_ones_go(job):
    loader = job.make_loader()
    files = loader.dataset
    assert isinstance(files, Files)
    paths = files.paths
    assert not any(cached(path) for path in paths)
    files[0]
    assert cached(paths[0])
    for index in range(1, files.keep + 1):
        files[index]
    assert not cached(paths[0])
    assert cached(paths[files.keep])
    assert job.make_fixed().dataset.rate == 0
    forget(paths[1])
    assert torch.equal(job.make_fixed().dataset[1], files[1])
    job.close()
    assert not paths[0].parent.exists()


@jobs(("mixed", 1), ("mixed", 2))
def test_mixed_jobs_name_both_causes(job):
    assert {job.cause, *job.also} <= set(KINDS)
    assert len({job.cause, *job.also}) == 2
    assert isinstance(job.make_loader(), DataLoader)
    faulty, fixed = job.make_loader(), job.make_fixed()
    assert faulty.persistent_workers < fixed.persistent_workers or type(faulty.dataset) is not type(fixed.dataset)


def test_asking_whether_a_file_is_cached_reads_nothing_of_it(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"x" * 200_000)
    if evict([path]).state != "cold":
        pytest.skip("this folder is in memory")
    assert [cached(path) for _ in range(20)] == [False] * 20
    path.read_bytes()
    assert cached(path)
