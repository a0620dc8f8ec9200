"""What the auditor is made of: components by name and type, closeness, damage, what can't be seen."""

from __future__ import annotations

import random
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

from labkit.resume.auditing_compare import close
from labkit.resume.auditing_leaves import Leaf, flatten, named, unseen
from labkit.resume.kill import flip_a_byte

pytestmark = pytest.mark.slow  # real processes all through


@pytest.mark.parametrize(
    ("path", "component"),
    [
        ("model/weight", "model"), ("ema/model/weight", "ema"), ("lr_scheduler/last_epoch", "schedule"),
        ("scaler/scale", "scaler"), ("loader/epoch", "epoch"), ("loader/cursor", "cursor"), ("ids", "sample ids"),
        ("sampler/iteration", "order"), ("rng/torch", "rng"), ("epoch_length", "epoch length"),
        ("grads/0", "gradients"), ("other", None),
    ],
)  # fmt: skip
def test_names(path, component):
    assert named(path) == component


def test_types_decide_before_names():
    model = nn.Linear(2, 1)
    state = {
        "a": model,
        "b": torch.optim.Adam(model.parameters()),
        "c": torch.amp.GradScaler("cpu"),
        "d": torch.Generator(),
        "e": random.Random(1),
        "f": np.random.default_rng(1),
        "step": 3,
    }
    state["g"] = torch.optim.lr_scheduler.StepLR(state["b"], 2)
    found = flatten(state)
    kinds = {path.split("/")[0]: leaf.component for path, leaf in found.items() if not path.endswith("lr")}
    assert kinds == {
        "a": "model", "b": "optimizer", "c": "scaler", "d": "rng", "e": "rng", "f": "rng", "g": "schedule",
        "step": "step", "rng": "rng",
    }  # fmt: skip
    assert found["b/group0/lr"].component == "schedule"


def test_digests_are_of_content_not_of_place():
    x = torch.arange(12.0).reshape(3, 4)
    a, b = flatten({"x": x.T}), flatten({"x": x.T.contiguous()})
    assert a["x"].digest == b["x"].digest != flatten({"x": x})["x"].digest
    half = flatten({"x": torch.ones(9, dtype=torch.bfloat16)})["x"]
    assert half.digest != flatten({"x": torch.ones(9, dtype=torch.float16)})["x"].digest
    assert half.sketch == pytest.approx(flatten({"x": torch.ones(9)})["x"].sketch)
    loop = {"step": 1}
    loop["self"] = loop
    assert "step" in flatten(loop)


def test_gradients_count_only_while_they_wait():
    model = nn.Linear(2, 1)
    model(torch.ones(1, 2)).sum().backward()
    assert flatten({"model": model})["model/weight.grad"].component == "gradients"
    assert "model/weight.grad" not in flatten({"model": model}, pending=frozenset())
    model.zero_grad(set_to_none=False)
    assert "model/weight.grad" not in flatten({"model": model})


def leaf(component, value):
    return Leaf(component, str(value), str(value), (abs(value), value))


def test_close_is_for_numbers_and_never_for_samples():
    same = close(1e-5)
    assert same(leaf("model", 1.0), leaf("model", 1.0 + 1e-6))
    assert not same(leaf("model", 1.0), leaf("model", 1.001))
    assert not same(leaf("cursor", 1e6), leaf("cursor", 1e6 + 1))
    assert not same(Leaf("rng", "a", "a"), Leaf("rng", "b", "b"))


def test_what_cant_be_seen_is_said():
    state = SimpleNamespace(step=0, model=nn.Linear(1, 1), walk=iter([1]), handle=open, empty=[])
    assert unseen(state) == ["walk (list_iterator)"]


def test_one_byte_is_flipped(tmp_path):
    (tmp_path / "small").write_bytes(b"abc")
    (tmp_path / "large").write_bytes(bytes(100))
    assert flip_a_byte(tmp_path, part=0.25) == "byte 25 of large"
    assert [i for i, b in enumerate((tmp_path / "large").read_bytes()) if b] == [25]
    assert (tmp_path / "small").read_bytes() == b"abc"
