"""The same function across machines: `torchrun ... -m labkit.ranks pkg.module:fn ['[json, arguments]']`.

torchrun's agents start the ranks and meet; every rank calls `fn(rank, *args)`. Rank 0 prints the results by rank as
one line of JSON (a tensor or array as nested lists). Exit status 1 with one line when a rank fails, 2 on wrong usage.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch.distributed as dist

from labkit.errors import UsageError
from labkit.ranks import board, counting, payload
from labkit.ranks.inputs import BACKENDS, check_signature
from labkit.ranks.protocol import nameless

USAGE = "use: torchrun ... -m labkit.ranks pkg.module:fn ['[json, arguments]'] [gloo|nccl]"


def call_from(words: list[str]) -> tuple[Callable[..., Any], list[Any], str]:
    """The function, its arguments and the backend that the command line names.

    Raises:
        UsageError: a word can't be used; the text names it.
    """
    if not 1 <= len(words) <= 3 or ":" not in words[0]:
        raise UsageError(USAGE)
    backend = words[2] if len(words) > 2 else "gloo"
    if backend not in BACKENDS:
        raise UsageError(f"backend is {backend!r}: choose from {', '.join(BACKENDS)}")
    try:
        args = json.loads(words[1]) if len(words) > 1 else []
    except ValueError as error:
        raise UsageError(f"arguments {words[1]!r} aren't JSON: {error}") from None
    if not isinstance(args, list):
        raise UsageError(f"arguments {words[1]!r} must be a JSON list, one entry an argument after rank")
    module, _, name = words[0].partition(":")
    sys.path.insert(0, os.getcwd())
    try:
        function = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise UsageError(f"{words[0]!r} can't be loaded: {error}") from None
    if not callable(function):
        raise UsageError(f"{words[0]!r} is {function!r}: a function fn(rank, *args) is needed")
    check_signature(function, tuple(args))
    return function, args, backend


def plain(value: Any) -> Any:
    """What json can't write by itself."""
    if isinstance(value, torch.Tensor):
        return value.tolist()
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(f"a result of type {type(value).__name__} can't be printed as JSON: return numbers, lists, arrays")


def main(words: list[str]) -> int:
    """Run as one rank of torchrun's; the exit status."""
    if "RANK" not in os.environ:
        return _say(f"labkit.ranks: RANK isn't set; {USAGE}", 2)
    rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    counting.install()  # before the function's module is imported
    try:
        function, args, backend = call_from(words)
    except UsageError as error:
        return _say(f"labkit.ranks: {error}" if rank == 0 else "", 2)
    torch.set_num_threads(1)
    if backend == "nccl":
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    row = counting.Row(board.attach(nameless(), 1), 0)
    try:
        dist.init_process_group(backend)
        counting.count_on(row)
        payload.seed()
        result = json.dumps(function(rank, *args), default=plain)
        counting.count_off()
        results: list[Any] | None = [None] * ranks if rank == 0 else None
        dist.gather_object(result, results)
    except Exception as error:
        traceback.print_exc()
        text = (str(error).strip() or "no text").splitlines()[0]
        return _say(f"labkit.ranks: rank {rank} raised {type(error).__name__} in step {row.step}: {text}", 1)
    if results is not None:
        print("[" + ", ".join(results) + "]", flush=True)
    dist.destroy_process_group()
    return 0


def _say(line: str, status: int) -> int:
    if line:
        print(line, file=sys.stderr, flush=True)
    return status


if __name__ == "__main__":
    code = main(sys.argv[1:])
    sys.stdout.flush()
    sys.stderr.flush()
    if code:  # a broken process group must not keep a failed rank from ending
        os._exit(code)
