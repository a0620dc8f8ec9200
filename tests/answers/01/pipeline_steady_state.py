"""pipeline.steady_state"""

# %% right: reference
def ms_per_batch(prepare, train, workers):
    return max(train, prepare / workers)

# %% right: from a long simulated line
def ms_per_batch(prepare, train, workers):
    ends = simulate(prepare, train, batches=400 * workers, workers=workers).train_end
    return (ends[-1] - ends[200 * workers - 1]) / (200 * workers)

# %% right: as a rate
def ms_per_batch(prepare, train, workers):
    return 1 / min(workers / prepare, 1 / train)

# %% wrong: the two added -> card: adds the two stages
def ms_per_batch(prepare, train, workers):
    return prepare + train

# %% wrong: without the workers -> card: ignores the workers
def ms_per_batch(prepare, train, workers):
    return max(prepare, train)

# %% wrong: workers speed up the trainer too -> card: there is one trainer
def ms_per_batch(prepare, train, workers):
    return max(prepare, train) / workers

# %% wrong: the faster stage -> card: no stage is faster than it can be
def ms_per_batch(prepare, train, workers):
    return min(train, prepare / workers)

# %% wrong: prepare divided, then added -> card: divides only prepare
def ms_per_batch(prepare, train, workers):
    return prepare / workers + train

# %% wrong: a pair -> card: the answer is one number
def ms_per_batch(prepare, train, workers):
    return train, prepare / workers
