"""What the auditor needs to know of a training program, and the program's side of a run under audit.

An object with three methods is a program; `state` is a dict, or an object with attributes, that has `step`, the number
of steps done:

    class Mine:
        def start(self, folder):        # build everything; go on from what `folder` holds, if it holds something
            ...
            return state
        def step(self, state):          # one step; adds 1 to state's step; may return the sample ids it used
            ...
        def save(self, state, folder):  # as the job does
            ...

Code that owns its loop (a trainer with callbacks) is a function instead. It calls `run.started(state)` once,
`run.stepped(ids)` after every step, and saves inside `with run.saving():`.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import random
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from labkit.errors import UsageError
from labkit.resume.kill import AFTER_SAVE, AFTER_STEP, BEFORE_FORWARD, MID_ACCUMULATION, Kill, Killer, listing


class Program(Protocol):
    """Training code that can be started, stepped and saved."""

    def start(self, folder: Path) -> Any:
        """Build everything, go on from the newest checkpoint in `folder` if there is one, return the state."""

    def step(self, state: Any) -> Any:
        """One step. What it returns is compared too: sample ids, or a dict such as {"ids": ..., "loss": ...}."""

    def save(self, state: Any, folder: Path) -> None:
        """Save a checkpoint into `folder`, as the job does."""


@dataclass(frozen=True)
class Life:
    """One process (or one group of ranks) from start to end or kill.

    Attributes:
        folder: where the program keeps its checkpoints.
        notes: file prefix for what is recorded; one file a rank.
        steps: updates at which the run is over.
        save_every: steps between saves.
        kill: where it is killed; None: it runs to its end.
        seed: for the program, where it asks for one.
        watch: whether states are recorded.
    """

    folder: str
    notes: str
    steps: int
    save_every: int
    kill: Kill | None
    seed: int
    watch: bool


class Run:
    """A run under audit, as the program sees it.

    Attributes:
        folder: where checkpoints go.
        steps: updates at which the run is over.
        save_every: steps between saves.
        seed: to start from, where the program is audited over seeds.
        rank: this rank.
        ranks: how many.
    """

    def __init__(self, life: Life, rank: int, ranks: int) -> None:
        self.folder, self.steps, self.save_every, self.seed = Path(life.folder), life.steps, life.save_every, life.seed
        self.rank, self.ranks = rank, ranks
        self._life = life
        self._killer = Killer(life.kill, self.folder)
        self._notes = open(f"{life.notes}-{rank}", "ab", buffering=0)  # noqa: SIM115  open as long as the process lives
        self._state: Any = None
        self._step = -1
        self._forwards = self._renames = 0
        self._inputs: list[Any] = []
        self._used: dict[int, tuple[int, int]] = {}  # parameter -> its gradient when an optimizer last used it
        self._optimizers = 0

    # what the program calls

    def started(self, state: Any) -> None:
        """The state is built, or loaded; nothing was trained in this process yet."""
        self._state = state
        self._step = self._count()
        self._hook()
        self._note("start", self._step)
        if self._life.watch:
            from labkit.resume.auditing_leaves import unseen

            self._write({"kind": "unseen", "step": self._step, "unseen": unseen(state)})

    def stepped(self, returned: Any = None) -> None:
        """One more step is done; `returned` is what it used and found (ids, or a dict)."""
        if self._state is None:
            raise UsageError("run.stepped was called before run.started(state): call it once, when the state is built")
        step = self._count()
        if step != self._step + 1:
            raise UsageError(f"state's step went from {self._step} to {step} in one step: add 1 to it in every step")
        self._step = step
        self._note("step", step, returned)
        self._forwards = 0
        self._inputs.clear()
        self._killer.at(step, AFTER_STEP)

    @contextlib.contextmanager
    def saving(self) -> Iterator[None]:
        """Around a save."""
        before = listing(self.folder) if self._life.watch else {}
        self._renames = 0
        self._killer.arm(self._step)
        yield
        if self._life.watch:
            changed = {
                name: size for name, (size, at) in listing(self.folder).items() if before.get(name, (0, 0))[1] != at
            }
            self._write({"kind": "saved", "step": self._step, "bytes": max(changed.values(), default=0),
                         "renames": self._renames})  # fmt: skip
        background = threading.active_count() > 1
        self._write({"kind": "save over", "step": self._step, "background": background})
        self._killer.at(self._step, AFTER_SAVE)

    @property
    def due(self) -> bool:
        """Whether a save is due after this step."""
        return self._step % self.save_every == 0

    # what it does

    def _count(self) -> int:
        held = self._state.get("step") if isinstance(self._state, Mapping) else getattr(self._state, "step", None)
        try:
            return int(held)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            raise UsageError(
                f"state's step is {held!r}: the state needs `step`, the number of steps done (a key or an attribute)"
            ) from None

    def _hook(self) -> None:
        """Notice forward passes and updates of the models and optimizers in the state."""
        import torch

        from labkit.resume.auditing_leaves import parts

        for value in parts(self._state).values():
            if isinstance(value, torch.nn.Module):
                value.register_forward_pre_hook(self._forward)
            elif isinstance(value, torch.optim.Optimizer):
                self._optimizers += 1
                inner: Any = value  # accelerate wraps optimizers in a subclass that lacks the hooks
                while isinstance(getattr(inner, "optimizer", None), torch.optim.Optimizer):
                    inner = inner.optimizer
                inner.register_step_post_hook(self._updated)
        sys.addaudithook(self._event)

    def _forward(self, module: Any, args: Any) -> None:
        if not module.training:
            return
        self._forwards += 1
        if self._life.watch and len(self._inputs) < 64:
            self._inputs.append(args)
        phase = BEFORE_FORWARD if self._forwards == 1 else MID_ACCUMULATION
        if self._forwards <= 2:
            self._killer.at(self._step + 1, phase)

    def _updated(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self._used[id(parameter)] = (id(parameter.grad), parameter.grad._version)

    def _pending(self) -> frozenset[int] | None:
        """Parameters whose gradients no update has used yet."""
        import torch

        from labkit.resume.auditing_leaves import parts

        if not self._optimizers:
            return None
        waiting = set()
        for value in parts(self._state).values():
            if isinstance(value, torch.nn.Module):
                for parameter in value.parameters():
                    grad = parameter.grad
                    if grad is None or self._used.get(id(parameter)) == (id(grad), grad._version):
                        continue
                    if bool((grad != 0).any()):
                        waiting.add(id(parameter))
        return frozenset(waiting)

    def _event(self, event: str, _: tuple[Any, ...]) -> None:
        if event in ("os.rename", "os.link", "os.symlink"):
            self._renames += 1

    def _note(self, kind: str, step: int, returned: Any = None) -> None:
        if not self._life.watch:
            self._write({"kind": kind, "step": step})
            return
        from labkit.resume.auditing_leaves import flatten

        outcome: dict[str, Any] = {}
        if returned is not None:
            named = returned if isinstance(returned, Mapping) else {"ids": returned}
            outcome = _leaves_of(named)
        elif self._inputs:
            outcome = {f"inputs/{k}": v for k, v in _leaves_of({"inputs": list(self._inputs)}, "inputs").items()}
        held = flatten(self._state, pending=self._pending())
        self._write({"kind": kind, "step": step, "state": held, "outcome": outcome, "forwards": self._forwards})

    def _write(self, record: dict[str, Any]) -> None:
        self._notes.write(pickle.dumps(record))


def _leaves_of(values: Mapping[str, Any], component: str | None = None) -> dict[str, Any]:
    from labkit.resume.auditing_leaves import _Walker

    found: dict[str, Any] = {}
    for name, value in values.items():
        if hasattr(value, "tolist") and (name == "ids" or getattr(value, "size", None) == 1 or value.numel() == 1):
            value = value.tolist()  # a number rather than a tensor: its value is compared, not its type
        _Walker(found, frozenset()).walk(value, str(name), component, 0)
    return found


Callee: TypeAlias = Callable[[Run], None]


def as_function(program: Any) -> Callee:
    """The program as a function of its run.

    Raises:
        UsageError: it is neither a function nor an object with start, step and save.
    """
    made = program() if isinstance(program, type) else program
    missing = [name for name in ("start", "step", "save") if not callable(getattr(made, name, None))]
    if missing:
        if callable(made) and len(missing) == 3:
            return made  # type: ignore[no-any-return]
        raise UsageError(
            f"program is a {type(made).__name__} without {', '.join(missing)}: give an object with start(folder), "
            "step(state) and save(state, folder), or a function of run"
        )

    def whole(run: Run) -> None:
        if hasattr(made, "seed"):
            made.seed = run.seed
        state = made.start(run.folder)
        run.started(state)
        while run._step < run.steps:
            run.stepped(made.step(state))
            if run.due:
                with run.saving():
                    made.save(state, run.folder)

    return whole


def live(rank: int, ranks: int, program: Any, life: Life) -> None:
    """Run one life in this process. It begins as a new process does: with generators that nobody has seeded."""
    import numpy as np
    import torch

    random.seed(int.from_bytes(os.urandom(8), "little"))
    np.random.seed(int.from_bytes(os.urandom(4), "little"))  # noqa: NPY002  the state that programs draw from
    torch.manual_seed(int.from_bytes(os.urandom(6), "little"))
    Path(life.folder).mkdir(parents=True, exist_ok=True)
    silence()
    run = Run(life, rank, ranks)
    try:
        as_function(program)(run)
    except BaseException as error:
        text = (str(error).strip() or "no text").splitlines()[0]
        run._write({"kind": "raised", "type": type(error).__name__, "text": text, "step": run._step})
        raise
    run._write({"kind": "end", "step": run._step})


def silence() -> None:
    """What the program prints would come once for every life."""
    sys.stdout.flush()
    sys.stderr.flush()
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    os.close(nowhere)


def read_notes(prefix: str, rank: int) -> list[dict[str, Any]]:
    """What a life's rank recorded; a record cut by a kill is left out."""
    found = []
    with contextlib.suppress(FileNotFoundError), open(f"{prefix}-{rank}", "rb") as file:
        while True:
            try:
                found.append(pickle.load(file))  # written by the caller's own code, a moment ago
            except (EOFError, pickle.UnpicklingError):
                break
    return found
