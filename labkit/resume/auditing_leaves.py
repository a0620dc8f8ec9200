"""What a training process holds, flattened to leaves with digests: the ground on which runs are compared.

A leaf is one tensor, array, number or text, with the path to it and the component it belongs to. Names of objects that
torch knows decide by type; plain values by the words in their names.
"""

from __future__ import annotations

import dataclasses
import hashlib
import math
import random
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

DEPTH = 12  # containers inside containers; deeper ones are digested by their text

# First word that matches names the component; the order is that of specific to general.
WORDS = (
    ("ema", r"\bema|averag"),
    ("scaler", r"scaler|loss_scale"),
    ("schedule", r"sched|^lr$|learning_rate"),
    ("optimizer", r"optim|moment|velocity"),
    ("rng", r"rng|generator|random"),
    ("order", r"order|perm|shuffl|indices|sampler"),
    ("cursor", r"cursor|position|consumed|offset"),
    ("epoch length", r"epoch_length|epoch_size"),
    ("epoch", r"epoch"),
    ("sample ids", r"^ids$|sample_ids|batch_ids"),
    ("gradients", r"grad|accum"),
    ("loss", r"loss"),
    ("model", r"model|param|weight|net$|module"),
)

# Of several components that differ in one step, the earlier here is the likelier cause of the others.
CAUSAL = (
    "step", "step across components", "epoch length", "order", "cursor", "epoch", "sample ids", "inputs", "rng",
    "scaler", "optimizer", "schedule", "ema", "model", "gradients", "loss",
)  # fmt: skip


@dataclasses.dataclass(frozen=True, slots=True)
class Leaf:
    """One value of the state.

    Attributes:
        component: the part of the state it belongs to.
        digest: of its type, shape and bytes; equal digests mean equal to the last bit.
        text: the value, short, for a person.
        sketch: for floats: (norm, a fixed projection), to tell rounding from another value; else None.
    """

    component: str
    digest: str
    text: str
    sketch: tuple[float, float] | None = None


def flatten(state: Any, *, pending: frozenset[int] | None = None) -> dict[str, Leaf]:
    """All leaves of `state` (a mapping, or an object with attributes) and of the process's own generators.

    Args:
        state: what the program keeps between steps.
        pending: ids of parameters whose gradients wait for an update; None: every gradient that isn't zero does.
    """
    found: dict[str, Leaf] = {}
    walker = _Walker(found, pending)
    for name, value in parts(state).items():
        walker.walk(value, name, None if name != "step" else "step", 0)
    for name, value in process_rng().items():
        walker.walk(value, f"rng/{name}", "rng", 0)
    return found


def parts(state: Any) -> dict[str, Any]:
    """The state's parts by name. A bare model or optimizer is its own only part.

    Callables and names that begin with an underscore are left out.
    """
    if isinstance(state, Mapping):
        items = {str(key): value for key, value in state.items()}
    elif hasattr(state, "__dict__") and not isinstance(state, torch.nn.Module | torch.optim.Optimizer):
        items = dict(vars(state))
    else:
        items = {type(state).__name__: state}
    return {k: v for k, v in items.items() if not k.startswith("_") and not _code(v)}


def unseen(state: Any) -> list[str]:
    """Names of the state's parts that can't be looked into, with their types."""
    found = flatten(state)
    seen = {path.split("/")[0] for path in found}
    empty = (dict, list, tuple, set, frozenset)
    return [f"{k} ({type(v).__name__})" for k, v in parts(state).items() if k not in seen and not isinstance(v, empty)]


def process_rng() -> dict[str, Any]:
    """The process's own generators, as values."""
    _, keys, place, *spare = np.random.get_state(legacy=True)  # noqa: NPY002  the state that programs draw from
    held: dict[str, Any] = {
        "python": repr(random.getstate()),
        "numpy": f"{_hash(np.asarray(keys).tobytes())} {place} {spare}",
        "torch": torch.get_rng_state(),
    }
    if torch.cuda.is_available() and torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        held |= {f"cuda{i}": state for i, state in enumerate(torch.cuda.get_rng_state_all())}
    return held


