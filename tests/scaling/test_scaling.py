"""Benchmarks on real ranks, their round trip, what may be compared, and the cost of the slowest rank."""

from __future__ import annotations

import dataclasses
import json
import math
import time
from statistics import NormalDist

import numpy as np
import pytest
import torch
import torch.distributed as dist
from hypothesis import given
from hypothesis import strategies as st

from labkit.errors import UsageError
from labkit.scaling import (
    Benchmark,
    NotComparable,
    WeakScaling,
    benchmark,
    compare,
    data_identity,
    differences,
    measure_straggler,
    simulate_straggler,
    straggler_estimate,
    weak_scaling,
)

QUICK = {"warmup": 2, "steps": 2, "intervals": 5, "discard": 1, "data": range(10)}


def made(**changes):
    """A report as if measured, for what needs no ranks."""
    base = Benchmark(
        label="base",
        settings={},
        ranks=2,
        batch_size=32,
        backend="gloo",
        device="cpu",
        hardware={"cpu": "some CPU", "cores": 4, "memory_gib": 16, "gpus": ()},
        versions={"python": "3.11", "torch": "2.13.0"},
        data="10 items, sha256 abc",
        warmup=10,
        steps=10,
        intervals=5,
        discard=1,
        seconds=(9.0, 1.0, 1.1, 0.9, 0.1),
        warmup_seconds=2.0,
    )
    return dataclasses.replace(base, **changes)


def sleeping_step(rank, ranks):
    def step():
        time.sleep(0.002)
        dist.all_reduce(torch.ones(1))

    return step


def test_the_protocol_is_what_it_says(tmp_path):
    """Steps run are the warm-up's and the intervals'; the warm-up's time isn't in the measurement."""

    def make_step(rank, ranks):
        def step():
            with open(tmp_path / f"{rank} of {ranks}", "a") as calls:
                if calls.tell() == 0:
                    time.sleep(0.3)  # the first step is dear
                calls.write(".")

        return step

    result = benchmark(make_step, batch_size=8, ranks=2, **QUICK)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {f"{r} of 2": "." * 12 for r in range(2)}
    assert result.warmup_seconds >= 0.3
    assert len(result.seconds) == 5
    assert result.samples == 2 * 8 * 2
    assert (result.ranks, result.batch_size, result.warmup, result.steps, result.discard) == (2, 8, 2, 2, 1)
    assert result.hardware["cores"] >= 1
    assert result.versions["torch"] == torch.__version__
    assert result.data.startswith("10 items")


def test_outliers_go_by_the_rule_and_the_rest_is_said():
    result = made()
    assert result.kept == (0.9, 1.0, 1.1)
    assert result.rate == 2 * 32 * 10 / 1.0
    assert made(seconds=(0.9, 1.0, 1.7, 9.0, 0.1)).rate == pytest.approx(640 / 1.2)  # their mean, not their median
    assert made(discard=0).rate == pytest.approx(640 / 2.42)
    assert result.step_seconds == pytest.approx(0.1)
    assert result.spread == pytest.approx((640 / 1.1, 640 / 0.9))
    assert result.frame()["counts"].tolist() == [False, True, True, True, False]
    assert "640.0 samples/s (581.8 to 711.1)" in result.text()
    assert "share 1 core:" in made(hardware={"cores": 1}).text()
    assert "1 rank, batch size" in made(ranks=1).text()


def test_a_report_survives_its_file(tmp_path):
    result = benchmark(sleeping_step, batch_size=4, settings={"workers": 2, "pinned": False}, label="x", **QUICK)
    assert Benchmark.load(result.save(tmp_path / "a.json")) == result
    assert json.loads((tmp_path / "a.json").read_text())["samples_per_second"] == result.rate


@given(st.lists(st.floats(1e-4, 1e3), min_size=3, max_size=9), st.integers(1, 64))
def test_any_report_survives_json(seconds, batch_size):
    result = made(seconds=tuple(seconds), intervals=len(seconds), batch_size=batch_size)
    assert Benchmark.from_json(result.to_json()) == result


def test_alike_runs_are_compared():
    fast = made(label="fast", settings={"workers": 4}, seconds=(0.5, 0.5, 0.51, 0.49, 0.5))
    found = compare(made(), fast)
    assert found.ratio == pytest.approx(2.0)
    assert found.clear
    assert found.text().startswith("'fast' gives 2 times the samples/s of 'base'")
    near = compare(made(), made(label="near", seconds=(1.0, 1.0, 0.99, 1.02, 1.0)))
    assert not near.clear
    assert "may be chance" in near.text()
    assert len(near.text()) < 100  # one line of a notebook
    assert compare(made(), made()).text().startswith("b gives 1 times the samples/s of a")


