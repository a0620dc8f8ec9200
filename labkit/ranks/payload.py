"""A function and its arguments as bytes, and back. Ranks run the caller's own code: nothing untrusted is unpickled.

cloudpickle sends functions and classes of `__main__` and closures by value, and those of modules by name.
"""

from __future__ import annotations

import inspect
import io
import os
import pickle
import random
import sys
import types
from collections.abc import Callable
from typing import Any

import cloudpickle

from labkit.errors import UsageError

SEED = 0  # every rank's `random`, numpy and torch start from it
# Slow to import: once a rank needed one, the server imports it too, and later ranks have it. None starts a thread.
HEAVY = ("torch._dynamo", "pandas", "accelerate", "webdataset", "torchdata.stateful_dataloader", "torchmetrics")
OWN = "labkit."  # likewise: small, but there are many of them
KEPT = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "GLOO_SOCKET_IFNAME", "PYTHONHASHSEED")


class _Pickler(cloudpickle.Pickler):  # type: ignore[misc]
    """cloudpickle, but code keeps the name of its file or notebook cell, so that tracebacks can show the source."""

    def reducer_override(self, thing: Any) -> Any:
        if not isinstance(thing, types.CodeType):
            return super().reducer_override(thing)
        build, parts = self.dispatch_table[types.CodeType](thing)
        return build, tuple(thing.co_filename if part == "<dynamic-code>" else part for part in parts)


def pack(fn: Callable[..., Any], args: tuple[Any, ...]) -> bytes:
    """The call and where the caller stands (directory, import path, environment) as bytes.

    Raises:
        UsageError: something can't be pickled; the text names it.
    """
    place = {"cwd": _directory(), "path": list(sys.path), "environ": dict(os.environ)}
    try:
        file = io.BytesIO()
        _Pickler(file).dump((fn, args))
        call = file.getvalue()
    except Exception as error:
        raise UsageError(_culprit(fn, args, error)) from None
    return pickle.dumps((place, call))


def settle(data: bytes) -> bytes:
    """In a rank: stand where the caller stands, draw from the stated seed; the packed call is returned."""
    place, call = pickle.loads(data)
    sys.path[:] = place["path"]
    for name in set(os.environ) - set(place["environ"]) - set(KEPT):
        if not name.startswith(("LABKIT_RANKS", "MASTER_")) and name not in RANK_VARIABLES:
            del os.environ[name]
    os.environ.update({k: v for k, v in place["environ"].items() if k not in KEPT and k not in RANK_VARIABLES})
    if place["cwd"]:
        os.chdir(place["cwd"])
    seed()
    return bytes(call)


RANK_VARIABLES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")


def seed() -> None:
    """Every rank starts from the same state."""
    import numpy as np
    import torch

    random.seed(SEED)
    np.random.seed(SEED)  # noqa: NPY002  the state that learners' code draws from
    if torch.version.cuda:
        torch.manual_seed(SEED)
    else:  # without CUDA the full call would only add a formatted stack: milliseconds
        torch.default_generator.manual_seed(SEED)


def _directory() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:  # deleted under the caller
        return ""


def _culprit(fn: Callable[..., Any], args: tuple[Any, ...], error: Exception) -> str:
    for i, value in enumerate(args):
        if reason := _refusal(value):
            return f"argument {i + 1} ({type(value).__name__}) can't be sent to ranks: {reason}; make it inside fn"
    name = getattr(fn, "__name__", type(fn).__name__)
    held = inspect.unwrap(fn)
    if inspect.isfunction(held):
        outer = inspect.getclosurevars(held)
        for kind in (outer.nonlocals, outer.globals):
            for key, value in kind.items():
                if value is not fn and (reason := _refusal(value)):
                    return (
                        f"function {name} can't be sent to ranks: it uses {key} ({type(value).__name__}): {reason}; "
                        f"make {key} inside the function"
                    )
    return f"function {name} can't be sent to ranks: {_first_line(error)}"


def _refusal(value: Any) -> str:
    try:
        cloudpickle.dumps(value)
    except Exception as error:
        return _first_line(error)
    return ""


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
