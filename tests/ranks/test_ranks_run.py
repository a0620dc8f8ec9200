"""`labkit.ranks.run`: what it returns, what ranks find when they start, how values travel."""

from __future__ import annotations

import concurrent.futures
import os
import random
import threading
from dataclasses import dataclass

import jobs_for_ranks
import numpy as np
import pytest
import torch
import torch.distributed as dist
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from labkit import ranks
from labkit.errors import UsageError
from labkit.ranks import client


@dataclass
class Pair:
    a: int
    b: object


def test_results_come_by_rank_and_the_group_is_real() -> None:
    assert ranks.run(jobs_for_ranks.total, 10.0) == [46.0] * 4
    assert ranks.run(lambda rank: (rank, dist.get_rank(), dist.get_world_size()), ranks=3) == [
        (0, 0, 3),
        (1, 1, 3),
        (2, 2, 3),
    ]


@pytest.mark.parametrize("n", [1, 2, 16])
def test_any_number_of_ranks(n: int) -> None:
    assert ranks.run(jobs_for_ranks.total, ranks=n) == [n * (n - 1) / 2] * n


def test_closures_and_classes_typed_here_work() -> None:
    offset = 3

    class Local:
        def __init__(self, value: int) -> None:
            self.value = value

    def work(rank: int, given: Local) -> Local:
        return Local(given.value + offset + rank)

    results = ranks.run(work, Local(10), ranks=2)
    assert [r.value for r in results] == [13, 14]
    assert all(type(r) is Local for r in results)


def test_every_kind_of_process_differs_and_is_not_this_one() -> None:
    pids = ranks.run(lambda rank: os.getpid(), ranks=3)
    assert len({*pids, os.getpid(), client.server().process.pid}) == 5


def test_tensors_and_arrays_come_back_whole() -> None:
    big = np.arange(300_000, dtype=np.int64)

    def work(rank: int, array: np.ndarray) -> tuple[torch.Tensor, np.ndarray, Pair]:
        return torch.from_numpy(array)[rank::2], array * rank, Pair(rank, torch.ones(2, dtype=torch.bfloat16))

    for rank, (tensor, array, pair) in enumerate(ranks.run(work, big, ranks=2)):
        assert torch.equal(tensor, torch.from_numpy(big)[rank::2])
        assert np.array_equal(array, big * rank)
        assert pair.a == rank
        assert pair.b.dtype == torch.bfloat16


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner),
    )
)
def test_values_travel_unchanged(pool2: ranks.Pool, value: object) -> None:
    assert pool2.run(lambda rank, given: given, value) == [value, value]


@pytest.fixture(scope="module")
def pool2():
    with ranks.pool(2) as pool:
        yield pool


def test_all_ranks_start_from_the_stated_seed_and_one_thread() -> None:
    def draws(rank: int) -> tuple[object, ...]:
        return random.random(), np.random.rand(), torch.rand(1).item(), torch.get_num_threads()  # noqa: NPY002

    random.seed(0)
    np.random.seed(0)  # noqa: NPY002
    number = np.random.rand()  # noqa: NPY002
    expected = (random.random(), number, torch.rand(1, generator=torch.Generator().manual_seed(0)).item(), 1)
    assert ranks.run(draws, ranks=2) == [expected, expected]


