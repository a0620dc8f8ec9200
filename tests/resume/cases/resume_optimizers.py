"""Reports in which the optimizer's state, or what stands beside it, is lost or damaged on the way back."""

from __future__ import annotations

import copy
import math

import torch
from resume_case import BATCH, PER_EPOCH, Case, Trainer, loss


class LazyState(Trainer):
    """Values are copied into the optimizer's existing tensors; a new Adam has none before its first step."""

    def unpack(self, state, held):
        super().unpack(state, held | {"optimizer": state["optimizer"].state_dict()})
        optimizer = state["optimizer"]
        if not self.fault:  # let the state come into being: an update by zero, whose weights are put back
            for parameter in state["model"].parameters():
                parameter.grad = torch.zeros_like(parameter)
            optimizer.step()
            optimizer.zero_grad()
            state["model"].load_state_dict(held["model"])
        ours, theirs = optimizer.state_dict(), held["optimizer"]["state"]
        for i, values in ours["state"].items():
            for name, tensor in values.items():
                tensor.copy_(theirs[i][name])


class Codes(torch.optim.Optimizer):
    """SGD with momentum kept as 8-bit codes and a scale.

    torch casts an optimizer's loaded state to the weights' type, so codes become float32: the fault leaves it at that.
    """

    def __init__(self, parameters, lr, fault):
        self.fault = fault
        super().__init__(parameters, {"lr": lr})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                held = self.state[p]
                old = self.moments(held) if "codes" in held else torch.zeros_like(p)
                new = 0.9 * old + p.grad
                held["scale"] = new.abs().max() / 120 + 1e-12
                held["codes"] = (new / held["scale"]).round().to(torch.int8)
                p -= group["lr"] * new

    def moments(self, held):
        """Codes are told from moments by their type, as such optimizers do."""
        return held["codes"].float() * held["scale"] if held["codes"].dtype == torch.int8 else held["codes"]

    def load_state_dict(self, held):
        kept = copy.deepcopy(held)
        super().load_state_dict(held)
        if not self.fault:  # put the codes back as they were
            for i, p in enumerate(self.param_groups[0]["params"]):
                self.state[p]["codes"] = kept["state"][i]["codes"]


class RoundTrip(Trainer):
    def build(self):
        state = super().build()
        state["optimizer"] = Codes(state["model"].parameters(), 0.02, self.fault)
        return state


class BehindAFlag(Trainer):
    """The function that loads leaves optimizer states out unless it is asked for them."""

    def load_module(self, state, held, load_optimizer_states=False):
        super().unpack(state, held if load_optimizer_states else held | {"optimizer": state["optimizer"].state_dict()})

    def unpack(self, state, held):
        self.load_module(state, held, load_optimizer_states=not self.fault)


class Shards:
    """Adam-like momentum, flat, cut into as many shards as this job has."""

    def __init__(self, size, shards):
        self.shards = [part.clone() for part in torch.zeros(size).chunk(shards)]

    def state_dict(self):
        return {"moments": torch.cat(self.shards)}


class OtherShards(Trainer):
    """The job comes back on another number of ranks: its flat moments must be cut anew, not left at zero."""

    def start(self, folder):
        marks = list(folder.glob("life-*"))
        (folder / f"life-{len(marks)}").touch()
        self.shards = 2 if not marks else 4
        return super().start(folder)

    def build(self):
        state = super().build()
        del state["optimizer"]
        state["optimizer"] = Shards(sum(p.numel() for p in state["model"].parameters()), self.shards)
        return state

    def step(self, state):
        ids = self.batch(state)
        state["model"].zero_grad()
        loss(state["model"], ids).backward()
        flat = torch.cat([p.grad.flatten() for p in state["model"].parameters()])
        moments = 0.8 * torch.cat(state["optimizer"].shards) + flat
        state["optimizer"].shards = list(moments.chunk(self.shards))
        with torch.no_grad():
            at = 0
            for p in state["model"].parameters():
                p -= 0.02 * moments[at : at + p.numel()].view_as(p)
                at += p.numel()
        state["model"].zero_grad()
        state["step"] += 1
        return ids

    def pack(self, state):
        held = {name: state[name] for name in ("step", "epoch", "cursor")} | {"model": state["model"].state_dict()}
        return held | {"moments": torch.cat(state["optimizer"].shards), "shards": self.shards}

    def unpack(self, state, held):
        state.update({name: held[name] for name in ("step", "epoch", "cursor")})
        state["model"].load_state_dict(held["model"])
        if held["shards"] == self.shards or not self.fault:
            state["optimizer"].shards = list(held["moments"].chunk(self.shards))


