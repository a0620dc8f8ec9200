"""Programs under audit: a plain loop, accelerate, a trainer with callbacks; and faults that hide from one kill."""

from __future__ import annotations

import json
import os
from types import SimpleNamespace

import torch
import torch.distributed as dist
from torch import nn


def data(ids):
    return torch.sin(torch.tensor(ids, dtype=torch.float32)[:, None] * torch.tensor([0.7, 1.3]))


class Plain:
    """Dropout, momentum, a schedule, two micro-batches an update, published by a rename."""

    def __init__(self, fault=""):
        self.fault = fault
        self.seed = 0

    def start(self, folder):
        torch.manual_seed(self.seed)
        model = nn.Sequential(nn.Linear(2, 4), nn.Dropout(0.2), nn.Linear(4, 1))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 3)
        state = {"step": 0, "cursor": 0, "model": model, "optimizer": optimizer, "scheduler": scheduler}
        path = folder / "last.pt"
        if path.exists():
            held = torch.load(path, weights_only=True)
            model.load_state_dict(held["model"])
            if self.fault != "optimizer":
                optimizer.load_state_dict(held["optimizer"])
            scheduler.load_state_dict(held["scheduler"])
            state |= {"step": held["step"], "cursor": held["cursor"]}
            if self.fault != "rng":
                torch.set_rng_state(held["rng"])
            if self.fault == "rounding":
                with torch.no_grad():
                    for p in model.parameters():
                        p *= 1 + 1e-7
        return state

    def step(self, state):
        state["optimizer"].zero_grad()
        ids, total = [], 0.0
        for _ in range(2):
            some = [i % 10 for i in range(state["cursor"], state["cursor"] + 3)]
            state["cursor"] += 3
            x = data(some)
            loss = (state["model"](x) - x.sum(1, keepdim=True)).pow(2).mean() / 2
            loss.backward()
            ids, total = ids + some, total + loss.item()
        state["optimizer"].step()
        state["scheduler"].step()
        state["step"] += 1
        return {"ids": ids, "loss": total}

    def save(self, state, folder):
        held = {name: state[name].state_dict() for name in ("model", "optimizer", "scheduler")}
        held |= {"step": state["step"], "cursor": state["cursor"], "rng": torch.get_rng_state()}
        torch.save(held, folder / "new.pt")
        os.replace(folder / "new.pt", folder / "last.pt")


class Counter:
    """No torch: a number and a position. `relative` saves how far this process came, not the run."""

    def __init__(self, fault=""):
        self.fault = fault

    def start(self, folder):
        path = folder / "last.json"
        held = json.loads(path.read_text()) if path.exists() else {"step": 0, "cursor": 0, "weight": 0.0}
        state = SimpleNamespace(**held)
        self.first = state.cursor
        return state

    def step(self, state):
        state.weight = 0.9 * state.weight + (state.cursor % 7)
        used = [state.cursor % 7]
        state.cursor += 1
        state.step += 1
        return used

    def save(self, state, folder):
        held = dict(vars(state))
        if self.fault == "relative":
            held["cursor"] -= self.first
        (folder / "new.json").write_text(json.dumps(held))
        os.replace(folder / "new.json", folder / "last.json")


class Stateless(Counter):
    """Seeds torch from the step before it draws: the generator's state between steps doesn't matter."""

    def start(self, folder):
        torch.manual_seed(123)
        return super().start(folder)

    def step(self, state):
        torch.manual_seed(state.step)
        state.weight += torch.rand(()).item()
        state.cursor += 1
        state.step += 1


class Ranked(Plain):
    """Every rank drops other units and reads its own share; rank 0 writes, gradients are summed."""

    def start(self, folder):
        self.rank, self.ranks = dist.get_rank(), dist.get_world_size()
        state = super().start(folder)
        if state["step"] == 0:
            torch.manual_seed(50 + self.rank)
            state["cursor"] = self.rank
        else:
            held = torch.load(folder / "last.pt", weights_only=True)
            mine = 0 if self.fault == "rank 0" else self.rank
            torch.set_rng_state(held["rngs"][mine])
            state["cursor"] = held["cursors"][self.rank]
        return state

    def step(self, state):
        if not getattr(self, "hooked", False):
            self.hooked = [p.register_hook(self.summed) for p in state["model"].parameters()]
        return super().step(state)

    def summed(self, grad):
        grad = grad.clone()
        dist.all_reduce(grad)
        return grad

    def save(self, state, folder):
        rngs = [torch.empty_like(torch.get_rng_state()) for _ in range(self.ranks)]
        dist.all_gather(rngs, torch.get_rng_state())
        cursors = [None] * self.ranks
        dist.all_gather_object(cursors, state["cursor"])
        if self.rank == 0:
            held = {name: state[name].state_dict() for name in ("model", "optimizer", "scheduler")}
            held |= {"step": state["step"], "cursor": 0, "rng": rngs[0], "rngs": rngs, "cursors": cursors}
            torch.save(held, folder / "new.pt")
            os.replace(folder / "new.pt", folder / "last.pt")
        dist.barrier()


