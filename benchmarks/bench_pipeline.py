"""The ideal line: `simulate` and `simulate_many` against SimPy and Ciw, and against what Python and memory allow."""

from __future__ import annotations

import ciw
import numpy as np
import simpy

from benchmarks.harness import Rival, Row, race
from labkit.pipeline import simulate, simulate_many

LONG = 100_000
RUNS, BATCHES, DEPTH = 1000, 1000, 4


def simpy_line(prepare: list[float], train: list[float], depth: int) -> list[float]:
    """A producer, a bounded store, a trainer; when training on each batch starts."""
    env = simpy.Environment()
    store = simpy.Store(env, capacity=depth)
    starts = []

    def produce():
        for i, time in enumerate(prepare):
            yield env.timeout(time)
            yield store.put(i)

    def consume():
        for time in train:
            yield store.get()
            starts.append(env.now)
            yield env.timeout(time)

    env.process(produce())
    env.run(env.process(consume()))
    return starts


def ciw_line(prepare: list[float], train: list[float], depth: int) -> None:
    network = ciw.create_network(
        arrival_distributions=[ciw.dists.Sequential([0.0, float("inf")]), None],
        batching_distributions=[ciw.dists.Deterministic(len(prepare)), ciw.dists.Deterministic(1)],
        service_distributions=[ciw.dists.Sequential(prepare), ciw.dists.Sequential(train)],
        number_of_servers=[1, 1],
        queue_capacities=[float("inf"), depth],
        routing=[[0.0, 1.0], [0.0, 0.0]],
    )
    ciw.Simulation(network).simulate_until_max_customers(len(prepare))


def bare_loop(prepare: list[float], train: list[float]) -> float:
    """The least a Python loop can do: the unlimited line's makespan, nothing checked, nothing kept."""
    ready = end = 0.0
    for p, c in zip(prepare, train, strict=True):
        ready += p
        end = (ready if ready > end else end) + c
    return end


def rows() -> list[Row]:
    rng = np.random.default_rng(1)
    prepare, train = rng.exponential(9, LONG).tolist(), rng.exponential(10, LONG).tolist()
    p, c = rng.exponential(9, (RUNS, BATCHES)), rng.exponential(10, (RUNS, BATCHES))
    some = [(row.tolist(), other.tolist()) for row, other in zip(p[:50], c[:50], strict=True)]
    out = np.empty_like(p)

    peer = f"SimPy, one line of {LONG:,} batches"
    single = race(
        [
            Rival(peer, LONG, lambda: simpy_line(prepare, train, DEPTH)),
            Rival("Ciw, one line of 200 batches", 200, lambda: ciw_line(prepare[:200], train[:200], DEPTH), peer),
            Rival(
                f"simulate with its checks and Timeline, {LONG:,} batches",
                LONG,
                lambda: simulate(prepare, train, depth=DEPTH).makespan,
                peer,
                20,
            ),
            Rival("simulate, no limit", LONG, lambda: simulate(prepare, train), peer),
            Rival("simulate, every column read", LONG, lambda: simulate(prepare, train, depth=DEPTH).blocked, peer),
            Rival("limit: a bare Python loop", LONG, lambda: bare_loop(prepare, train), peer),
        ],
        rounds=7,
        unit="batches/s",
    )
    peer = f"SimPy, 50 lines of {BATCHES:,} batches, one after the other"
    size = f"{RUNS:,} lines of {BATCHES:,} batches"
    many = race(
        [
            Rival(peer, 50 * BATCHES, lambda: [simpy_line(a, b, DEPTH) for a, b in some]),
            Rival(f"simulate_many, {size}, depth {DEPTH}", p.size, lambda: simulate_many(p, c, depth=DEPTH), peer, 400),
            Rival(
                "simulate_many, 4 workers, prefetch_factor 2",
                p.size,
                lambda: simulate_many(p, c, workers=4, prefetch_factor=2),
                peer,
            ),
            Rival("limit: one NumPy addition over the same arrays", p.size, lambda: np.add(p, c, out=out), peer),
        ],
        rounds=7,
        unit="batches/s",
    )
    return single + many
