"""The line against its oracle, bit for bit; the torch twin; reports and checkpoint files."""

from __future__ import annotations

import hashlib
import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.atomic_file import write_atomic
from labkit.errors import LabkitError, UsageError, WriteError
from labkit.resume import FAULTS, FIELDS, Line, Report, reconcile, train, train_torch
from labkit.resume.checkpoint_file import checksum, read_checkpoint, write_checkpoint

DATA = Path(__file__).parents[2] / "data"
ORACLE = json.loads((DATA / "line_oracle.json").read_text())
STEPS = ORACLE["continuous"]


def as_oracle(record):
    return {
        "step": record.step, "ids": list(record.ids), "w": record.w, "b": record.b, "vw": record.vw, "vb": record.vb,
        "mse": record.mse, "samplePosition": record.position, "sampleOrder": list(record.order), "rng": record.rng,
    }  # fmt: skip


@pytest.fixture(scope="module")
def straight():
    return train(80)


@pytest.fixture(scope="module")
def at_19():
    return train(19)


def test_the_oracle_file_is_the_one_described():
    digest = hashlib.sha256((DATA / "line_oracle.json").read_bytes()).hexdigest()
    assert digest in (DATA / "README.md").read_text()


def test_80_steps_bit_for_bit(straight):
    assert [as_oracle(record) for record in straight.records] == STEPS


@pytest.mark.parametrize("at", range(1, 80))
def test_resumed_from_every_step_through_a_file(at, straight, tmp_path):
    train(at, checkpoint=tmp_path / "c.json")
    resumed = train(80, resume=tmp_path / "c.json", checkpoint=tmp_path / "end.json")
    assert [as_oracle(record) for record in resumed.records] == STEPS[at:]
    assert resumed.state == straight.state == read_checkpoint(tmp_path / "end.json")
    assert resumed.resumed_from == at
    assert reconcile(straight, resumed) is None


@pytest.mark.parametrize("fault", FAULTS)
def test_the_three_faults(fault, straight, at_19):
    known = ORACLE["faults"][fault]
    wrong = train(80, resume=at_19.state, fault=fault)
    assert as_oracle(wrong.records[-1]) == known["final"]
    found = reconcile(straight, wrong)
    assert (found.component, found.step) == {
        "drop-optimizer": ("parameters", 20), "reset-cursor": ("sampleIds", 20), "reset-rng": ("rngState", 20),
    }[fault]  # fmt: skip
    pairs = {"ids": "sampleIds", "sampleOrder": "sampleOrder", "samplePosition": "samplePosition", "rng": "rngState"}
    first = known["first_difference"]
    assert {name: found.first[ours] for name, ours in pairs.items()} == {name: first[name] for name in pairs}
    assert found.first["parameters"] == min(first["w"], first["b"])
    assert found.first["optimizer"] == min(first["vw"], first["vb"])
    assert wrong.mse < 2e-7  # the trap: every one of them ends well


def test_reset_rng_shows_in_the_ids_at_21(straight, at_19):
    found = reconcile(straight, train(80, resume=at_19.state, fault="reset-rng"))
    assert found.first["sampleIds"] == 21


def test_the_fault_leaves_the_given_state_alone(at_19):
    before = json.dumps(at_19.state)
    for fault in FAULTS:
        train(80, resume=at_19.state, fault=fault)
    assert json.dumps(at_19.state) == before


def test_the_target_is_cumulative(at_19):
    assert len(train(80, resume=at_19.state).records) == 61
    assert train(19, resume=at_19.state).records == ()
    with pytest.raises(UsageError, match=r"steps is 18, the checkpoint stands at 19: .* give 19 or more"):
        train(18, resume=at_19.state)


@settings(max_examples=40)
@given(st.lists(st.integers(1, 12), min_size=1, max_size=4), st.integers(0, 2**64))
def test_any_number_of_resumes_is_no_resume(cuts, seed):
    total = sum(cuts)
    state, done = None, 0
    for cut in cuts:
        done += cut
        report = train(done, seed=seed, resume=state)
        state = json.loads(json.dumps(report.state))
    assert state == train(total, seed=seed).state


