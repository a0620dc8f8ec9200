"""Short digests: of what a sample holds, and of where a random number generator stands."""

from __future__ import annotations

import pickle
import random
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any


def content(value: Any) -> str | None:
    """A digest of the value, equal for equal tensors, arrays, numbers, texts and containers; None if there is none."""
    digest = blake2b(digest_size=8)
    try:
        _feed(digest.update, value)
    except Exception:  # a value of the caller's own type may raise anything when pickled
        return None
    return digest.hexdigest()


def _feed(put: Any, value: Any) -> None:
    import numpy as np
    import torch

    if isinstance(value, torch.Tensor):
        value = value.detach().cpu()
        put(f"t{value.dtype}{tuple(value.shape)}".encode())
        put(value.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
    elif isinstance(value, np.ndarray) and value.dtype != object:
        put(f"a{value.dtype}{value.shape}".encode())
        put(np.ascontiguousarray(value).tobytes())
    elif isinstance(value, Mapping):
        put(f"d{len(value)}".encode())
        for key, item in value.items():
            _feed(put, key)
            _feed(put, item)
    elif isinstance(value, list | tuple):
        put(f"l{len(value)}".encode())
        for item in value:
            _feed(put, item)
    elif isinstance(value, bytes | bytearray):
        put(b"b%d:" % len(value))
        put(bytes(value))
    elif value is None or isinstance(value, str | int | float | bool | complex):
        put(f"{type(value).__name__}{value!r};".encode())
    else:
        put(pickle.dumps(value))


def generators(dataset: Any) -> dict[str, int]:
    """Where each generator that a data set may draw from stands: torch's, numpy's, Python's, and those it holds."""
    import numpy as np
    import torch

    kind, keys, *rest = np.random.get_state()  # noqa: NPY002  the state that a data set's code draws from
    stands = {
        "torch": _number(torch.random.get_rng_state()),
        "numpy": _number((kind, np.asarray(keys), rest)),
        "random": _python(random.getstate()),
    }
    for name, held in _held(dataset):
        if isinstance(held, np.random.Generator):
            stands[name] = _number(held.bit_generator.state)
        elif isinstance(held, np.random.RandomState | torch.Generator):
            stands[name] = _number(held.get_state())
        elif isinstance(held, random.Random):
            stands[name] = _python(held.getstate())
    return stands


def _number(value: Any) -> int:
    return int(content(value) or "0", 16)


def _python(state: tuple[Any, ...]) -> int:
    import numpy as np

    version, words, gauss = state
    return _number((version, np.asarray(words, dtype=np.uint64), gauss))


def _held(dataset: Any) -> list[tuple[str, Any]]:
    """Attributes of the data set, and of the objects it holds (its transforms), with their names."""
    found: list[tuple[str, Any]] = []
    for name, value in list(getattr(dataset, "__dict__", {}).items()):
        found.append((f"dataset.{name}", value))
        if not isinstance(value, type) and not callable(getattr(value, "__getitem__", None)):
            inner = getattr(value, "__dict__", None)
            if isinstance(inner, dict):
                found += [(f"dataset.{name}.{key}", item) for key, item in list(inner.items())]
    return found
