"""Judging on a dask cluster: two real workers, one of them killed in the middle."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

distributed = pytest.importorskip("distributed")

import classroom  # noqa: E402
from test_grading_queue import LAB, NOTEBOOKS, class_of, run, verdicts  # noqa: E402

from labkit.errors import LabkitError, UsageError  # noqa: E402
from labkit.grading import grade, journal  # noqa: E402

FAKE = str(Path(__file__).with_name("fake_worker.py"))
PRELOAD = f"""
import sys
from labkit.grading import cluster, crew
crew.COMMAND = (sys.executable, {FAKE!r})
cluster.judge_digest = lambda: "judge"
"""


@pytest.fixture
def cluster(tmp_path, monkeypatch):
    """A scheduler and two workers in processes of their own, whose grading processes are the made-up ones."""
    (tmp_path / "seen").mkdir()
    monkeypatch.setenv("FAKE_WORKER", str(tmp_path / "seen"))
    monkeypatch.setenv("FAKE_WORKER_S", "0.03")
    monkeypatch.setattr("labkit.grading.cluster.judge_digest", lambda: "judge")
    preload = tmp_path / "preload.py"
    preload.write_text(PRELOAD)
    with distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=True,
        dashboard_address=None,
        preload=[str(preload)],
        local_directory=str(tmp_path / "dask"),
        silence_logs=50,
    ) as cluster:
        yield cluster


@contextmanager
def a_worker_is_killed(cluster, out: Path, after: int) -> Iterator[list[int]]:
    """SIGKILL to one worker as soon as so many marks are there; how many there were then."""
    killed: list[int] = []

    def kill() -> None:
        path = out / journal.NAME
        end = time.monotonic() + 60
        while time.monotonic() < end and (not path.exists() or path.read_bytes().count(b"\n") < after):
            time.sleep(0.02)
        os.kill(cluster.workers[0].pid, signal.SIGKILL)
        killed.append(path.read_bytes().count(b"\n"))

    killer = threading.Thread(target=kill)
    killer.start()
    yield killed
    killer.join()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the confinement is Linux's")
def test_real_judges_on_two_workers_one_of_them_killed(tmp_path):
    made = classroom.make_class(tmp_path, 3, ("01",), (8,))
    out = tmp_path / "out"
    with distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=True,
        dashboard_address=None,
        local_directory=str(tmp_path / "dask"),
        silence_logs=50,
    ) as cluster, a_worker_is_killed(cluster, out, 12) as killed:  # fmt: skip
        done = grade.grade([tmp_path / "submitted"], out, labs=NOTEBOOKS, key=b"k", scheduler=cluster.scheduler_address)
    full = {(mark.key[0], mark.key[2]): mark.result.points == mark.result.max_points for mark in done.marks}
    assert full == {(one.learner, name): right for one in made for name, right in one.expected.items()}
    assert killed[0] < len(full), "a worker was killed while the grading ran"
    assert done.isolation["way"] in ("namespaces", "user namespace", "landlock")


@pytest.mark.slow
def test_a_killed_worker_loses_no_mark(tmp_path, cluster):
    submissions = class_of(tmp_path / "class", {f"learner-{i}": ("right", "no", "die")[i % 3] for i in range(8)})
    out = tmp_path / "out"
    with a_worker_is_killed(cluster, out, 6) as killed:
        done = run(submissions, out, scheduler=cluster.scheduler_address)
    got = verdicts(done)
    assert killed[0] < len(got), "a worker was killed while the grading ran"
    assert len(got) == 8 * len(LAB.exercises)
    text = {"0": ("passed", 2), "1": ("failed", 0), "2": ("broken", 0)}
    for (learner, _, exercise), verdict in got.items():
        assert verdict == text[str(int(learner[-1]) % 3)], (learner, exercise)
    assert len((out / journal.NAME).read_text().splitlines()) == len(got), "none is there twice"
    assert done.isolation["way"] == "made up"


def test_no_scheduler_there(tmp_path, monkeypatch):
    submissions = class_of(tmp_path / "class", {"ada": "right"})
    monkeypatch.setattr("labkit.grading.cluster.CONNECT_S", 0.5)
    for address in ("tcp://127.0.0.1:9", "nonsense"):
        with pytest.raises(UsageError, match="no scheduler answers there"):
            grade.grade([submissions], tmp_path / f"out-{address[:3]}", labs=NOTEBOOKS, key=b"k", scheduler=address)


@pytest.mark.slow
def test_workers_must_run_the_same_labkit(tmp_path, cluster, monkeypatch):
    from labkit.grading import cluster as ours

    monkeypatch.setattr(ours, "judge_digest", lambda: "another")
    submissions = class_of(tmp_path / "class", {"ada": "right"})
    with pytest.raises(LabkitError, match="runs another labkit"):
        run(submissions, tmp_path / "out", scheduler=cluster.scheduler_address)
