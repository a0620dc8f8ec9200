"""simulate: exact against independent programs, and clear about input that can't be used."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from pathlib import Path

import line_models
import make_golden
import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from labkit.errors import UsageError
from labkit.pipeline import simulate

HERE = Path(__file__).parent
DATA = HERE.parents[1] / "data"
ORACLE = json.loads((DATA / "timeline_oracle.json").read_text())
GOLDEN = json.loads((HERE / "golden.json").read_text())
COLUMNS = ("prepare_start", "prepare_end", "train_start", "train_end", "waits")

time = st.one_of(st.integers(0, 9).map(float), st.floats(0, 100))
lines = st.lists(st.tuples(time, time), min_size=1, max_size=14)
whole_lines = st.lists(st.tuples(st.integers(0, 9), st.integers(1, 9)), min_size=1, max_size=12)


def both(timeline):
    return list(timeline.train_start), list(timeline.train_end)


@pytest.mark.parametrize("case", ORACLE, ids=range(len(ORACLE)))
def test_the_simpy_oracle_exactly(case):
    timeline = simulate(case["prepare"], case["train"], depth=case["depth"])
    assert {name: list(getattr(timeline, name)) for name in COLUMNS} == {name: case[name] for name in COLUMNS}
    assert timeline.makespan == case["makespan"]


@pytest.mark.parametrize("case", GOLDEN["lines"][len(ORACLE) :], ids=lambda case: case["name"][:40])
def test_credits_worked_out_by_hand(case):
    timeline = simulate(*(case[name] for name in ("prepare", "train")), **_settings(case))
    assert {name: list(getattr(timeline, name)) for name in COLUMNS} == {name: case[name] for name in COLUMNS}
    assert timeline.makespan == case["makespan"]


def _settings(case):
    return {name: case[name] for name in ("depth", "workers", "get_cost")}


def test_there_are_48_oracle_cases_and_the_file_is_the_one_described():
    assert len(ORACLE) == 48
    digest = hashlib.sha256((DATA / "timeline_oracle.json").read_bytes()).hexdigest()
    assert f"`{digest}`" in (DATA / "README.md").read_text()


def test_golden_vectors_are_what_their_script_makes():
    assert json.loads(json.dumps(make_golden.golden())) == GOLDEN


def test_the_worked_examples():
    quick, slow = simulate(6, 10, batches=4), simulate(14, 10, batches=4)
    assert (quick.serial, quick.makespan, quick.waits) == (64, 46, (6, 0, 0, 0))
    assert (slow.serial, slow.makespan, slow.waits) == (96, 66, (14, 4, 4, 4))
    assert (slow.fill, slow.stall) == (14, 12)
    assert [simulate(6, 10, batches=4, depth=k).makespan for k in (0, 4)] == [46, 46]
    assert [simulate(14, 10, batches=4, depth=k).makespan for k in (0, 4)] == [66, 66]


@given(lines, st.integers(1, 5))
def test_no_difference_to_simpy_with_a_bounded_queue(line, depth):
    prepare, train = map(list, zip(*line, strict=True))
    assert both(simulate(prepare, train, depth=depth)) == line_models.bounded_queue(prepare, train, depth)


@given(lines, st.one_of(st.none(), st.integers(0, 6)), st.integers(1, 5), st.sampled_from([0.0, 0.25, 1.0]))
def test_no_difference_to_simpy_with_workers_and_slots(line, depth, workers, get_cost):
    prepare, train = map(list, zip(*line, strict=True))
    timeline = simulate(prepare, train, depth=depth, workers=workers, get_cost=get_cost)
    assert both(timeline) == line_models.slots(prepare, train, depth, workers, get_cost)


@given(lines, st.integers(1, 5), st.integers(1, 4), st.sampled_from([0.0, 0.25, 1.0]))
def test_no_difference_to_data_loaders_protocol(line, workers, prefetch, get_cost):
    prepare, train = map(list, zip(*line, strict=True))
    timeline = simulate(prepare, train, workers=workers, prefetch_factor=prefetch, get_cost=get_cost)
    assert both(timeline) == line_models.data_loader(prepare, train, workers, prefetch, get_cost)


@given(whole_lines, st.integers(0, 5))
def test_no_difference_to_a_ciw_network(line, depth):
    prepare, train = map(list, zip(*line, strict=True))
    assert both(simulate(prepare, train, depth=depth)) == line_models.ciw_network(prepare, train, depth)


@given(lines, st.integers(1, 8))
def test_one_worker_with_n_credits_is_a_queue_of_n_minus_1(line, credit):
    prepare, train = map(list, zip(*line, strict=True))
    assert simulate(prepare, train, prefetch_factor=credit) == simulate(prepare, train, depth=credit - 1)


@given(lines, st.integers(0, 6), st.integers(1, 4))
def test_a_deeper_queue_never_makes_the_trainer_later(line, depth, workers):
    prepare, train = map(list, zip(*line, strict=True))
    shallow = simulate(prepare, train, depth=depth, workers=workers)
    deep = simulate(prepare, train, depth=depth + 1, workers=workers)
    assert all(a >= b for a, b in zip(shallow.train_start, deep.train_start, strict=True))


@given(lines, st.integers(0, 4), st.integers(1, 4), st.sampled_from([0.0, 1.0]))
def test_waits_and_training_add_up_to_the_run(line, depth, workers, get_cost):
    prepare, train = map(list, zip(*line, strict=True))
    timeline = simulate(prepare, train, depth=depth, workers=workers, get_cost=get_cost)
    assert sum(timeline.waits) + sum(train) == pytest.approx(timeline.makespan)
    assert min(timeline.waits) >= 0
    assert min(timeline.blocked) >= 0
    assert timeline.fill + timeline.stall == pytest.approx(sum(timeline.waits))


@given(st.integers(1, 60), st.integers(1, 60), st.integers(1, 40), st.integers(1, 6))
def test_the_closed_form_for_constant_times(prepare, train, batches, workers):
    expected = max(-(-i // workers) * prepare + (batches - i + 1) * train for i in range(1, batches + 1))
    assert simulate(prepare, train, batches=batches, workers=workers).makespan == expected


@given(st.integers(1, 8), st.integers(1, 9), st.integers(0, 200))
def test_one_slow_batch_costs_what_the_credits_dont_cover(credit, train, extra):
    prepare = [train] * 40
    prepare[20] += extra
    lost = simulate(prepare, train, depth=credit - 1).makespan - simulate(train, train, batches=40).makespan
    # The trainer-bound formula max(0, L - N c) counts a full queue; with prepare = train the queue is never full.
    assert lost == extra
    quick = [0.0] * 40
    quick[20] += extra
    assert simulate(quick, train, depth=credit - 1).makespan - 40 * train == max(0, extra - credit * train)


@pytest.mark.parametrize(
    "make",
    [
        list,
        tuple,
        np.array,
        pd.Series,
        torch.tensor,
        lambda v: np.array(v, dtype=np.int32),
        iter,
        lambda v: torch.tensor(v, dtype=torch.float64, requires_grad=True),
    ],
)
def test_any_kind_of_sequence(make):
    assert simulate(make([6, 7, 8]), make([10, 3, 5])).waits == simulate([6, 7, 8], [10, 3, 5]).waits


@pytest.mark.parametrize("number", [6, 6.0, np.int64(6), np.float32(6), np.array(6), torch.tensor(6)])
def test_any_kind_of_number(number):
    assert simulate(number, 10, batches=4).makespan == 46


def test_a_number_stands_for_every_batch_of_the_other_sequence():
    assert simulate([6, 6, 6, 6], 10) == simulate(6, 10, batches=4) == simulate(6, [10] * 4, batches=4)


BAD = [
    ({"prepare": -1, "train": 10, "batches": 4}, "prepare is -1.0: times must be 0 or more"),
    ({"prepare": [1, 2, -3.0], "train": 10}, "prepare[2] is -3.0: times must be 0 or more"),
    ({"prepare": np.array([1, -2]), "train": 10}, "prepare[1] is -2.0: times must be 0 or more"),
    ({"prepare": float("nan"), "train": 10, "batches": 4}, "prepare is nan: times must be finite numbers"),
    ({"prepare": 6, "train": [1, float("nan")]}, "train[1] is nan: times must be finite numbers"),
    ({"prepare": 6, "train": float("inf"), "batches": 4}, "train is inf: times must be finite numbers"),
    ({"prepare": "6", "train": 10, "batches": 4}, "prepare is '6': give a number or a sequence of numbers"),
    ({"prepare": [6, "7"], "train": 10}, "prepare[1] is '7': times must be numbers, 0 or more"),
    ({"prepare": np.array(["a", "b"]), "train": 10}, "prepare[0] is 'a': times must be numbers, 0 or more"),
    ({"prepare": [6, None], "train": 10}, "prepare[1] is None: times must be numbers, 0 or more"),
    ({"prepare": None, "train": 10, "batches": 4}, "prepare is None: times must be numbers, 0 or more"),
    ({"prepare": [[1, 2], [3, 4]], "train": 10}, "prepare[0] is [1, 2]: times must be numbers, 0 or more"),
    ({"prepare": np.ones((2, 2)), "train": 10}, "prepare has shape (2, 2): give one time for each batch"),
    ({"prepare": 6, "train": 10}, "batches is missing: give batches=4, say, or a sequence of times"),
    ({"prepare": 6, "train": 10, "batches": 0}, "batches is 0: give a whole number, 1 or more"),
    ({"prepare": 6, "train": 10, "batches": 10**12}, "batches is 1000000000000: more than 100,000,000 don't fit"),
    ({"prepare": 6, "train": 10, "batches": -2}, "batches is -2: give a whole number, 1 or more"),
    ({"prepare": 6, "train": 10, "batches": 2.5}, "batches is 2.5: give a whole number, 1 or more"),
    ({"prepare": 6, "train": 10, "batches": True}, "batches is True: give a whole number, 1 or more"),
    ({"prepare": 6, "train": 10, "batches": "4"}, "batches is '4': give a whole number, 1 or more"),
    ({"prepare": [6, 6], "train": 10, "batches": 3}, "batches is 3 but prepare has 2 times: leave batches out"),
    ({"prepare": [6, 6], "train": [10]}, "prepare has 2 times and train has 1: give one of each for every batch"),
    ({"prepare": [], "train": 10}, "prepare is empty: give at least one time"),
    ({"prepare": 6, "train": np.array([])}, "train is empty: give at least one time"),
    ({"prepare": 6, "train": 10, "batches": 4, "depth": -1}, "depth is -1: give a whole number, 0 or more"),
    ({"prepare": 6, "train": 10, "batches": 4, "depth": 1.5}, "depth is 1.5: give a whole number, 0 or more"),
    ({"prepare": 6, "train": 10, "batches": 4, "workers": 0}, "workers is 0: give a whole number, 1 or more"),
    (
        {"prepare": 6, "train": 10, "batches": 4, "prefetch_factor": 0},
        "prefetch_factor is 0: give a whole number, 1 or more",
    ),
    ({"prepare": 6, "train": 10, "batches": 4, "get_cost": -1}, "get_cost is -1.0: times must be 0 or more"),
    (
        {"prepare": 6, "train": 10, "batches": 4, "depth": 2, "prefetch_factor": 2},
        "depth is 2 and prefetch_factor is 2: give one",
    ),
]


@pytest.mark.parametrize(("given_", "message"), BAD, ids=[message[:36] for _, message in BAD])
def test_bad_input_gets_one_line_that_names_the_value(given_, message):
    with pytest.raises(UsageError, match=re.escape(message)) as caught:
        simulate(**given_)
    assert "\n" not in str(caught.value)


def test_importing_and_running_simulate_brings_nothing_heavy_along():
    code = (
        "import sys; from labkit.pipeline import simulate; simulate(6, 10, batches=4).makespan;"
        "print([m for m in ('torch', 'numpy', 'pandas', 'matplotlib', 'anywidget') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
