"""What a live run holds that a checkpoint lacks, found by content: the checkpoint may have any layout."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from labkit.resume.auditing_leaves import Leaf, flatten

# Settings that the code gives again at every start; a checkpoint need not repeat them.
SETTINGS = ("betas", "eps", "amsgrad", "foreach", "maximize", "capturable", "differentiable", "fused", "nesterov",
            "decoupled_weight_decay", "dampening")  # fmt: skip


@dataclass(frozen=True)
class Missing:
    """One part of the state that the checkpoint lacks.

    Attributes:
        component: optimizer, rng, schedule, ...
        values: paths of its values that weren't found.
        of: how many values the component has.
    """

    component: str
    values: tuple[str, ...]
    of: int

    def text(self) -> str:
        """One line."""
        some = ", ".join(self.values[:3]) + (f" and {len(self.values) - 3} more" if len(self.values) > 3 else "")
        return f"{self.component}: {len(self.values)} of {self.of} values aren't in the checkpoint ({some})"


@dataclass(frozen=True)
class SnapshotCoverage:
    """The live state against a checkpoint.

    Attributes:
        missing: what the checkpoint lacks, by component.
        held: components that are wholly in it.
    """

    missing: tuple[Missing, ...]
    held: tuple[str, ...]

    @property
    def complete(self) -> bool:
        """Whether nothing is missing."""
        return not self.missing

    def text(self) -> str:
        """A line a component."""
        lines = [one.text() for one in self.missing] + [f"{name}: held" for name in self.held]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from html import escape

        return f"<pre>{escape(self.text())}</pre>"


def coverage(state: Any, checkpoint: Any) -> SnapshotCoverage:
    """What `state` (a dict or object, as for `audit`) holds that `checkpoint` lacks.

    Tensors and generators are looked for by content, anywhere in the checkpoint; single numbers and texts by their
    name's last word and value. Take both at the same moment. A value that equals the one a new process would start
    with is asked for as well: take them after a few steps, when an optimizer has state.

    Args:
        state: the live run: models, optimizers, schedulers, ...; the process's own generators are always included.
        checkpoint: what was saved, loaded: nested dicts, lists, tensors and values.
    """
    live, saved = flatten(state), _flat(checkpoint)
    contents = {leaf.digest for leaf in saved.values()}
    named = {(path.rsplit("/", 1)[-1], leaf.digest) for path, leaf in saved.items()}
    lacking: dict[str, list[str]] = {}
    total: dict[str, int] = {}
    for path, leaf in live.items():
        last = path.rsplit("/", 1)[-1]
        if last in SETTINGS or leaf.component == "loss":
            continue
        total[leaf.component] = total.get(leaf.component, 0) + 1
        found = leaf.digest in contents if _telling(leaf) else (last, leaf.digest) in named
        if not found and path.startswith("rng/"):
            found = _generator_in(path, contents)
        if not found:
            lacking.setdefault(leaf.component, []).append(path)
    missing = tuple(Missing(name, tuple(paths), total[name]) for name, paths in lacking.items())
    return SnapshotCoverage(missing, tuple(name for name in total if name not in lacking))


def _telling(leaf: Leaf) -> bool:
    """Whether equal content can't be chance: an array of several values, or a long text."""
    return "(" in leaf.text and leaf.text.endswith(")")


def _flat(checkpoint: Any) -> dict[str, Leaf]:
    """The checkpoint's leaves, without this process's own generators."""
    from labkit.resume.auditing_leaves import _Walker

    found: dict[str, Leaf] = {}
    held = checkpoint if isinstance(checkpoint, Mapping) else {"checkpoint": checkpoint}
    for name, value in held.items():
        _Walker(found, frozenset()).walk(value, str(name), None, 0)
    return found


def _generator_in(path: str, contents: set[str]) -> bool:
    """Python's and numpy's generator states have several usual forms: each is tried."""
    import random

    import numpy as np
    import torch

    from labkit.resume.auditing_leaves import leaf_of
    from labkit.resume.snapshot_rng import take_generators

    if path.endswith("python"):
        version, numbers, spare = random.getstate()
        forms: list[Any] = [list(numbers), numbers, repr((version, numbers, spare))]
    elif path.endswith("numpy"):
        _, keys, *_rest = np.random.get_state(legacy=True)  # noqa: NPY002
        forms = [keys, np.asarray(keys).tolist(), take_generators()["numpy"][1], torch.from_numpy(np.asarray(keys))]
    else:
        return False
    return any((leaf := leaf_of(form, "rng")) is not None and leaf.digest in contents for form in forms)
