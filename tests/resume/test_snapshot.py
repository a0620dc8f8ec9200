"""Everything that is captured comes back to the last bit, and nothing in a snapshot is alive."""

from __future__ import annotations

import copy
import io
import random

import numpy as np
import pytest
import torch
from torch import nn

from labkit import ranks
from labkit.errors import UsageError
from labkit.resume import CommittedLoader, capture, coverage, restore
from labkit.resume.auditing_leaves import flatten


class Average:
    def __init__(self, model):
        self.model, self.updates = copy.deepcopy(model), 0

    def update(self, model):
        self.updates += 1
        with torch.no_grad():
            for mine, new in zip(self.model.parameters(), model.parameters(), strict=True):
                mine.lerp_(new, 1 / self.updates)

    def state_dict(self):
        return {"model": self.model.state_dict(), "updates": self.updates}

    def load_state_dict(self, state):
        self.model.load_state_dict(state["model"])
        self.updates = state["updates"]


def build():
    torch.manual_seed(0)
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002
    model = nn.Sequential(nn.Linear(2, 5), nn.BatchNorm1d(5), nn.Dropout(0.3), nn.Linear(5, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.02)
    return {
        "model": model,
        "optimizer": optimizer,
        "scheduler": torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 9),
        "scaler": torch.amp.GradScaler("cpu", init_scale=4.0, growth_interval=3),
        "ema": Average(model),
        "loader": CommittedLoader(list(range(24)), 4, seed=2),
        "noise": torch.Generator().manual_seed(4),
        "draws": np.random.default_rng(5),
        "coins": random.Random(6),
    }


def micro(parts, ids):
    x = ids.double()[:, None].float() / 24 + torch.rand(1, 2, generator=parts["noise"])
    x = x + float(parts["draws"].random()) + parts["coins"].random() + random.random() + np.random.random()  # noqa: NPY002
    loss = parts["model"](x).pow(2).mean() / 2
    parts["scaler"].scale(loss).backward()
    return loss.item()


def update(parts):
    parts["scaler"].step(parts["optimizer"])
    parts["scaler"].update()
    parts["optimizer"].zero_grad()
    parts["scheduler"].step()
    parts["ema"].update(parts["model"])
    parts["loader"].commit()


def run(parts, updates, losses, done=0):
    """`updates` updates of two micro-batches; `done` micro-batches of the first are behind us."""
    waiting = done
    while True:
        for ids in parts["loader"]:
            losses.append(micro(parts, ids))
            waiting += 1
            if waiting == 2:
                update(parts)
                waiting, updates = 0, updates - 1
                if not updates:
                    return


def through_a_file(snapshot):
    file = io.BytesIO()
    torch.save(snapshot, file)
    file.seek(0)
    return torch.load(file, weights_only=True)


@pytest.mark.parametrize("at", [1, 2, 3, 5])
def test_a_restored_run_is_the_same_to_the_last_bit(at):
    straight, parts = [], build()
    run(parts, at, straight)
    snapshot = capture({**parts, "epoch": 7, "history": [1, 2.5, "x"]}, step=at, identity={"data": "v1", "lr": 0.02})
    run(parts, 4, straight)
    left, again = flatten(parts), build()
    values = restore(through_a_file(snapshot), again, identity={"data": "v1", "lr": 0.02})
    assert values == {"step": at, "epoch": 7, "history": [1, 2.5, "x"]}
    resumed = []
    run(again, 4, resumed)
    assert resumed == straight[2 * at :]
    right = flatten(again)
    assert {k: v.digest for k, v in right.items()} == {k: v.digest for k, v in left.items()}


def test_nothing_in_a_snapshot_is_alive():
    parts = build()
    run(parts, 2, [])
    snapshot = capture(parts, step=2)
    before = copy.deepcopy(snapshot)
    run(parts, 3, [])
    _same(snapshot, before)


def _same(a, b):
    if isinstance(a, torch.Tensor):
        assert torch.equal(a, b)
    elif isinstance(a, dict):
        assert a.keys() == b.keys()
        for key in a:
            _same(a[key], b[key])
    elif isinstance(a, list | tuple):
        for x, y in zip(a, b, strict=True):
            _same(x, y)
    else:
        assert a == b


