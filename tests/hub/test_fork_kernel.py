"""Kernels forked from a parent with torch loaded: real kernels, through jupyter_client as JupyterLab starts them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import nbformat
import psutil
import pytest
from jupyter_client.manager import KernelManager
from jupyter_client.provisioning.factory import KernelProvisionerFactory

from labkit import doctor
from labkit.hub import kernel_forks, kernel_provisioner

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _opted_in(monkeypatch):
    monkeypatch.setattr(KernelProvisionerFactory.instance(), "default_provisioner_name", kernel_provisioner.NAME)


@pytest.fixture(scope="module", autouse=True)
def _one_parent():
    yield
    parent = kernel_forks.parent()
    parent.stop()
    assert not psutil.pid_exists(parent._process.pid)


class Kernel:
    """A started kernel; `run` gives what a cell printed, or the error's name."""

    def __init__(self, **options):
        self.manager = KernelManager()
        self.manager.start_kernel(stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options)
        self.client = self.manager.blocking_client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=60)

    def run(self, code):
        shown = []

        def keep(message):
            content = message["content"]
            shown.append(content.get("text") or content.get("ename") or " ".join(content.get("data", {})))

        self.client.execute_interactive(code, timeout=60, output_hook=keep)
        return "".join(part for part in shown if part)

    @property
    def pid(self):
        return self.manager.provisioner.pid

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)


@pytest.fixture
def kernel():
    with Kernel() as started:
        yield started


def test_torch_is_there_before_the_first_cell(kernel):
    assert kernel.run("import sys; print('torch' in sys.modules)") == "True\n"
    assert kernel.run("import torch; print(torch.ones(2).sum().item())") == "2.0\n"
    assert kernel.run(f"import os; print(os.environ['{doctor.KERNEL}'], os.getpid())") == f"forked {kernel.pid}\n"


def test_it_is_the_kernel_a_learner_knows(kernel, tmp_path):
    """Magics, pictures, widgets, its own directory, and processes that import what a cell defined."""
    assert kernel.run("print(__name__)") == "__main__\n"
    assert "image/png" in kernel.run("import matplotlib.pyplot as plt\nplt.plot([1, 2]);")
    assert "widget-view" in kernel.run("import ipywidgets; ipywidgets.IntSlider()")
    assert kernel.run(f"%cd -q {tmp_path}\nimport os; print(os.getcwd())") == f"{tmp_path}\n"
    loader = (
        "from torch.utils.data import DataLoader\nprint(len(list(DataLoader(range(8), batch_size=2, num_workers=2))))"
    )
    assert kernel.run(loader) == "4\n"


def test_a_further_kernel_costs_little_memory(kernel):
    """Private memory: what this kernel alone holds. An ordinary kernel with torch holds more than 150 MiB."""
    with Kernel() as another:
        another.run("import torch; torch.ones(2).sum()")
        private = sum(
            int(line.split()[1])
            for line in Path(f"/proc/{another.pid}/smaps_rollup").read_text().splitlines()
            if "Private_" in line
        )
    assert private / 1024 < 60


def test_kernels_share_no_randomness(kernel):
    draw = "import random, numpy as np; print(random.random(), np.random.rand())"
    with Kernel() as another:
        assert not set(kernel.run(draw).split()) & set(another.run(draw).split())


def test_what_it_prints_past_python_goes_where_the_caller_asked(tmp_path):
    with open(tmp_path / "printed", "w") as printed:
        manager = KernelManager()
        manager.start_kernel(stdout=printed, stderr=subprocess.DEVNULL)
    client = manager.blocking_client()
    client.start_channels()
    client.wait_for_ready(timeout=60)
    client.execute_interactive("import os; os.write(1, b'straight')", timeout=60)
    client.stop_channels()
    manager.shutdown_kernel(now=True)
    assert "straight" in (tmp_path / "printed").read_text()


