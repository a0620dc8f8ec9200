"""The audit on real ranks: what it sees, held to plans made on paper, and what it does with loaders that fail."""

from __future__ import annotations

import json
import os
import signal
import time
from functools import partial
from pathlib import Path

import pytest
import torch
from torch.utils.data import DataLoader, Dataset, DistributedSampler, IterableDataset, Subset, get_worker_info

from labkit import ranks as real_ranks
from labkit.errors import UsageError
from labkit.sharding import CAUSES, audit, plan, plan_dispatch, plan_distributed_sampler
from labkit.sharding.recorder import Recorder
from labkit.sharding.spool import Spool

pytestmark = pytest.mark.slow  # real processes all through


class Numbers(Dataset):
    def __init__(self, size):
        self.size = size

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        return {"x": torch.tensor([float(index), 1.0]), "name": f"sample {index}"}


class Stream(IterableDataset):
    def __init__(self, size, rank=0, ranks=1):
        self.size, self.rank, self.ranks = size, rank, ranks

    def __iter__(self):
        info = get_worker_info()
        own = range(self.rank, self.size, self.ranks)
        own = own[info.id :: info.num_workers] if info else own
        return ({"id": f"s{i}", "x": torch.tensor(float(i))} for i in own)


def striding(size, batch, **options):
    def make_loader(rank, ranks):
        data = Numbers(size)
        sampler = DistributedSampler(data, ranks, rank, shuffle=options.pop("shuffle", False))
        return DataLoader(data, batch, sampler=sampler, **options)

    return make_loader


def prepared(make_dataset, batch, flags, **options):
    def make_loader():
        from accelerate import Accelerator
        from accelerate.utils import DataLoaderConfiguration

        drop_last = flags.get("drop_last", False)
        rest = {name: value for name, value in flags.items() if name != "drop_last"}
        accelerator = Accelerator(cpu=True, dataloader_config=DataLoaderConfiguration(**rest))
        return accelerator.prepare(DataLoader(make_dataset(), batch, drop_last=drop_last, **options))

    return make_loader


def seen(coverage, per_rank):
    """The ids as plans write them."""
    assert coverage.per_rank == per_rank


PLANS = [
    (21, 3, 2, {}),
    (9, 2, 4, {}),
    (1, 2, 3, {}),
    (21, 3, 2, {"even_batches": False}),
    (21, 3, 2, {"drop_last": True}),
    (10, 4, 2, {"split_batches": True}),
    (9, 4, 2, {"split_batches": True, "even_batches": False}),
]


@pytest.mark.parametrize(
    ("size", "batch", "ranks", "flags", "workers"),
    [(*settings, workers) for workers in (0, 2) for settings in PLANS if not workers or settings[2] == 2],
)
def test_audit_sees_what_accelerates_plan_says(size, batch, ranks, flags, workers):
    coverage = audit(prepared(partial(Numbers, size), batch, flags, num_workers=workers), ranks=ranks, epochs=1)
    expected = plan(size, batch, ranks, **flags)
    seen(coverage, expected.per_rank)
    assert coverage.steps == expected.steps
    assert sorted(coverage.duplicates) == sorted(expected.duplicates)
    assert set(coverage.missing) == set(expected.dropped)
    assert ("steps-differ" in coverage.causes) == expected.hang_risk
    assert ("padding" in coverage.causes) == bool(expected.duplicates)


@pytest.mark.parametrize(("size", "batch", "ranks"), [(21, 3, 2), (10, 3, 4), (2, 1, 3), (12, 3, 4)])
def test_audit_sees_what_torchs_sampler_deals(size, batch, ranks):
    coverage = audit(striding(size, batch), ranks=ranks, epochs=1)
    expected = plan_distributed_sampler(size, ranks, batch)
    seen(coverage, expected.per_rank)
    assert sorted(coverage.duplicates) == sorted(expected.duplicates)


@pytest.mark.parametrize(("size", "batch", "ranks"), [(21, 3, 2), (12, 2, 3)])
def test_with_dispatch_every_rank_knows_what_rank_0_read_for_it(size, batch, ranks):
    coverage = audit(
        prepared(lambda: torch.arange(size), batch, {"dispatch_batches": True}, num_workers=1), ranks=ranks
    )
    seen(coverage, plan_dispatch(size, batch, ranks).per_rank)
    frame = coverage.frame()
    assert set(frame["reader"]) == {0}
    assert set(frame["worker"]) == {0}


