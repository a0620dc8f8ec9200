"""The store on a local disk: what is wrong is said in one line; nothing that was saved is lost."""

from __future__ import annotations

import io
import json
import os
import pickle
import subprocess
import sys

import pytest
import torch

from labkit.errors import UsageError
from labkit.resume.checkpoint_error import CheckpointError
from labkit.resume.store import Store
from labkit.resume.store_backend import LocalBackend
from labkit.resume.store_files import Files
from labkit.resume.store_manifest import Manifest, decode_manifest


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
