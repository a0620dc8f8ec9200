"""Each rule on made-up records: it holds, it stays silent, it abstains. And the recurrence behind the predictions."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.pipeline import CAUSES, simulate
from labkit.pipeline.diagnosis import Diagnosis
from labkit.pipeline.diagnosis_causes import LIMITS, MIB, digits
from labkit.pipeline.diagnosis_memory import MEMORY_RULES, least_prefetch
from labkit.pipeline.diagnosis_record import Record, Trial
from labkit.pipeline.diagnosis_rules import TIME_RULES
from labkit.pipeline.diagnosis_verdict import judge
from labkit.pipeline.remedy import remedy
from labkit.pipeline.remedy_replay import Plan, replay

# A healthy job: 2 workers, prepare 10, train 15, nothing waited for but the fetch.
HEALTHY = Record(
    workers=2,
    prefetch_factor=2,
    persistent=True,
    in_order=True,
    method="fork",
    batches=100,
    batch_size=16,
    batch_bytes=1e5,
    cores=4,
    prepare=(10.0,) * 40,
    sending=(0.2,) * 40,
    train=(15.0,) * 40,
    waits=(0.3,) * 39,
    get_cost=0.3,
    first_wait=60.0,
    later_wait=11.0,
    starting=40.0,
    start=1.0,
    first_start=45.0,
    new_pids=False,
    collate=0.05,
    computing=0.95,
    starved=0.02,
    all_threads=1.0,
    asked=100.0,
    disk=0.0,
    cached_train=15.0,
    read_only=5.0,
    trainer_computing=0.1,
    others=0.0,
    threads=1,
    tasks=2,
    worker_cores=(0, 1, 2, 3),
    floor=0.05,
    copied=1e6,
    shm_free=8e9,
    memory_free=8e9,
)
# The same with a trainer that is quick: it waits 5 ms for each batch.
STARVED = replace(HEALTHY, train=(3.0,) * 40, cached_train=3.0, waits=(7.0,) * 39, prepare=(20.0,) * 40)

FAULTS = {
    "too few workers": replace(STARVED, more_workers=4, with_more=Trial(20.0)),
    "workers pinned": replace(STARVED, worker_cores=(1,), computing=0.5, starved=0.48, all_cores=Trial(10.0)),
    "thread oversubscription": replace(
        STARVED, threads=12, tasks=14, starved=0.5, computing=0.4, one_thread=Trial(8.0)
    ),
    "slow collate": replace(STARVED, collate=0.8, more_workers=4, with_more=Trial(19.0)),
    "slow storage": replace(STARVED, asked=7e5, disk=7e5, computing=0.1, starved=0.0, second_read=0.5),
    "decode-bound": replace(STARVED, cores=2, worker_cores=(0, 1)),
    "transport-bound": replace(
        STARVED, prepare=(1.0,) * 40, batch_bytes=8.0 * MIB, sending=(4.0,) * 40, get_cost=6.0, waits=(6.5,) * 39
    ),
    "head-of-line blocking": replace(
        HEALTHY, prepare=((5.0,) * 9 + (150.0,)) * 4, train=(12.0,) * 40, cached_train=12.0, waits=(10.0,) * 39
    ),
    "workers respawned each epoch": replace(
        HEALTHY, persistent=False, new_pids=True, batches=20, later_wait=200.0, start=190.0, start_kept=1.0
    ),
    "data set pickled to workers": replace(
        HEALTHY,
        method="spawn",
        batches=20,
        first_wait=900.0,
        first_start=880.0,
        starting=700.0,
        pickled=64.0 * MIB,
        pickling=300.0,
    ),
    "copy-on-write growth": replace(HEALTHY, copied=120.0 * MIB),
    "prefetch memory": replace(HEALTHY, prefetch_factor=32, batch_bytes=8.0 * MIB),
    "shared memory exhausted": replace(HEALTHY, batch_bytes=8.0 * MIB, shm_free=40.0 * MIB),
}


def opinion(cause, record):
    (said,) = [o for rule in (*TIME_RULES, *MEMORY_RULES) if (o := rule(record)).cause == cause]
    return said


def test_every_cause_has_one_rule_a_fault_here_and_a_remedy():
    named = {rule(HEALTHY).cause for rule in (*TIME_RULES, *MEMORY_RULES)}
    assert named == set(FAULTS) == set(CAUSES) - {"healthy", "not enough evidence"}
    assert len(CAUSES) == len(set(CAUSES)) == 15


@pytest.mark.parametrize("cause", FAULTS)
def test_a_fault_is_named_and_its_remedy_helps(cause):
    verdict = judge(FAULTS[cause])
    assert verdict.cause == cause, verdict
    assert verdict.remedy.advice
    assert "\n" not in verdict.remedy.advice + verdict.evidence
    assert verdict.remedy.gain > 1 + LIMITS.loss / 2 or verdict.remedy.saves > 0 or "shm" in verdict.remedy.advice
    assert cause not in verdict.ruled_out
    told = {cause, *verdict.second, *verdict.ruled_out, *verdict.unseen}
    assert told >= set(FAULTS) - {"slow collate", "too few workers", "decode-bound"}


@pytest.mark.parametrize("cause", FAULTS)
def test_each_rule_is_silent_on_a_healthy_record(cause):
    said = opinion(cause, HEALTHY)
    assert said.holds is False
    assert said.why


def test_healthy():
    verdict = judge(HEALTHY)
    assert (verdict.cause, verdict.remedy) == ("healthy", None)
    assert "nothing to fix" in verdict.evidence
    assert len(verdict.ruled_out) == 13


MISSING = {
    "too few workers": {"more_workers": 4, "with_more": None},
    "workers pinned": {"worker_cores": None},
    "thread oversubscription": {"threads": None},
    "slow collate": {"floor": None},
    "slow storage": {"asked": None},
    "decode-bound": {"computing": None},
    "workers respawned each epoch": {"new_pids": None},
    "data set pickled to workers": {"pickled": None},
    "copy-on-write growth": {"copied": None},
    "shared memory exhausted": {"shm_free": None},
}


@pytest.mark.parametrize("cause", MISSING)
def test_a_rule_that_lacks_a_figure_abstains(cause):
    said = opinion(cause, replace(FAULTS[cause], **MISSING[cause]))
    assert said.holds is None
    assert said.why


@pytest.mark.parametrize("cause", FAULTS)
def test_every_rule_abstains_where_workers_hide(cause):
    hidden = replace(FAULTS[cause], workers=None, prepare=(), sending=())
    assert opinion(cause, hidden).holds is None


@pytest.mark.parametrize("cause", ["too few workers", "workers pinned", "decode-bound", "slow storage"])
def test_no_fault_in_supply_while_the_trainer_never_waits(cause):
    assert opinion(cause, replace(FAULTS[cause], waits=(0.3,) * 39)).holds is False


def test_a_probe_that_changes_nothing_clears_the_suspect():
    assert opinion("workers pinned", replace(FAULTS["workers pinned"], all_cores=Trial(19.5))).holds is False
    assert (
        opinion("thread oversubscription", replace(FAULTS["thread oversubscription"], one_thread=Trial(19.5))).holds
        is False
    )
    assert opinion("too few workers", replace(FAULTS["too few workers"], with_more=Trial(40.0))).holds is False


def test_only_a_fork_shares_pages():
    assert opinion("copy-on-write growth", replace(FAULTS["copy-on-write growth"], method="spawn")).holds is False


@pytest.mark.parametrize(
    ("change", "reason", "next_try"),
    [
        ({"others": 1.5}, "other programs keep 1.5 of 2 cores busy", "close what else is running"),
        ({"cached_train": 138.0}, "a step took 138 ms with no loader running", "close what else is running"),
        ({"train": (3.0,) * 5}, "only 5 batches", "give a larger budget (budget_s, or --budget)"),
        ({"workers": None, "prepare": (), "sending": ()}, "can't be seen", "give the DataLoader inside it"),
    ],
)
def test_not_enough_evidence(change, reason, next_try):
    record = replace(FAULTS["decode-bound"], **change)
    verdict = judge(record)
    assert (verdict.cause, verdict.remedy) == ("not enough evidence", None)
    assert reason in verdict.evidence
    found = Diagnosis(verdict, record, None, 1.0)
    assert next_try in found.advice
    for told in (found.text(), found.html(), found._repr_mimebundle_()["text/html"]):
        assert next_try in told
        assert "uled out" not in told, "nothing is ruled out by what can't be relied on"
        assert "brings less" not in told
    assert "\n  not  " not in found.text()


def test_a_report_says_what_was_measured():
    page = Diagnosis(judge(STARVED), STARVED, None, 1.0).html("job:make_loader,step")
    assert "job:make_loader,step · 2 workers · prefetch_factor 2 · batches of 16 samples, 0.0954 MiB · 4 cores" in page
    alone = replace(STARVED, workers=1)
    assert "1 worker · " in Diagnosis(judge(alone), alone, None, 1.0).html()


def test_a_step_is_not_slowed_by_workers_that_do_less():
    """Something else ran during that one trial: it must not make the larger gain look small."""
    fault = FAULTS["slow collate"]
    calm = replace(fault, canned=Trial(prepare=0.1, train=fault.mean_train))
    disturbed = replace(fault, canned=Trial(prepare=0.1, train=40 * fault.mean_train))
    assert remedy("slow collate", disturbed).gain == remedy("slow collate", calm).gain


@pytest.mark.parametrize(
    ("value", "most", "text"),
    [
        (1180.4, 3, "1,180"),
        (12.345, 3, "12.3"),
        (0.0954, 3, "0.0954"),
        (10330.0, 4, "10,330"),
        (0.00001, 3, "0.000010"),
    ],
)
def test_figures_have_no_exponent(value, most, text):
    assert digits(value, most) == text


def test_waiting_that_no_rule_explains_is_said():
    strange = replace(STARVED, computing=0.1, starved=0.0, asked=0.0)
    verdict = judge(strange)
    assert verdict.cause == "not enough evidence"
    assert "no rule explains it" in verdict.evidence


def test_a_busy_machine_is_no_reason_to_doubt_a_loader_that_keeps_up():
    assert judge(replace(HEALTHY, others=1.5)).cause == "healthy"


def test_of_two_faults_the_one_that_costs_most_is_named():
    both = replace(
        FAULTS["slow collate"], persistent=False, new_pids=True, later_wait=300.0, start=290.0, start_kept=1.0
    )
    verdict = judge(both)
    assert verdict.cause == "slow collate"
    assert "workers respawned each epoch" in verdict.second
    short = judge(replace(both, batches=10))
    assert short.cause == "workers respawned each epoch"
    assert "slow collate" in short.second


def test_respawning_is_not_blamed_for_a_data_set_that_travels():
    fault = replace(
        FAULTS["data set pickled to workers"], persistent=False, new_pids=True, later_wait=900.0, start=880.0
    )
    verdict = judge(replace(fault, start_kept=1.0))
    assert verdict.cause == "data set pickled to workers"
    assert "workers respawned each epoch" in verdict.second


def test_predictions():
    # 20 ms of work by 2 workers, 3 ms steps: each batch 10; with 4 workers each 5
    assert remedy("too few workers", FAULTS["too few workers"]).gain == pytest.approx(2, rel=0.1)
    assert remedy("workers pinned", FAULTS["workers pinned"]).gain == pytest.approx(2, rel=0.1)
    assert remedy("workers respawned each epoch", FAULTS["workers respawned each epoch"]).gain == pytest.approx(
        (190 + 10 + 20 * 15.3) / (1 + 10 + 20 * 15.3), rel=0.02
    )
    memory = remedy("prefetch memory", FAULTS["prefetch memory"])
    assert memory.changes == {"prefetch_factor": 1}
    assert memory.saves == pytest.approx(2 * 31 * 8 * MIB)
    assert remedy("copy-on-write growth", FAULTS["copy-on-write growth"]).saves == pytest.approx(120 * MIB)


def test_the_least_prefetch_that_keeps_the_trainer_busy():
    swings = replace(HEALTHY, prefetch_factor=16, prepare=((5.0,) * 9 + (150.0,)) * 4)
    assert 1 < least_prefetch(swings) < 16
    assert least_prefetch(replace(HEALTHY, prefetch_factor=16)) == 1


times = st.floats(0, 30)


@given(st.lists(st.tuples(times, times), min_size=1, max_size=30), st.integers(1, 4), st.integers(1, 3), times)
def test_the_recurrence_is_that_of_simulate(batches, workers, factor, cost):
    prepare, train = [p for p, _ in batches], [c for _, c in batches]
    plan = Plan(prepare, train, workers=workers, prefetch_factor=factor, get_cost=cost, batches=len(batches))
    line = simulate(prepare, train, workers=workers, prefetch_factor=factor, get_cost=cost)
    made = replay(plan)
    assert made.makespan == pytest.approx(line.makespan)
    assert made.waits == pytest.approx(line.waits)


@given(st.lists(st.tuples(times, times), min_size=1, max_size=30), times, times)
def test_without_workers_nothing_overlaps(batches, cost, start):
    plan = Plan(
        [p for p, _ in batches],
        [c for _, c in batches],
        workers=0,
        get_cost=cost,
        start=start,
        batches=len(batches),
    )
    total = start + sum(p + c + cost for p, c in batches)
    assert replay(plan).makespan == pytest.approx(total)
    assert sum(replay(plan).waits) + sum(c for _, c in batches) == pytest.approx(total)


@given(st.lists(st.tuples(times, times), min_size=1, max_size=30), st.integers(1, 4), st.integers(1, 3))
def test_out_of_order_delivers_each_batch_once(batches, workers, factor):
    prepare, train = [p for p, _ in batches], [c for _, c in batches]
    plan = Plan(prepare, train, workers=workers, prefetch_factor=factor, in_order=False, batches=len(batches))
    free = replay(plan)
    assert len(free.waits) == len(batches)
    assert sum(free.waits) + sum(train) == pytest.approx(free.makespan)
    assert free.makespan >= max(sum(train), sum(prepare) / workers) - 1e-6


def test_with_alike_batches_order_is_free():
    plan = Plan([7.0], [3.0], workers=2, prefetch_factor=2, batches=40)
    assert replay(replace(plan, in_order=False)).makespan == pytest.approx(replay(plan).makespan)
    slow = replace(plan, prepare=([2.0] * 9 + [90.0]) * 4, train=[6.0])
    assert replay(replace(slow, in_order=False)).makespan < 0.8 * replay(slow).makespan


def test_a_trace_is_repeated_to_the_length_of_an_epoch():
    plan = Plan([1.0, 2.0], [10.0], batches=100)
    assert len(replay(plan).waits) == 100
    assert replay(plan).makespan == pytest.approx(1 + 1000)
    assert plan.scaled(3.0).prepare == pytest.approx([2, 4])
    assert Plan([0.0], [1.0]).scaled(3.0).prepare == [3.0]


# What this machine does to a fetch, and to a start ------------------------------------------------------------------

SLOW_TO_WAKE = replace(HEALTHY, waits=(4.0,) * 39, get_cost=4.0)


def test_what_any_fetch_costs_here_is_no_fault():
    ready = Trial(prepare=0.3, train=15.0, get_cost=3.0, sending=0.2)
    assert judge(SLOW_TO_WAKE).cause == "not enough evidence", "a sixth of the time, and no rule knows why"
    verdict = judge(replace(SLOW_TO_WAKE, in_one=ready))
    assert verdict.cause == "healthy"
    assert "one ready tensor takes 3 ms" in verdict.evidence
    big = replace(SLOW_TO_WAKE, in_one=ready, batch_bytes=4.0 * MIB)
    assert big.fetch_price == LIMITS.fetch_ms, "where bytes are many their trip is what can be saved"


def test_a_trial_says_when_its_workers_begin():
    base = replace(HEALTHY.plan(), start=500.0)
    assert Trial(prepare=1.0, start=30.0).plan(base).start == 30.0
    assert Trial(prepare=1.0, start=900.0).plan(base).start == 500.0
    assert Trial(prepare=1.0).plan(base).start == 500.0
    assert Trial(prepare=1.0, start=30.0).plan(base, start=7.0).start == 7.0


def test_fewer_batches_ready_are_tried_before_the_gain_is_told():
    held = replace(HEALTHY, batch_bytes=16.0 * MIB, prefetch_factor=16, get_cost=5.0, waits=(5.0,) * 39)
    told = remedy("prefetch memory", held)
    assert told.gain == 1.0
    tried = remedy("prefetch memory", replace(held, fewer_ready=Trial(prepare=10.0, train=15.0, get_cost=3.0)))
    assert 1.05 < tried.gain < 1.15
    assert tried.saves == told.saves > 0
