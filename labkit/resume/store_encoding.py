"""A state as files that run no code when read: a JSON tree, and tensors in the safetensors format.

A state is made of dicts, lists, tuples, strings, numbers, None, bytes, torch tensors and NumPy arrays. Tensors come
back on the CPU and without gradients; two names for one tensor come back as one tensor; named tuples and other
subclasses of containers come back as the plain ones.
"""

from __future__ import annotations

import base64
import json
import math
import sys
from collections.abc import Callable, Iterator
from typing import Any

from labkit.errors import UsageError
from labkit.resume.store_files import Buffer

TREE = "state.json"
FORMAT = 1
SHARD = 256 << 20  # bytes; a file holds one tensor at least
_NAMES = {  # of torch and NumPy -> of safetensors
    "float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16", "int64": "I64", "int32": "I32",
    "int16": "I16", "int8": "I8", "uint8": "U8", "uint16": "U16", "uint32": "U32", "uint64": "U64", "bool": "BOOL",
    "complex64": "C64", "float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2",
}  # fmt: skip
_BACK = {theirs: ours for ours, theirs in _NAMES.items()}


def flatten(state: Any, keep: Callable[[Any, int], Any] = lambda leaf, index: leaf) -> tuple[Any, list[Any]]:
    """A state as a tree of JSON values and the tensors and arrays it refers to.

    Args:
        state: what to save.
        keep: called with each tensor or array and its number; what it returns is put in its place. To copy.

    Raises:
        UsageError: something in it can't be stored; the text says where it is and what would work.
    """
    leaves: list[Any] = []
    seen: dict[Any, int] = {}

    def leaf(value: Any, kind: str) -> dict[str, Any]:
        identity = _identity(value, kind)
        if identity not in seen:
            seen[identity] = len(leaves)
            leaves.append(keep(value, len(leaves)))
        return {"$": kind, "leaf": seen[identity]}

    def walk(value: Any, where: str) -> Any:
        if value is None or type(value) in (bool, int, str):
            return value
        if type(value) is float:
            return value if math.isfinite(value) else {"$": "float", "value": repr(value)}
        if isinstance(value, dict):
            if all(type(key) is str for key in value) and "$" not in value:
                return {key: walk(part, f"{where}[{key!r}]") for key, part in value.items()}
            pairs = [[walk(key, f"a key of {where}"), walk(part, f"{where}[{key!r}]")] for key, part in value.items()]
            return {"$": "dict", "items": pairs}
        if isinstance(value, list | tuple):
            items = [walk(part, f"{where}[{place}]") for place, part in enumerate(value)]
            return items if isinstance(value, list) else {"$": "tuple", "items": items}
        if isinstance(value, bytes):
            return {"$": "bytes", "base64": base64.b64encode(value).decode()}
        kind = _kind(value)
        if kind is None:
            raise UsageError(
                f"{where} is a {type(value).__name__}: a checkpoint holds dicts, lists, tuples, numbers, strings, "
                "bytes, tensors and arrays; save its state_dict or its fields"
            )
        if (name := str(value.dtype).removeprefix("torch.")) not in _NAMES:
            raise UsageError(
                f"{where} has dtype {name}: a checkpoint can't hold it; convert it, to float64 for example"
            )
        return leaf(value, kind)

    try:
        return walk(state, "state"), leaves
    except RecursionError:
        raise UsageError("state is nested too deeply, or holds itself: save a plain tree") from None


def files(tree: Any, leaves: list[Any]) -> Iterator[tuple[str, list[Buffer]]]:
    """Name and content of each file of a flattened state, one at a time; the tree comes last."""
    places: list[str] = []
    shard: list[tuple[str, Any, memoryview]] = []
    size = number = 0
    for index, value in enumerate(leaves):
        raw = _raw(value)
        if shard and size + raw.nbytes > SHARD:
            yield _shard_name(number), _safetensors(shard)
            shard, size, number = [], 0, number + 1
        places.append(_shard_name(number))
        shard.append((str(index), value, raw))
        size += raw.nbytes
    if shard:
        yield _shard_name(number), _safetensors(shard)
    text = json.dumps({"format": FORMAT, "leaves": places, "tree": tree}, allow_nan=False, separators=(",", ":"))
    yield TREE, [text.encode()]


