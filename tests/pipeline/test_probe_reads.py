"""Bytes that a worker reads count for a batch only where the data set reads them."""

from __future__ import annotations

import os

import pytest
from torch.utils.data import DataLoader

from labkit.pipeline import probe
from labkit.pipeline.probe_loader import watch
from labkit.pipeline.probe_pass import run
from labkit.pipeline.probe_worker import RECORD, Log


@pytest.mark.skipif(not os.path.exists("/proc/self/io"), reason="reads are counted on Linux")
def test_reads_between_fetches_are_not_the_data_sets(tmp_path):
    file = tmp_path / "file"
    file.write_bytes(bytes(100_000))

    class Fetcher:
        collate_fn = list

        def fetch(self, index):
            return file.read_bytes() if index else b""

    records: list[tuple[float, ...]] = []
    fetcher = Log(lambda packed: records.append(RECORD.unpack(packed))).watch(Fetcher())
    for index in (0, 0, 1, 1):
        file.read_bytes()  # as a worker reads its queue of indices
        fetcher.fetch(index)
    first, second, third, fourth = (record[-2] for record in records)
    assert second - first < 4096
    assert third - second > 100_000
    assert 100_000 < fourth - third < 104_096


@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="descriptors are listed on Linux")
def test_watching_in_this_process_leaves_no_descriptor_open():
    loader = DataLoader(range(40), batch_size=4)
    watched = watch(loader)
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        trace = run(watched, None)
        assert trace.made[-1].asked >= 0, "a diagnosis counts bytes"
    watched.close()
    assert len(os.listdir("/proc/self/fd")) == before


def test_probe_does_without_the_kernels_counts(monkeypatch):
    monkeypatch.setattr(
        Log, "_read", lambda self: pytest.fail("it read /proc") if self.io is not None else (-1.0, -1.0)
    )
    found = probe(DataLoader(range(40), batch_size=4), lambda batch: None)
    assert found.prepare[-1] > 0
