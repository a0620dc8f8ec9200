"""Reports in which ranks or workers read what others read, or nobody reads it, or steps are unequal."""

from __future__ import annotations

import torch
from case import Case
from padding import Numbers, Rows, Unpadded, one, prepared
from torch.utils.data import DataLoader, DistributedSampler, IterableDataset, get_worker_info

from labkit.sharding import audit


class Stream(IterableDataset):
    """Numbers 0 to size - 1, shared out among ranks and workers as far as it is told to."""

    def __init__(self, size, rank=0, ranks=1, by_worker=True):
        self.size, self.rank, self.ranks, self.by_worker = size, rank, ranks, by_worker

    def __iter__(self):
        info = get_worker_info() if self.by_worker else None
        worker, workers = (info.id, info.num_workers) if info else (0, 1)
        own = range(self.rank, self.size, self.ranks)
        return iter(own[worker::workers])


class Files(IterableDataset):
    """Files of four samples, dealt to the ranks in turn."""

    def __init__(self, files, rank, ranks):
        self.own = range(rank, files, ranks)

    def __iter__(self):
        return (4 * file + i for file in self.own for i in range(4))


class Mixed(IterableDataset):
    """A rank's sources, one sample from each in turn; a short source starts again until the longest has ended."""

    def __init__(self, sources):
        self.sources = sources

    def __iter__(self):
        for i in range(max(map(len, self.sources))):
            for source in self.sources:
                yield source[i % len(source)]


class Promised(Stream):
    """Says the length of the whole, yields a rank's share."""

    def __len__(self):
        return self.size


class SizedStream(Stream):
    """As accelerate likes it: not shared out, of known length."""

    def __len__(self):
        return self.size


class Share(Stream):
    """Says the length of its share."""

    def __len__(self):
        return len(range(self.rank, self.size, self.ranks))


class LastBatchAnyway(IterableDataset):
    """Cuts a stream into batches for the ranks by hand: drop_last is forgotten, so the last cut may be empty."""

    def __init__(self, size, batch, rank, ranks, drop_last):
        self.size, self.batch, self.rank, self.ranks, self.drop_last = size, batch, rank, ranks, drop_last

    def __iter__(self):
        wide = self.batch * self.ranks
        for start in range(0, self.size, wide):
            if self.drop_last and start + wide > self.size:
                return
            first = start + self.rank * self.batch
            yield torch.arange(min(first, self.size), min(first + self.batch, self.size))


def mixed(lengths):
    def make_loader(rank, ranks):
        starts = [sum(lengths[:i]) for i in range(len(lengths))]
        return DataLoader(Mixed([range(s, s + n)[rank::ranks] for s, n in zip(starts, lengths, strict=True)]), 2)

    return make_loader


def contiguous(size, batch):
    """Each rank an equal part of the places, the first ones one more where they don't divide."""

    def make_loader(rank, ranks):
        low, extra = divmod(size, ranks)
        start = rank * low + min(rank, extra)
        own = list(range(start, start + low + (rank < extra)))
        return DataLoader(Numbers(size), batch, sampler=own)

    return make_loader


def dropping(size, batch):
    def make_loader(rank, ranks):
        data = Numbers(size)
        return DataLoader(data, batch, sampler=DistributedSampler(data, ranks, rank), drop_last=True)

    return make_loader


def prepared_again(already):
    def make_loader(rank, ranks):
        from accelerate import Accelerator

        data = Numbers(64)
        sampler = DistributedSampler(data, ranks, rank, shuffle=False) if already else None
        return Accelerator(cpu=True).prepare(DataLoader(data, 4, sampler=sampler))

    return make_loader


def web(shards, splitter):
    """webdataset over real tar files, made in the rank's own temporary directory."""

    def make_loader(rank, ranks):
        import io
        import tarfile
        import tempfile

        import webdataset as wds

        folder = tempfile.TemporaryDirectory()
        urls = []
        for shard in range(shards):
            urls.append(f"{folder.name}/{shard:03d}.tar")
            with tarfile.open(urls[-1], "w") as tar:
                for i in range(4):
                    info = tarfile.TarInfo(f"{shard}-{i}.txt")
                    info.size = 1
                    tar.addfile(info, io.BytesIO(b"x"))
        nodes = wds.split_by_node if splitter else (lambda urls: urls)
        data = wds.WebDataset(urls, shardshuffle=False, nodesplitter=nodes).decode()
        data.folder = folder  # as long as the data set lives
        return wds.WebLoader(data, batch_size=2, num_workers=2, collate_fn=list)

    return make_loader


def key(sample):
    return sample["__key__"]


