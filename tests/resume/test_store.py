"""The store: what goes in comes out; what is wrong is said in one line; nothing that was saved is lost."""

from __future__ import annotations

import io
import json
import math
import os
import pickle
import subprocess
import sys
import threading
from collections import OrderedDict
from pathlib import Path

import fsspec
import numpy as np
import pytest
import torch
from fsspec.implementations.memory import MemoryFileSystem
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.errors import UsageError
from labkit.resume.checkpoint_error import CheckpointError
from labkit.resume.store import Store
from labkit.resume.store_backend import LocalBackend
from labkit.resume.store_encoding import _BACK, decode, files, flatten
from labkit.resume.store_files import Files
from labkit.resume.store_manifest import Manifest, decode_manifest
from labkit.resume.store_objects import ObjectBackend


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


@settings(deadline=None, max_examples=150)
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


def test_newest_by_order_of_saving_not_by_step(tmp_path):
    store = Store(tmp_path / "s")
    store.save({"x": 1}, 100)
    store.save({"x": 2}, 50)  # the run went back and goes on from there
    assert Store(tmp_path / "s").load().step == 50


def test_nothing_saved_is_no_error(tmp_path):
    assert Store(tmp_path / "none").load() is None
    assert Store(tmp_path / "none").verify().ok
    assert not (tmp_path / "none").exists()


def damage(place, sequence):
    attempt = json.loads((place / "manifests" / f"{sequence:08d}.json").read_bytes())["manifest"]["attempt"]
    path = place / "data" / attempt / "state.json"
    path.write_bytes(path.read_bytes()[:-1] + b" ")


def test_falls_back_and_says_why(tmp_path):
    place = tmp_path / "s"
    store = Store(place)
    for step in (10, 20, 30):
        store.save({"step": step}, step)
    damage(place, 3)
    next((place / "data").glob("step-20-*/state.json")).unlink()
    found = Store(place).load()
    assert (found.step, found.state) == (10, {"step": 10})
    assert [str(one) for one in found.passed_over] == [
        "save 3 (step 30): state.json is damaged: it doesn't match its checksum",
        "save 2 (step 20): state.json is missing",
    ]
    report = Store(place).verify()
    assert not report.ok
    assert [bool(entry.fault) for entry in report.entries] == [True, True, False]
    assert "load takes save 1" in report.text()
    assert list(report.frame()["step"]) == [30, 20, 10]


def test_retention_keeps_the_last_verified_one(tmp_path):
    place = tmp_path / "s"
    store = Store(place, keep=2)
    for step in (1, 2):
        store.save({"step": step}, step)
    damage(place, 2)
    fresh = Store(place, keep=2)
    fresh.save({"step": 3}, 3)
    held = {entry.sequence: not entry.fault for entry in fresh.verify().entries}
    assert held == {3: True, 2: False, 1: True}  # the damaged one doesn't count as kept
    fresh.save({"step": 4}, 4)
    assert {entry.sequence for entry in fresh.verify().entries} == {4, 3}
    assert len(list((place / "data").iterdir())) == 2


def test_retention_with_everything_older_damaged_and_the_save_failing(tmp_path, monkeypatch):
    place = tmp_path / "s"
    store = Store(place, keep=1)
    store.save({"step": 1}, 1)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Files, "fsync", full)
    for _ in range(3):
        with pytest.raises(CheckpointError, match=r"step 2 can't be saved to .*: no space left on device; the 1 check"):
            store.save({"step": 2}, 2)
    monkeypatch.undo()
    assert Store(place).load().step == 1
    assert Store(place).verify().unfinished == 0  # what the failed saves left is gone: the disk is full, after all


@pytest.mark.parametrize("call", ["mkdir", "write", "fsync", "fsync_dir", "link"])
@pytest.mark.parametrize("number", [28, 5, 30])
def test_every_call_may_fail_at_any_time(call, number, tmp_path, monkeypatch):
    """Disk full, input/output error, read-only: at the n-th call of each kind, for each n."""
    place = tmp_path / "s"
    Store(place).save({"step": 1}, 1)
    real = getattr(Files, call)
    for n in range(6):
        left = [n]

        def failing(self, *arguments, left=left):
            left[0] -= 1
            if left[0] == -1:
                raise OSError(number, os.strerror(number))
            return real(self, *arguments)

        with monkeypatch.context() as patch:
            patch.setattr(Files, call, failing)
            try:
                step = Store(place, keep=2).save({"step": 2 + n}, 2 + n).step
            except CheckpointError as error:
                step = None
                assert os.strerror(number).lower() in str(error) and "\n" not in str(error)  # noqa: PT017, PT018
        found = Store(place).load()
        assert found.state == {"step": found.step}
        assert step is None or found.step == step


