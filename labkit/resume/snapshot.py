"""One pair of functions for everything a training run needs to go on: `capture` and `restore`.

A snapshot is plain data: dicts, lists, numbers, texts and tensors of its own, so that it can be saved with
`labkit.resume.Store`, or with `torch.save` and loaded with `weights_only=True`, which runs no code. Nothing in it
aliases the live run: training may go on while it is written.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from labkit.errors import UsageError
from labkit.resume.snapshot_rng import restore_generators, take_generators

FORMAT = 1


def capture(
    parts: Mapping[str, Any],
    *,
    step: int,
    identity: Mapping[str, Any] | None = None,
    pending: Mapping[str, int] | None = None,
) -> dict[str, Any]:
    """A consistent copy of a run, to be taken between two steps (or two micro-batches: see `pending`).

    Args:
        parts: what the run consists of, by name: models, optimizers, schedulers, scalers, EMA objects, loaders
            (`CommittedLoader`): whatever has state_dict and load_state_dict; generators (torch, numpy, random); and
            plain values (epoch, numbers, texts, tensors, lists, dicts of them). The process's own generators are
            always included.
        step: updates done.
        identity: configuration and data of the run, as plain values; `restore` compares them.
        pending: inside gradient accumulation: {"done": micro-batches done, "denominator": what the loss is divided by}.
            Gradients of all models are then included. Without it they are taken to be used up.

    With a process group, what belongs to a rank alone (generators, loaders, plain values, pending gradients) is
    gathered, so that every rank holds the whole snapshot. Models and optimizers are taken to be the same on each.

    Raises:
        UsageError: a part is of a kind that can't be copied; the text names it.
    """
    shared: dict[str, Any] = {}
    own: dict[str, Any] = {"process rng": take_generators()}
    gradients: dict[str, Any] = {}
    for name, part in parts.items():
        (shared if _is_shared(part) else own)[name] = _taken(name, part)
        if pending is not None and isinstance(part, torch.nn.Module):
            gradients[name] = {
                key: p.grad.detach().clone() for key, p in part.named_parameters() if p.grad is not None
            }  # fmt: skip
    if pending is not None:
        own["pending"] = {**{k: int(v) for k, v in pending.items()}, "gradients": gradients}
    by_rank = _gathered(own)
    return {
        "format": FORMAT,
        "step": int(step),
        "identity": copied(dict(identity or {})),
        "shared": shared,
        "ranks": by_rank,
    }


def restore(
    snapshot: Mapping[str, Any],
    parts: Mapping[str, Any],
    *,
    identity: Mapping[str, Any] | None = None,
    other_ranks: bool = False,
) -> dict[str, Any]:
    """Put a snapshot back into live objects of the same names.

    Returns plain values, which can't be changed in place: {"step": ..., and each plain value by its name, and
    "pending": {"done", "denominator"} where it was taken inside gradient accumulation}.

    Args:
        snapshot: from `capture`.
        parts: the live objects, freshly built; plain values may be left out.
        identity: of this run; must equal the snapshot's where both name a thing.
        other_ranks: allow another number of ranks than the snapshot has; generators then stay as they are, and
            loaders get rank 0's state. The run is no longer bitwise the same: the contract is lowered.

    Raises:
        UsageError: a part is missing on either side, identities differ, or the number of ranks does.
    """
    if snapshot.get("format") != FORMAT:
        raise UsageError(f"snapshot has format {snapshot.get('format')!r}: this version reads format {FORMAT}")
    for key, value in (identity or {}).items():
        if key in snapshot["identity"] and snapshot["identity"][key] != value:
            raise UsageError(f"{key} is {value!r}, but the snapshot was taken with {snapshot['identity'][key]!r}")
    rank, ranks = _place()
    if ranks != len(snapshot["ranks"]) and not other_ranks:
        raise UsageError(
            f"the snapshot is of {len(snapshot['ranks'])} ranks, this run has {ranks}: start as many, or pass "
            "other_ranks=True, which gives up exactness"
        )
    same = ranks == len(snapshot["ranks"])
    own = snapshot["ranks"][rank if same else 0]
    held = {**snapshot["shared"], **{k: v for k, v in own.items() if k not in ("process rng", "pending")}}
    objects = {name: part for name, part in parts.items() if not _is_plain(part)}
    if missing := sorted(set(objects) - set(held)):
        raise UsageError(f"the snapshot has no {missing[0]!r}: it holds {', '.join(sorted(held))}")
    if left := sorted(name for name, value in held.items() if _is_marked(value) and name not in objects):
        raise UsageError(f"the snapshot holds {left[0]!r}, which isn't among the parts: pass it, or it starts anew")
    values: dict[str, Any] = {"step": snapshot["step"]}
    for name, value in held.items():
        if name in objects:
            _put(objects[name], value["held"], name)
        else:
            values[name] = copied(value)
    if "pending" in own:
        _put_gradients(own["pending"]["gradients"], objects)
        values["pending"] = {k: v for k, v in own["pending"].items() if k != "gradients"}
    if same:
        restore_generators(own["process rng"])  # last: building and loading may draw
    return values


def copied(value: Any) -> Any:
    """A copy of plain data that shares no memory with it.

    Raises:
        UsageError: it holds something else than dicts, lists, tuples, tensors, arrays, numbers, texts and None.
    """
    import numpy as np

    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    if isinstance(value, np.ndarray):
        return torch.from_numpy(value.copy()) if value.dtype.kind in "iufb" else value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, bool | int | float | complex | str | bytes):
        return value
    if isinstance(value, Mapping):
        return {key: copied(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map(copied, value)) if type(value) in (list, tuple) else list(map(copied, value))
    if isinstance(value, set | frozenset):
        return sorted(map(copied, value))
    raise UsageError(
        f"a {type(value).__name__} can't be part of a snapshot: give it state_dict() and load_state_dict(), or keep "
        "plain values"
    )


def _taken(name: str, part: Any) -> Any:
    try:
        if _is_plain(part):
            return copied(part)
        if isinstance(part, torch.Generator):
            held: Any = part.get_state()
        elif hasattr(part, "bit_generator"):
            held = copied(part.bit_generator.state)
        elif hasattr(part, "getstate"):
            version, numbers, spare = part.getstate()
            held = [version, list(numbers), spare]
        else:
            held = copied(part.state_dict())
    except UsageError as error:
        raise UsageError(f"{name}: {error}") from None
    except AttributeError:
        copied_error = f"{name} is a {type(part).__name__} without state_dict: give it one, or keep plain values"
        raise UsageError(copied_error) from None
    return {"kind": type(part).__name__, "held": held}


def _put(part: Any, held: Any, name: str) -> None:
    if isinstance(part, torch.Generator):
        part.set_state(held)
    elif hasattr(part, "bit_generator"):
        import numpy as np

        state = {k: ({a: np.asarray(b) if isinstance(b, torch.Tensor) else b for a, b in v.items()}
                     if isinstance(v, dict) else v) for k, v in held.items()}  # fmt: skip
        part.bit_generator.state = state
    elif hasattr(part, "setstate"):
        part.setstate((held[0], tuple(held[1]), held[2]))
    elif hasattr(part, "load_state_dict"):
        part.load_state_dict(copied(held))  # some keep what they are given: the snapshot stays whole
    else:
        raise UsageError(f"{name} is a {type(part).__name__} without load_state_dict: give it one")


def _put_gradients(gradients: Mapping[str, Mapping[str, torch.Tensor]], objects: Mapping[str, Any]) -> None:
    for name, held in gradients.items():
        for key, parameter in objects[name].named_parameters():
            grad = held.get(key)
            parameter.grad = None if grad is None else grad.detach().clone().to(parameter.device)


def _is_plain(part: Any) -> bool:
    import numpy as np

    kinds = (bool, int, float, complex, str, bytes, torch.Tensor, np.ndarray, np.generic, Mapping, list, tuple, set)
    return part is None or isinstance(part, kinds)


def _is_marked(value: Any) -> bool:
    return isinstance(value, dict) and set(value) == {"kind", "held"}


def _is_shared(part: Any) -> bool:
    """Models, and what is built on their parameters, are the same on every rank of data-parallel training."""
    kinds = (torch.nn.Module, torch.optim.Optimizer, torch.optim.lr_scheduler.LRScheduler, torch.amp.GradScaler)
    return isinstance(part, kinds)


def _place() -> tuple[int, int]:
    import torch.distributed as dist

    if dist.is_available() and dist.is_initialized():
        return dist.get_rank(), dist.get_world_size()
    return 0, 1


def _gathered(own: dict[str, Any]) -> list[Any]:
    import torch.distributed as dist

    _, ranks = _place()
    if ranks == 1:
        return [own]
    held: list[Any] = [None] * ranks
    dist.all_gather_object(held, own)
    return held