@pytest.mark.parametrize("decay", [1.0, 0.97])
def test_the_torch_twin(decay, tmp_path):
    w = b = vw = vb = 0.0
    order, rng, position = list(range(16)), random.Random(7), 0
    rng.shuffle(order)
    report = train_torch(80, decay=decay)
    for n, record in enumerate(report.records):
        if position == 16:
            rng.shuffle(order)
            position = 0
        ids, position = order[position : position + 4], position + 4
        errors = [w * (i - 7.5) / 4 + b - (3 * (i - 7.5) / 4 + 2) for i in ids]
        vw = 0.8 * vw + sum(e * (i - 7.5) / 4 for e, i in zip(errors, ids, strict=True)) / 2
        vb = 0.8 * vb + sum(errors) / 2
        w, b = w - 0.02 * decay**n * vw, b - 0.02 * decay**n * vb
        assert record.ids == tuple(ids)
        assert max(abs(record.w - w), abs(record.b - b), abs(record.vw - vw), abs(record.vb - vb)) < 1e-12
    for at in (1, 4, 19, 50):
        train_torch(at, decay=decay, checkpoint=tmp_path / "c.pt")
        resumed = train_torch(80, decay=decay, resume=tmp_path / "c.pt")
        assert reconcile(report, resumed) is None


def test_the_twin_is_within_1e12_of_the_oracle():
    for record, known in zip(train_torch(80).records, STEPS, strict=True):
        assert list(record.ids) == known["ids"]
        assert record.rng == known["rng"]
        for name in ("w", "b", "vw", "vb", "mse"):
            assert abs(getattr(record, name) - known[name]) < 1e-12


@pytest.mark.parametrize(
    ("fault", "component"),
    [
        ("drop-optimizer", "parameters"), ("reset-cursor", "sampleIds"), ("reset-rng", "rngState"),
        ("reset-schedule", "learningRate"),
    ],
)  # fmt: skip
def test_the_twins_faults(fault, component, tmp_path):
    train_torch(19, decay=0.97, checkpoint=tmp_path / "c.pt")
    found = reconcile(train_torch(80, decay=0.97), train_torch(80, decay=0.97, resume=tmp_path / "c.pt", fault=fault))
    assert (found.component, found.step) == (component, 20)


def test_the_twins_checkpoint_runs_no_code(tmp_path):
    import torch

    class Poison:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "ran"),)

    torch.save({"model": Poison()}, tmp_path / "c.pt")
    with pytest.raises(UsageError, match="isn't a checkpoint of train_torch"):
        train_torch(3, resume=tmp_path / "c.pt")
    assert not (tmp_path / "ran").exists()


def test_report_round_trip(straight, tmp_path):
    straight.save(tmp_path / "r.json")
    again = Report.load(tmp_path / "r.json")
    assert again == straight
    assert list(again.frame()["step"]) == list(range(1, 81))
    assert "3.0000640810916352" in again.text()


def test_pictures_say_what_they_show(straight, at_19):
    wrong = train(80, resume=at_19.state, fault="reset-rng")
    picture = straight.plot(wrong)
    assert "rngState after step 20" in picture.alt
    assert len(picture.table) == 61
    assert "same, bit for bit" in straight.plot(train(80, resume=at_19.state)).alt
    assert straight.plot().png()[:4] == b"\x89PNG"
    with pytest.raises(UsageError, match="nothing to draw"):
        train(19, resume=at_19.state).plot()


