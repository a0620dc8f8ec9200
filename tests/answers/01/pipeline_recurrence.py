"""pipeline.recurrence"""

# %% right: reference
def train_times(prepare, train, depth):
    times, put = [], 0
    for i in range(len(prepare)):
        ready = put + prepare[i]
        free = times[-1][1] if times else 0
        put = ready
        if depth == 0:
            put = max(ready, free)
        elif i >= depth:
            put = max(ready, times[i - depth][0])
        start = max(put, free)
        times.append((start, start + train[i]))
    return times

# %% right: numpy arrays, returns a list of lists
import numpy as np


def train_times(prepare, train, depth):
    n = len(prepare)
    put, start, finish = np.zeros(n), np.zeros(n), np.zeros(n)
    for i in range(n):
        put[i] = (put[i - 1] if i else 0) + prepare[i]
        if depth and i >= depth:
            put[i] = max(put[i], start[i - depth])
        if not depth and i:
            put[i] = max(put[i], finish[i - 1])
        start[i] = max(put[i], finish[i - 1] if i else 0)
        finish[i] = start[i] + train[i]
    return np.stack([start, finish], axis=1)

# %% right: event by event
from collections import deque


def train_times(prepare, train, depth):
    prepare, train = deque(prepare), list(train)
    n, times, queue, now = len(train), [], deque(), 0
    ready_at, holding, done_at = prepare.popleft(), False, None
    made = 1
    while len(times) < n or done_at is not None:
        events = [t for t in (None if holding else ready_at, done_at) if t is not None]
        if events:
            now = min(events)
        if done_at is not None and done_at <= now:
            done_at = None
        if not holding and ready_at is not None and ready_at <= now:
            holding, ready_at = True, None
        moved = True
        while moved:
            moved = False
            if done_at is None and (queue or holding) and len(times) < n:
                if queue:
                    queue.popleft()
                else:
                    holding = False
                    if prepare:
                        ready_at = now + prepare.popleft()
                times.append((now, now + train[len(times)]))
                done_at = times[-1][1]
                moved = True
            if holding and len(queue) < depth:
                queue.append(1)
                holding = False
                if prepare:
                    ready_at = now + prepare.popleft()
                moved = True
    return times

# %% wrong: ignores depth -> card: a queue without a limit
def train_times(prepare, train, depth):
    times, ready = [], 0
    for p, c in zip(prepare, train):
        ready += p
        start = max(ready, times[-1][1] if times else 0)
        times.append((start, start + c))
    return times

# %% wrong: one slot too many -> card: one slot more
def train_times(prepare, train, depth):
    line = simulate(prepare, train, depth=depth + 1)
    return list(zip(line.train_start, line.train_end))

# %% wrong: one slot too few -> card: one slot less
def train_times(prepare, train, depth):
    line = simulate(prepare, train, depth=max(depth - 1, 0))
    return list(zip(line.train_start, line.train_end))

# %% wrong: waits for the slot before it prepares -> card: it prepares first and then waits to put
def train_times(prepare, train, depth):
    times, ready = [], 0
    for i in range(len(prepare)):
        free = times[-1][1] if times else 0
        slot = free if depth == 0 else times[i - depth][0] if i >= depth else 0
        ready = max(ready, slot) + prepare[i]
        start = max(ready, free)
        times.append((start, start + train[i]))
    return times

# %% wrong: nothing overlaps -> card: the serial line
def train_times(prepare, train, depth):
    times, now = [], 0
    for p, c in zip(prepare, train):
        times.append((now + p, now + p + c))
        now += p + c
    return times

# %% wrong: the trainer doesn't wait for its last batch -> card: one batch at a time
def train_times(prepare, train, depth):
    times, ready = [], 0
    for p, c in zip(prepare, train):
        ready += p
        times.append((ready, ready + c))
    return times

# %% wrong: trains before the batch exists -> card: no batch is trained before it is prepared
def train_times(prepare, train, depth):
    times, now = [], prepare[0]
    for c in train:
        times.append((now, now + c))
        now += c
    return times

# %% wrong: only the starts -> card: (start, finish) pairs
def train_times(prepare, train, depth):
    return list(simulate(prepare, train, depth=depth).train_start)

# %% wrong: the worked example by heart -> card: one a batch
def train_times(prepare, train, depth):
    return [(14, 24), (28, 38), (42, 52), (56, 66)]

# %% wrong: an index out of range -> card: IndexError
def train_times(prepare, train, depth):
    times = []
    for i in range(len(prepare)):
        start = max(sum(prepare[: i + 1]), times[i - 1][1])
        times.append((start, start + train[i]))
    return times