def test_a_write_that_reads_back_wrong_is_written_again(tmp_path, monkeypatch):
    place = tmp_path / "s"
    real = Files.write
    spoil = [1]

    def spoiling(self, path, parts):
        if spoil and spoil.pop():
            parts = [b"#" + bytes(parts[0])[1:], *parts[1:]]
        return real(self, path, parts)

    monkeypatch.setattr(Files, "write", spoiling)
    Store(place).save({"step": 1}, 1)
    assert Store(place).load().step == 1
    assert Store(place).verify().unfinished == 0
    spoil[:] = [1, 1]
    with pytest.raises(CheckpointError, match=r"state.json reads back differently"):
        Store(place).save({"step": 2}, 2)
    assert Store(place).load().step == 1


def test_a_full_disk_for_real(tmp_path):
    """A limit on the size of files, in a process of its own; the write fails half-way and what it left is removed."""
    place = tmp_path / "s"
    Store(place).save({"step": 1}, 1)
    code = (
        "import resource, signal, sys\nfrom labkit.resume import Store\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))\n"
        f"Store({str(place)!r}).save({{'x': list(range(5000))}}, 2)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "CheckpointError: step 2 can't be saved" in run.stderr
    assert "file too large; the 1 checkpoints there are as they were" in run.stderr
    assert Store(place).load().step == 1
    assert Store(place).verify().unfinished == 0


def test_a_read_only_directory(tmp_path):
    place = tmp_path / "s"
    Store(place).save({"step": 1}, 1)
    for path in [*place.rglob("*"), place, tmp_path]:
        if path.is_dir():
            path.chmod(0o555)
    child = os.fork()
    if child == 0:
        code = 3
        try:
            if os.geteuid() == 0:
                os.seteuid(65534)  # root may write anywhere
            if not os.access(place, os.R_OK, effective_ids=True):
                code = 0  # a directory above is closed to this user
            elif Store(place).load().step == 1:  # reading works
                Store(place).save({"step": 2}, 2)
        except CheckpointError as error:
            code = 0 if "permission denied; the 1 checkpoints there are as they were" in str(error) else 2
        finally:
            os._exit(code)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    for path in [tmp_path, place, *place.rglob("*")]:
        path.chmod(0o755)
    assert status == 0
    assert Store(place).load().step == 1


def test_symbolic_links_are_not_followed(tmp_path):
    place, outside = tmp_path / "s", tmp_path / "outside"
    Store(place).save({"step": 1}, 1)
    data = next((place / "data").iterdir())
    outside.write_bytes((data / "state.json").read_bytes())
    (data / "state.json").unlink()
    (data / "state.json").symlink_to(outside)
    with pytest.raises(
        CheckpointError, match=r"none verifies: save 1 \(step 1\): there is a symbolic link at .*state.json"
    ):
        Store(place).load()
    assert "symbolic link" in Store(place).verify().text()
    other = tmp_path / "t"
    other.mkdir()
    (tmp_path / "elsewhere").mkdir()
    (other / "data").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(CheckpointError, match=r"there is a symbolic link at .*t/data, and a store holds none"):
        Store(other).save({"step": 1}, 1)
    assert not list((tmp_path / "elsewhere").iterdir())


def test_a_place_that_cant_be_a_store(tmp_path):
    (tmp_path / "f").write_text("x")
    with pytest.raises(UsageError, match="is a file: a store is a directory"):
        Store(tmp_path / "f")
    (tmp_path / "l").symlink_to(tmp_path / "nothing")
    with pytest.raises(UsageError, match="symbolic link to nothing"):
        Store(tmp_path / "l")
    with pytest.raises(UsageError, match="keep is 0"):
        Store(tmp_path / "s", keep=0)
    with pytest.raises(UsageError, match=r"step is 1\.5"):
        Store(tmp_path / "s").save({}, 1.5)


def test_a_newer_version_is_refused_not_passed_over(tmp_path):
    place = tmp_path / "s"
    store = Store(place, keep=1)
    store.save({"step": 1}, 1)
    import hashlib

    def dump(value):
        return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()

    body = {**json.loads((place / "manifests" / "00000001.json").read_bytes())["manifest"], "format": 2, "sequence": 2}
    newer = dump({"manifest": body, "sha256": hashlib.sha256(dump(body)).hexdigest()})
    (place / "manifests" / "00000002.json").write_bytes(newer)
    with pytest.raises(CheckpointError, match=r"00000002.json was written by a newer labkit \(format 2"):
        Store(place).load()
    assert "newer labkit" in Store(place).verify().text()
    saved = Store(place, keep=1).save({"step": 3}, 3)  # saving goes on, and removes nothing it can't judge
    assert "newer labkit" in saved.not_tidied
    assert (place / "manifests" / "00000002.json").read_bytes() == newer
    assert Store(place).load().step == 3


def test_a_manifest_at_another_place_is_not_taken():
    made = Manifest(3, 1, "a", ())
    assert decode_manifest(made.encode(), made.key) == made
    from labkit.resume.checkpoint_error import Unverified

    with pytest.raises(Unverified, match=r"belongs at manifests/00000003.json"):
        decode_manifest(made.encode(), "manifests/00000004.json")


class Poison:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (self.path,)


def test_loading_an_untrusted_checkpoint_runs_no_code(tmp_path):
    """A pickle in every file's place, with a manifest that vouches for it."""
    poison = pickle.dumps(Poison(str(tmp_path / "ran")))
    archive = io.BytesIO()
    torch.save({"w": Poison(str(tmp_path / "ran"))}, archive)
    for content in (poison, archive.getvalue()):
        for target in ("state.json", "tensors-00000.safetensors"):
            place = tmp_path / f"{target}-{len(content)}"
            backend = LocalBackend(place)
            tree = b'{"format":1,"leaves":["tensors-00000.safetensors"],"tree":{"$":"tensor","leaf":0}}'
            import hashlib

            from labkit.resume.store_manifest import Part

            parts = []
            with backend.saving():
                for name in ("state.json", "tensors-00000.safetensors"):
                    held = content if name == target else tree if name == "state.json" else b"\2\0\0\0\0\0\0\0{}"
                    backend.put(f"data/a/{name}", [held])
                    parts.append(Part(name, len(held), hashlib.sha256(held).hexdigest()))
                made = Manifest(1, 1, "a", tuple(parts))
                assert backend.publish(made.key, made.encode(), "data/a")
            with pytest.raises(CheckpointError, match="none verifies"):
                Store(place).load()
            assert not (tmp_path / "ran").exists()


def test_async_saves_what_was_there_at_the_call(tmp_path, monkeypatch):
    """Training goes on while the save is held up; what is saved is the state of the call."""
    go = threading.Event()
    real = Files.write
    monkeypatch.setattr(Files, "write", lambda self, *a: (go.wait(30), real(self, *a))[1])
    store = Store(tmp_path / "s")
    model = {"w": torch.zeros(1000), "a": np.zeros(10), "list": [1], "nested": {"k": torch.ones(2)}}
    pending = store.async_save(model, 1)
    model["w"] += 1
    model["a"] += 1
    model["list"].append(2)
    model["nested"]["k"] *= 5
    assert not pending.done
    go.set()
    assert pending.result().step == 1
    state = Store(tmp_path / "s").load().state
    assert state["w"].sum() == 0
    assert state["a"].sum() == 0
    assert state["list"] == [1]
    assert state["nested"]["k"].tolist() == [1, 1]


def test_async_saves_one_after_the_other_with_the_same_memory(tmp_path):
    store = Store(tmp_path / "s", keep=10)
    weight = torch.zeros(50_000)
    for step in range(1, 9):
        weight += 1
        store.async_save({"w": weight}, step)
    store.wait()
    for entry in store.verify().entries:
        assert not entry.fault
    assert (store.load().state["w"] == 8).all()
    assert len(store.verify().entries) == 8
    for path in (tmp_path / "s" / "data").iterdir():
        step = int(path.name.split("-")[1])
        raw = next(path.glob("*.safetensors")).read_bytes()
        assert (np.frombuffer(raw[-200_000:], np.float32) == step).all()


@pytest.mark.filterwarnings("ignore:in the background")
def test_a_failed_async_save_is_told(tmp_path, monkeypatch):
    store = Store(tmp_path / "s")
    store.save({"step": 1}, 1)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Files, "fsync", full)
    pending = store.async_save({"step": 2}, 2)
    with pytest.raises(CheckpointError, match="step 2 can't be saved"):
        pending.result()
    store.async_save({"step": 3}, 3).join()
    monkeypatch.undo()
    with pytest.raises(CheckpointError, match="step 3 can't be saved"):
        store.save({"step": 4}, 4)
    assert store.save({"step": 4}, 4).step == 4  # told once, then on
    monkeypatch.setattr(Files, "fsync", full)
    with pytest.warns(RuntimeWarning, match="in the background: step 5 can't be saved"):
        store.async_save({"step": 5}, 5).join()
    assert store.load().step == 4


