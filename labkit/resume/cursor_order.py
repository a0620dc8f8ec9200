"""A shuffled order of n samples that is never stored: the i-th sample is computed, so any place is reached at once."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import overload

import numpy as np

from labkit.inputs import whole

ROUNDS = 6
_MASK = (1 << 64) - 1


class Permutation(Sequence[int]):
    """A permutation of range(n), by a Feistel network on the bits of i, walked again while it leads outside the range.

    Every seed and epoch gives another one. Memory and time for one element don't grow with n (walks take under 4 turns
    on average). It is as good a shuffle as training needs, not a cryptographic one. (Luby and Rackoff, 1988; cycle
    walking: Black and Rogaway, 2002.)
    """

    def __init__(self, n: int, *, seed: int = 0, epoch: int = 0) -> None:
        self.n = whole("n", n, 0)
        self._half = max(1, (max(self.n - 1, 1).bit_length() + 1) // 2)
        digest = hashlib.blake2b(f"{seed}/{epoch}".encode(), digest_size=8 * ROUNDS).digest()
        self._keys = [int.from_bytes(digest[8 * i : 8 * i + 8], "little") for i in range(ROUNDS)]

    def __len__(self) -> int:
        return self.n

    @overload
    def __getitem__(self, i: int) -> int: ...
    @overload
    def __getitem__(self, i: slice) -> list[int]: ...
    def __getitem__(self, i: int | slice) -> int | list[int]:
        if isinstance(i, slice):
            start, stop, stride = i.indices(self.n)
            return self.take(np.arange(start, stop, stride, dtype=np.uint64)).tolist()  # type: ignore[no-any-return]
        if not -self.n <= i < self.n:
            raise IndexError(f"{i} is outside a permutation of {self.n}")
        return int(self.take(np.array([i % self.n], dtype=np.uint64))[0])

    def __iter__(self) -> Iterator[int]:
        for start in range(0, self.n, 4096):
            yield from self[start : start + 4096]

    def take(
        self, places: np.ndarray[tuple[int, ...], np.dtype[np.uint64]]
    ) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
        """The samples at these places, all at once."""
        held = self._turn(places.astype(np.uint64))
        while (out := held >= self.n).any():
            held[out] = self._turn(held[out])
        return held.astype(np.int64)

    def _turn(
        self, values: np.ndarray[tuple[int, ...], np.dtype[np.uint64]]
    ) -> np.ndarray[tuple[int, ...], np.dtype[np.uint64]]:
        half = np.uint64(self._half)
        mask = np.uint64((1 << self._half) - 1)
        left, right = values >> half, values & mask
        for key in self._keys:
            mixed = (right ^ np.uint64(key)) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(29)
            mixed *= np.uint64(0xBF58476D1CE4E5B9)
            mixed ^= mixed >> np.uint64(32)
            left, right = right, left ^ (mixed & mask)
        return (left << half) | right
