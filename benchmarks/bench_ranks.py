"""From start to result, the same all-reduce on 4 ranks: `labkit.ranks` against torchrun and spawn, and the limit."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
from dataclasses import replace

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

from benchmarks.harness import Rival, Row, race
from labkit import ranks

RANKS = 4
WARM_S = 0.010  # a run on a warm pool takes less


def total(rank: int) -> float:
    value = torch.tensor([float(rank)])
    dist.all_reduce(value)
    return value.item()


def joined(rank: int, path: str) -> None:
    """What spawn and a bare fork must do by themselves."""
    dist.init_process_group("gloo", init_method=f"file://{path}", rank=rank, world_size=RANKS)
    assert total(rank) == RANKS * (RANKS - 1) / 2
    dist.destroy_process_group()


def by_spawn() -> None:
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(joined, (f"{folder}/meet",), nprocs=RANKS)


def by_torchrun() -> None:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port = sock.getsockname()[1]
    words = ["--nproc-per-node", str(RANKS), "--master-port", str(port), "-m", "benchmarks.bench_ranks"]
    subprocess.run([sys.executable, "-m", "torch.distributed.run", *words], check=True, capture_output=True)


class BareForks:
    """A process with torch loaded that forks 4 ranks for each line it reads: nothing is sent, kept, or watched."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.bench_ranks", "forks"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"},
        )

    def __call__(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with tempfile.TemporaryDirectory() as folder:
            self.process.stdin.write(f"{folder}/meet\n")
            self.process.stdin.flush()
            assert self.process.stdout.readline() == "0\n"

    def close(self) -> None:
        self.process.communicate()

    @staticmethod
    def serve() -> None:
        torch.set_num_threads(1)
        for path in sys.stdin:
            pids = []
            for rank in range(RANKS):
                if not (pid := os.fork()):
                    joined(rank, path.strip())
                    os._exit(0)
                pids.append(pid)
            print(sum(os.waitpid(pid, 0)[1] for pid in pids), flush=True)


def first_run() -> None:
    ranks.stop()
    ranks.run(total, ranks=RANKS)


def times(count: int, run: object) -> object:
    return lambda: [run() for _ in range(count)]  # type: ignore[operator]


def rows() -> list[Row]:
    torchrun, spawn = f"torchrun, {RANKS} ranks", f"torch.multiprocessing.spawn, {RANKS} ranks"
    cold = f"labkit.ranks.run, {RANKS} ranks, server up"
    bare = BareForks()
    (first,) = race([Rival("labkit.ranks.run, the first: its server starts", 1, first_run)], rounds=3, unit="runs/s")
    with ranks.pool(RANKS) as pool:
        raced = race(
            [
                Rival(torchrun, 1, by_torchrun),
                Rival(spawn, 1, by_spawn, torchrun),
                Rival(cold, 10, times(10, lambda: ranks.run(total, ranks=RANKS)), torchrun, 30),
                Rival("limit: bare fork and gloo's rendezvous", 10, times(10, bare), torchrun),
                Rival("labkit.ranks.run, 16 ranks", 3, times(3, lambda: ranks.run(total, ranks=16)), torchrun),
                Rival("labkit.ranks.pool", 100, times(100, lambda: pool.run(total)), torchrun),
            ],
            rounds=3,
            unit="runs/s",
        )
    bare.close()
    named = {row.what: row for row in raced}
    against_spawn = [a / b for a, b in zip(named[cold].rates, named[spawn].rates, strict=True)]
    warm = named["labkit.ranks.pool"]
    return [
        first,
        *raced,
        replace(named[cold], ratios=against_spawn, against="torch.multiprocessing.spawn"),
        replace(warm, ratios=[rate * WARM_S for rate in warm.rates], against="one in 10 ms", bar=1),
    ]


if __name__ == "__main__":
    if sys.argv[1:] == ["forks"]:
        BareForks.serve()
    else:  # under torchrun
        dist.init_process_group("gloo")
        total(dist.get_rank())
        dist.destroy_process_group()
