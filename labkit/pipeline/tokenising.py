"""Tokenise once or in every epoch: what is paid when, and from which epoch on the one-time work has paid."""

from __future__ import annotations

import re
import time
import zlib
from dataclasses import dataclass
from typing import Any

from labkit.errors import UsageError
from labkit.inputs import whole


@dataclass(frozen=True)
class Costs:
    """ms for 1,000 texts on one worker.

    Attributes:
        read_text: read the raw text.
        tokenise: turn it into ids.
        write_ids: write the ids, once.
        read_ids: read the ids again.
    """

    read_text: float
    tokenise: float
    write_ids: float
    read_ids: float

    def on_the_fly(self, epochs: int) -> float:
        """All epochs, text read and tokenised in each."""
        return epochs * (self.read_text + self.tokenise)

    def before(self, epochs: int) -> float:
        """Text read, tokenised and written once; then the ids read in each epoch."""
        return self.read_text + self.tokenise + self.write_ids + epochs * self.read_ids

    def break_even(self) -> int | None:
        """The least number of epochs for which tokenising before costs less in all; None where it never does."""
        saved = self.read_text + self.tokenise - self.read_ids
        if saved <= 0:
            return None
        return int((self.read_text + self.tokenise + self.write_ids) // saved) + 1


_WORD = re.compile(r"\w+|[^\w\s]")


def ids_of(text: str, *, vocabulary: int = 65_536) -> list[int]:
    """A toy tokeniser that does real work: words and signs, each hashed into the vocabulary."""
    return [zlib.crc32(word.encode()) % vocabulary for word in _WORD.findall(text)]


def measured_sizes(texts: int, words: int, *, seed: int = 0) -> dict[str, Any]:
    """Tokenise made-up texts here: ms for 1,000 texts, and the bytes of text and of ids at 2, 4 and 8 bytes each."""
    import random

    whole("words", words, 1)
    rng = random.Random(seed)
    stock = ["".join(rng.choices("abcdefghijklmnoprstuvw", k=rng.randint(2, 11))) for _ in range(500)]
    made = [" ".join(rng.choices(stock, k=words)) for _ in range(whole("texts", texts, 1))]
    begin = time.perf_counter()
    ids = sum(len(ids_of(text)) for text in made)
    spent = time.perf_counter() - begin
    size = sum(len(text.encode()) for text in made)
    if not ids:
        raise UsageError("the texts hold no words")
    return {
        "ms for 1,000 texts": round(1e6 * spent / texts, 1),
        "bytes of text": size,
        **{f"bytes of ids, {width} each": width * ids for width in (2, 4, 8)},
    }