def broken(at_19, **changes):
    return {**at_19.state, **changes}


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"step": -1}, "step is -1"),
        ({"step": 1.0}, "step is 1.0"),
        ({"samplePosition": 13}, "samplePosition is 13: the cursor stands between batches"),
        ({"samplePosition": 20}, "samplePosition is 20"),
        ({"sampleOrder": [0] * 16}, "sampleOrder holds 16 entries, 1 different"),
        ({"sampleOrder": list(range(15))}, "sampleOrder holds 15"),
        ({"sampleOrder": "0123"}, "sampleOrder isn't a list"),
        ({"rngState": [3, [1, 2], None]}, "rngState isn't a state"),
        ({"rngState": [3, [0] * 624 + [999], None]}, "rngState isn't a state"),
        ({"rngState": 5}, "rngState isn't a state"),
        ({"parameters": {"w": 1.0}}, "parameters lacks b"),
        ({"parameters": {"w": float("nan"), "b": 0.0}}, "parameters.w is nan"),
        ({"parameters": {"w": True, "b": 0.0}}, "parameters.w is True"),
        ({"optimizer": {"learningRate": 0.02, "momentum": 0.8}}, "optimizer lacks velocity"),
        (
            {"optimizer": {"learningRate": 0.1, "momentum": 0.8, "velocity": {"w": 0.0, "b": 0.0}}},
            "learningRate is 0.1",
        ),
        ({"dataset": {"name": "other"}}, "dataset is {'name': 'other'}"),
    ],
)
def test_a_state_that_cant_be(changes, says, at_19):
    with pytest.raises(UsageError) as seen:
        train(80, resume=broken(at_19, **changes))
    assert says in str(seen.value)
    assert "\n" not in str(seen.value)


@pytest.mark.parametrize("name", FIELDS)
def test_a_field_that_is_missing_is_named(name, at_19):
    state = dict(at_19.state)
    del state[name]
    with pytest.raises(UsageError, match=f"lacks {name}"):
        train(80, resume=state)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"steps": 0}, "steps is 0"),
        ({"steps": 2.0}, "steps is 2.0"),
        ({"steps": 5, "seed": -1}, "seed is -1"),
        ({"steps": 5, "fault": "reset-rng"}, "without a resume"),
        ({"steps": 5, "fault": "forget"}, "fault is 'forget': choose one of drop-optimizer"),
        ({"steps": 5, "resume": 3}, "the checkpoint is a int"),
    ],
)
def test_wrong_arguments(arguments, says):
    with pytest.raises(UsageError) as seen:
        train(**arguments)
    assert says in str(seen.value)


def written(path, at_19, **changes):
    """A checkpoint file with other fields, its checksum right again."""
    write_checkpoint(path, at_19.state)
    found = json.loads(path.read_text())
    del found["sha256"]
    found.update(changes)
    path.write_text(json.dumps({**found, "sha256": checksum(found)}))


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"version": 2}, "has version 2, this labkit reads up to 1: upgrade"),
        ({"version": "1"}, "has version '1'"),
        ({"task": "other"}, "is a checkpoint of task 'other'"),
        ({"note": 1}, "has a field 'note'"),
    ],
)
def test_a_checkpoint_of_something_else(changes, says, at_19, tmp_path):
    path = tmp_path / "c.json"
    written(path, at_19, **changes)
    with pytest.raises(UsageError) as seen:
        train(80, resume=path)
    assert says in str(seen.value)


@pytest.mark.slow
def test_every_truncation_and_every_flipped_byte_of_a_checkpoint_file(at_19, tmp_path):
    """Cut anywhere or with any byte changed, it is refused, or it is the same state (a blank may have changed)."""
    path = tmp_path / "c.json"
    write_checkpoint(path, at_19.state)
    whole = path.read_bytes()
    assert len(whole) > 5000
    small = [*range(250), *range(250, len(whole) - 250, 97), *range(len(whole) - 250, len(whole))]
    refused = 0
    for at in small:
        for damaged in (whole[:at], whole[:at] + bytes([whole[at] ^ 0x10]) + whole[at + 1 :]):
            path.write_bytes(damaged)
            try:
                assert read_checkpoint(path) == at_19.state
            except UsageError as error:
                refused += "\n" not in str(error)
    assert refused > len(small)


def test_missing_file_and_directory(tmp_path):
    with pytest.raises(UsageError, match="no such file"):
        train(80, resume=tmp_path / "none.json")
    with pytest.raises(UsageError, match="is a directory"):
        train(80, resume=tmp_path)
    with pytest.raises(WriteError, match="there is no directory"):
        train(2, checkpoint=tmp_path / "none" / "c.json")
    with pytest.raises(WriteError, match="is a directory: name a file"):
        train(2, checkpoint=tmp_path)