UNLIKE = [
    ({"batch_size": 64}, "batch_size is 32 in a and 64 in b"),
    ({"hardware": {"cpu": "another", "cores": 4, "memory_gib": 16, "gpus": ()}}, "hardware.cpu is 'some CPU' in a"),
    ({"data": "10 items, sha256 def"}, "data is '10 items, sha256 abc' in a and '10 items, sha256 def' in b"),
    ({"data": ""}, "data isn't identified in b"),
    ({"ranks": 4}, "ranks is 2 in a and 4 in b"),
    ({"warmup": 0}, "warmup is 10 in a and 0 in b"),
    ({"steps": 20}, "steps is 10"),
    ({"discard": 0}, "discard is 1 in a and 0 in b"),
    ({"device": "cuda"}, "device is 'cpu'"),
    ({"backend": "nccl"}, "backend is 'gloo'"),
    ({"versions": {"python": "3.11", "torch": "2.14.0"}}, "versions.torch is '2.13.0' in a and '2.14.0' in b"),
    ({"versions": {"torch": "2.13.0"}}, "versions.python is '3.11' in a and None in b"),
]


@pytest.mark.parametrize(("changes", "message"), UNLIKE, ids=[next(iter(changes)) for changes, _ in UNLIKE])
def test_unlike_runs_are_refused_in_one_line(changes, message):
    with pytest.raises(NotComparable) as caught:
        compare(made(), made(**changes))
    assert str(caught.value).startswith(f"not comparable: {message}")
    assert "\n" not in str(caught.value)
    fields = {one.field for one in differences(made(), made(**changes))}
    assert compare(made(), made(**changes), varied=fields).a == made()


def test_a_refusal_calls_the_runs_by_their_labels():
    said = [
        str(differences(made(label="old"), made(label="new", **changes))[0]) for changes in ({"ranks": 4}, {"data": ""})
    ]
    assert said[0] == "ranks is 2 in 'old' and 4 in 'new'"
    assert said[1].startswith("data isn't identified in 'new'")
    with pytest.raises(NotComparable, match="ranks is 2 in a and 4 in b"):
        compare(made(label=""), made(label="new", ranks=4))


def test_the_difference_that_matters_most_comes_first_and_the_rest_is_counted():
    with pytest.raises(NotComparable, match=r"not comparable: batch_size .* \(2 more: ranks, warmup\)"):
        compare(made(), made(warmup=3, ranks=4, batch_size=16))
    with pytest.raises(NotComparable, match="data isn't identified in both runs"):
        compare(made(data=""), made(data=""))


@pytest.mark.slow
def test_weak_scaling_on_real_ranks():
    study = weak_scaling(sleeping_step, batch_size=4, ranks=(1, 2, 4), **QUICK)
    assert [one.ranks for one in study.benchmarks] == [1, 2, 4]
    assert study.efficiency[1] == 1.0
    steps = [one.step_seconds for one in study.benchmarks]
    assert study.efficiency[4] == pytest.approx(steps[0] / steps[2])
    for count, (least, most) in study.efficiency_range.items():
        assert least <= study.efficiency[count] <= most
    assert len(study.frame()) == 3
    assert "1 rank: " in study.text()
    assert "2 ranks: " in study.text()
    picture = study.plot()
    assert "efficiency" in picture.alt
    assert picture.png().startswith(b"\x89PNG")


def test_runs_of_other_work_are_no_scaling_study():
    with pytest.raises(UsageError, match="can't be one scaling study: batch_size is 32 in a and 16 in b"):
        WeakScaling((made(ranks=1), made(ranks=2, batch_size=16)))
    with pytest.raises(UsageError, match="must begin with one on 1 rank"):
        WeakScaling((made(ranks=2),))


def test_data_is_known_by_its_content(tmp_path):
    (tmp_path / "a").write_bytes(b"x" * 10)
    first = data_identity(tmp_path)
    assert first == data_identity(str(tmp_path))
    assert first.startswith("1 files, 10 bytes, sha256 ")
    (tmp_path / "a").write_bytes(b"y" * 10)
    assert data_identity(tmp_path) != first
    assert data_identity(np.arange(3)) == data_identity(np.arange(3)) == data_identity(torch.arange(3))
    different = [np.arange(3), np.arange(3.0), np.arange(3).reshape(3, 1), [0, 1, 2], b"\x00\x01\x02", ["0", "1", "2"]]
    assert len({data_identity(one) for one in different}) == len(different)


