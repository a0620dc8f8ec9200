"""What a state may hold: what goes in comes out, and what can't be stored is said in one line."""

from __future__ import annotations

import math
import subprocess
import sys
from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.errors import UsageError
from labkit.resume.store import Store
from labkit.resume.store_encoding import _BACK, decode, files, flatten


def round_trip(state):
    made = {name: b"".join(bytes(part) for part in parts) for name, parts in files(*flatten(state))}
    return decode(made.__getitem__)


leaves = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=6), st.binary(max_size=6)
)
trees = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(st.one_of(st.text(max_size=3), st.integers(), st.just("$")), inner, max_size=3),
    ),
    max_leaves=12,
)


@settings(max_examples=150)
@given(trees)
def test_plain_trees_come_back(state):
    back = round_trip(state)
    assert repr(back) == repr(state)


def test_floats_that_json_has_no_name_for():
    back = round_trip([math.nan, math.inf, -math.inf, -0.0])
    assert repr(back) == "[nan, inf, -inf, -0.0]"


@pytest.mark.parametrize("name", sorted(_BACK.values()))
@pytest.mark.parametrize("shape", [(), (0, 3), (2, 3)])
def test_every_dtype_of_torch(name, shape):
    dtype = getattr(torch, name)
    tensor = torch.arange(24, dtype=torch.uint8).repeat(16)[: max(1, math.prod(shape)) * dtype.itemsize]
    tensor = (tensor % 2 if dtype == torch.bool else tensor).view(dtype)[: math.prod(shape)].reshape(shape)
    back = round_trip({"t": tensor})["t"]
    assert back.dtype == dtype
    assert back.shape == tensor.shape
    raw = [t.reshape(-1).view(torch.uint8).tolist() for t in (back, tensor)]
    assert raw[0] == raw[1]


def test_arrays_and_their_scalars():
    state = {
        "a": np.arange(6).reshape(2, 3).T,
        "e": np.zeros((0, 2)),
        "s": np.float32(1.5),
        "rng": np.random.MT19937(3),
    }
    state["rng"] = state["rng"].state
    back = round_trip(state)
    assert (back["a"] == state["a"]).all()
    assert back["e"].shape == (0, 2)
    assert type(back["s"]) is np.float32
    assert (back["rng"]["state"]["key"] == state["rng"]["state"]["key"]).all()
    back["a"][0, 0] = 9  # writable


def test_other_peoples_reader_and_writer():
    """The file is what safetensors itself reads, and it reads what safetensors writes."""
    from safetensors.torch import load, save

    tensors = {"0": torch.randn(3, 5), "1": torch.randn(7).to(torch.bfloat16)}
    made = dict(files(*flatten(list(tensors.values()))))
    theirs = load(b"".join(bytes(part) for part in made["tensors-00000.safetensors"]))
    assert all(torch.equal(theirs[name], tensors[name]) for name in tensors)
    back = decode({"state.json": bytes(made["state.json"][0]), "tensors-00000.safetensors": save(tensors)}.__getitem__)
    assert all(torch.equal(one, other) for one, other in zip(back, tensors.values(), strict=True))


def test_one_tensor_with_two_names_stays_one():
    weight = torch.nn.Parameter(torch.randn(4, 4))
    back = round_trip({"a": weight, "b": weight, "view": weight[:2], "t": weight.t()})
    assert back["a"] is back["b"]
    assert not back["a"].requires_grad
    assert torch.equal(back["view"], weight[:2])
    assert torch.equal(back["t"], weight.t())


def test_many_files_under_one_manifest(tmp_path, monkeypatch):
    monkeypatch.setattr("labkit.resume.store_encoding.SHARD", 1000)
    state = {str(i): torch.full((100 + i,), float(i)) for i in range(8)}
    saved = Store(tmp_path / "s").save(state, 1)
    assert saved.files == 5  # a tensor has 400 bytes and more, so two fit into a file; and the tree
    back = Store(tmp_path / "s").load().state
    assert all(torch.equal(back[name], state[name]) for name in state)


def test_a_real_trainers_state(tmp_path):
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Linear(8, 1))
    optimizer = torch.optim.Adam(model.parameters())
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)
    for _ in range(3):
        optimizer.zero_grad()
        model(torch.randn(5, 4)).sum().backward()
        optimizer.step()
        schedule.step()
    state = {
        "model": model.state_dict(), "optimizer": optimizer.state_dict(), "schedule": schedule.state_dict(),
        "torch": torch.get_rng_state(), "numpy": np.random.get_state(),  # noqa: NPY002
    }  # fmt: skip
    Store(tmp_path / "s").save(state, 3)
    found = Store(tmp_path / "s").load()
    other = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Linear(8, 1))
    again = torch.optim.Adam(other.parameters())
    other.load_state_dict(found.state["model"])
    again.load_state_dict(found.state["optimizer"])
    torch.set_rng_state(found.state["torch"])
    np.random.set_state(found.state["numpy"])  # noqa: NPY002
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), other.parameters(), strict=True))
    assert str(again.state_dict()) == str(optimizer.state_dict())


class Thing:
    pass


@pytest.mark.parametrize(
    ("state", "says"),
    [
        ({"a": [1, Thing()]}, "state['a'][1] is a Thing"),
        ({"a": {1, 2}}, "state['a'] is a set"),
        ({"a": torch.zeros(2, dtype=torch.complex128)}, "state['a'] has dtype complex128"),
        ({"a": torch.zeros(2).to_sparse()}, "state['a'] is a Tensor"),
        ({"a": np.array(["x"])}, "state['a'] has dtype <U1"),
        ({"a": np.array([object()])}, "state['a'] has dtype object"),
        ({Thing(): 1}, "a key of state is a Thing"),
    ],
)
@pytest.mark.parametrize("how", ["save", "async_save"])
def test_what_cant_be_stored_is_said_at_once(state, says, how, tmp_path):
    with pytest.raises(UsageError) as seen:
        getattr(Store(tmp_path / "s"), how)(state, 1)
    assert says in str(seen.value)
    assert "\n" not in str(seen.value)
    assert not (tmp_path / "s").exists()


def test_a_state_that_holds_itself():
    state = {}
    state["me"] = state
    with pytest.raises(UsageError, match="holds itself"):
        flatten(state)


def test_subclasses_of_containers_come_back_plain():
    assert round_trip(OrderedDict(a=torch.Size([1, 2]))) == {"a": (1, 2)}


def test_saving_plain_values_needs_no_torch(tmp_path):
    code = (
        f"import sys\nfrom labkit.resume import Store\ns = Store({str(tmp_path / 's')!r})\ns.save({{'x': 1}}, 1)\n"
        "s.async_save([2], 2).result()\ns.load()\nsys.exit('torch' in sys.modules or 'numpy' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert Path(tmp_path / "s" / "manifests").is_dir()