class Scheduled(Trainer):
    """A learning rate that falls; the schedule begins anew."""

    def build(self):
        state = super().build()
        state["scheduler"] = torch.optim.lr_scheduler.StepLR(state["optimizer"], 2, 0.5)
        return state

    def step(self, state):
        ids = super().step(state)
        state["scheduler"].step()
        return ids

    def pack(self, state):
        return super().pack(state) | {"scheduler": state["scheduler"].state_dict()}

    def unpack(self, state, held):
        super().unpack(state, held)
        if self.fault:
            for group in state["optimizer"].param_groups:
                group["lr"] = group["initial_lr"]
        else:
            state["scheduler"].load_state_dict(held["scheduler"])


class Scaled(Trainer):
    """A loss scaler that grows after 4 good steps; its scale is saved, its count of good steps isn't."""

    def build(self):
        return super().build() | {"scaler": torch.amp.GradScaler("cpu", init_scale=8.0, growth_interval=4)}

    def step(self, state):
        ids = self.batch(state)
        state["optimizer"].zero_grad()
        state["scaler"].scale(loss(state["model"], ids)).backward()
        state["scaler"].step(state["optimizer"])
        state["scaler"].update()
        state["step"] += 1
        return ids

    def pack(self, state):
        return super().pack(state) | {"scaler": state["scaler"].state_dict()}

    def unpack(self, state, held):
        super().unpack(state, held)
        state["scaler"].load_state_dict(held["scaler"] | ({"_growth_tracker": 0} if self.fault else {}))


class Average:
    """A moving average of the weights that follows fast at first: its decay depends on how often it was updated."""

    def __init__(self, model):
        self.model, self.updates = copy.deepcopy(model), 0

    @torch.no_grad()
    def update(self, model):
        self.updates += 1
        decay = 0.99 * (1 - math.exp(-self.updates / 10))
        for mine, new in zip(self.model.parameters(), model.parameters(), strict=True):
            mine.lerp_(new, 1 - decay)


class Averaged(Trainer):
    def build(self):
        state = super().build()
        return state | {"ema": Average(state["model"])}

    def step(self, state):
        ids = super().step(state)
        state["ema"].update(state["model"])
        return ids

    def pack(self, state):
        held = {"ema": state["ema"].model.state_dict()}
        return super().pack(state) | held | ({} if self.fault else {"updates": state["ema"].updates})

    def unpack(self, state, held):
        super().unpack(state, held)
        state["ema"].model.load_state_dict(held["ema"])
        state["ema"].updates = held.get("updates", 0)


class Accumulated(Trainer):
    """A step is one micro-batch of three, and a checkpoint may fall between them."""

    def step(self, state):
        ids = self.batch(state)
        if state["step"] % 3 == 0:
            state["optimizer"].zero_grad()
        (loss(state["model"], ids) / 3).backward()
        if state["step"] % 3 == 2:
            state["optimizer"].step()
        state["step"] += 1
        return ids

    def pack(self, state):
        pending = [] if self.fault else [p.grad.clone() for p in state["model"].parameters() if p.grad is not None]
        return super().pack(state) | {"gradients": pending}

    def unpack(self, state, held):
        super().unpack(state, held)
        for parameter, grad in zip(state["model"].parameters(), held["gradients"], strict=False):
            parameter.grad = grad.clone()


assert BATCH * PER_EPOCH == 8  # the figures above are written for it

CASES = [
    Case("KempnerForge#115", "moments are copied into tensors that a new optimizer lacks", "optimizer", LazyState),
    Case("flashoptim#3", "8-bit moments come back as float32", "optimizer", RoundTrip),
    Case("DeepSpeed#7786", "optimizer states are left out unless a flag asks for them", "optimizer", BehindAFlag),
    Case("Fast-LLM#436", "back on 4 shards instead of 2, moments start at zero", "optimizer", OtherShards),
    Case("ColossalAI#5151", "the learning rate is the first one again", "schedule", Scheduled),
    Case("metaseq#3", "the loss scaler's count of good steps isn't saved", "scaler", Scaled),
    Case("lightly-train#892", "the moving average's counter starts at 0", "ema", Averaged),
    Case("transformers#22143", "a checkpoint between micro-batches loses their gradients", "gradients", Accumulated),
]  # fmt: skip