def test_nothing_is_found_in_a_right_loader_and_the_ledger_adds_up():
    coverage = audit(
        striding(24, 3, shuffle=True, num_workers=2), ranks=2, on_epoch=lambda loader, e: loader.sampler.set_epoch(e)
    )
    assert coverage.clean
    assert coverage.findings == ()
    assert coverage.identity == "index"
    counts = coverage.counts()
    assert counts["seen"].sum() == 48
    assert len(counts) == 2 * 2 * 2  # epochs x ranks x workers
    assert counts["again"].sum() == 0
    assert coverage.orders().groupby("epoch")["order"].nunique().tolist() == [2, 2]
    assert coverage.ids(0, 0) != coverage.ids(1, 0)


def test_streams_are_known_by_their_ids():
    coverage = audit(lambda rank, ranks: DataLoader(Stream(12, rank, ranks), 2, num_workers=2), ranks=2)
    assert coverage.clean
    assert coverage.identity == "key"
    assert {one for rank in (0, 1) for one in coverage.ids(0, rank)} == {f"s{i}" for i in range(12)}


def test_what_accelerates_shards_drop_of_a_stream_is_counted_by_the_streams_own_length():
    class Sized(Stream):
        def __len__(self):
            return self.size

    coverage = audit(prepared(partial(Sized, 9), 2, {"dispatch_batches": False, "drop_last": True}), ranks=2)
    assert coverage.samples == 9
    assert coverage.causes == ("dropped",)
    assert coverage.findings[0].said.startswith("1 sample of 9 is dropped in every epoch")
    assert coverage.missing == ()  # which one it is can't be told


def test_what_a_batch_dropped_isnt_counted_in_the_next_epoch():
    coverage = audit(lambda rank, ranks: DataLoader(Stream(10, rank, ranks), 2, drop_last=True), ranks=2)
    assert coverage.ids(0, 1) == coverage.ids(1, 1) == ("s1", "s3", "s5", "s7")


def test_a_subsets_samples_are_those_underneath():
    coverage = audit(lambda rank, ranks: DataLoader(Subset(Numbers(12), range(rank, 12, ranks)), 2), ranks=2)
    assert coverage.clean
    assert coverage.per_rank[1][0] == [1, 3]


def test_data_sets_that_differ_by_rank_are_compared_by_content():
    coverage = audit(lambda rank, ranks: DataLoader([float(i) for i in range(12)][rank::ranks], 2), ranks=2)
    assert coverage.clean
    assert coverage.identity == "content"
    assert "different data sets" in coverage.notes[0]
    overlapping = audit(lambda rank: DataLoader([float(i) for i in range(6 * rank, 6 * rank + 8)], 2), ranks=2)
    assert overlapping.causes == ("ranks-overlap",)


def test_sample_id_names_the_samples_and_reads_ids_of_ready_batches():
    coverage = audit(striding(8, 2), ranks=2, sample_id=lambda sample: sample["name"])
    assert coverage.per_rank[0] == [["sample 0", "sample 2"], ["sample 4", "sample 6"]]

    def batches(rank, ranks):
        return [{"rows": list(range(first, first + 2))} for first in range(2 * rank, 8, 2 * ranks)]

    coverage = audit(batches, ranks=2, sample_id=lambda batch: batch["rows"])
    assert coverage.per_rank == [[[0, 1], [4, 5]], [[2, 3], [6, 7]]]
    assert coverage.clean


def test_wrappers_and_generators_around_a_loader_are_seen_through():
    def make_loader(rank, ranks):
        loader = striding(12, 2, num_workers=1)(rank, ranks)

        class Doubled:
            def __iter__(self):
                return (batch["x"] * 2 for batch in loader)

        return Doubled()

    coverage = audit(make_loader, ranks=2)
    assert coverage.clean
    assert coverage.per_rank == audit(striding(12, 2), ranks=2).per_rank