def test_partial_gradients_come_back_with_their_count():
    parts, losses = build(), []
    ids = torch.tensor([1, 2, 3])
    losses.append(micro(parts, ids))
    snapshot = capture(parts, step=0, pending={"done": 1, "denominator": 2})
    losses.append(micro(parts, ids))
    update(parts)
    again = build()
    values = restore(through_a_file(snapshot), again)
    assert values["pending"] == {"done": 1, "denominator": 2}
    assert micro(again, ids) == losses[1]
    update(again)
    for mine, theirs in zip(again["model"].parameters(), parts["model"].parameters(), strict=True):
        assert torch.equal(mine, theirs)


def test_without_pending_gradients_are_left_out_and_the_update_is_another():
    parts = build()
    micro(parts, torch.tensor([1, 2, 3]))
    again = build()
    restore(capture(parts, step=0), again)
    assert all(p.grad is None for p in again["model"].parameters())


def test_what_cant_be_right_is_refused():
    parts = build()
    snapshot = capture(parts, step=1, identity={"data": "v1"})
    with pytest.raises(UsageError, match="data is 'v2', but the snapshot was taken with 'v1'"):
        restore(snapshot, build(), identity={"data": "v2"})
    fewer = build()
    del fewer["scaler"]
    with pytest.raises(UsageError, match="the snapshot holds 'scaler'"):
        restore(snapshot, fewer)
    with pytest.raises(UsageError, match="the snapshot has no 'second'"):
        restore(snapshot, {**build(), "second": nn.Linear(1, 1)})
    with pytest.raises(UsageError, match="format 9"):
        restore({**snapshot, "format": 9}, build())
    with pytest.raises(UsageError, match="helper is a object without state_dict"):
        capture({"helper": object()}, step=1)
    with pytest.raises(UsageError, match=r"config: a set|config: a Linear"):
        capture({"config": {"layer": nn.Linear(1, 1)}}, step=1)


def _on_rank(rank):
    torch.manual_seed(100 + rank)
    torch.rand(rank + 1)
    model = nn.Linear(1, 1)
    snapshot = capture({"model": model, "mine": rank}, step=3)
    expected = torch.rand(3)
    torch.manual_seed(0)
    values = restore(snapshot, {"model": model})
    return torch.equal(torch.rand(3), expected), values["mine"], len(snapshot["ranks"]), snapshot


def test_every_ranks_generator_comes_back():
    found = ranks.run(_on_rank, ranks=2)
    assert [one[:3] for one in found] == [(True, 0, 2), (True, 1, 2)]
    with pytest.raises(UsageError, match="of 2 ranks, this run has 1"):
        restore(found[0][3], {"model": nn.Linear(1, 1)})
    assert restore(found[0][3], {"model": nn.Linear(1, 1)}, other_ranks=True)["step"] == 3


def test_coverage_names_what_is_missing():
    parts = build()
    run(parts, 2, [])
    whole = capture(parts, step=2)
    assert coverage(parts, whole).complete, coverage(parts, whole).text()
    for name, component in [
        ("optimizer", "optimizer"), ("scheduler", "schedule"), ("scaler", "scaler"), ("ema", "ema"), ("model", "model"),
    ]:  # fmt: skip
        less = copy.deepcopy(whole)
        del less["shared" if name in less["shared"] else "ranks"][name if name in less["shared"] else 0]
        assert component in {one.component for one in coverage(parts, less).missing}, name


def test_coverage_reads_any_layout():
    parts = build()
    run(parts, 2, [])
    plain = {"weights": parts["model"].state_dict(), "opt": parts["optimizer"].state_dict(), "epoch": 0}
    found = coverage({"model": parts["model"], "optimizer": parts["optimizer"]}, plain)
    assert [one.component for one in found.missing] == ["rng"]
    assert {"model", "optimizer"} <= set(found.held)
    with_rng = plain | {"torch": torch.get_rng_state(), "py": random.getstate()}
    with_rng["np"] = np.random.get_state()[1]  # noqa: NPY002
    assert coverage({"model": parts["model"], "optimizer": parts["optimizer"]}, with_rng).complete
