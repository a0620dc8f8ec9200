"""How long training stands still for an async save: `Store.async_save` against torch DCP's `async_save`, same state.

The clock runs for the call alone; the save behind it is waited for before the next turn. The first save of each, which
warms up, isn't counted: from the second on the Store has memory for its copy. DCP gets a fresh directory each time, as
it asks for, and its defaults. Both write to the same disk; the Store also reads back what it wrote.
"""

from __future__ import annotations

import shutil
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from statistics import median

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp

from benchmarks.harness import Row
from labkit.resume import Store

ROUNDS = 7
LAYERS, WIDTH = 24, 512  # with Adam's two moments 25 million numbers in 208 tensors: 101 MB


def trainer() -> tuple[torch.nn.Module, torch.optim.Optimizer]:
    blocks = [torch.nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS)] + [
        torch.nn.Linear(WIDTH, 4 * WIDTH),
        torch.nn.Linear(4 * WIDTH, WIDTH),
    ]
    model = torch.nn.Sequential(*blocks)
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.randn(4, WIDTH)).sum().backward()
    optimizer.step()
    return model, optimizer


def tensors(model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, torch.Tensor]:
    """What both save: every parameter and moment by a name of its own."""
    held = {f"model.{name}": value for name, value in model.state_dict().items()}
    for number, parts in optimizer.state_dict()["state"].items():
        held |= {f"optimizer.{number}.{name}": value for name, value in parts.items()}
    return held


def timed(start: Callable[[], Callable[[], object]]) -> tuple[float, float]:
    """Seconds of the call, and until the save behind it has ended."""
    begin = time.perf_counter()
    wait = start()
    stall = time.perf_counter() - begin
    wait()
    return stall, time.perf_counter() - begin


def rows() -> list[Row]:
    warnings.simplefilter("ignore")
    held = tensors(*trainer())
    size = sum(value.nbytes for value in held.values())
    place = Path(tempfile.mkdtemp(prefix="labkit-bench-"))
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        store = Store(place / "store", keep=2)
        count = iter(range(1, 10_000))

        def ours() -> Callable[[], object]:
            return store.async_save(held, next(count)).result

        def theirs() -> Callable[[], object]:
            here = place / f"dcp-{next(count)}"
            future = dcp.async_save(held, checkpoint_id=here)

            def end() -> None:
                future.result()
                shutil.rmtree(here)

            return end

        def copy() -> Callable[[], object]:
            made = {name: value.clone() for name, value in held.items()}
            return made.clear

        peer = f"DCP async_save, {size / 1e6:.0f} MB"
        runs = {peer: theirs, "Store.async_save": ours, "limit: a plain clone of every tensor": copy}
        for start in runs.values():
            timed(start)
        stalls: dict[str, list[float]] = {name: [] for name in runs}
        whole: dict[str, list[float]] = {name: [] for name in runs}
        for _ in range(ROUNDS):
            for name, start in runs.items():
                stall, all_of_it = timed(start)
                stalls[name].append(stall)
                whole[name].append(all_of_it)
    finally:
        dist.destroy_process_group()
        shutil.rmtree(place)
    made = []
    for name, bar in ((peer, None), ("Store.async_save", 1), ("limit: a plain clone of every tensor", None)):
        ratios = [] if name == peer else [b / a for a, b in zip(stalls[name], stalls[peer], strict=True)]
        what = f"stall of {name} ({1000 * median(stalls[name]):.0f} ms)"
        made.append(Row(what, "stalls", [1 / s for s in stalls[name]], ratios, "" if name == peer else "DCP", bar))
    ratios = [b / a for a, b in zip(whole["Store.async_save"], whole[peer], strict=True)]
    took = f"{median(whole['Store.async_save']):.2f} s, DCP {median(whole[peer]):.2f} s"
    what = f"until it is written, Store reading back ({took})"
    made.append(Row(what, "saves", [1 / s for s in whole["Store.async_save"]], ratios, "DCP"))
    return made
