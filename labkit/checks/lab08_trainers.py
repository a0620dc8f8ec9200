"""Lab 08's trainers: dropout, schedule, loss scaler and EMA, on two ranks. Each forgets one thing, or nothing."""

from __future__ import annotations

import functools
import os
import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from labkit.resume.auditing_report import ResumeReport

FORGETS = ("nothing", "schedule", "scaler", "ema", "dropout rng", "rank rng")
"""What a trainer forgets: `dropout rng` every rank's generator, `rank rng` every generator but rank 0's."""

RANKS, STEPS, KILL = 2, 5, 3
_PARTS = ("net", "optimizer", "schedule", "scaler", "ema")


class Trainer:
    """A data-parallel trainer as `labkit.resume.audit` wants it, with a checkpoint that lacks `forgets`."""

    def __init__(self, seed: int, forgets: str) -> None:
        self.seed, self.forgets = seed, forgets

    def start(self, folder: Path) -> dict[str, Any]:
        """Build everything, then go on from the checkpoint, if there is one."""
        import torch
        import torch.distributed as dist
        from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

        rank = dist.get_rank()
        torch.manual_seed(self.seed)
        net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 1))
        torch.manual_seed(self.seed + 1 + rank)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
        mean = get_ema_multi_avg_fn(0.9)  # type: ignore[no-untyped-call]
        state: dict[str, Any] = {
            "net": net,
            "optimizer": optimizer,
            "schedule": torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9),
            "scaler": torch.amp.GradScaler("cpu", init_scale=16.0, growth_interval=2),
            "ema": AveragedModel(net, multi_avg_fn=mean),
            "step": 0,
            "rank": rank,
        }
        if (folder / f"rank{rank}.pt").exists():
            saved = torch.load(folder / f"rank{rank}.pt", weights_only=True)
            for name in _PARTS:
                if name != self.forgets:
                    state[name].load_state_dict(saved[name])
            state["step"] = saved["step"]
            if self.forgets == "rank rng":  # one file was kept for all
                saved = torch.load(folder / "rank0.pt", weights_only=True)
            if self.forgets != "dropout rng":
                torch.set_rng_state(saved["rng"])
        return state

    def step(self, state: dict[str, Any]) -> dict[str, Any]:
        """One update on all ranks."""
        import torch
        import torch.distributed as dist

        draw = torch.Generator().manual_seed(1000 * self.seed + 10 * state["step"] + state["rank"])
        x = torch.randn(6, 4, generator=draw)
        state["optimizer"].zero_grad()
        loss = ((state["net"](x) - x.sum(1, keepdim=True)) ** 2).mean()
        state["scaler"].scale(loss).backward()
        for parameter in state["net"].parameters():
            dist.all_reduce(parameter.grad)
            parameter.grad /= dist.get_world_size()
        state["scaler"].step(state["optimizer"])
        state["scaler"].update()
        state["schedule"].step()
        state["ema"].update_parameters(state["net"])
        state["step"] += 1
        return {"loss": loss.detach()}

    def save(self, state: dict[str, Any], folder: Path) -> None:
        """Every rank its own file, published by a rename."""
        import torch

        held = {name: state[name].state_dict() for name in _PARTS if name != self.forgets}
        held |= {"step": state["step"], "rng": torch.get_rng_state()}
        path = folder / f"rank{state['rank']}.pt"
        torch.save(held, f"{path}.new")
        os.replace(f"{path}.new", path)


def killed(seed: int, forgets: str) -> ResumeReport:
    """Audit such a trainer: killed for real after the save of step 3, on two real ranks, and resumed. About 2 s."""
    from labkit.resume.auditing import audit
    from labkit.resume.kill import AFTER_SAVE

    trainer = Trainer(seed, forgets)
    return audit(trainer, steps=STEPS, kill_at=[KILL], ranks=RANKS, phases=[AFTER_SAVE], twice=False)


_kept = functools.lru_cache(maxsize=None)(killed)


class Suspect:
    """A trainer, and its audit: run once, then kept."""

    def __init__(self, seed: int, forgets: str) -> None:
        self._seed, self._forgets = seed, forgets

    def audit(self, *, again: bool = False) -> ResumeReport:
        """What `killed` finds: of the first run, or of a new one."""
        return killed(self._seed, self._forgets) if again else _kept(self._seed, self._forgets)

    def __repr__(self) -> str:
        return "a trainer: net with dropout, SGD, schedule, scaler, EMA; call .audit()"


class Suspects(Mapping[str, Suspect]):
    """Five trainers by letter, drawn from a number that doesn't show what they forget."""

    def __init__(self, job: int) -> None:
        self._held = {letter: Suspect(job % 1000, lost) for letter, lost in planted(job).items()}

    def __getitem__(self, letter: str) -> Suspect:
        return self._held[letter]

    def __iter__(self) -> Iterator[str]:
        return iter(self._held)

    def __len__(self) -> int:
        return len(self._held)

    def __repr__(self) -> str:
        return "five trainers, A to E"


def planted(job: int) -> dict[str, str]:
    """What each trainer forgets: one nothing, four of the five faults, both kinds of generators among them."""
    rng = random.Random(f"trainers/{job}")
    chosen = ["nothing", "dropout rng", "rank rng", *rng.sample(("schedule", "scaler", "ema"), 2)]
    rng.shuffle(chosen)
    return dict(zip("ABCDE", chosen, strict=True))