class Unseeded(Counter):
    def step(self, state):
        state.weight += torch.rand(()).item()
        state.step += 1


def with_accelerate(fault=""):
    """The adapter for a script with accelerate: `started` once, `stepped` each step, `saving` around save_state."""

    def program(run):
        from accelerate import Accelerator
        from accelerate.utils import set_seed

        set_seed(1)
        accelerator = Accelerator(cpu=True)
        model = nn.Sequential(nn.Linear(2, 4), nn.Dropout(0.5), nn.Linear(4, 1))
        optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
        model, optimizer = accelerator.prepare(model, optimizer)
        state = {"step": 0, "model": model, "optimizer": optimizer}
        done = sorted(run.folder.glob("checkpoint-*"))
        if done:
            accelerator.load_state(str(done[-1]))
            state["step"] = int(done[-1].name[-4:])
            if fault == "rng":
                set_seed(2)
        run.started(state)  # 1
        while state["step"] < run.steps:
            ids = [(3 * state["step"] + i) % 12 for i in range(3)]
            x = data(ids)
            accelerator.backward((model(x) - x.sum(1, keepdim=True)).pow(2).mean())
            optimizer.step()
            optimizer.zero_grad()
            state["step"] += 1
            run.stepped(ids)  # 2
            with run.saving():  # 3
                unfinished = run.folder / "unfinished"
                accelerator.save_state(str(unfinished), safe_serialization=False)
                os.replace(unfinished, run.folder / f"checkpoint-{state['step']:04d}")

    return program


class Trainer:
    """In the manner of HF's Trainer: owns its loop, calls back, keeps its own state and folder of checkpoints."""

    def __init__(self, folder, steps, callbacks, fault=""):
        self.folder, self.steps, self.callbacks, self.fault = folder, steps, callbacks, fault

    def call(self, event, **more):
        for callback in self.callbacks:
            getattr(callback, event, lambda **_: None)(state=self.state, **more)

    def train(self, resume_from_checkpoint=False):
        torch.manual_seed(0)
        self.model = nn.Linear(2, 1)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=0.05)
        self.lr_scheduler = torch.optim.lr_scheduler.ExponentialLR(self.optimizer, 0.9)
        self.state = SimpleNamespace(global_step=0)
        paths = sorted(self.folder.glob("checkpoint-*.pt"))
        if resume_from_checkpoint and paths:
            held = torch.load(paths[-1], weights_only=True)
            for name in ("model", "optimizer", "lr_scheduler"):
                if name != self.fault:
                    getattr(self, name).load_state_dict(held[name])
            self.state.global_step = held["global_step"]
        parts = {"model": self.model, "optimizer": self.optimizer, "lr_scheduler": self.lr_scheduler}
        self.call("on_train_begin", **parts)
        while self.state.global_step < self.steps:
            self.inputs = data([self.state.global_step % 9, 5])
            self.optimizer.zero_grad()
            self.model(self.inputs).pow(2).mean().backward()
            self.optimizer.step()
            self.lr_scheduler.step()
            self.state.global_step += 1
            self.call("on_step_end")
            self._save_checkpoint()

    def _save_checkpoint(self):
        held = {name: getattr(self, name).state_dict() for name in ("model", "optimizer", "lr_scheduler")}
        torch.save(held | {"global_step": self.state.global_step}, self.folder / "new")
        os.replace(self.folder / "new", self.folder / f"checkpoint-{self.state.global_step:04d}.pt")


def with_callbacks(fault=""):
    """The adapter for such a trainer: a callback, and saves inside `run.saving()`. Nine lines."""

    def program(run):
        class Audited(Trainer):
            def _save_checkpoint(self):
                with run.saving():
                    super()._save_checkpoint()

        class Tell:
            def on_train_begin(self, state, **parts):
                self.held = parts | {"step": state.global_step}
                run.started(self.held)

            def on_step_end(self, state, **_):
                self.held["step"] = state.global_step
                run.stepped()

        Audited(run.folder, run.steps, [Tell()], fault).train(resume_from_checkpoint=True)

    return program
