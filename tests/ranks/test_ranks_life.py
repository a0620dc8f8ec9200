"""What outlives what: faults in a row, a killed caller, server or supervisor, kernels, scripts, torchrun."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import jobs_for_ranks
import nbformat
import pytest
import torch.distributed as dist
from jupyter_client.manager import start_new_kernel
from leftovers import descriptors, gone, marked, zombies_below
from nbclient import NotebookClient
from torch.utils.data import DataLoader

from labkit import ranks
from labkit.ranks import client
from labkit.ranks.tree import children

HERE = Path(__file__).parent
FOREVER = 10_000


@pytest.mark.slow
def test_many_faults_in_a_row_leave_nothing(tmp_path, monkeypatch, amount) -> None:
    notes, temporary = tmp_path / "notes", Path(tempfile.mkdtemp(prefix="few-", dir="/tmp"))  # sockets: a short path
    notes.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setattr(tempfile, "tempdir", None)
    expected = {
        "raise": "raised",
        "kill": "died",
        "exit": "died",
        "unequal": "unequal",
        "early": "died",
        "workers": "died",
        "hang": "hung",
    }
    ranks.stop()  # a server that knows the temporary folder
    ranks.run(jobs_for_ranks.total, ranks=2)
    server = client.server().process.pid
    before = marked(), descriptors(os.getpid()), descriptors(server), children()
    kinds = list(expected)
    for i in range(amount(35, full=200)):  # five of each kind
        kind = kinds[i % len(kinds)]
        with pytest.raises(ranks.RankError) as caught:
            ranks.run(jobs_for_ranks.one_fault, kind, str(notes), ranks=2, timeout=0.5 if kind == "hang" else 300)
        assert caught.value.cause == expected[kind], str(caught.value)
    assert (marked(), descriptors(os.getpid()), descriptors(server), children()) == before
    assert zombies_below(os.getpid()) == zombies_below(server) == []
    assert list(temporary.iterdir()) == []
    temporary.rmdir()  # even without its temporary folder the server goes on
    known = {path.name for path in notes.iterdir()} | {path.read_text() for path in notes.iterdir()}
    assert len(known) >= 10
    assert not [name for name in os.listdir("/dev/shm") if any(pid in name.split("_") for pid in known)]
    assert ranks.run(jobs_for_ranks.total, ranks=2) == [1.0, 1.0]


@pytest.mark.slow
def test_a_killed_server_ends_its_ranks_and_the_next_run_starts_another() -> None:
    server = client.server().process.pid
    pool = ranks.pool(2)
    pids = set(pool.run(lambda rank: os.getpid()))
    os.kill(server, signal.SIGKILL)
    assert not gone({server, *pids})
    assert pool.run(jobs_for_ranks.total) == [1.0, 1.0]
    pool.close()
    assert client.server().process.pid != server


@pytest.mark.slow
def test_a_server_killed_during_a_run_is_an_error_at_once() -> None:
    server = client.server().process.pid

    def kill_server(rank: int, server: int) -> None:
        if rank == 0:
            os.kill(server, signal.SIGKILL)
        time.sleep(FOREVER)

    with pytest.raises(ranks.RankError, match="server ended during the run: killed") as caught:
        ranks.run(kill_server, server, ranks=2)
    assert caught.value.cause == "lost"
    assert not gone({server})


@pytest.mark.slow
def test_a_killed_supervisor_leaves_no_worker() -> None:
    def kill_supervisor(rank: int) -> None:
        batches = iter(DataLoader(range(10_000), num_workers=1))
        next(batches)
        dist.barrier()
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(FOREVER)

    ranks.warm_up()
    before = marked()
    with pytest.raises(ranks.RankError, match="killed") as caught:
        ranks.run(kill_supervisor, ranks=2)
    assert caught.value.cause == "lost"
    assert marked() <= before


@pytest.mark.slow
def test_ranks_end_even_when_server_and_supervisor_are_killed_together(monkeypatch) -> None:
    def kill_both(rank: int, server: int, path: str) -> None:
        with open(f"{path}{rank}", "w") as file:
            file.write(str(os.getpid()))
        dist.barrier()
        if rank == 0:
            os.kill(os.getppid(), signal.SIGSTOP)  # so that it can't end the ranks itself
            os.kill(server, signal.SIGKILL)
            os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(FOREVER)

    ranks.warm_up()
    with tempfile.TemporaryDirectory(dir="/tmp") as folder, tempfile.TemporaryDirectory(dir="/tmp") as temporary:
        monkeypatch.setattr(tempfile, "tempdir", temporary)
        with pytest.raises(ranks.RankError, match="killed from outside"):
            ranks.run(kill_both, client.server().process.pid, f"{folder}/", ranks=2)
        started = {int(path.read_text()) for path in Path(folder).iterdir()}
        assert not list(Path(temporary).iterdir())
    assert len(started) == 2
    assert not gone(started)


SCRIPT = """
import os, sys, time
import torch, torch.distributed as dist
from labkit import ranks

