"""`labkit lab`: a real JupyterLab on the first lab, that ends without leaving anything behind."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import psutil
import pytest

from labkit.cli import lab
from labkit.errors import UsageError

NOTEBOOKS = Path(__file__).parent.parent / "notebooks"


@pytest.fixture(autouse=True)
def _own_places(monkeypatch, tmp_path):
    monkeypatch.setenv("LABKIT_NOTEBOOKS", str(NOTEBOOKS))


def ask(address, path, token, data=None):
    request = urllib.request.Request(f"{address}{path}?token={token}", data=data)
    with urllib.request.urlopen(request) as reply:
        return reply.read().decode()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_the_first_lab_and_ends_with_its_kernels(tmp_path, ending):
    taken = socket.socket()
    taken.bind((lab.HOST, 0))
    taken.listen()
    port = taken.getsockname()[1]
    words = [sys.executable, "-m", "labkit.cli", "lab", "--no-browser", "--port", str(port), "course"]
    path = os.pathsep.join([str(NOTEBOOKS.parent), os.environ["PYTHONPATH"]])
    environment = {**os.environ, "HOME": str(tmp_path), "PYTHONPATH": path}
    with subprocess.Popen(
        words, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as server:
        try:
            line = server.stdout.readline()
            found = re.fullmatch(
                r"JupyterLab runs at (http://127\.0\.0\.1:(\d+))/lab/tree/00_start_here\.ipynb\?token=(\w+)  "
                r"\(Ctrl-C ends it\)\n",
                line,
            )
            assert found, line
            address, chosen, token = found.groups()
            assert int(chosen) > port
            while server.poll() is None:
                try:
                    ask(address, "/api/status", token)
                    break
                except urllib.error.HTTPError:
                    raise  # it runs and refuses the token
                except (urllib.error.URLError, ConnectionError):
                    time.sleep(0.1)
            page = ask(address, "/lab/tree/00_start_here.ipynb", token)
            assert "@jupyterlab/apputils-extension:announcements" in page, "asks whether to fetch Jupyter news"
            assert token not in " ".join(psutil.Process(server.pid).cmdline()), "anyone may read a command line"
            assert json.loads(ask(address, "/api/contents/00_start_here.ipynb", token))["type"] == "notebook"
            ask(address, "/api/kernels", token, data=b'{"name": "python3"}')
            children = psutil.Process(server.pid).children(recursive=True)
            assert children
            server.send_signal(ending)
            _, errors = server.communicate(timeout=120)
            assert server.returncode == 0
            assert f"labkit lab: port {port} is in use: taking {chosen}\n" in errors
            assert f"{len(list(NOTEBOOKS.glob('*.ipynb')))} labs copied to course\n" in errors
            left = psutil.wait_procs(children, timeout=60)[1]
            assert [one for one in left if one.status() != psutil.STATUS_ZOMBIE] == []
        finally:
            server.kill()
            taken.close()


def test_labs_are_copied_once_and_never_over_what_is_there(tmp_path):
    target = tmp_path / "labkit-course"
    target.mkdir()
    (target / "01_pipeline_timeline.ipynb").write_text("my answers")
    assert lab.prepare(target) == target
    assert (target / "01_pipeline_timeline.ipynb").read_text() == "my answers"
    first = target / "00_start_here.ipynb"
    assert first.read_bytes() == (NOTEBOOKS / "00_start_here.ipynb").read_bytes()
    changed = first.read_text() + " "
    first.write_text(changed)
    assert lab.prepare(target) == target
    assert first.read_text() == changed


def test_a_checkout_is_opened_in_place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert lab.prepare(None) == NOTEBOOKS
    assert os.listdir(tmp_path) == []


def test_an_installed_package_is_copied_into_the_working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(lab, "INSTALLED", NOTEBOOKS)
    assert lab.prepare(None) == tmp_path / "labkit-course"
    assert (tmp_path / "labkit-course" / "00_start_here.ipynb").exists()


def test_a_file_in_the_way(tmp_path):
    (tmp_path / "course").write_text("")
    with pytest.raises(UsageError, match="course is a file: name a directory for the labs"):
        lab.prepare(tmp_path / "course")


def test_ports():
    with socket.socket() as taken:
        taken.bind((lab.HOST, 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert lab.free_port(port) > port
    for wrong in (0, -1, 70000):
        with pytest.raises(UsageError, match=f"port is {wrong}: give a number from 1 to 65535"):
            lab.free_port(wrong)


def test_all_ports_taken(monkeypatch):
    monkeypatch.setattr(lab, "TRIES", 1)
    with socket.socket() as taken:
        taken.bind((lab.HOST, 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(UsageError, match=f"ports {port} to {port} are all in use: give another --port"):
            lab.free_port(port)


def test_without_jupyterlab(monkeypatch):
    monkeypatch.setattr(lab.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match="JupyterLab is not installed here: run make lab"):
        lab.launch(None, port=8888, browser=False)


def test_root_is_allowed_and_nobody_else_is_asked_to_be(monkeypatch):
    monkeypatch.setattr(lab.os, "geteuid", lambda: 0, raising=False)
    assert "--allow-root" in lab.command(NOTEBOOKS, 8888, browser=True)
    monkeypatch.setattr(lab.os, "geteuid", lambda: 1000, raising=False)
    assert "--allow-root" not in lab.command(NOTEBOOKS, 8888, browser=True)
