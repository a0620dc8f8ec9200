"""Causes in how records reach a worker: pickled to it, copied page by page after a fork, or a worker started anew."""

from __future__ import annotations

import json
import multiprocessing
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils.data import Dataset

from labkit.pipeline.planted import Workload
from labkit.pipeline.planted_parts import Draw, Folder, Step
from labkit.pipeline.planted_supply import STEP, loader

Record = tuple[str, int, tuple[float, float, float, float]]  # file name, label, box


class Records(Dataset[Record]):
    """Annotations as a list of Python objects, as a JSON file gives them."""

    def __init__(self, records: list[Record]) -> None:
        self.records = records

    def __len__(self) -> int:
        return len(self.records)

    def __getitem__(self, index: int) -> Record:
        """The record itself: whoever holds it counts one reference more, in its own memory page."""
        return self.records[index]


class Packed(Dataset[Record]):
    """The remedy: the same annotations as one array in a file, mapped when they are first read."""

    KIND = np.dtype([("name", "S24"), ("label", "i8"), ("box", "f8", 4)])

    def __init__(self, path: Path, length: int) -> None:
        self.path = path
        self.length = length
        self._rows: np.ndarray[Any, Any] | None = None

    @classmethod
    def of(cls, records: Sequence[Record], path: Path) -> Packed:
        """Write the records to `path`."""
        np.array([(name.encode(), label, box) for name, label, box in records], dtype=cls.KIND).tofile(path)
        return cls(path, len(records))

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self.path, "length": self.length, "_rows": None}

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> Record:
        """The record, made anew from the array."""
        if self._rows is None:
            self._rows = np.memmap(self.path, dtype=self.KIND, mode="r")
        row = self._rows[index]
        return row["name"].decode(), int(row["label"]), tuple(row["box"].tolist())


def annotated(draw: Draw, count: int) -> list[Record]:
    """`count` annotations; no two share a Python object."""
    labels = draw.numpy.integers(1000, 10**6, count).tolist()
    boxes = draw.numpy.random((count, 4)).tolist()
    return [
        (f"images/{i:08d}.jpg", label, tuple(box)) for i, (label, box) in enumerate(zip(labels, boxes, strict=True))
    ]


def collate(records: list[Record]) -> torch.Tensor:
    """Labels and boxes of a batch as one small tensor."""
    return torch.tensor([(label, *box) for _, label, box in records])


def context(kind: str) -> Any:
    """A way to start workers. The fork server has torch loaded already, so a worker of it starts in milliseconds."""
    made = multiprocessing.get_context(kind)
    if kind == "forkserver":
        made.set_forkserver_preload(["torch", "labkit.pipeline.planted_records", "labkit.pipeline.planted_threads"])
    return made


def pickled(draw: Draw, seed: int) -> Workload:
    """A big list of Python objects, pickled to every worker that isn't forked."""
    kind = ("forkserver", "spawn")[seed % 2]
    size = draw.size(64)
    batches = draw.batches(50)
    records = annotated(draw, draw.size(400_000, 0.2))
    folder = Folder()
    packed = Packed.of(records, folder.path / "records")
    step = Step(draw.about(12), seed=seed)
    make = partial(loader, batch_size=size, workers=2, collate_fn=collate, multiprocessing_context=context(kind))
    order = range(batches * size)  # an epoch reads some of them: what is pickled is all
    return Workload(
        cause="data set pickled to workers",
        make_loader=partial(make, Records(records), sampler=order),
        step=step,
        make_fixed=partial(make, packed, sampler=order),
        note=f"{len(records):,} annotations as Python objects; the start method {kind} pickles them to each of 2 "
        f"workers. {STEP} Remedy: the annotations in a file that the workers map; what is pickled is its path.",
        sizes={"batches": batches, "batch size": size, "records": len(records), "train ms": step.ms},
        held=folder,
    )


def copy_on_write(draw: Draw, seed: int) -> Workload:
    """A big list of Python objects in forked workers: counting a reference to an object copies its memory page."""
    size = draw.size(1500)
    batches = draw.batches(150)
    records = annotated(draw, batches * size)
    folder = Folder()
    packed = Packed.of(records, folder.path / "records")
    step = Step(draw.about(11, 0.15), seed=seed)
    make = partial(
        loader, batch_size=size, workers=2, collate_fn=collate, shuffle=bool(seed % 2), multiprocessing_context="fork"
    )
    return Workload(
        cause="copy-on-write growth",
        make_loader=partial(make, Records(records)),
        step=step,
        make_fixed=partial(make, packed),
        note=f"{len(records):,} annotations as Python objects in 2 forked workers, which keep up. Reading one changes "
        f"its reference count, so each worker gets pages of its own. {STEP} Remedy: one array in a file.",
        sizes={"batches": batches, "batch size": size, "records": len(records), "train ms": step.ms},
        held=folder,
    )


@dataclass(frozen=True)
class Vocabulary:
    """A worker_init_fn that reads a vocabulary before it can do anything, as tokenisers and indices do."""

    path: Path

    def __call__(self, worker: int) -> None:
        """Runs inside the worker."""
        json.loads(self.path.read_text(encoding="utf-8"))


def respawned(draw: Draw, seed: int) -> Workload:
    """Short epochs, and workers that end with each of them."""
    kind = ("fork", "spawn")[seed % 2]
    size = draw.size(64)
    batches = draw.batches(18)
    folder = Folder()
    path = folder.path / "vocabulary.json"
    words = draw.size(200_000, 0.2) if kind == "fork" else 1000
    path.write_text(json.dumps({f"word{i}": [i, i * i] for i in range(words)}), encoding="utf-8")
    small = Packed.of(annotated(draw, batches * size), folder.path / "records")
    step = Step(draw.about(18), seed=seed)
    make = partial(
        loader,
        small,
        batch_size=size,
        workers=2,
        collate_fn=collate,
        worker_init_fn=Vocabulary(path),
        multiprocessing_context=kind,
    )
    start = "each reads a vocabulary first" if kind == "fork" else "each imports torch first"
    return Workload(
        cause="workers respawned each epoch",
        make_loader=partial(make, persistent_workers=False),
        step=step,
        make_fixed=make,
        note=f"Epochs of {batches} batches and 2 workers that start anew for each ({kind}; {start}). {STEP} "
        "Remedy: persistent_workers=True.",
        sizes={"batches": batches, "batch size": size, "train ms": step.ms},
        held=folder,
    )
