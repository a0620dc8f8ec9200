"""Images and texts in one loader: where the worker's time goes as the share of images grows."""

from __future__ import annotations

import io
import random
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from torch.utils.data import DataLoader, Dataset

from labkit.inputs import flag, whole
from labkit.pipeline.tokenising import ids_of

if TYPE_CHECKING:
    from labkit.picture import Picture

SIDE = 224


@dataclass(frozen=True)
class MixtureRun:
    """One epoch of a mixture on a real DataLoader. Times in ms.

    Attributes:
        images: share of samples that are images, 0 to 1.
        decoded: images were decoded before, and only read here.
        image_ms: worker time in images, all samples together.
        text_ms: in texts.
        batch_ms: worker time of each batch: what the trainer waits for when it is faster.
        stored: bytes of all samples as the worker reads them.
    """

    images: float
    decoded: bool
    image_ms: float
    text_ms: float
    batch_ms: tuple[float, ...]
    stored: int

    def text(self) -> str:
        """One line for people."""
        kind = "decoded before" if self.decoded else "JPEG"
        return (
            f"{100 * self.images:.0f} % images ({kind}): {self.image_ms:.0f} ms in images, {self.text_ms:.0f} ms in "
            f"texts, batches {min(self.batch_ms):.1f} to {max(self.batch_ms):.1f} ms, {self.stored / 1e6:.1f} MB read"
        )


class Mixture(Dataset[tuple[str, float, int]]):
    """Sample i is an image or a text. Preparing it is real work: a JPEG is decoded, a text tokenised."""

    def __init__(self, samples: int, images: float, *, decoded: bool, seed: int = 0) -> None:
        rng = random.Random(seed)
        self.kinds = ["image" if rng.random() < images else "text" for _ in range(samples)]
        self.decoded = decoded
        self.jpeg, self.pixels = _image(rng)
        self.words = " ".join("".join(rng.choices("abcdefgh", k=6)) for _ in range(200))

    def __getitem__(self, number: int) -> tuple[str, float, int]:
        """Prepare one sample: its kind, the ms that took, and the bytes it was stored as."""
        import numpy as np
        from PIL import Image

        begin = time.perf_counter()
        if self.kinds[number] == "text":
            size = len(self.words)
            ids_of(self.words)
        elif self.decoded:
            size = len(self.pixels)
            np.frombuffer(self.pixels, np.uint8).copy()
        else:
            size = len(self.jpeg)
            np.asarray(Image.open(io.BytesIO(self.jpeg)).convert("RGB"))
        return self.kinds[number], 1000 * (time.perf_counter() - begin), size

    def __len__(self) -> int:
        """How many samples."""
        return len(self.kinds)


def _image(rng: random.Random) -> tuple[bytes, bytes]:
    from PIL import Image

    small = Image.frombytes("RGB", (28, 28), rng.randbytes(28 * 28 * 3))
    large = small.resize((SIDE, SIDE), Image.Resampling.BICUBIC)
    kept = io.BytesIO()
    large.save(kept, "JPEG", quality=90)
    return kept.getvalue(), large.tobytes()


def run_mixture(
    images: float, *, samples: int = 256, batch_size: int = 16, workers: int = 1, decoded: bool = False
) -> MixtureRun:
    """One epoch of `samples` samples, a share of them images, on a real DataLoader with `workers` workers."""
    data = Mixture(whole("samples", samples, 1), images, decoded=flag("decoded", decoded))
    loader: DataLoader[Any] = DataLoader(data, batch_size=batch_size, num_workers=workers, collate_fn=_as_is)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="This DataLoader will create")
        batches = list(loader)
    spent = {kind: sum(ms for batch in batches for k, ms, _ in batch if k == kind) for kind in ("image", "text")}
    each = tuple(sum(ms for _, ms, _ in batch) for batch in batches)
    return MixtureRun(
        images, decoded, spent["image"], spent["text"], each, sum(b for batch in batches for *_, b in batch)
    )


def _as_is(batch: list[Any]) -> list[Any]:
    return batch


def draw_mixture(runs: Sequence[MixtureRun]) -> Picture:
    """Worker time of each run, images and texts stacked, hatching as well as colour; the bytes read beside it."""
    import pandas as pd
    from matplotlib.figure import Figure

    from labkit import picture
    from labkit.picture import Picture

    figure = Figure(figsize=(9.6, 1.5 + 0.45 * len(runs)), layout="constrained")
    axes = figure.add_subplot()
    names = [f"{100 * one.images:.0f} % images, {'decoded before' if one.decoded else 'JPEG'}" for one in runs]
    rows = range(len(runs))
    texts, images = [one.text_ms for one in runs], [one.image_ms for one in runs]
    axes.barh(rows, texts, height=0.6, color=picture.SKY, edgecolor="black", linewidth=0.6, label="texts")
    axes.barh(rows, images, left=texts, height=0.6, color=picture.ORANGE, edgecolor="black", linewidth=0.6,
              hatch="////", label="images")  # fmt: skip
    for row, one in enumerate(runs):
        axes.text(one.text_ms + one.image_ms, row, f"  {one.stored / 1e6:.1f} MB read", va="center", fontsize=9)
    axes.set_yticks(rows, names)
    axes.invert_yaxis()
    axes.margins(x=0.2)
    axes.set_xlabel("ms of worker time for the epoch, measured here")
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside lower right", ncols=2, fontsize=9, frameon=False)
    table = pd.DataFrame({"run": names, "texts ms": [round(t) for t in texts], "images ms": [round(i) for i in images],
                          "MB read": [round(one.stored / 1e6, 1) for one in runs]})  # fmt: skip
    return Picture(figure, f"{'. '.join(one.text() for one in runs)}.", table)