def test_its_environment_is_the_one_asked_for(tmp_path):
    (tmp_path / "mine.py").write_text("x = 41")
    env = {**os.environ, "OMP_NUM_THREADS": "3", "PYTHONPATH": str(tmp_path), "COLOUR": "red"}
    with Kernel(env=env, cwd=str(tmp_path)) as kernel:
        code = "import torch, mine, os; print(torch.get_num_threads(), mine.x, os.environ['COLOUR'], os.getcwd())"
        assert kernel.run(code) == f"3 41 red {tmp_path}\n"
        assert kernel.run("import os; print(os.environ.get('LABKIT_PROGRESS'))").strip() == env["LABKIT_PROGRESS"]


def test_interrupt_restart_and_death(kernel):
    threading.Timer(0.5, kernel.manager.interrupt_kernel).start()
    assert kernel.run("import time; time.sleep(60)") == "KeyboardInterrupt"
    before = kernel.pid
    kernel.manager.restart_kernel(now=True)
    kernel.client.wait_for_ready(timeout=60)
    assert kernel.pid != before
    assert kernel.run("print('again')") == "again\n"
    os.kill(kernel.pid, signal.SIGKILL)
    assert kernel.manager.provisioner.process.wait(5) == -signal.SIGKILL
    assert not kernel.manager.is_alive()


def test_a_kernel_that_ends_itself_says_how(kernel):
    kernel.client.execute("import os; os._exit(7)")
    assert kernel.manager.provisioner.process.wait(10) == 7


def test_the_parent_dies_and_the_next_kernel_gets_another(kernel):
    parent = kernel_forks.parent()
    os.kill(parent._process.pid, signal.SIGKILL)
    kernel.manager.provisioner.process.wait(5)
    assert not kernel.manager.is_alive()
    deadline = time.monotonic() + 10  # it looks after its parent once a second
    while psutil.pid_exists(kernel.pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not psutil.pid_exists(kernel.pid)
    with Kernel() as another:
        assert another.run("import sys; print('torch' in sys.modules)") == "True\n"


def test_an_ordinary_kernel_starts_where_forking_cant_give_what_is_asked(caplog):
    with Kernel(env={**os.environ, "MALLOC_ARENA_MAX": "2"}) as kernel:
        said = kernel.run("from labkit import doctor; print(next(doctor.kernel()).found)")
        assert said.startswith("ordinary: MALLOC_ARENA_MAX is '2' for this kernel")
        assert kernel.run("import sys; print('torch' in sys.modules)") == "False\n"


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["R", "--slave", "-e", "IRkernel::main()"], "not this Python's own kernel"),
        (["/usr/bin/env", "-m", "ipykernel_launcher", "-f", "x"], "another Python"),
    ],
)
def test_other_kernels_are_left_alone(words, why):
    with pytest.raises(kernel_forks.NoFork, match=why):
        kernel_provisioner._launcher_words(words)


def test_nbval_runs_on_it_and_nothing_is_left(tmp_path):
    """`pytest --nbval` with the variable alone; when pytest ends, so do the parent and its kernels."""
    cells = [
        nbformat.v4.new_code_cell("import sys; print('torch' in sys.modules)"),
        nbformat.v4.new_code_cell(
            "import os, pathlib\npathlib.Path('pids').write_text(f'{os.getpid()} {os.getppid()}');"
        ),
    ]
    cells[0].execution_count = 1
    cells[0].outputs = [nbformat.v4.new_output("stream", name="stdout", text="True\n")]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "n.ipynb")
    env = {**os.environ, kernel_provisioner.VARIABLE: kernel_provisioner.NAME}
    words = [sys.executable, "-m", "pytest", "-q", "--nbval", "-p", "no:cacheprovider", "n.ipynb"]
    done = subprocess.run(words, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout
    pids = [int(word) for word in (tmp_path / "pids").read_text().split()]
    deadline = time.monotonic() + 10
    while any(psutil.pid_exists(pid) for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(psutil.pid_exists(pid) for pid in pids)
