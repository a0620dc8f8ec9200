"""Reports in which samples are lost or come twice."""

from __future__ import annotations

import torch.distributed as dist
from resume_case import BATCH, PER_EPOCH, SAMPLES, Case, Trainer, loss, write


class EndOfEpoch(Trainer):
    """The epoch is counted with its last batch, the cursor goes back to 0 when the next walk begins.

    A checkpoint between the two names the next epoch, and a cursor at its end: resumed, the walk is empty, and the loop
    takes it for an epoch.
    """

    def start(self, folder):
        state = super().start(folder)
        state["_walk"] = self.walk(state, state["cursor"])
        return state

    def walk(self, state, first):
        order = self.order(state)
        for at in range(first, PER_EPOCH):
            state["cursor"] = at + 1
            yield order[at * BATCH : (at + 1) * BATCH]

    def batch(self, state):
        while (ids := next(state["_walk"], None)) is None:
            state["epoch"] += 1
            state["_walk"] = self.walk(state, 0)
        if state["cursor"] == PER_EPOCH:
            state["epoch"] += 1
            state["_walk"] = self.walk(state, 0)
            if not self.fault:
                state["cursor"] = 0
        return ids


class Streamed(Trainer):
    """A stream read through an iterator; the state knows the epoch, the checkpoint also how far it is."""

    def build(self):
        state = super().build()
        del state["cursor"]
        return state | {"_done": 0}

    def start(self, folder):
        state = super().start(folder)
        state["_stream"] = self.stream(state)
        return state

    def pack(self, state):
        held = {"step": state["step"], "epoch": state["epoch"], "done": state["_done"]}
        return held | {"model": state["model"].state_dict(), "optimizer": state["optimizer"].state_dict()}

    def unpack(self, state, held):
        state.update(step=held["step"], epoch=held["epoch"], _done=held["done"])
        state["model"].load_state_dict(held["model"])
        state["optimizer"].load_state_dict(held["optimizer"])

    def stream(self, state):
        first = state["_done"]
        left = PER_EPOCH - first
        whole = left if self.fault and 0 < left < PER_EPOCH else PER_EPOCH  # what was left, kept for later epochs
        while True:
            order = self.order(state)
            for at in range(left):
                start = (first + at) * BATCH
                state["_done"] = first + at + 1
                yield order[start : start + BATCH]
            first, left = 0, whole
            state["epoch"] += 1
            state["_done"] = 0

    def batch(self, state):
        return next(state["_stream"])


class OneAhead(Streamed):
    """The loader fetches a batch before it hands out the one before, and tells what it fetched as its position."""

    def stream(self, state):
        state["_fetched"] = state["_done"]
        waiting = self.fetch(state)
        while True:
            ids, waiting = waiting, self.fetch(state)
            state["_done"] += 1
            yield ids

    def fetch(self, state):
        start = state["_fetched"] * BATCH % SAMPLES
        state["_fetched"] += 1
        return list(range(start, start + BATCH))

    def pack(self, state):
        held = super().pack(state)
        return held | {"done": state["_fetched"]} if self.fault else held


class TailReplayed(Trainer):
    """Resumed in the middle of an epoch, every later epoch begins there too."""

    def start(self, folder):
        state = super().start(folder)
        state["_first"] = state["cursor"] % PER_EPOCH if self.fault else 0
        return state

    def batch(self, state):
        if state["cursor"] == PER_EPOCH:
            state["epoch"], state["cursor"] = state["epoch"] + 1, state["_first"]
        start = state["cursor"] * BATCH
        state["cursor"] += 1
        return self.order(state)[start : start + BATCH]


class OneFile(Trainer):
    """Ranks read at different speeds, each has its own cursor, and all write it to one file."""

    def start(self, folder):
        self.rank = dist.get_rank()
        return super().start(folder)

    def batch(self, state):
        at = state["cursor"]
        state["cursor"] += 1 + self.rank
        return [at % SAMPLES, (at + 1 + self.rank) % SAMPLES]

    def step(self, state):
        ids = self.batch(state)
        state["optimizer"].zero_grad()
        loss(state["model"], ids).backward()
        for parameter in state["model"].parameters():
            dist.all_reduce(parameter.grad)
        state["optimizer"].step()
        state["step"] += 1
        return ids

    def name(self):
        return "checkpoint.pt" if self.fault else f"checkpoint-{self.rank}.pt"

    def save(self, state, folder):
        for turn in range(dist.get_world_size()):  # one after the other: the last one stays
            if turn == self.rank:
                write(self.pack(state), folder / self.name())
            dist.barrier()


class FastForward(Trainer):
    """Two micro-batches an update. A resume skips as many batches as there were updates."""

    def build(self):
        return super().build() | {"cursor": 0}

    def batch(self, state):
        start = state["cursor"] * BATCH % SAMPLES
        state["cursor"] += 1
        return list(range(start, start + BATCH))

    def step(self, state):
        state["optimizer"].zero_grad()
        ids = []
        for _ in range(2):
            some = self.batch(state)
            ids += some
            (loss(state["model"], some) / 2).backward()
        state["optimizer"].step()
        state["step"] += 1
        return ids

    def unpack(self, state, held):
        super().unpack(state, held)
        state["cursor"] = state["step"] * (1 if self.fault else 2)


CASES = [
    Case("data#1437", "saved at an epoch's end, the next epoch is lost", "cursor", EndOfEpoch),
    Case("datasets#7447", "later epochs are as short as the resumed one", "epoch length", Streamed, {"steps": 10}),
    Case("accelerate#3938", "a prefetched batch counts as used", "sample ids", OneAhead),
    Case("Megatron-Bridge#4565", "every later epoch begins where the resumed one did", "cursor", TailReplayed),
    Case("Megatron-LM#7413", "all ranks write their cursor to one file", "cursor", OneFile, {"ranks": 4, "steps": 3}),
    Case("gpt-neox#308", "a resume skips updates instead of micro-batches", "cursor", FastForward),
]  # fmt: skip