def _code(value: Any) -> bool:
    if isinstance(value, torch.nn.Module):
        return False
    return isinstance(value, type) or (callable(value) and not hasattr(value, "state_dict") and not _plain(value))


def _plain(value: Any) -> bool:
    return bool(getattr(value, "__dict__", None)) and not hasattr(value, "__code__") and not hasattr(value, "__func__")


@dataclasses.dataclass
class _Walker:
    found: dict[str, Leaf]
    pending: frozenset[int] | None
    above: list[int] = dataclasses.field(default_factory=list)

    def walk(self, value: Any, path: str, component: str | None, depth: int) -> None:
        if id(value) in self.above:
            return  # it holds itself
        self.above.append(id(value))
        try:
            self._walk(value, path, component, depth)
        finally:
            self.above.pop()

    def _walk(self, value: Any, path: str, component: str | None, depth: int) -> None:
        name = component or named(path) or _kind(value)
        if (leaf := leaf_of(value, name or path.split("/")[0])) is not None:
            self.found[path] = leaf
        elif depth > DEPTH:
            self.found[path] = _text_leaf(repr(value), name or path)
        elif isinstance(value, torch.nn.Module):
            name = "ema" if name == "ema" else "model"
            for key, inner in value.state_dict().items():
                self.walk(inner, f"{path}/{key}", name, depth + 1)
            self._gradients(value, path)
        elif isinstance(value, torch.optim.Optimizer):
            self._optimizer(value, path, depth)
        elif isinstance(value, torch.utils.data.DataLoader):
            self._loader(value, path, depth)
        elif (inner := opened(value)) is not None:
            kind = _kind(value) or name
            for key, one in inner:
                self.walk(one, f"{path}/{key}", kind, depth + 1)

    def _optimizer(self, optimizer: torch.optim.Optimizer, path: str, depth: int) -> None:
        """By position, as its own state_dict does; the learning rate belongs to the schedule."""
        held = optimizer.state_dict()
        for i, group in enumerate(held["param_groups"]):
            for key, value in group.items():
                if key != "params":
                    kind = "schedule" if key in ("lr", "initial_lr") else "optimizer"
                    self.walk(value, f"{path}/group{i}/{key}", kind, depth + 1)
        for i, state in held["state"].items():
            self.walk(state, f"{path}/state/{i}", "optimizer", depth + 1)

    def _gradients(self, module: torch.nn.Module, path: str) -> None:
        for key, parameter in module.named_parameters():
            grad = parameter.grad
            if grad is None or (self.pending is not None and id(parameter) not in self.pending):
                continue
            if self.pending is not None or bool((grad != 0).any()):
                leaf = leaf_of(grad, "gradients")
                assert leaf is not None
                self.found[f"{path}/{key}.grad"] = leaf

    def _loader(self, loader: Any, path: str, depth: int) -> None:
        """What a DataLoader draws its order from; never its state_dict, which may start its workers."""
        for key in ("generator", "sampler", "batch_sampler"):
            held = getattr(loader, key, None)
            for inner in (held, getattr(held, "sampler", None)):
                for attribute in ("generator", "epoch", "seed"):
                    value = inner if isinstance(inner, torch.Generator) else getattr(inner, attribute, None)
                    if isinstance(value, torch.Generator | int):
                        self.walk(value, f"{path}/{key}/{attribute}", "order", depth + 1)


def opened(value: Any) -> Iterator[tuple[Any, Any]] | None:
    """The named parts of a container or of an object that holds state; None where nothing can be seen."""
    if isinstance(value, random.Random):
        version, numbers, spare = value.getstate()
        return iter(enumerate([version, list(numbers), spare]))
    if isinstance(value, np.random.Generator):
        return iter(list(value.bit_generator.state.items()))
    if isinstance(value, np.random.RandomState):
        return iter(list(value.get_state(legacy=False).items()))
    if isinstance(value, Mapping):
        return iter([(str(key), one) for key, one in value.items()])
    if isinstance(value, list | tuple):
        return iter(enumerate(value))
    if isinstance(value, set | frozenset):
        return iter([("all", sorted(map(repr, value)))])
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return iter([(f.name, getattr(value, f.name)) for f in dataclasses.fields(value)])
    if isinstance(value, SimpleNamespace):
        return iter(vars(value).items())
    if callable(getattr(value, "state_dict", None)):
        return iter(list(value.state_dict().items()))
    if _plain(value) and not isinstance(value, type) and not hasattr(value, "__next__"):
        return iter([(k, v) for k, v in vars(value).items() if not k.startswith("_") and not _code(v)])
    return None


