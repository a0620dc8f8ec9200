# ruff: noqa: NPY002  the old generator is what the reports are about
"""Reports about orders and random draws: the same every epoch, other permutations on other ranks, equal streams."""

from __future__ import annotations

import random

import numpy as np
import torch
from case import Case
from padding import Numbers
from torch.utils.data import DataLoader, Dataset, DistributedSampler, IterableDataset, Sampler, get_worker_info

from labkit.sharding import audit


class ShuffledStream(IterableDataset):
    """Shuffles by seed + epoch, shares out among ranks and workers. The epoch: a number, or in shared memory."""

    def __init__(self, size, rank, ranks, shared):
        self.size, self.rank, self.ranks = size, rank, ranks
        self.epoch = torch.zeros((), dtype=torch.int64).share_memory_() if shared else 0

    def set_epoch(self, epoch):
        if isinstance(self.epoch, torch.Tensor):
            self.epoch.fill_(epoch)
        else:
            self.epoch = epoch

    def __iter__(self):
        order = np.random.default_rng(7 + int(self.epoch)).permutation(self.size).tolist()
        info = get_worker_info()
        return iter(order[self.rank :: self.ranks][info.id :: info.num_workers])


class Noisy(Dataset):
    """Adds noise to sample i, drawn from whatever `draw` draws from."""

    def __init__(self, draw):
        self.draw = draw

    def __len__(self):
        return 32

    def __getitem__(self, index):
        return index + self.draw()


class HeldNoise(Dataset):
    """Adds noise from a generator of its own, made once."""

    def __init__(self, seed):
        self.generator = np.random.RandomState(seed)

    def __len__(self):
        return 32

    def __getitem__(self, index):
        return index + self.generator.rand()


class Permuted(Sampler):
    """A rank's share of a permutation by a seed, and as much of it as there is room for."""

    def __init__(self, size, ranks, rank, seed):
        self.size, self.ranks, self.rank, self.seed, self.epoch = size, ranks, rank, seed, 0

    def set_epoch(self, epoch):
        self.epoch = epoch

    def __len__(self):
        return self.size // self.ranks

    def __iter__(self):
        order = torch.randperm(self.size, generator=torch.Generator().manual_seed(self.seed + self.epoch))
        return iter(order[self.rank :: self.ranks].tolist())


def next_epoch(loader, epoch):
    loader.sampler.set_epoch(epoch)


def next_epoch_of_data(loader, epoch):
    loader.dataset.set_epoch(epoch)


def distributed(seed_by_rank=False):
    def make_loader(rank, ranks):
        data = Numbers(32)
        sampler = DistributedSampler(data, ranks, rank, seed=rank if seed_by_rank else 0)
        return DataLoader(data, 4, sampler=sampler)

    return make_loader


def permuted(seed_by_rank):
    def make_loader(rank, ranks):
        return DataLoader(Numbers(48), 4, sampler=Permuted(48, ranks, rank, 42 + (rank if seed_by_rank else 0)))

    return make_loader


def streamed(shared):
    def make_loader(rank, ranks):
        data = ShuffledStream(32, rank, ranks, shared)
        return DataLoader(data, 4, num_workers=2, persistent_workers=True)

    return make_loader


def noisy(make_dataset, workers=2, init=None):
    def make_loader(rank, ranks):
        torch.manual_seed(100 + rank)
        data = make_dataset(rank)
        sampler = DistributedSampler(data, ranks, rank, shuffle=False)
        return DataLoader(data, 2, sampler=sampler, num_workers=workers, worker_init_fn=init and init(rank))

    return make_loader


def seeds_42(rank):
    return lambda worker: np.random.seed(42)


def seeds_by_place(rank):
    return lambda worker: random.seed(1000 * rank + worker)


def seeds_by_torch(rank):
    return lambda worker: (np.random.seed(torch.initial_seed() % 2**32), random.seed(torch.initial_seed()))