def test_a_symlink_where_the_checkpoint_should_be(tmp_path):
    (tmp_path / "precious").write_text("keep me")
    (tmp_path / "c.json").symlink_to(tmp_path / "precious")
    with pytest.raises(WriteError, match="is a symbolic link"):
        train(2, checkpoint=tmp_path / "c.json")
    assert (tmp_path / "precious").read_text() == "keep me"
    assert (tmp_path / "c.json").is_symlink()


@pytest.mark.parametrize("call", ["open", "write", "fsync", "replace"])
def test_a_failing_disk_leaves_what_was_there(call, tmp_path, monkeypatch):
    """Disk full at the open, the write, the fsync, the rename."""
    path = tmp_path / "c.json"
    train(5, checkpoint=path)
    before = path.read_bytes()

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(*((Path, call) if call == "replace" else (os, call)), full)
        with pytest.raises(WriteError) as seen:
            train(9, checkpoint=path)
    assert str(seen.value).endswith("no space left on device; the file that was there is untouched")
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_for_real(tmp_path):
    """A limit on the file size, in a process of its own: the write really fails half-way."""
    path = tmp_path / "c.json"
    train(5, checkpoint=path)
    before = path.read_bytes()
    code = (
        "import resource, signal, sys\nfrom labkit.cli import main\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        f"sys.exit(main(['train', '--steps', '9', '--checkpoint', {str(path)!r}]))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.returncode == 2
    assert run.stderr.count("\n") == 1
    assert "file too large; the file that was there is untouched" in run.stderr
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_read_only_directory(tmp_path):
    path = tmp_path / "c.json"
    train(5, checkpoint=path)
    before = path.read_bytes()
    tmp_path.chmod(0o555)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            if os.geteuid() == 0:
                os.setegid(65534)
                os.seteuid(65534)  # root may write anywhere
            train(9, checkpoint=path)
        except WriteError as error:
            code = 0 if str(error).endswith("permission denied; the file that was there is untouched") else 2
        except PermissionError:
            code = 0  # a parent directory is closed to this user: nothing could be written either
        finally:
            os._exit(code)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    tmp_path.chmod(0o755)
    assert status == 0
    assert path.read_bytes() == before


def test_what_reads_back_differently_is_not_published(tmp_path, monkeypatch):
    path = tmp_path / "f"
    path.write_bytes(b"old")
    monkeypatch.setattr(Path, "read_bytes", lambda self: b"other")
    with pytest.raises(WriteError, match="reads back differently"):
        write_atomic(path, b"new")
    monkeypatch.undo()
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_many_writers_leave_one_whole_file(tmp_path):
    path = tmp_path / "c.json"
    code = "import sys\nfrom labkit.resume import train\nfor n in range(1, 40): train(n, checkpoint=sys.argv[1])"
    runs = [subprocess.Popen([sys.executable, "-c", code, str(path)]) for _ in range(2)]
    seen = 0
    while any(run.poll() is None for run in runs):
        if path.exists():
            assert Line.restore(read_checkpoint(path)).step >= 1
            seen += 1
    assert [run.wait() for run in runs] == [0, 0]
    assert seen
    assert read_checkpoint(path)["step"] == 39
    assert list(tmp_path.iterdir()) == [path]


def test_a_report_that_isnt_one(tmp_path, straight):
    path = tmp_path / "r.json"
    path.write_text(straight.to_json()[:-50])
    with pytest.raises(LabkitError, match="isn't a whole JSON file"):
        Report.load(path)
    found = json.loads(straight.to_json())
    for changes, says in [
        ({"kind": "x"}, "its kind is 'x'"),
        ({"version": 9}, "has version 9"),
        ({"records": [{"step": 1}]}, "isn't a whole report"),
        ({"records": 3}, "isn't a whole report"),
        ({"state": {}}, "lacks parameters"),
        ({"records": [{**found["records"][0], "w": "3"}]}, "isn't a finite number"),
    ]:
        path.write_text(json.dumps({**found, **changes}))
        with pytest.raises(LabkitError, match=says):
            Report.load(path)
