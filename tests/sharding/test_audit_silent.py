"""Right loaders of many makes, on which the audit must find nothing, and look-alikes of faults."""

from __future__ import annotations

import random

import pytest
import torch
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    Dataset,
    DistributedSampler,
    IterableDataset,
    Subset,
    WeightedRandomSampler,
    get_worker_info,
    random_split,
)

from labkit.sharding import audit

pytestmark = pytest.mark.slow


class Things(Dataset):
    def __init__(self, size=48):
        self.size = size

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        return torch.full((3,), float(index)), index % 2


class Many(Things):
    """Reads a whole batch at once, as torch offers since 2.0."""

    def __getitems__(self, indices):
        return [self[i] for i in indices]


class Rows(Things):
    """A table: a list of places gives a batch."""

    def __getitem__(self, index):
        return torch.arange(self.size, dtype=torch.float32)[index]


class Noisy(Things):
    def __getitem__(self, index):
        return torch.rand(3) + index + random.random()


class Stream(IterableDataset):
    def __init__(self, rank, ranks, size=48):
        self.own = range(rank, size, ranks)

    def __iter__(self):
        info = get_worker_info()
        own = self.own[info.id :: info.num_workers] if info else self.own
        return ((torch.tensor([float(i)]), i % 3) for i in own)


class SeededStream(IterableDataset):
    """All ranks shuffle by the generator that accelerate seeds; accelerate shares out."""

    def __init__(self):
        self.generator = torch.Generator()

    def __iter__(self):
        return (torch.tensor([float(i)]) for i in torch.randperm(48, generator=self.generator).tolist())


def sampled(data, rank, ranks, batch=3, shuffle=True, **options):
    return DataLoader(data, batch, sampler=DistributedSampler(data, ranks, rank, shuffle=shuffle), **options)


def halves():
    return random_split(Things(60), [48, 12], generator=torch.Generator().manual_seed(1))


def by_accelerate(make_loader, **options):
    def make():
        from accelerate import Accelerator
        from accelerate.utils import DataLoaderConfiguration

        return Accelerator(cpu=True, dataloader_config=DataLoaderConfiguration(**options)).prepare(make_loader())

    return make


def stateful(rank, ranks):
    from torchdata.stateful_dataloader import StatefulDataLoader

    data = Things()
    return StatefulDataLoader(data, 3, sampler=DistributedSampler(data, ranks, rank), num_workers=2)


def seeded_alike(rank, ranks):
    torch.manual_seed(0)  # as every rank does for its model; nothing is drawn per sample
    return sampled(Things(), rank, ranks, num_workers=2)


def zipped(rank, ranks):
    class Both:
        def __init__(self):
            self.loaders = [sampled(Things(), rank, ranks, shuffle=False), sampled(Rows(), rank, ranks, shuffle=False)]

        def __iter__(self):
            return zip(*self.loaders, strict=True)

    return Both()


def next_epoch(loader, epoch):
    loader.sampler.set_epoch(epoch)


