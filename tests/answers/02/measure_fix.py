"""measure.fix"""

# %% right: reference
settings = {"num_workers": mine.cores, "prefetch_factor": mine.memory // mine.cores, "persistent_workers": True}

# %% right: the largest product that fits
ahead = max(f for f in range(1, mine.memory + 1) if f * mine.cores <= mine.memory)
settings = dict(persistent_workers=True, num_workers=mine.cores, prefetch_factor=ahead)

# %% wrong: torch's own prefetch_factor -> card: ready when it comes
settings = {"num_workers": mine.cores, "prefetch_factor": 2, "persistent_workers": True}

# %% wrong: one worker -> card: finish one every
settings = {"num_workers": 1, "prefetch_factor": mine.memory, "persistent_workers": True}

# %% wrong: workers end with the epoch -> card: each epoch starts workers anew
settings = {"num_workers": mine.cores, "prefetch_factor": mine.memory // mine.cores, "persistent_workers": False}

# %% wrong: more than the memory holds -> card: batches ahead
settings = {"num_workers": mine.cores, "prefetch_factor": mine.memory, "persistent_workers": True}

# %% wrong: eight workers -> card: the job has no more cores
settings = {"num_workers": 8, "prefetch_factor": 1, "persistent_workers": True}

# %% wrong: text -> card: a whole number
settings = {"num_workers": "3", "prefetch_factor": 4, "persistent_workers": True}