def test_a_process_that_ends_finishes_its_save(tmp_path):
    code = f"from labkit.resume import Store\nStore({str(tmp_path / 's')!r}).async_save({{'x': list(range(9999))}}, 7)"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert Store(tmp_path / "s").load().step == 7


SAVER = """
import sys
from labkit.resume import Store
store = Store(sys.argv[1], keep=int(sys.argv[3]))
for n in range(12):
    saved = store.save({"who": sys.argv[2], "n": n}, n)
    print(saved.sequence, flush=True)
"""


def test_two_processes_saving_at_once(tmp_path):
    place = tmp_path / "s"
    runs = [
        subprocess.Popen([sys.executable, "-c", SAVER, str(place), who, "40"], stdout=subprocess.PIPE, text=True)
        for who in "ab"
    ]
    said = [int(line) for run in runs for line in run.communicate()[0].split()]
    assert [run.returncode for run in runs] == [0, 0]
    assert sorted(said) == list(range(1, 25))  # no two saves took the same place
    report = Store(place).verify()
    assert report.ok
    assert len(report.entries) == 24
    assert report.unfinished == 0


def test_two_processes_and_a_reader_with_little_kept(tmp_path):
    place = tmp_path / "s"
    runs = [subprocess.Popen([sys.executable, "-c", SAVER, str(place), who, "1"], stdout=-3) for who in "ab"]
    seen = 0
    while any(run.poll() is None for run in runs):
        found = Store(place).load()
        if found is not None:
            assert found.state["n"] == found.step
            seen += 1
    assert [run.wait() for run in runs] == [0, 0]
    assert seen
    Store(place, keep=1).save({"n": 0}, 0)
    report = Store(place).verify()
    assert (len(report.entries), report.unfinished, report.ok) == (1, 0, True)