CASES = [
    Case(
        "accelerate#961",
        "rank 0 reads 1 sample for 3 ranks: it comes twice, and rank 2 gets an empty batch",
        "empty-batch",
        one(prepared(lambda: Rows(1), 1, dispatch_batches=True), 3),
        one(prepared(lambda: Rows(6), 1, dispatch_batches=True), 3),
    ),
    Case(
        "accelerate#209",
        "a stream cut by hand forgets drop_last: rank 1's last batch is empty",
        "empty-batch",
        one(lambda rank, ranks: DataLoader(LastBatchAnyway(10, 2, rank, ranks, False), batch_size=None), 2),
        one(lambda rank, ranks: DataLoader(LastBatchAnyway(10, 2, rank, ranks, True), batch_size=None), 2),
    ),
    Case(
        "accelerate#4122",
        "len(loader) says 2 steps, the rank takes 1",
        "wrong-length",
        one(lambda rank, ranks: DataLoader(Promised(8, rank, ranks), 4), 2),
        one(lambda rank, ranks: DataLoader(Share(8, rank, ranks), 4), 2),
    ),
    Case(
        "accelerate PR#4118",
        "accelerate's shard of a stream says 8 samples a rank and yields 6",
        "wrong-length",
        one(prepared(lambda: SizedStream(12), 4, dispatch_batches=False, split_batches=True), 2),
        one(prepared(lambda: SizedStream(12), 2, dispatch_batches=False), 2),
    ),
    Case(
        "datasets#5360",
        "a stream that isn't split by rank: both ranks read all 24",
        "every-rank-reads-all",
        one(lambda: DataLoader(Stream(24), 4), 2),
        one(lambda rank, ranks: DataLoader(Stream(24, rank, ranks), 4), 2),
    ),
    Case(
        "datasets#3423, pytorch#30599",
        "a stream without get_worker_info: every sample comes num_workers times",
        "every-worker-reads-all",
        one(lambda rank, ranks: DataLoader(Stream(24, rank, ranks, by_worker=False), 4, num_workers=3), 2),
        one(lambda rank, ranks: DataLoader(Stream(24, rank, ranks), 4, num_workers=3), 2),
    ),
    Case(
        "datasets#7868",
        "split by rank, then interleaved until the longest source ends: the short one comes again",
        "rank-repeats",
        one(mixed([16, 8]), 2),
        one(mixed([12, 12]), 2),
    ),
    Case(
        "pytorch#141069",
        "3 files on 2 ranks: 4 steps against 2",
        "steps-differ",
        one(lambda rank, ranks: DataLoader(Files(3, rank, ranks), 2), 2),
        one(lambda rank, ranks: DataLoader(Files(4, rank, ranks), 2), 2),
    ),
    Case(
        "litData#233",
        "13 samples cut into parts of 7 and 6, in batches of 2: 4 steps against 3",
        "steps-differ",
        one(contiguous(13, 2), 2),
        one(contiguous(12, 2), 2),
    ),
    Case(
        "MONAI#1531",
        "5 cases one by one on 2 ranks: 3 predictions against 2, the gather for the AUC waits",
        "steps-differ",
        one(lambda rank, ranks: DataLoader(Numbers(5), 1, sampler=Unpadded(5, ranks, rank)), 2),
        one(lambda rank, ranks: DataLoader(Numbers(6), 1, sampler=Unpadded(6, ranks, rank)), 2),
    ),
    Case(
        "verl#78",
        "200 samples, batch size 256, drop_last: no step, no error",
        "no-steps",
        one(dropping(200, 256), 2),
        one(dropping(200, 25), 2),
    ),
    Case(
        "accelerate#3520",
        "a loader that has a DistributedSampler is prepared: half of the samples are read by nobody",
        "sharded-twice",
        one(prepared_again(True), 2),
        one(prepared_again(False), 2),
    ),
    Case(
        "webdataset, a node splitter that splits nothing",
        "every rank reads every tar file",
        "every-rank-reads-all",
        one(web(4, splitter=False), 2, sample_id=key),
        one(web(4, splitter=True), 2, sample_id=key),
    ),
    Case(
        "sharded by local rank",
        "4 ranks on 2 machines shard by local rank: half of the data twice, half never",
        "shared-shard",
        one(lambda rank: DataLoader(Numbers(32), 2, sampler=Unpadded(32, 4, rank % 2)), 4),
        one(lambda rank: DataLoader(Numbers(32), 2, sampler=Unpadded(32, 4, rank)), 4),
    ),
    Case(
        "tensor parallel pairs cut apart",
        "ranks 0 and 1 must get the same batches, and get others; the twin's pairs share on purpose",
        "group-differs",
        lambda: audit(lambda rank: DataLoader(Numbers(32), 2, sampler=Unpadded(32, 4, rank)), epochs=1, groups=PAIRS),
        lambda: audit(lambda rank: DataLoader(Numbers(32), 2, sampler=Unpadded(32, 2, rank // 2)), epochs=1),
    ),
]

PAIRS = [[0, 1], [2, 3]]
