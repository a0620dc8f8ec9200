"""Every workload has its plant, its remedy removes it, and nothing is left behind. No timing is asserted."""

from __future__ import annotations

import os

import pytest
import torch
from torch.utils.data import DataLoader, Dataset, get_worker_info

from labkit.errors import LabkitError, UsageError
from labkit.pipeline.planted import KINDS, planted
from labkit.pipeline.planted_parts import Draw, Folder, Photos, Pinned, cores, cost, photos

pytestmark = pytest.mark.slow

two_cores = pytest.mark.skipif(cores() < 2, reason="the plant needs 2 cores")


def end(loader):
    if loader._iterator is not None:
        loader._iterator._shutdown_workers()
        loader._iterator = None


class Affinity(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        return get_worker_info().id, tuple(sorted(os.sched_getaffinity(0)))


@pytest.mark.parametrize("kind", ["too few workers", "decode-bound", "workers pinned"])
@two_cores
def test_decoding_jobs_differ_in_workers_and_affinity_alone(kind):
    job = planted(kind, seed=3, scale=0.1)
    faulty, fixed = job.make_loader(), job.make_fixed()
    assert isinstance(faulty, DataLoader)
    assert len(faulty) == len(fixed) == job.sizes["batches"]
    first = next(iter(DataLoader(faulty.dataset, batch_size=faulty.batch_size)))
    assert torch.equal(first, next(iter(DataLoader(fixed.dataset, batch_size=fixed.batch_size))))
    if kind == "too few workers":
        assert faulty.num_workers < 2 == fixed.num_workers
    elif kind == "decode-bound":
        assert faulty.num_workers == fixed.num_workers == cores()
        assert isinstance(faulty.dataset, Photos)
        assert not isinstance(fixed.dataset, Photos)
    else:
        assert isinstance(faulty.worker_init_fn, Pinned)
        assert fixed.worker_init_fn is None


@two_cores
def test_pinned_workers_share_one_core():
    job = planted("workers pinned", seed=1, scale=0.1)
    init = job.make_loader().worker_init_fn
    loader = DataLoader(Affinity(), batch_size=None, num_workers=2, worker_init_fn=init)
    seen = dict(list(loader))
    assert seen == {0: [job.sizes["core"]], 1: [job.sizes["core"]]}


@two_cores
def test_scans_stand_where_they_should_and_cost_many_photographs():
    job = planted("head-of-line blocking", seed=2, scale=0.2)
    loader = job.make_loader()
    scans = loader.dataset.scans
    assert scans
    assert max(scans) < len(loader.dataset)
    assert min(len(data) for data in scans.values()) > 10_000
    assert loader.in_order
    assert not job.make_fixed().in_order
    assert job.make_fixed().dataset is loader.dataset


@pytest.mark.parametrize("seed", range(5))
def test_healthy_shapes_deliver_every_sample(seed):
    job = planted("healthy", seed=seed, scale=0.1)
    loader = job.make_loader()
    try:
        rows = sum(len(batch) if torch.is_tensor(batch) else len(batch[0]) for batch in loader)
    finally:
        end(loader)
    assert rows == job.sizes["batches"] * job.sizes["batch size"]


def test_a_real_step_trains():
    job = planted("healthy", seed=4, scale=0.1)
    weights = [p.detach().clone() for p in job.step.net.parameters()]
    loader = job.make_loader()
    job.step(loader.collate_fn([loader.dataset[i] for i in range(loader.batch_size)]))
    assert not any(torch.equal(a, b) for a, b in zip(weights, job.step.net.parameters(), strict=True))
    assert "sleep" not in job.note


def test_sizes_follow_from_the_seed():
    counts = [
        {name: value for name, value in planted("healthy", seed=seed).sizes.items() if "ms" not in name}
        for seed in (1, 1, 5)
    ]
    assert counts[0] == counts[1] != counts[2]
    a, b = (photos(Draw("x", 4, 1.0), 20_000, 2) for _ in range(2))
    assert a == b
    assert planted("healthy", seed=1, scale=0.1).sizes["batches"] < counts[0]["batches"]


def test_cost_is_of_the_work_asked_for():
    asked = []

    class Counting(Dataset):
        def __len__(self):
            return 7

        def __getitem__(self, index):
            asked.append(index)

    assert cost(Counting(), 3, batches=3) >= 0
    assert asked == [0, 1, 2, 3, 4, 5, 6, 0, 1]


def test_a_folder_goes_with_its_owner_alone():
    folder = Folder()
    path = folder.path
    if not (pid := os.fork()):
        del folder
        os._exit(0)
    os.waitpid(pid, 0)
    assert path.is_dir()
    folder.close()
    assert not path.exists()


@pytest.mark.parametrize(("cause", "scale"), [("gremlins", 1), ("healthy", 0), ("healthy", -1)])
def test_bad_input_is_named(cause, scale):
    with pytest.raises(UsageError, match=r"gremlins|scale"):
        planted(cause, scale=scale)


def test_a_machine_that_cannot_show_it_says_so(monkeypatch):
    monkeypatch.setattr("labkit.pipeline.planted_parts.cores", lambda: 1)
    with pytest.raises(LabkitError, match="2 cores"):
        planted("too few workers")


def test_kinds_are_the_vocabulary():
    causes = pytest.importorskip("labkit.pipeline.diagnosis_causes")
    assert set(KINDS) - {"mixed"} <= set(causes.CAUSES)