def test_ranks_stand_where_the_caller_stands(tmp_path, monkeypatch) -> None:
    (tmp_path / "only_here.py").write_text("value = 7\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("ONLY_HERE", "yes")

    def look(rank: int) -> tuple[str, int, str, str | None]:
        import only_here

        return os.getcwd(), only_here.value, os.environ["ONLY_HERE"], os.environ["RANK"]

    assert ranks.run(look, ranks=2) == [(str(tmp_path), 7, "yes", "0"), (str(tmp_path), 7, "yes", "1")]
    monkeypatch.delenv("ONLY_HERE")
    assert ranks.run(lambda rank: os.environ.get("ONLY_HERE"), ranks=1) == [None]


def test_prints_come_in_order_with_their_rank(capsys) -> None:
    def talk(rank: int) -> None:
        for i in range(3):
            print(f"line {i} of {rank}")
            dist.barrier()
        os.write(2, b"from C\nlast")

    ranks.run(talk, ranks=2)
    expected = [f"rank {r} | {t}" for r in (0, 1) for t in (*(f"line {i} of {r}" for i in range(3)), "from C", "last")]
    assert capsys.readouterr().out.splitlines() == expected


def test_prints_are_shown_when_the_run_fails(capsys) -> None:
    def fails(rank: int) -> None:
        print("before", rank)
        dist.barrier()
        raise KeyError("x")

    with pytest.raises(ranks.RankError):
        ranks.run(fails, ranks=2)
    assert capsys.readouterr().out == "rank 0 | before 0\nrank 1 | before 1\n"


@pytest.mark.slow
def test_a_flood_of_prints_is_cut_and_does_not_block(capsys) -> None:
    ranks.run(lambda rank: print("x" * 100 + "\n" * 1, end="") or [print("y" * 99_999) for _ in range(60)], ranks=1)
    out = capsys.readouterr().out
    assert out.rstrip().endswith("cut: a rank may print 4 MiB")
    assert len(out) < 4.5 * 2**20


def test_any_thread_may_run_and_runs_overlap() -> None:
    with concurrent.futures.ThreadPoolExecutor(3) as threads:
        jobs = [threads.submit(ranks.run, jobs_for_ranks.total, float(i), ranks=2) for i in range(6)]
        assert [job.result() for job in jobs] == [[2.0 * i + 1] * 2 for i in range(6)]


def test_files_a_rank_leaves_open_are_written_and_exit_handlers_run(tmp_path) -> None:
    def leaves(rank: int, folder: str) -> None:
        import atexit

        atexit.register(lambda: open(f"{folder}/exit{rank}", "w").write("done"))  # noqa: SIM115
        global held
        held = open(f"{folder}/held{rank}", "w")  # noqa: SIM115
        held.write("kept")
        atexit.register(held.flush)

    ranks.run(leaves, str(tmp_path), ranks=2)
    assert {p.name: p.read_text() for p in tmp_path.iterdir()} == {
        "exit0": "done",
        "exit1": "done",
        "held0": "kept",
        "held1": "kept",
    }


def test_subgroups_and_objects_work() -> None:
    def right(rank: int) -> tuple[list[object], float]:
        groups = [dist.new_group([0, 1]), dist.new_group([2, 3])]
        mine = groups[rank // 2]
        value = torch.tensor([float(rank)])
        dist.all_reduce(value, group=mine)
        if rank == 0:  # one group makes more collectives than the other: allowed
            dist.barrier(mine)
        elif rank == 1:
            dist.barrier(group=mine)
        gathered: list[object] = [None] * 4
        dist.all_gather_object(gathered, {"rank": rank})
        return gathered, value.item()

    assert [r[1] for r in ranks.run(right)] == [1.0, 1.0, 5.0, 5.0]


def test_a_rank_cannot_start_ranks() -> None:
    with pytest.raises(ranks.RankError, match=r"rank 0 raised UsageError in step 1 .*can't start ranks of its own"):
        ranks.run(lambda rank: ranks.run(lambda r: r), ranks=2)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"ranks": 0}, "ranks is 0: one machine runs 1 to 64"),
        ({"ranks": -2}, "ranks is -2"),
        ({"ranks": 65}, "ranks is 65"),
        ({"ranks": 2.0}, "ranks is 2.0: a whole number"),
        ({"ranks": True}, "ranks is True: a whole number"),
        ({"ranks": "4"}, "ranks is '4': a whole number"),
        ({"timeout": 0}, "timeout is 0: seconds above 0"),
        ({"timeout": -1.0}, "timeout is -1.0"),
        ({"timeout": float("nan")}, "timeout is nan"),
        ({"timeout": float("inf")}, "timeout is inf"),
        ({"timeout": None}, "timeout is None"),
        ({"backend": "mpi"}, "backend is 'mpi': choose from gloo, nccl"),
    ],
)
def test_options_that_cannot_be_used_are_named(options: dict[str, object], words: str) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        ranks.run(lambda rank: rank, **options)
    assert "\n" not in str(caught.value)


def test_functions_that_cannot_be_called_are_named() -> None:
    def needs_two(rank: int, size: int) -> None: ...

    def generator(rank: int):
        yield rank

    for fn, args, words in (
        (3, (), r"fn is 3: a function fn\(rank, \*args\)"),
        (needs_two, (), "missing a required argument: 'size'"),
        (needs_two, (1, 2), "too many positional arguments"),
        (lambda: 1, (), "too many positional arguments"),
        (generator, (), "generator is a generator or async function"),
    ):
        with pytest.raises(UsageError, match=words):
            ranks.run(fn, *args)


def test_what_cannot_be_sent_is_named() -> None:
    lock = threading.Lock()
    with pytest.raises(UsageError, match=r"argument 2 \(lock\) can't be sent to ranks: cannot pickle '_thread.lock'"):
        ranks.run(lambda rank, a, b: None, 1, lock)
    with pytest.raises(UsageError, match=r"it uses lock \(lock\): cannot pickle '_thread.lock'"):
        ranks.run(lambda rank: lock.locked())
    with pytest.raises(ranks.RankError, match=r"rank 1: its result \(lock\) can't be sent back") as caught:
        ranks.run(lambda rank: threading.Lock() if rank == 1 else rank, ranks=2)
    assert (caught.value.rank, caught.value.cause) == (1, "unsendable")


@pytest.mark.skipif(torch.cuda.device_count() >= 4, reason="this machine has the GPUs")
def test_nccl_without_gpus_says_what_is_missing() -> None:
    with pytest.raises(UsageError, match=r"backend 'nccl' needs a GPU a rank: 4 asked, \d found"):
        ranks.run(lambda rank: rank, backend="nccl")


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_nccl_on_one_gpu() -> None:
    def work(rank: int) -> float:
        value = torch.ones(1, device="cuda")
        dist.all_reduce(value)
        return value.item()

    assert ranks.run(work, ranks=1, backend="nccl") == [1.0]


@pytest.mark.slow
def test_the_server_has_one_thread_even_with_the_slow_modules() -> None:
    ranks.warm_up("pandas")
    pid = client.server().process.pid
    assert os.listdir(f"/proc/{pid}/task") == [str(pid)]


def test_a_module_that_cannot_be_brought_in_is_named() -> None:
    with pytest.raises(UsageError, match="module 'nowhere_at_all' can't be imported for ranks: ModuleNotFoundError"):
        ranks.warm_up("nowhere_at_all")
