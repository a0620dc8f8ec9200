"""Independent models of the line: SimPy processes and a Ciw network. None of them holds a recurrence.

Each returns (train_start, train_end) of every batch.
"""

from __future__ import annotations

import ciw
import simpy

Times = list[float]


def bounded_queue(prepare: Times, train: Times, depth: int) -> tuple[Times, Times]:
    """One producer, a store of `depth` slots (1 or more), one trainer."""
    env = simpy.Environment()
    store = simpy.Store(env, capacity=depth)
    starts, ends = [], []

    def produce():
        for i, time in enumerate(prepare):
            yield env.timeout(time)
            yield store.put(i)

    def consume():
        for _ in prepare:
            i = yield store.get()
            starts.append(env.now)
            yield env.timeout(train[i])
            ends.append(env.now)

    env.process(produce())
    env.process(consume())
    env.run()
    return starts, ends


def slots(prepare: Times, train: Times, depth: int | None, workers: int, get_cost: float) -> tuple[Times, Times]:
    """Workers that keep batch i in hand until batch i - depth is taken (depth 0: until batch i itself is)."""
    env = simpy.Environment()
    ready = [env.event() for _ in prepare]
    taken = [env.event() for _ in prepare]
    starts, ends = [], []

    def work(worker):
        for i in range(worker, len(prepare), workers):
            yield env.timeout(prepare[i])
            ready[i].succeed()
            if depth is not None and i >= depth:
                yield taken[i - depth]

    def consume():
        for i, time in enumerate(train):
            yield ready[i]
            yield env.timeout(get_cost)
            taken[i].succeed()
            starts.append(env.now)
            yield env.timeout(time)
            ends.append(env.now)

    for worker in range(workers):
        env.process(work(worker))
    env.process(consume())
    env.run()
    return starts, ends


def data_loader(prepare: Times, train: Times, workers: int, prefetch: int, get_cost: float) -> tuple[Times, Times]:
    """DataLoader's protocol: a task queue a worker, one result queue, a reorder buffer, one new task a delivery."""
    env = simpy.Environment()
    tasks = [simpy.Store(env) for _ in range(workers)]
    results = simpy.Store(env)
    starts, ends = [], []
    sent = iter(range(len(prepare)))

    def send():
        if (i := next(sent, None)) is not None:
            tasks[i % workers].put(i)

    def work(worker):
        while True:
            i = yield tasks[worker].get()
            yield env.timeout(prepare[i])
            results.put(i)

    def consume():
        for _ in range(workers * prefetch):
            send()
        kept = set()
        for i, time in enumerate(train):
            while i not in kept:
                kept.add((yield results.get()))
            yield env.timeout(get_cost)
            send()
            starts.append(env.now)
            yield env.timeout(time)
            ends.append(env.now)

    for worker in range(workers):
        env.process(work(worker))
    env.run(env.process(consume()))
    return starts, ends


def ciw_network(prepare: Times, train: Times, depth: int) -> tuple[Times, Times]:
    """Two nodes with one server each; the second holds `depth` waiting customers, the first blocks after service."""
    count = len(prepare)
    network = ciw.create_network(
        arrival_distributions=[ciw.dists.Sequential([0.0, float("inf")]), None],
        batching_distributions=[ciw.dists.Deterministic(count), ciw.dists.Deterministic(1)],
        service_distributions=[ciw.dists.Sequential(prepare), ciw.dists.Sequential(train)],
        number_of_servers=[1, 1],
        queue_capacities=[float("inf"), depth],
        routing=[[0.0, 1.0], [0.0, 0.0]],
    )
    simulation = ciw.Simulation(network)
    simulation.simulate_until_max_customers(count)
    records = sorted(
        (r for r in simulation.get_all_records() if r.node == 2 and r.record_type == "service"),
        key=lambda r: r.service_start_date,
    )
    return [r.service_start_date for r in records], [r.service_end_date for r in records]