def test_groups_are_seen_by_themselves_or_said():
    pairs = lambda rank: DataLoader(Numbers(16), 2, sampler=range(rank // 2, 16, 2))  # noqa: E731
    coverage = audit(pairs)
    assert coverage.clean
    assert coverage.groups == ((0, 1), (2, 3))
    assert coverage.duplicates == ()
    assert "16 reads, 0 again" in coverage.summary()
    everything = lambda: DataLoader(Numbers(16), 2)  # noqa: E731
    assert audit(everything, ranks=2).causes == ("every-rank-reads-all",)
    assert audit(everything, ranks=2, groups=[[0, 1]]).clean


def test_steps_ends_an_endless_stream():
    class Endless(IterableDataset):
        def __init__(self, rank):
            self.rank = rank

        def __iter__(self):
            i = self.rank
            while True:
                yield i
                i += 2

    coverage = audit(lambda rank: DataLoader(Endless(rank), 2), ranks=2, epochs=1, steps=5)
    assert coverage.clean
    assert coverage.steps == (5, 5)
    cut = audit(striding(24, 2), ranks=2, steps=3)
    assert cut.clean
    assert cut.missing == ()  # the rest may well come later


def rows_of(rank, make_loader, watched, folder):
    """What a rank's steps get, with and without a recorder."""
    if not watched:
        return [_plain(batch) for batch in make_loader(rank, 2)]
    before = methods()
    with Recorder(rank, Spool(folder, rank), None) as recorder:
        loader = make_loader(rank, 2)
        recorder.built(loader)
        rows = [_plain(batch) for batch in loader]
        assert methods() != before
    assert methods() == before
    return rows


def methods():
    """What the recorder replaces while it is on."""
    from accelerate.data_loader import DataLoaderDispatcher, DataLoaderShard
    from torch.utils.data.dataloader import _BaseDataLoaderIter as Iterator

    return Iterator.__init__, Iterator.__next__, DataLoaderShard.__iter__, DataLoaderDispatcher.__iter__


def _plain(batch):
    return {k: v.tolist() if isinstance(v, torch.Tensor) else list(v) for k, v in batch.items()}


@pytest.mark.slow
def test_workers_that_are_spawned_get_a_sample_id_typed_here():
    def make_loader(rank, ranks):
        data = list(range(rank, 8, ranks))
        return DataLoader(data, 2, num_workers=1, multiprocessing_context="spawn")

    coverage = audit(make_loader, ranks=2, epochs=1, sample_id=lambda sample: f"s{sample}")
    assert coverage.clean
    assert coverage.ids(0, 1) == ("s1", "s3", "s5", "s7")


@pytest.mark.parametrize("kind", ["torch", "workers", "accelerate", "split", "stateful"])
def test_batches_are_the_same_with_and_without_the_recorder(kind, tmp_path):
    def make_loader(rank, ranks):
        if kind in ("torch", "workers"):
            return striding(11, 2, num_workers=2 * (kind == "workers"))(rank, ranks)
        if kind == "stateful":
            from torchdata.stateful_dataloader import StatefulDataLoader

            data = Numbers(11)
            return StatefulDataLoader(data, 2, sampler=DistributedSampler(data, ranks, rank), num_workers=1)
        return prepared(partial(Numbers, 11), 2, {"split_batches": kind == "split"})()

    plain, watched = (real_ranks.run(rows_of, make_loader, w, str(tmp_path), ranks=2) for w in (False, True))
    assert plain == watched


def bad_collate(rank):
    def collate(samples):
        if rank == 2 and samples[0]["name"] == "sample 8":
            raise ValueError("sample 8 is damaged")
        return torch.stack([sample["x"] for sample in samples])

    return collate


@pytest.mark.parametrize("workers", [0, 1])
def test_a_collate_that_raises_in_rank_2_only_is_one_finding(workers):
    def make_loader(rank, ranks):
        data = Numbers(24)
        sampler = DistributedSampler(data, ranks, rank, shuffle=False)
        return DataLoader(data, 2, sampler=sampler, collate_fn=bad_collate(rank), num_workers=workers)

    coverage = audit(make_loader, ranks=3, epochs=1)
    assert coverage.causes == ("raised",)
    assert coverage.findings[0].said == "Rank 2 raised in step 1 of epoch 0: ValueError: sample 8 is damaged"
    assert "collate" in coverage.findings[0].evidence[1]
    assert coverage.steps == (4, 4, 1)


def test_an_exception_on_one_rank_of_a_dispatching_loader_ends_all_and_names_the_rank():
    class Breaks(IterableDataset):
        def __iter__(self):
            for i in range(12):
                if i == 7:
                    raise OSError("shard 3 is cut short")
                yield torch.tensor(i)

    coverage = audit(prepared(Breaks, 2, {"dispatch_batches": True}), ranks=2, timeout=20)
    assert coverage.causes == ("raised",)
    assert "Rank 0" in coverage.findings[0].said
    assert "shard 3 is cut short" in coverage.findings[0].said


def test_a_rank_that_dies_is_a_finding_and_what_it_read_before_is_kept(tmp_path):
    class Deadly(Numbers):
        def __init__(self, size, rank):
            super().__init__(size)
            self.rank = rank

        def __getitem__(self, index):
            if self.rank == 1 and index == 5:
                os.kill(os.getpid(), signal.SIGKILL)
            return super().__getitem__(index)

    coverage = audit(lambda rank: DataLoader(Deadly(8, rank), 2, sampler=range(rank, 8, 2)), ranks=2, epochs=1)
    assert coverage.causes == ("died",)
    assert coverage.ids(0, 1) == (1, 3)


def test_a_rank_that_waits_for_ever_is_a_finding_within_the_bound():
    class Waits(Numbers):
        def __getitem__(self, index):
            if index == 3:
                time.sleep(3600)
            return super().__getitem__(index)

    started = time.monotonic()
    coverage = audit(lambda rank: DataLoader(Waits(8), 2, sampler=range(rank, 8, 2)), ranks=2, epochs=1, timeout=2)
    assert coverage.causes == ("hung",)
    assert "rank 1" in coverage.findings[0].said.lower()
    assert time.monotonic() - started < 30


def test_an_empty_data_set_is_one_finding():
    assert audit(lambda: DataLoader([], 2), ranks=2).causes == ("empty-data",)
    assert audit(lambda: DataLoader(Stream(0), 2), ranks=2).causes == ("empty-data",)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: audit(DataLoader([1, 2])), "make_loader is a DataLoader: give a function"),
        (lambda: audit(striding(8, 2), ranks=0), "ranks is 0"),
        (lambda: audit(striding(8, 2), ranks=1000), "ranks is 1000"),
        (lambda: audit(striding(8, 2), epochs=0), "epochs is 0"),
        (lambda: audit(striding(8, 2), samples=[[1]]), r"samples holds \[1\], which isn't hashable"),
        (lambda: audit(striding(8, 2), groups=[[0, 1], [1, 2]]), "rank 1 is in 2 groups"),
        (lambda: audit(striding(8, 2), sample_id=3), "sample_id is 3: give a function"),
        (lambda: audit(striding(8, 2), resumed=striding(8, 2), at=(5, 1)), r"at is \(5, 1\)"),
        (
            lambda: audit(striding(8, 2), ranks=2, sample_id=lambda s: [s["x"].tolist()]),
            r"sample_id gave \[0.0, 1.0\], which isn't hashable",
        ),
        (
            lambda: audit(striding(8, 2, num_workers=1), ranks=2, sample_id=lambda s: s["uid"]),
            "sample_id raised KeyError on a sample of type dict",
        ),
        (lambda: audit(lambda a, b, c: None, ranks=2), r"make_loader\(a, b, c\) needs 3 arguments"),
        (lambda: audit(lambda: 3, ranks=2), "make_loader returned int"),
        (
            lambda: audit(prepared(partial(Numbers, 9), 3, {"split_batches": True}), ranks=2),
            r"make_loader raised ValueError on rank \d: .*batch size",
        ),
    ],
)
def test_bad_input_is_one_line(call, words):
    with pytest.raises(UsageError, match=words) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_a_make_loader_that_cant_be_sent_is_named():
    lock = __import__("threading").Lock()
    with pytest.raises(UsageError, match=r"make_loader: .*lock.*make lock inside the function"):
        audit(lambda: DataLoader([lock]), ranks=2)


def test_nothing_is_left_behind(tmp_path, monkeypatch):
    import tempfile

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    audit(striding(8, 2, num_workers=1), ranks=2, epochs=1)
    assert list(Path(tmp_path).iterdir()) == []


def test_texts_json_and_picture_say_the_same():
    coverage = audit(striding(21, 3), ranks=2, epochs=1)
    assert "padding: 1 sample of 21 is read again" in coverage.text()
    assert "Found: padding." in repr(coverage)
    data = json.loads(coverage.to_json())
    assert data["duplicates"] == [[0]]
    assert data["findings"][0]["cause"] in CAUSES
    picture = coverage.plot()
    assert "1 again" in picture.alt
    assert picture.table["again"].sum() == 1
    labels = [text.get_text() for text in picture.figure.axes[0].texts]
    assert "0*" in labels
    with pytest.raises(UsageError, match="epoch is 3"):
        coverage.plot(3)