def decode(read: Callable[[str], bytes]) -> Any:
    """The state back. `read(name)` returns a file of it, verified; raises ValueError where they don't fit together."""
    try:
        return _decode(read)
    except (KeyError, IndexError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"its state doesn't fit together ({type(error).__name__}: {error})") from None


def _decode(read: Callable[[str], bytes]) -> Any:
    import safetensors

    found = json.loads(read(TREE))
    if found["format"] != FORMAT:
        raise ValueError(f"its state has format {found['format']!r}, this labkit reads {FORMAT}")
    held: dict[str, dict[str, Any]] = {}
    for name in dict.fromkeys(found["leaves"]):
        try:
            held[name] = dict(safetensors.deserialize(read(name)))  # type: ignore[no-untyped-call]
        except safetensors.SafetensorError as error:
            raise ValueError(f"{name} isn't a safetensors file: {error}") from None
    made: dict[tuple[int, str], Any] = {}

    def build(value: Any) -> Any:
        if isinstance(value, list):
            return [build(part) for part in value]
        if not isinstance(value, dict):
            return value
        kind = value.get("$")
        if kind is None:
            return {key: build(part) for key, part in value.items()}
        if kind == "dict":
            return {build(key): build(part) for key, part in value["items"]}
        if kind == "tuple":
            return tuple(build(part) for part in value["items"])
        if kind == "float":
            return float(value["value"])
        if kind == "bytes":
            return base64.b64decode(value["base64"])
        where = (value["leaf"], kind)
        if where not in made:
            made[where] = _leaf(held[found["leaves"][where[0]]][str(where[0])], kind)
        return made[where]

    return build(found["tree"])


def _kind(value: Any) -> str | None:
    """ "tensor", "array", "scalar" (of NumPy) or None; a library that isn't imported has no values here."""
    torch, numpy = sys.modules.get("torch"), sys.modules.get("numpy")
    if torch is not None and isinstance(value, torch.Tensor):
        plain = (
            type(value) in (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer) or type(value).__name__ == "Parameter"
        )
        return "tensor" if plain and value.layout is torch.strided and not value.is_quantized else None
    if numpy is not None and isinstance(value, numpy.ndarray):
        return "array"
    if numpy is not None and isinstance(value, numpy.generic):
        return "scalar"
    return None


def _identity(value: Any, kind: str) -> Any:
    """Equal for two names of the same memory seen in the same way."""
    if kind != "tensor" or not value.numel():
        return id(value)
    return value.data_ptr(), value.dtype, tuple(value.shape), value.stride(), str(value.device)


def _raw(value: Any) -> memoryview:
    """The bytes of a tensor or an array, in C order; without a copy where it lies so on the CPU."""
    import numpy

    if type(value).__module__.startswith("torch"):
        import torch

        value = value.detach().cpu().resolve_conj().resolve_neg().contiguous().reshape(-1).view(torch.uint8).numpy()
    return memoryview(numpy.ascontiguousarray(value).reshape(-1).view(numpy.uint8))  # type: ignore[arg-type]


def _safetensors(items: list[tuple[str, Any, memoryview]]) -> list[Buffer]:
    """One file in the safetensors format: length of the header, header, the tensors' bytes."""
    header, end = {}, 0
    for name, value, raw in items:
        dtype = _NAMES[str(value.dtype).removeprefix("torch.")]
        header[name] = {"dtype": dtype, "shape": list(value.shape), "data_offsets": [end, end + raw.nbytes]}
        end += raw.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)  # so that the tensors begin at a multiple of 8
    return [len(text).to_bytes(8, "little") + text, *(raw for _, _, raw in items)]


def _leaf(found: dict[str, Any], kind: str) -> Any:
    name, shape, data = _BACK[found["dtype"]], tuple(found["shape"]), bytearray(found["data"])
    if kind == "tensor":
        import torch

        dtype = getattr(torch, name)
        return torch.frombuffer(data, dtype=dtype).reshape(shape) if data else torch.empty(shape, dtype=dtype)
    import numpy

    array = numpy.frombuffer(data, dtype=name).reshape(shape)
    return array if kind == "array" else array[()]


def _shard_name(number: int) -> str:
    return f"tensors-{number:05d}.safetensors"