offset = 1  # no `if __name__ == "__main__"` anywhere

def work(rank, path):
    value = torch.ones(1)
    dist.all_reduce(value)
    if path:
        open(path + str(rank), "w").write(str(os.getpid()))
        time.sleep(1000)
    return int(value) + offset

print(ranks.run(work, sys.argv[1], ranks=2), flush=True)
"""


def script(tmp_path: Path, argument: str) -> subprocess.Popen[str]:
    path = tmp_path / "script.py"
    # Where the tests themselves run in the background, SIGINT is ignored and stays so in a child; a person's isn't.
    path.write_text("import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n" + SCRIPT)
    return subprocess.Popen(
        [sys.executable, str(path), argument], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


@pytest.mark.slow
def test_a_plain_script_needs_no_main_guard_and_ends_clean(tmp_path) -> None:
    ranks.warm_up()
    before = marked()
    process = script(tmp_path, "")
    out, errors = process.communicate(timeout=120)
    assert (out, errors, process.returncode) == ("[3, 3]\n", "", 0)
    assert marked() <= before


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_killed_or_interrupted_caller_takes_server_and_ranks_along(tmp_path, how: int) -> None:
    ranks.warm_up()
    before = marked()
    process = script(tmp_path, str(tmp_path / "pid"))
    until = time.monotonic() + 120
    while len(list(tmp_path.glob("pid*"))) < 2 and time.monotonic() < until:
        time.sleep(0.05)
    started = marked() - before
    assert len(started) >= 5  # script, server, supervisor, two ranks
    process.send_signal(how)
    process.communicate(timeout=60)
    assert process.returncode != 0
    assert not gone(started)


@pytest.mark.slow
def test_functions_typed_in_a_notebook_work_and_fail_with_their_source() -> None:
    cells = [
        "import torch, torch.distributed as dist\nfrom labkit import ranks\nbase = 5",
        "def work(rank):\n    print('here', rank)\n    t = torch.tensor([rank + base])\n    dist.all_reduce(t)\n"
        "    return t\nprint(ranks.run(work, ranks=2))",
        "def broken(rank):\n    if rank == 1:\n        raise ValueError('typed here')  # the line to see\n"
        "    dist.barrier()\nranks.run(broken, ranks=2)",
    ]
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    NotebookClient(book, timeout=120, allow_errors=True, kernel_name="python3").execute()
    shown = "".join(output.text for output in book.cells[1].outputs)
    assert shown == "rank 0 | here 0\nrank 1 | here 1\n[tensor([11]), tensor([11])]\n"
    (error,) = book.cells[2].outputs
    assert error.ename == "RankError"
    assert error.evalue == "rank 1 raised ValueError in step 1: typed here"
    assert "raise ValueError('typed here')  # the line to see" in "\n".join(error.traceback)


@pytest.mark.slow
def test_interrupting_a_kernel_ends_the_run_and_leaves_nothing() -> None:
    ranks.warm_up()
    before = marked()
    manager, kernel = start_new_kernel(kernel_name="python3")
    try:
        kernel.execute_interactive("from labkit import ranks\nranks.run(lambda rank: 1, ranks=2)", timeout=120)
        at_rest = marked()
        kernel.execute("import time\nranks.run(lambda rank: time.sleep(1000), ranks=2)")
        until = time.monotonic() + 60
        while len(marked() - at_rest) < 3 and time.monotonic() < until:
            time.sleep(0.05)
        during = marked() - at_rest
        assert len(during) == 3
        begin = time.monotonic()
        manager.interrupt_kernel()
        reply = kernel.get_shell_msg(timeout=60)
        while reply["content"].get("ename") is None:
            reply = kernel.get_shell_msg(timeout=60)
        assert reply["content"]["ename"] == "KeyboardInterrupt"
        assert time.monotonic() - begin < 30
        assert not during & marked()
    finally:
        kernel.stop_channels()
        manager.shutdown_kernel(now=True)
    assert not gone(marked() - before)


@pytest.mark.slow
def test_without_fork_the_same_in_seconds_and_it_says_so(monkeypatch) -> None:
    monkeypatch.setenv("LABKIT_RANKS_START", "spawn")
    monkeypatch.setattr(client, "_said_spawn", False)
    ranks.warm_up()
    before = marked()
    with pytest.warns(UserWarning, match="no fork server here, so every run starts its ranks anew"):
        pool = ranks.pool(2)
    assert pool.run(jobs_for_ranks.total) == [1.0, 1.0]
    with pytest.raises(ranks.RankError, match="rank 1 raised ValueError in step 2: no such batch"):
        pool.run(jobs_for_ranks.fails_on_one)
    pool.close()
    assert not gone(marked() - before)


def torchrun(*words: str, nodes: int = 1, node: int = 0, port: int = 0, local: int = 2) -> subprocess.Popen[str]:
    meet = ["--nnodes", str(nodes), "--node-rank", str(node), "--master-addr", "127.0.0.1", "--master-port", str(port)]
    return subprocess.Popen(
        [
            sys.executable,
            "-m",
            "torch.distributed.run",
            "--nproc-per-node",
            str(local),
            *meet,
            "-m",
            "labkit.ranks",
            *words,
        ],
        env={**os.environ, "PYTHONPATH": str(HERE), "GLOO_SOCKET_IFNAME": "lo"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


@pytest.mark.slow
def test_two_agents_run_the_same_function_that_run_does() -> None:
    port = free_port()
    agents = [torchrun("jobs_for_ranks:total", "[10]", nodes=2, node=node, port=port, local=1) for node in (0, 1)]
    outs = [agent.communicate(timeout=240) for agent in agents]
    assert [agent.returncode for agent in agents] == [0, 0], outs
    assert json.loads(outs[0][0]) == ranks.run(jobs_for_ranks.total, 10, ranks=2)
    assert outs[1][0] == ""


@pytest.mark.slow
def test_torchrun_fails_with_one_line() -> None:
    agent = torchrun("jobs_for_ranks:fails_on_one", port=free_port())
    out, errors = agent.communicate(timeout=240)
    assert agent.returncode == 1
    assert out == ""
    assert "labkit.ranks: rank 1 raised ValueError in step 2: no such batch" in errors


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ([], "use: torchrun"),
        (["jobs_for_ranks"], "use: torchrun"),
        (["jobs_for_ranks:nothing"], "can't be loaded"),
        (["jobs_for_ranks:total", "{"], "aren't JSON"),
        (["jobs_for_ranks:total", "3"], "must be a JSON list"),
        (["jobs_for_ranks:total", "[1, 2]"], "too many positional arguments"),
        (["jobs_for_ranks:total", "[]", "mpi"], "backend is 'mpi'"),
    ],
)
def test_wrong_words_for_torchrun(words: list[str], line: str, monkeypatch, capsys) -> None:
    from labkit.ranks.__main__ import main

    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "1")
    monkeypatch.syspath_prepend(str(HERE))
    monkeypatch.setattr("labkit.ranks.counting.install", lambda: None)
    assert main(words) == 2
    said = capsys.readouterr().err
    assert line in said
    assert said.count("\n") == 1


def test_a_rank_that_shows_all_warnings_shows_none_of_ours(capsys):
    """torch._dynamo, which DDP imports, turns warnings on; a socket of ours dropped early would be among them."""

    def job(rank):
        import warnings

        warnings.simplefilter("always")
        return rank

    assert ranks.run(job, ranks=2) == [0, 1]
    assert capsys.readouterr().out == ""