class Bucket(MemoryFileSystem):
    """An object store with conditional PUT, as S3 has it: the check and the write are one."""

    cachable = False
    lock = threading.Lock()

    def __init__(self):
        super().__init__()
        self.store = {}
        self.pseudo_dirs = [""]

    def pipe_file(self, path, value, mode="overwrite", **kwargs):
        with self.lock:
            return super().pipe_file(path, value, mode=mode, **kwargs)


def test_an_object_store():
    bucket = Bucket()
    store = Store(ObjectBackend(bucket, "/bucket/run"), keep=2)
    for step in range(1, 6):
        store.save({"w": torch.full((3,), float(step))}, step)
    found = Store(ObjectBackend(bucket, "/bucket/run")).load()
    assert (found.step, found.state["w"].tolist()) == (5, [5, 5, 5])
    assert [entry.sequence for entry in store.verify().entries] == [5, 4]
    assert len([name for name in bucket.store if "/data/" in name]) == 4  # the files of two checkpoints, no more
    name = next(name for name in bucket.store if "step-5" in name and name.endswith("state.json"))
    bucket.pipe_file(name, b"{}")
    assert Store(ObjectBackend(bucket, "/bucket/run")).load().step == 4


def test_many_savers_on_one_object_store():
    bucket = Bucket()
    taken = []

    def saver(who):
        store = Store(ObjectBackend(bucket, "/bucket/run"), keep=100)
        taken.extend(store.save({"who": who, "n": n}, n).sequence for n in range(8))

    threads = [threading.Thread(target=saver, args=(who,)) for who in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken) == list(range(1, 33))
    assert Store(ObjectBackend(bucket, "/bucket/run")).verify().ok


def test_a_lost_answer_to_the_publishing_put():
    """The PUT arrives, its answer doesn't: asked again, the key is there, and it holds our own content."""

    class Flaky(Bucket):
        def pipe_file(self, path, value, mode="overwrite", **kwargs):
            super().pipe_file(path, value, mode=mode, **kwargs)
            if "/manifests/" in path:
                super().pipe_file(path, value, mode=mode, **kwargs)  # as a client that tries again by itself

    store = Store(ObjectBackend(Flaky(), "/bucket/run"))
    assert store.save({"x": 1}, 1).sequence == 1
    assert store.save({"x": 2}, 2).sequence == 2


def test_a_file_system_that_overwrites_in_silence_is_refused():
    class Old(Bucket):
        def pipe_file(self, path, value, mode="overwrite", **kwargs):
            super().pipe_file(path, value, **kwargs)

    with pytest.raises(UsageError, match="Old overwrites a key when asked to create it"):
        ObjectBackend(Old(), "/bucket/run")


def test_fsspecs_own_local_file_system(tmp_path):
    store = Store(ObjectBackend(fsspec.filesystem("file", auto_mkdir=True), str(tmp_path / "s")), keep=1)
    store.save({"x": 1}, 1)
    store.save({"x": 2}, 2)
    assert store.load().state == {"x": 2}
    assert Store(tmp_path / "s").load().state == {"x": 2}  # the same layout


def test_saving_plain_values_needs_no_torch(tmp_path):
    code = (
        f"import sys\nfrom labkit.resume import Store\ns = Store({str(tmp_path / 's')!r})\ns.save({{'x': 1}}, 1)\n"
        "s.async_save([2], 2).result()\ns.load()\nsys.exit('torch' in sys.modules or 'numpy' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert Path(tmp_path / "s" / "manifests").is_dir()