def _kind(value: Any) -> str | None:
    if isinstance(value, torch.optim.lr_scheduler.LRScheduler | torch.optim.lr_scheduler.ReduceLROnPlateau):
        return "schedule"
    if isinstance(value, torch.amp.GradScaler):
        return "scaler"
    if isinstance(value, torch.Generator | random.Random | np.random.Generator | np.random.RandomState):
        return "rng"
    return None


def named(path: str) -> str | None:
    """The component that a path's words tell, the outermost telling part first."""
    for part in path.lower().split("/"):
        for component, words in WORDS:
            if re.search(words, part):
                return component
    return None


def leaf_of(value: Any, component: str) -> Leaf | None:
    """`value` as a leaf, or None where it is a container."""
    if isinstance(value, torch.Tensor):
        return _tensor_leaf(value, component)
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        return _array_leaf(value, component)
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, list | tuple) and value and all(isinstance(one, bool | int | float | str) for one in value):
        return _text_leaf(repr(list(value)), component)
    if value is None or isinstance(value, bool | int | float | complex | str | bytes):
        sketch = (abs(value), value) if isinstance(value, float) and math.isfinite(value) else None
        return dataclasses.replace(_text_leaf(f"{value!r}", component), sketch=sketch)
    if isinstance(value, torch.Generator):
        return _array_leaf(value.get_state().numpy(), component)
    return None


def _text_leaf(text: str, component: str) -> Leaf:
    return Leaf(component, _hash(text.encode()), text if len(text) <= 60 else f"{text[:40]}... ({_short(text)})")


def _tensor_leaf(tensor: torch.Tensor, component: str) -> Leaf:
    held = tensor.detach()
    if held.is_sparse or held.is_quantized:
        held = held.dequantize() if held.is_quantized else held.to_dense()
    held = held.cpu().contiguous()
    if held.dtype == torch.bfloat16 or (held.dtype.itemsize == 1 and held.dtype.is_floating_point):
        digest_of = held.view(torch.int16 if held.dtype.itemsize == 2 else torch.uint8).numpy()
        made = _array_leaf(digest_of, component)
        return dataclasses.replace(
            made, digest=f"{held.dtype}{made.digest}", sketch=_sketch(held.double().numpy().ravel())
        )
    return _array_leaf(held.numpy(), component)


def _array_leaf(array: np.ndarray[Any, Any], component: str) -> Leaf:
    array = np.ascontiguousarray(array)
    digest = _hash(f"{array.dtype}{array.shape}".encode() + array.tobytes())
    flat = array.ravel()
    if flat.size <= 4:
        text = f"{array.dtype} {flat.tolist()}"
    else:
        text = f"{array.dtype} {list(array.shape)} [{flat[0]:.6g}, ...] ({digest[:6]})"
    sketch = _sketch(flat.astype(np.float64)) if array.dtype.kind == "f" else None
    return Leaf(component, digest, text, sketch)


def _sketch(flat: np.ndarray[Any, Any]) -> tuple[float, float] | None:
    if not np.isfinite(flat).all():
        return None
    return float(np.sqrt(flat @ flat)), float(flat @ _direction(flat.size))


@lru_cache(64)
def _direction(size: int) -> np.ndarray[Any, Any]:
    return np.cos(np.arange(size, dtype=np.float64) * 1.618 + 0.5)


def _hash(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=12).hexdigest()


def _short(text: str) -> str:
    return _hash(text.encode())[:6]
