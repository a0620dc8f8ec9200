"""pipeline.makespan"""

# %% right: reference
serial = steady.batches * (steady.prepare + steady.train)
overlapped = simulate(steady.prepare, steady.train, batches=steady.batches).makespan

# %% right: by the slower stage
n, p, c = steady.batches, steady.prepare, steady.train
serial = n * p + n * c
overlapped = p + (n - 1) * max(p, c) + c

# %% wrong: the two change places -> card: did the two change places
overlapped = steady.batches * (steady.prepare + steady.train)
serial = simulate(steady.prepare, steady.train, batches=steady.batches).makespan

# %% wrong: one overlap too many -> card: one overlap too many
n, p, c = steady.batches, steady.prepare, steady.train
serial = n * (p + c)
overlapped = serial - n * min(p, c)

# %% wrong: all overlaps as if the faster stage set the pace -> card: the slower stage does all its work
n, p, c = steady.batches, steady.prepare, steady.train
serial = n * (p + c)
overlapped = n * min(p, c) + max(p, c)

# %% wrong: the first wait twice -> card: first wait counted twice
serial = steady.batches * (steady.prepare + steady.train)
overlapped = simulate(steady.prepare, steady.train, batches=steady.batches).makespan + steady.prepare

# %% wrong: serial for one batch -> card: never slower
serial = steady.prepare + steady.train
overlapped = simulate(steady.prepare, steady.train, batches=steady.batches).makespan

# %% wrong: nothing overlaps -> card: the serial time
serial = steady.batches * (steady.prepare + steady.train)
overlapped = serial

# %% wrong: words -> card: both answers are numbers
serial = "a lot"
overlapped = "less"
