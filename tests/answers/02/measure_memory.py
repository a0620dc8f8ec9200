"""measure.memory"""

# %% right: reference
batch = ahead.batch_size * 3 * ahead.side**2 * 4 / 2**20
held = (ahead.workers * ahead.prefetch_factor + 1) * batch
factor = int((ahead.shm / batch - 1) // ahead.workers)

# %% right: tried upwards
batch = ahead.batch_size * 3 * ahead.side * ahead.side * 4 / 1024 / 1024
held = round((ahead.workers * ahead.prefetch_factor + 1) * batch, 2)
factor = 1
while (ahead.workers * (factor + 1) + 1) * batch <= ahead.shm:
    factor += 1

# %% wrong: without the batch in training -> card: without the batch that is being trained on
batch = ahead.batch_size * 3 * ahead.side**2 * 4 / 2**20
held = ahead.workers * ahead.prefetch_factor * batch
factor = int((ahead.shm / batch - 1) // ahead.workers)

# %% wrong: prefetch_factor in all -> card: it counts for each worker
batch = ahead.batch_size * 3 * ahead.side**2 * 4 / 2**20
held = (ahead.prefetch_factor + 1) * batch
factor = int((ahead.shm / batch - 1) // ahead.workers)

# %% wrong: one byte a number -> card: a float32 takes 4
batch = ahead.batch_size * 3 * ahead.side**2 / 2**20
held = (ahead.workers * ahead.prefetch_factor + 1) * batch
factor = int((ahead.shm / batch - 1) // ahead.workers)

# %% wrong: one batch -> card: that is one batch
held = ahead.batch_size * 3 * ahead.side**2 * 4 / 2**20
factor = 1

# %% wrong: a factor that doesn't fit -> card: the largest one with which all of it
batch = ahead.batch_size * 3 * ahead.side**2 * 4 / 2**20
held = (ahead.workers * ahead.prefetch_factor + 1) * batch
factor = int((ahead.shm / batch - 1) // ahead.workers) + 1

# %% wrong: the factor for all workers together -> card: batches in all, not for each worker
batch = ahead.batch_size * 3 * ahead.side**2 * 4 / 2**20
held = (ahead.workers * ahead.prefetch_factor + 1) * batch
factor = int(ahead.shm / batch) - 1

# %% wrong: words -> card: a number for held
held, factor = "much", 2