def expected_largest(ranks):
    """Mean of the largest of `ranks` standard normal times, by integrating its density."""
    normal = NormalDist()
    x = np.linspace(-8, 8, 4001)
    density = np.array([normal.pdf(one) for one in x])
    below = np.array([normal.cdf(one) for one in x])
    return np.trapezoid(x * ranks * density * below ** (ranks - 1), x)


@pytest.mark.parametrize("ranks", [1, 2, 4, 16, 256])
def test_the_estimate_is_above_the_truth_and_the_simulation_is_on_it(ranks):
    estimate = straggler_estimate(10.0, 2.0, ranks)
    assert estimate == 10 + 2 * math.sqrt(2 * math.log(ranks))
    truth = 10 + 2 * expected_largest(ranks)
    assert truth <= estimate + 1e-6
    seen = simulate_straggler(10.0, 2.0, ranks, steps=4000)
    assert abs(seen.seen - truth) < 5 * seen.error


@pytest.mark.slow
def test_straggling_on_real_ranks():
    found = measure_straggler(0.01, 0.003, 4, steps=40)
    assert found.ranks == 4
    assert found.step > found.seen > found.mean  # everyone waits for the slowest
    assert found.estimate == straggler_estimate(found.mean, found.deviation, 4)
    assert "upper estimate" in found.text()
    assert all(len(line) < 100 for line in found.text().splitlines())


def bad_report(**changes):
    return json.dumps(json.loads(made().to_json()) | changes)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: benchmark(5, batch_size=4), "make_step is 5"),
        (lambda: benchmark(sleeping_step, batch_size=0), "batch_size is 0"),
        (lambda: benchmark(sleeping_step, batch_size=4, ranks=0), "ranks is 0"),
        (lambda: benchmark(sleeping_step, batch_size=4, warmup=-1), "warmup is -1"),
        (lambda: benchmark(sleeping_step, batch_size=4, steps=1.5), "steps is 1.5"),
        (lambda: benchmark(sleeping_step, batch_size=4, intervals=2, discard=1), "that leaves none"),
        (lambda: benchmark(sleeping_step, batch_size=4, data="/no/such/file"), "there is no such file"),
        (lambda: benchmark(sleeping_step, batch_size=4, settings={"a": [1]}), r"settings\['a'\] is \[1\]"),
        (lambda: benchmark(sleeping_step, batch_size=4, settings={"a": math.nan}), r"settings\['a'\] is nan"),
        (lambda: weak_scaling(sleeping_step, batch_size=4, ranks=(2, 4)), "1 must be among them"),
        (lambda: weak_scaling(sleeping_step, batch_size=4, ranks=4), "ranks is 4: give numbers of ranks"),
        (lambda: data_identity(3.0), "data is a float"),
        (lambda: data_identity(np.array([object()])), "array of objects"),
        (lambda: compare(made(), {}), "got a dict to compare"),
        (lambda: compare(made(), made(), varied="ranks"), "varied is 'ranks': give a tuple"),
        (lambda: compare(made(), made(), varied=("colour",)), "varied holds 'colour'"),
        (lambda: straggler_estimate(math.nan, 1, 2), "mean is nan"),
        (lambda: straggler_estimate(1, -1, 2), "deviation is -1"),
        (lambda: straggler_estimate(1, 1, 0), "ranks is 0"),
        (lambda: Benchmark.load("/no/such/file"), "can't be read: No such file"),
        (lambda: Benchmark.from_json("{"), "isn't JSON"),
        (lambda: Benchmark.from_json("[1]"), "format is None"),
        (lambda: Benchmark.from_json(bad_report(format=7)), "format is 7"),
        (lambda: Benchmark.from_json(bad_report(ranks="two")), "ranks is 'two'"),
        (lambda: Benchmark.from_json(bad_report(ranks=0)), "is below 1"),
        (lambda: Benchmark.from_json(bad_report(seconds=[1.0, -1.0, 1.0, 1.0, 1.0])), r"seconds\[1\] is -1"),
        (lambda: Benchmark.from_json(bad_report(seconds=[1.0])), "1 intervals, 5 declared"),
        (lambda: Benchmark.from_json(json.dumps({"format": 1})), "lacks label"),
    ],
)
def test_bad_input_gets_one_line(call, message):
    with pytest.raises(UsageError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)
