"""Reports in which samples are handed out again, so that an evaluation counts them twice."""

from __future__ import annotations

import torch
from case import Case
from torch.utils.data import DataLoader, Dataset, DistributedSampler, IterableDataset, Sampler

from labkit.sharding import audit


class Numbers(Dataset):
    """Sample i is (i / 10, i % 2)."""

    def __init__(self, size):
        self.size = size

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        return torch.tensor([index / 10]), index % 2


class Rows(IterableDataset):
    """A stream of {"id", "x"}; says its length only if asked to."""

    def __init__(self, size):
        self.size = size

    def __iter__(self):
        return ({"id": i, "x": torch.tensor(float(i))} for i in range(self.size))


class SizedRows(Rows):
    def __len__(self):
        return self.size


class Unpadded(Sampler):
    """Every ranks-th sample from the rank on, and not one more."""

    def __init__(self, size, ranks, rank):
        self.own = range(rank, size, ranks)

    def __iter__(self):
        return iter(self.own)

    def __len__(self):
        return len(self.own)


class FixedBatches:
    """A batch sampler without `batch_size`, as people write them for batches by length."""

    def __init__(self, size, batch):
        self.batches = [list(range(i, min(i + batch, size))) for i in range(0, size, batch)]

    def __iter__(self):
        return iter(self.batches)

    def __len__(self):
        return len(self.batches)


def distributed(size, batch, shuffle=False):
    def make_loader(rank, ranks):
        data = Numbers(size)
        return DataLoader(data, batch, sampler=DistributedSampler(data, ranks, rank, shuffle=shuffle))

    return make_loader


def unpadded(size, batch):
    return lambda rank, ranks: DataLoader(Numbers(size), batch, sampler=Unpadded(size, ranks, rank))


def prepared(make_dataset, batch, **options):
    """accelerate's way, unchanged."""

    def make_loader():
        from accelerate import Accelerator
        from accelerate.utils import DataLoaderConfiguration

        accelerator = Accelerator(cpu=True, dataloader_config=DataLoaderConfiguration(**options))
        return accelerator.prepare(DataLoader(make_dataset(), batch))

    return make_loader


def custom_batches(size, batch):
    def make_loader():
        from accelerate import Accelerator

        return Accelerator(cpu=True).prepare(DataLoader(Numbers(size), batch_sampler=FixedBatches(size, batch)))

    return make_loader


def one(make_loader, ranks, **options):
    return lambda: audit(make_loader, ranks=ranks, epochs=1, **options)


CASES = [
    Case(
        "pytorch#25162",
        "10 samples on 4 ranks: the sampler repeats the head, accuracy is over 12",
        "padding",
        one(distributed(10, 3), 4),
        one(distributed(12, 3), 4),
    ),
    Case(
        "pytorch#22584",
        "13 samples: 13 reads on 1 rank, 15 on 3; the twin reads 13 on 3",
        "padding",
        one(distributed(13, 5), 3),
        one(unpadded(13, 5), 3),
    ),
    Case(
        "lightning#2398",
        "a shuffled test loader keeps what was borrowed; the twin hands out each sample once",
        "padding",
        one(distributed(21, 4, shuffle=True), 2),
        one(unpadded(21, 4), 2),
    ),
    Case(
        "lightning#7929",
        "7 test samples on 4 ranks by default: 8 reads",
        "padding",
        one(distributed(7, 2), 4),
        one(distributed(8, 2), 4),
    ),
    Case(
        "rf-detr#1507",
        "21 images on 2 ranks: 22 merged",
        "padding",
        one(distributed(21, 3), 2),
        one(distributed(22, 3), 2),
    ),
    Case(
        "accelerate#226",
        "1,000 samples on 3 ranks in batches of 32: 1,056 reads",
        "padding",
        one(prepared(lambda: Numbers(1000), 32), 3),
        one(prepared(lambda: Numbers(960), 32), 3),
    ),
    Case(
        "accelerate#575",
        "a batch sampler without batch_size: a whole batch again, 12 reads of 10",
        "padding",
        one(custom_batches(10, 2), 2),
        one(custom_batches(12, 2), 2),
    ),
    Case(
        "accelerate#3013",
        "a stream of 9 in batches of 2 on 2 ranks: 12 labels come back",
        "padding",
        one(prepared(lambda: SizedRows(9), 2, dispatch_batches=False), 2),
        one(prepared(lambda: SizedRows(8), 2, dispatch_batches=False), 2),
    ),
    Case(
        "transformers#30767",
        "a stream of 1,012 in batches of 32 on 4 ranks: 1,024 predictions",
        "padding",
        one(prepared(lambda: Rows(1012), 32, dispatch_batches=False), 4),
        one(prepared(lambda: Rows(1024), 32, dispatch_batches=False), 4),
    ),
]
