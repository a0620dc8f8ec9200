"""The doctor names each limit, what it means and what to fix; and it looks without loading what the labs load."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from labkit import device, doctor
from labkit.errors import UsageError

ROOT = Path(__file__).parent.parent


@pytest.fixture(autouse=True)
def _own_progress(monkeypatch, tmp_path):
    monkeypatch.setenv("LABKIT_PROGRESS", str(tmp_path / "progress.sqlite"))


def test_every_row_is_whole():
    report = doctor.examine()
    assert len(report.rows) >= 15
    for row in report.rows:
        assert row.what
        assert row.found
        assert row.status in ("ok", "limited", "missing")
        assert row.meaning.endswith(".")
        assert row.status == "ok" or row.fix
    assert json.loads(json.dumps(report.to_json()))["ready"] is report.ready


def test_text_and_card_say_the_same():
    report = doctor.Report(
        (
            doctor.Row("memory", "1.0 GB", "limited", "A kernel may be killed.", "close <other> programs"),
            doctor.Row("Python", "3.11", "ok", "Fits."),
        )
    )
    assert report.text() == (
        "This machine can run every lab, with 1 limit to know.\n"
        "△ limited  memory  1.0 GB\n"
        "             A kernel may be killed.\n"
        "             To fix: close <other> programs\n"
        "✔ ok       Python  3.11"
    )
    bundle = report._repr_mimebundle_()
    assert bundle["text/plain"] == report.text() == repr(report)
    for words in ("△</span>limited", "✔</span>ok", "A kernel may be killed.", "close &lt;other&gt; programs"):
        assert words in bundle["text/html"]
    assert "<script" not in bundle["text/html"]


def test_something_missing_is_said_first():
    report = doctor.Report((doctor.Row("torch", "not installed", "missing", "The labs need it.", "make lab"),))
    assert not report.ready
    assert report.text().startswith("Something that the labs need is missing on this machine")


def test_it_loads_neither_torch_nor_pandas():
    code = "import sys, labkit.doctor as d; d.examine(); print([m for m in ('torch', 'pandas') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_the_tested_versions_are_the_pinned_ones():
    pins = dict(re.findall(r"^([\w.-]+)==(\S+)", (ROOT / "constraints.txt").read_text(), re.MULTILINE))
    assert {name: pins[name] for name in doctor.TESTED} == doctor.TESTED


@pytest.mark.parametrize(
    ("version", "status", "words"),
    [
        (None, "missing", "The labs need it."),
        ("7.0.1", "limited", "loses what a cell shows from a thread"),
        ("6.29.5", "limited", "Not the version that was tested (7.4.0)"),
        ("7.4.9", "ok", "Tested with 7.4.0."),
    ],
)
def test_package_versions(monkeypatch, version, status, words):
    monkeypatch.setattr(doctor, "_version", lambda name: version)
    row = doctor.package("ipykernel", "7.4.0")
    assert row.status == status
    assert words in row.meaning


def test_a_small_shared_memory_as_docker_gives_it(monkeypatch):
    monkeypatch.setattr(doctor.sys, "platform", "linux")
    monkeypatch.setattr(doctor.os, "access", lambda *_: True)
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda path: SimpleNamespace(total=64 << 20, free=64 << 20))
    row = doctor.shared_memory()
    assert (row.status, row.found) == ("limited", "67 MB in /dev/shm, 67 MB free")
    assert "bus error" in row.meaning
    assert "--shm-size" in row.fix


def test_no_shared_memory_at_all(monkeypatch):
    monkeypatch.setattr(doctor.sys, "platform", "linux")
    monkeypatch.setattr(doctor.os, "access", lambda *_: False)
    assert doctor.shared_memory().status == "missing"


def control_files(tmp_path, monkeypatch, files):
    """A made-up /proc/self/cgroup and /sys/fs/cgroup."""

    def path(*parts):
        joined = os.path.join(*map(str, parts))
        return (
            Path(str(tmp_path) + joined) if joined.startswith(("/proc/self/cgroup", "/sys/fs/cgroup")) else Path(joined)
        )

    for name, text in files.items():
        file = Path(str(tmp_path) + name)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    monkeypatch.setattr(doctor, "Path", path)


def test_the_limits_of_a_container_version_2(tmp_path, monkeypatch):
    control_files(tmp_path, monkeypatch, {
        "/proc/self/cgroup": "0::/pod/box\n",
        "/sys/fs/cgroup/pod/box/cpu.max": "max 100000\n",
        "/sys/fs/cgroup/pod/cpu.max": "150000 100000\n",
        "/sys/fs/cgroup/pod/box/memory.max": "1500000000\n",
        "/sys/fs/cgroup/pod/memory.max": "max\n",
        "/sys/fs/cgroup/pod/box/pids.max": "100\n",
    })  # fmt: skip
    monkeypatch.setattr(doctor.os, "sched_getaffinity", lambda _: {0, 1, 2, 3}, raising=False)
    assert doctor.cores().found == "1.5 (container's quota; 4 present)"
    assert doctor.cores().status == "limited"
    assert doctor.memory().found.startswith("1.5 GB (container's limit)")
    assert doctor.memory().status == "limited"
    assert (doctor.processes().found, doctor.processes().status) == ("100", "limited")


def test_the_limits_of_a_container_version_1(tmp_path, monkeypatch):
    control_files(tmp_path, monkeypatch, {
        "/proc/self/cgroup": "4:memory:/box\n1:cpu,cpuacct:/box\n0::/\n",
        "/sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_quota_us": "100000",
        "/sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_period_us": "100000",
        "/sys/fs/cgroup/memory/box/memory.limit_in_bytes": "1000000000",
    })  # fmt: skip
    monkeypatch.setattr(doctor.os, "sched_getaffinity", lambda _: {0, 1}, raising=False)
    assert doctor.cores().found == "1 (container's quota; 2 present)"
    assert doctor.memory().found.startswith("1.0 GB (container's limit)")


def test_tight_limits_of_the_shell(monkeypatch):
    monkeypatch.setattr(doctor, "_rlimit", {"RLIMIT_NOFILE": 256, "RLIMIT_NPROC": 100}.get)
    assert doctor.open_files().status == doctor.processes().status == "limited"
    assert "ulimit -n 4096" in doctor.open_files().fix


def test_without_fork(monkeypatch):
    monkeypatch.setattr(doctor.multiprocessing, "get_all_start_methods", lambda: ["spawn"])
    assert doctor.start_method().status == "limited"


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("taken.sqlite", "taken.sqlite can't be written"),  # a directory
        ("file/progress.sqlite", "can't be written"),
        ("notes.txt", "ends in .sqlite"),
    ],
)
def test_progress_that_cant_be_kept(tmp_path, monkeypatch, place, words):
    (tmp_path / "taken.sqlite").mkdir()
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("LABKIT_PROGRESS", str(tmp_path / place))
    row = next(iter(doctor.progress()))
    assert row.status == "limited"
    assert words in row.found
    assert "set LABKIT_PROGRESS" in row.fix


def test_looking_at_progress_makes_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("LABKIT_PROGRESS", str(tmp_path / "deep" / "er" / "progress.sqlite"))
    assert [row.status for row in doctor.progress()] == ["ok", "ok"]
    assert os.listdir(tmp_path) == []


def test_a_full_disk(monkeypatch):
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda path: SimpleNamespace(total=1e9, free=5e6))
    *_, row = doctor.progress()
    assert (row.what, row.found, row.status) == ("free disk", "5 MB", "limited")


def test_a_gpu_that_this_torch_cant_use(tmp_path, monkeypatch):
    about = tmp_path / "gpus" / "0" / "information"
    about.parent.mkdir(parents=True)
    about.write_text("Model: \t\t NVIDIA H200\nIRQ:   1\n")
    monkeypatch.setattr(doctor, "Path", lambda *_: tmp_path / "gpus")
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setattr(doctor, "_version", lambda name: "2.13.0+cpu")
    row = doctor.gpu()
    assert (row.found, row.status) == ("1 x NVIDIA H200", "limited")
    monkeypatch.setattr(doctor, "_version", lambda name: "2.13.0")
    assert doctor.gpu().meaning == "Experiments run on it."


def test_the_device_is_chosen_without_torch_where_there_is_no_gpu(monkeypatch):
    monkeypatch.delenv("LABKIT_DEVICE", raising=False)
    monkeypatch.setattr(device.os.path, "exists", lambda path: False)
    monkeypatch.setitem(sys.modules, "torch", None)  # importing it would fail
    device._cuda.cache_clear()
    try:
        assert device.pick() == "cpu"
    finally:
        device._cuda.cache_clear()


def test_the_device_can_be_told(monkeypatch):
    monkeypatch.setattr(device, "_cuda", lambda: True)
    monkeypatch.delenv("LABKIT_DEVICE", raising=False)
    assert device.pick() == "cuda"
    monkeypatch.setenv("LABKIT_DEVICE", "cpu")
    assert device.pick() == "cpu"
    monkeypatch.setenv("LABKIT_DEVICE", "gpu")
    with pytest.raises(UsageError, match="LABKIT_DEVICE is 'gpu': set it to cpu, or leave it unset"):
        device.pick()