EPOCHS = {"on_epoch": next_epoch}
RIGHT = {
    "shuffled, two workers": (lambda r, p: sampled(Things(), r, p, num_workers=2), EPOCHS),
    "workers that live on": (lambda r, p: sampled(Things(), r, p, num_workers=2, persistent_workers=True), EPOCHS),
    "random augmentation": (lambda r, p: sampled(Noisy(), r, p, num_workers=2), EPOCHS),
    "random augmentation, no workers": (lambda r, p: sampled(Noisy(), r, p), EPOCHS),
    "seeded alike, nothing drawn": (seeded_alike, EPOCHS),
    "a random split, training": (lambda r, p: sampled(halves()[0], r, p), EPOCHS),
    "a random split, testing": (lambda r, p: sampled(halves()[1], r, p, shuffle=False), {}),
    "a part by rank": (lambda r, p: DataLoader(Subset(Things(), range(r, 48, p)), 3, shuffle=True), {}),
    "a list cut by rank": (lambda r, p: DataLoader([float(i) for i in range(48)][r::p], 3, shuffle=True), {}),
    "unpadded, last batches of unequal size": (lambda r, p: DataLoader(Things(46), 4, sampler=range(r, 46, p)), {}),
    "drop_last, shuffled": (lambda r, p: sampled(Things(53), r, p, drop_last=True), {"ranks": 4, **EPOCHS}),
    "with replacement": (lambda: DataLoader(Things(), 3, sampler=WeightedRandomSampler([1.0] * 48, 12)), {}),
    "whole batches at once": (lambda r, p: sampled(Many(), r, p, num_workers=1), EPOCHS),
    "a table read by lists of places": (
        lambda r, p: DataLoader(Rows(), None, sampler=BatchSampler(range(r, 48, p), 3, False)),
        {},
    ),
    "a stream, split by rank and worker": (lambda r, p: DataLoader(Stream(r, p), 3, num_workers=2), {}),
    "a stream, drop_last": (lambda r, p: DataLoader(Stream(r, p, 52), 4, drop_last=True), {}),
    "two loaders at once": (zipped, {}),
    "pairs of ranks that share": (lambda r, p: sampled(Things(), r // 2, p // 2), {"ranks": 4, **EPOCHS}),
    "accelerate": (by_accelerate(lambda: DataLoader(Things(), 3, shuffle=True, num_workers=2)), {}),
    "accelerate, split": (by_accelerate(lambda: DataLoader(Things(), 12, shuffle=True), split_batches=True), {}),
    "accelerate, seedable": (
        by_accelerate(lambda: DataLoader(Things(), 3, shuffle=True), use_seedable_sampler=True, data_seed=3),
        {},
    ),
    "accelerate, dispatch": (by_accelerate(lambda: DataLoader(Stream(0, 1), 3), dispatch_batches=True), {}),
    "accelerate, a stream in shards": (
        by_accelerate(lambda: DataLoader(SeededStream(), 3), dispatch_batches=False),
        {},
    ),
    "StatefulDataLoader": (stateful, EPOCHS),
    "batches without a loader": (lambda r, p: [list(range(i, i + 3)) for i in range(3 * r, 48, 3 * p)], {}),
    "a sampler without a loader": (lambda r, p: DistributedSampler(range(48), p, r, shuffle=False), {}),
}


@pytest.mark.parametrize("name", RIGHT)
def test_nothing_is_found_in_a_right_loader(name):
    make_loader, options = RIGHT[name]
    ranks = options.get("ranks", 2)
    coverage = audit(make_loader, **{"ranks": ranks, **options})
    assert coverage.clean, coverage.text()
    assert sum(map(len, (coverage.ids(0, rank) for rank in range(ranks)))) > 0


def resampled(rank, ranks):
    import io
    import tarfile
    import tempfile

    import webdataset as wds

    folder = tempfile.TemporaryDirectory()
    for shard in range(6):
        with tarfile.open(f"{folder.name}/{shard}.tar", "w") as tar:
            for i in range(3):
                member = tarfile.TarInfo(f"{shard}-{i}.txt")
                member.size = 1
                tar.addfile(member, io.BytesIO(b"x"))
    urls = f"{folder.name}/{{0..5}}.tar"
    every = lambda urls: urls  # noqa: E731  each rank draws from all files
    data = wds.WebDataset(urls, resampled=True, shardshuffle=False, nodesplitter=every, seed=rank).with_epoch(12)
    data.folder = folder  # as long as the data set lives
    return wds.WebLoader(data, batch_size=3, collate_fn=list)


def test_shards_drawn_with_replacement_are_not_judged():
    coverage = audit(resampled, ranks=2, sample_id=lambda sample: sample["__key__"])
    assert coverage.clean, coverage.text()
    assert "with replacement" in coverage.notes[0]
    assert coverage.steps == (4, 4)


def drawn(seed_by_rank):
    def make_loader(rank, ranks):
        generator = torch.Generator().manual_seed(rank if seed_by_rank else 0)
        return DataLoader(Things(), 3, sampler=WeightedRandomSampler([1.0] * 48, 12, generator=generator))

    return make_loader


def test_draws_with_replacement_that_are_the_same_on_all_ranks_are_a_fault():
    assert audit(drawn(True)).clean
    assert audit(drawn(False)).causes == ("every-rank-reads-all",)


ALIKE = {
    "a tiny data set, filled up, isn't everything on every rank": (
        by_accelerate(lambda: DataLoader(Things(4), 4)),
        "padding",
    ),
    "a tiny data set that nobody shares out is": (lambda: DataLoader(Things(4), 4), "every-rank-reads-all"),
    "one sample on four ranks is filled up": (lambda r, p: sampled(Things(1), r, p, shuffle=False), "padding"),
    "streams in shards whose workers don't split": (
        by_accelerate(lambda: DataLoader(SeededStream(), 3, num_workers=2), dispatch_batches=False),
        "every-worker-reads-all",
    ),
    "augmentation from a common seed": (
        lambda r, p: (torch.manual_seed(0), sampled(Noisy(), r, p, num_workers=2))[1],
        "same-draws-on-ranks",
    ),
}


@pytest.mark.parametrize("name", ALIKE)
def test_faults_that_look_alike_are_told_apart(name):
    make_loader, cause = ALIKE[name]
    assert cause in audit(make_loader, epochs=1).causes
