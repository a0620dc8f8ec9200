"""pipeline.reality"""

# %% right: reference
workers = 3
for prefetch_factor in range(1, job.budget // workers + 1):
    line = simulate(job.prepare, [job.train] * 24, workers=workers, prefetch_factor=prefetch_factor)
    if line.stall < 1e-6:
        break
predicted = line.makespan

# %% right: all of the memory, the prediction by hand
workers, prefetch_factor = 3, 4
predicted = job.prepare[0] + 24 * job.train

# %% wrong: one worker -> card: the trainer waits only once
workers, prefetch_factor = 1, 4
predicted = simulate(job.prepare, [job.train] * 24, workers=1, prefetch_factor=4).makespan

# %% wrong: torch's default, two ahead -> card: a larger prefetch_factor
workers, prefetch_factor = 3, 2
predicted = simulate(job.prepare, [job.train] * 24, workers=3, prefetch_factor=2).makespan

# %% wrong: a worker too many -> card: no worker too many
workers, prefetch_factor = 4, 3
predicted = simulate(job.prepare, [job.train] * 24, workers=4, prefetch_factor=3).makespan

# %% wrong: more than the memory holds -> card: the settings fit the memory
workers, prefetch_factor = 8, 8
predicted = simulate(job.prepare, [job.train] * 24, workers=8, prefetch_factor=8).makespan

# %% wrong: the serial time as the prediction -> card: the serial time
workers, prefetch_factor = 3, 4
predicted = sum(job.prepare) + 24 * job.train

# %% wrong: without the first wait -> card: the prediction is the line's own
workers, prefetch_factor = 3, 4
predicted = 24 * job.train

# %% wrong: half a worker -> card: a whole number
workers, prefetch_factor = 2.5, 4
predicted = 300