def seedable(resumed_at=None, tell_epoch=True):
    """accelerate's loader, shuffled; after a restart it skips what was taken, and is told the epoch or isn't."""

    def make_loader():
        from accelerate import Accelerator, skip_first_batches
        from accelerate.utils import DataLoaderConfiguration

        config = DataLoaderConfiguration(use_seedable_sampler=True, data_seed=7)
        loader = Accelerator(cpu=True, dataloader_config=config).prepare(DataLoader(Numbers(32), 4, shuffle=True))
        if resumed_at is None:
            return loader
        epoch, step = resumed_at
        if tell_epoch:
            loader.set_epoch(epoch)
        return skip_first_batches(loader, step)

    return make_loader


def stateful(workers):
    """accelerate over torchdata's loader. With workers it reads ahead before the ranks' generators are made equal."""

    def make_loader():
        from accelerate import Accelerator
        from accelerate.utils import DataLoaderConfiguration

        accelerator = Accelerator(cpu=True, dataloader_config=DataLoaderConfiguration(use_stateful_dataloader=True))
        return accelerator.prepare(DataLoader(Numbers(48), 3, shuffle=True, num_workers=workers))

    return make_loader


def two(make_loader, ranks=2, **options):
    return lambda: audit(make_loader, ranks=ranks, epochs=2, **options)


AT = (1, 2)
CASES = [
    Case(
        "pytorch#31771, pytorch#31232",
        "no set_epoch: both epochs have one order",
        "same-order",
        two(distributed()),
        two(distributed(), on_epoch=next_epoch),
    ),
    Case(
        "datasets#6673",
        "set_epoch is called, but persistent workers keep epoch 0",
        "frozen-epoch",
        two(streamed(shared=False), on_epoch=next_epoch_of_data),
        two(streamed(shared=True), on_epoch=next_epoch_of_data),
    ),
    Case(
        "pytorch#5059",
        "a numpy generator made in the data set is copied into every worker",
        "same-draws-in-workers",
        two(noisy(lambda rank: HeldNoise(rank))),
        two(noisy(lambda rank: Noisy(lambda: np.random.rand()))),
    ),
    Case(
        "fairseq#1383",
        "2 ranks of 4 workers: 8 streams, all seeded 42; the twin has 8 different ones",
        "same-draws-in-workers",
        two(noisy(lambda rank: Noisy(lambda: np.random.rand()), 4, seeds_42)),
        two(noisy(lambda rank: Noisy(lambda: np.random.rand()), 4, seeds_by_torch)),
    ),
    Case(
        "the same, by rank",
        "workers seeded by their number alone: ranks draw alike",
        "same-draws-on-ranks",
        two(noisy(lambda rank: Noisy(random.random), 2, lambda rank: lambda worker: random.seed(worker))),
        two(noisy(lambda rank: Noisy(random.random), 2, seeds_by_torch)),
    ),
    Case(
        "lightning#20412",
        "workers seeded by rank and number: every epoch augments alike",
        "same-draws-every-epoch",
        two(noisy(lambda rank: Noisy(random.random), 2, seeds_by_place)),
        two(noisy(lambda rank: Noisy(random.random), 2, seeds_by_torch)),
    ),
    Case(
        "llm.c#792",
        "each rank permutes with 42 + rank: shares overlap",
        "orders-diverge",
        two(permuted(True), 3, on_epoch=next_epoch),
        two(permuted(False), 3, on_epoch=next_epoch),
    ),
    Case(
        "accelerate PR#2694",
        "ranks seed their samplers differently: the permutations diverge",
        "orders-diverge",
        two(distributed(seed_by_rank=True), on_epoch=next_epoch),
        two(distributed(), on_epoch=next_epoch),
    ),
    Case(
        "accelerate 1.15, StatefulDataLoader with workers",
        "seen with this audit: workers read ahead before the generators are made equal, so epoch 0's orders diverge",
        "orders-diverge",
        two(stateful(2)),
        two(stateful(0)),
    ),
    Case(
        "accelerate#2016, accelerate#2823",
        "after a restart in epoch 1 the loader goes on in epoch 0's order",
        "resumed-elsewhere",
        two(seedable(), resumed=seedable(AT, tell_epoch=False), at=AT),
        two(seedable(), resumed=seedable(AT), at=AT),
    ),
]
