"""pipeline.waits"""

# %% right: reference
line = simulate(uneven.prepare, uneven.train)
waits = [(start - wait, start) for start, wait in zip(line.train_start, line.waits) if wait > 0]

# %% right: by hand, as lists
waits = []
ready = free = 0
for p in uneven.prepare:
    ready += p
    if ready > free:
        waits.append([free, ready])
    free = max(ready, free) + uneven.train

# %% wrong: without the first wait -> card: the first wait is there
line = simulate(uneven.prepare, uneven.train)
waits = [(start - wait, start) for start, wait in zip(line.train_start, line.waits) if wait > 0][1:]

# %% wrong: lengths instead of intervals -> card: two times for each wait
line = simulate(uneven.prepare, uneven.train)
waits = [wait for wait in line.waits if wait > 0]

# %% wrong: each batch on its own -> card: as if nothing had been prepared ahead
waits, now = [], 0
for i, p in enumerate(uneven.prepare):
    wait = p if i == 0 else max(0, p - uneven.train)
    if wait:
        waits.append((now, now + wait))
    now += wait + uneven.train

# %% wrong: waits of no length kept -> card: start < end
line = simulate(uneven.prepare, uneven.train)
waits = [(start - wait, start) for start, wait in zip(line.train_start, line.waits)]

# %% wrong: the train times -> card: the first wait is there
line = simulate(uneven.prepare, uneven.train)
waits = list(zip(line.train_start, line.train_end))

# %% wrong: the prepare times -> card: that is the prepare intervals
line = simulate(uneven.prepare, uneven.train)
waits = list(zip(line.prepare_start, line.prepare_end))

# %% wrong: in the wrong order -> card: the waits follow one another
line = simulate(uneven.prepare, uneven.train)
waits = [(start - wait, start) for start, wait in zip(line.train_start, line.waits) if wait > 0][::-1]

# %% wrong: the last one forgotten -> card: every wait ends when a batch is ready
line = simulate(uneven.prepare, uneven.train)
waits = [(start - wait, start) for start, wait in zip(line.train_start, line.waits) if wait > 0][:-1]
