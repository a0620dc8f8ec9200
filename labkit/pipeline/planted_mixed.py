"""Jobs with two causes. `Workload.cause` is the one that costs most, `Workload.also` the other."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import torch

from labkit.pipeline.planted import Workload
from labkit.pipeline.planted_parts import Arrays, Draw, Folder, Photos, Step, cores, cost, decoded, need_cores, photos
from labkit.pipeline.planted_records import Vocabulary
from labkit.pipeline.planted_storage import Files, cold_first, write_files
from labkit.pipeline.planted_supply import STEP, decoding, loader


class PhotoFiles(Files):
    """Photographs in files: read, from a slow disk or not, and decoded."""

    def __getitem__(self, index: int) -> torch.Tensor:
        """Both, one after the other."""
        return decoded(self.read(index))


def mixed(draw: Draw, seed: int) -> Workload:
    """The seed picks the pair."""
    need_cores(2, "mixed")
    return (_storage_and_decoding, _respawned_and_few, _decoding_and_respawned)[seed % 3](draw, seed)


def _storage_and_decoding(draw: Draw, seed: int) -> Workload:
    files = photos(draw, draw.about(100_000))
    size = draw.size(8)
    batches = draw.batches(50)
    folder = Folder()
    paths = write_files(folder, "slow storage", [files[i % len(files)] for i in range(batches * size)])
    ms = cost(Photos(files, len(files)), size)
    latency = ms / size * draw.between(3.0, 5.0)
    step = Step(ms / 2 * draw.between(0.3, 0.6), seed=seed)
    slow = PhotoFiles(paths, latency_ms=latency, rate=1e9, keep=len(paths) // 5)
    make = partial(loader, batch_size=size, workers=2, shuffle=True)
    return Workload(
        cause="slow storage",
        make_loader=partial(cold_first, partial(make, slow), paths),
        step=step,
        make_fixed=partial(make, PhotoFiles(paths)),
        note=f"JPEG files from a disk that a sleep makes one of {latency:.1f} ms latency, and decoding that takes a "
        f"quarter as long. {STEP} Remedy: the files on a fast local disk; decoding is left.",
        also=("decode-bound",),
        sizes={"batches": batches, "batch size": size, "prepare ms": ms, "train ms": step.ms},
        held=folder,
    )


def _vocabulary(folder: Folder, words: int) -> Path:
    path = folder.path / "vocabulary.json"
    path.write_text(json.dumps({f"word{i}": [i, i * i] for i in range(words)}), encoding="utf-8")
    return path


def _respawned_and_few(draw: Draw, seed: int) -> Workload:
    folder = Folder()
    path = _vocabulary(folder, draw.size(300_000, 0.2))
    dataset, size, ms = decoding(draw, batch_ms=16, epoch_ms=280, workers=1)
    step = Step(ms * draw.between(0.6, 0.75), seed=seed)
    make = partial(loader, dataset, batch_size=size, workers=1, worker_init_fn=Vocabulary(path))
    return Workload(
        cause="workers respawned each epoch",
        make_loader=partial(make, persistent_workers=False),
        step=step,
        make_fixed=make,
        note="Short epochs; each starts a worker anew, which reads a vocabulary first. One worker is too few besides, "
        f"which costs less. {STEP} Remedy: persistent_workers=True.",
        also=("too few workers",),
        sizes={"batches": len(dataset) // size, "batch size": size, "prepare ms": ms, "train ms": step.ms},
        held=folder,
    )


def _decoding_and_respawned(draw: Draw, seed: int) -> Workload:
    folder, count = Folder(), cores()
    path = _vocabulary(folder, draw.size(90_000, 0.2))
    dataset, size, ms = decoding(draw, batch_ms=25, epoch_ms=1300, workers=count)
    step = Step(ms / count * draw.between(0.1, 0.4), seed=seed)
    make = partial(loader, batch_size=size, workers=count, worker_init_fn=Vocabulary(path), persistent_workers=False)
    return Workload(
        cause="decode-bound",
        make_loader=partial(make, dataset),
        step=step,
        make_fixed=partial(make, Arrays(dataset)),
        note=f"JPEG decoding keeps {count} workers and all cores busy. Workers start anew with each epoch besides, and "
        f"read a vocabulary first, which costs less. {STEP} Remedy: the pictures decoded once, beforehand.",
        also=("workers respawned each epoch",),
        sizes={"batches": len(dataset) // size, "batch size": size, "prepare ms": ms, "train ms": step.ms},
        held=folder,
    )
