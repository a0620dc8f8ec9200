"""Which run was it? Configuration, data, code, seed and environment as plain values, and what differs between two."""

from __future__ import annotations

import contextlib
import hashlib
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from labkit.errors import UsageError

# What must be equal for a run to come out the same to the last bit, and what may move only its speed.
DECIDES = ("config", "data", "code", "seed", "versions", "device")


@dataclass(frozen=True)
class Identity:
    """A run's identity.

    Attributes:
        config: settings, flat: "optimizer.lr" -> 0.02.
        data: size and digest of the content, or the text that was given; empty where nothing was said.
        code: the git commit, a digest of what was changed since, and the program's own file with its digest.
        seed: what was seeded with, None where nothing was said.
        versions: Python, torch, NumPy, labkit, the system.
        device: processor or GPU, and how many threads torch uses.
        settings: environment variables and switches that change results: determinism, TF32, thread counts.
        command: the command line.
    """

    config: Mapping[str, Any] = field(default_factory=dict)
    data: str = ""
    code: Mapping[str, str] = field(default_factory=dict)
    seed: int | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    device: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    command: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """The identity as plain values."""
        return asdict(self)

    @property
    def digest(self) -> str:
        """A short name for everything that decides the result."""
        held = {name: value for name, value in flat(self.as_dict()).items() if name.split(".")[0] != "command"}
        return hashlib.sha256(repr(sorted(held.items(), key=lambda one: one[0])).encode()).hexdigest()[:12]


@dataclass(frozen=True)
class Reproduction:
    """Whether one run can be taken for a repetition of another.

    Attributes:
        same: nothing that is known differs, and nothing needed is unknown.
        different: (name, value in a, value in b) of each thing that differs.
        unknown: what neither says, so that nothing can be promised: data, seed, code, ...
    """

    same: bool
    different: tuple[tuple[str, Any, Any], ...]
    unknown: tuple[str, ...]

    def text(self) -> str:
        """A line a difference."""
        lines = [f"{name}: {a!r} against {b!r}" for name, a, b in self.different]
        lines += [f"{name}: not recorded" for name in self.unknown]
        return "\n".join(lines) or "the same configuration, data, code, seed and environment"


def identify(*, config: Mapping[str, Any] | None = None, data: Any = None, seed: int | None = None) -> Identity:
    """The identity of this process's run.

    Args:
        config: settings; nested mappings are flattened. Values are kept as plain values, other things by their text.
        data: as for `labkit.scaling`'s reports: a path (content digested), an array, bytes, ids; a text that is no
            path is kept as it is.
        seed: what the run was seeded with.

    Raises:
        UsageError: config isn't a mapping, or the data can't be read.
    """
    from labkit.scaling.identity import data_identity, hardware, versions

    if config is not None and not isinstance(config, Mapping):
        raise UsageError(f"config is a {type(config).__name__}: give a mapping of settings")
    text = isinstance(data, str) and not Path(data).exists()
    told = "" if data is None else data if text else data_identity(data)
    hard = dict(hardware())
    return Identity(
        flat(config or {}), str(told), code(), seed, dict(versions()),
        {"cpu": hard.get("cpu"), "gpus": hard.get("gpus"), "threads": _threads()}, switches(), tuple(sys.argv),
    )  # fmt: skip


def reproduction(a: Identity, b: Identity) -> Reproduction:
    """What differs between two runs, or is unknown of both."""
    left, right = flat(a.as_dict()), flat(b.as_dict())
    names = [name for name in dict.fromkeys([*left, *right]) if name.split(".")[0] not in ("command",)]
    different = tuple((n, left.get(n), right.get(n)) for n in names if left.get(n) != right.get(n))
    unknown = tuple(
        name for name, x, y in (("data", a.data, b.data), ("seed", a.seed, b.seed), ("code", a.code, b.code),
                                ("config", a.config, b.config))
        if x in ("", None, {}) and y in ("", None, {})
    )  # fmt: skip
    return Reproduction(not different and not unknown, different, unknown)


def flat(values: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    """Nested mappings as one, names joined by dots; values plain."""
    found: dict[str, Any] = {}
    for key, value in values.items():
        name = f"{above}{key}"
        if isinstance(value, Mapping):
            found |= flat(value, f"{name}.")
        elif value is None or isinstance(value, bool | int | float | str):
            found[name] = value
        elif isinstance(value, list | tuple):
            found[name] = [one if isinstance(one, bool | int | float | str | None) else str(one) for one in value]
        else:
            found[name] = str(value)
    return found


def code() -> dict[str, str]:
    """The commit of the working directory's repository and what was changed since; the program's file and digest."""
    held: dict[str, str] = {}
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        commit = _git("rev-parse", "HEAD").strip()
        changed = _git("diff", "HEAD")
        held["commit"] = commit
        held["changed"] = hashlib.sha256(changed.encode()).hexdigest()[:12] if changed else "no"
    main = getattr(sys.modules.get("__main__"), "__file__", None)
    if main and Path(main).is_file():
        held["program"] = f"{Path(main).name} {hashlib.sha256(Path(main).read_bytes()).hexdigest()[:12]}"
    return held


def _git(*words: str) -> str:
    return subprocess.run(
        ["git", *words], capture_output=True, text=True, check=True, timeout=5, errors="replace"
    ).stdout


def switches() -> dict[str, Any]:
    """What is set that changes results: torch's switches where torch is loaded, and environment variables."""
    names = (
        "PYTHONHASHSEED",
        "CUBLAS_WORKSPACE_CONFIG",
        "OMP_NUM_THREADS",
        "CUDA_VISIBLE_DEVICES",
        "NVIDIA_TF32_OVERRIDE",
    )
    held: dict[str, Any] = {name: os.environ[name] for name in names if name in os.environ}
    torch = sys.modules.get("torch")
    if torch is not None:
        held["deterministic"] = torch.are_deterministic_algorithms_enabled()
        held["cudnn_benchmark"] = torch.backends.cudnn.benchmark
        held["matmul_precision"] = torch.get_float32_matmul_precision()
    return held


def _threads() -> int | None:
    torch = sys.modules.get("torch")
    return None if torch is None else int(torch.get_num_threads())
