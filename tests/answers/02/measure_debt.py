"""measure.debt"""

# %% right: reference
def debt(read_only, train_only, both, warmup):
    def a_batch(done):
        return (done[-1] - done[warmup - 1]) / (len(done) - warmup)

    read, train, whole = a_batch(read_only), a_batch(train_only), a_batch(both)
    supply = max(0, read - train)
    return {"debt": whole - train, "supply": supply, "interference": whole - train - supply}

# %% right: means of the gaps
def debt(read_only, train_only, both, warmup):
    r, t, b = (
        statistics.mean(y - x for x, y in zip(done[warmup - 1:], done[warmup:])) for done in (read_only, train_only, both)
    )
    return {"debt": b - t, "supply": r - t if r > t else 0.0, "interference": b - max(r, t)}

# %% wrong: with the warm-up -> card: that counts the warm-up
def debt(read_only, train_only, both, warmup):
    r, t, b = (done[-1] / len(done) for done in (read_only, train_only, both))
    return {"debt": b - t, "supply": max(0, r - t), "interference": b - max(r, t)}

# %% wrong: the median of the gaps -> card: several workers deliver in bursts
def debt(read_only, train_only, both, warmup):
    r, t, b = (
        statistics.median(y - x for x, y in zip(done[warmup - 1:], done[warmup:])) for done in (read_only, train_only, both)
    )
    return {"debt": b - t, "supply": max(0, r - t), "interference": b - t - max(0, r - t)}

# %% wrong: the whole pass -> card: all the time after the warm-up, not ms a batch
def debt(read_only, train_only, both, warmup):
    r, t, b = (done[-1] - done[warmup - 1] for done in (read_only, train_only, both))
    return {"debt": b - t, "supply": max(0, r - t), "interference": b - t - max(0, r - t)}

# %% wrong: against reading -> card: what is longer than training
def debt(read_only, train_only, both, warmup):
    r, t, b = ((done[-1] - done[warmup - 1]) / (len(done) - warmup) for done in (read_only, train_only, both))
    supply = max(0, r - t)
    return {"debt": b - r, "supply": supply, "interference": b - r - supply}

# %% wrong: a negative supply -> card: then all of it can be hidden
def debt(read_only, train_only, both, warmup):
    r, t, b = ((done[-1] - done[warmup - 1]) / (len(done) - warmup) for done in (read_only, train_only, both))
    return {"debt": b - t, "supply": r - t, "interference": b - r}

# %% wrong: parts that don't add up -> card: is not debt
def debt(read_only, train_only, both, warmup):
    r, t, b = ((done[-1] - done[warmup - 1]) / (len(done) - warmup) for done in (read_only, train_only, both))
    return {"debt": b - t, "supply": max(0, r - t), "interference": b - t}

# %% wrong: one number -> card: a number for each of
def debt(read_only, train_only, both, warmup):
    return both[-1] - train_only[-1]

# %% wrong: a slice starts at the first batch that counts -> card: leaves out one batch too many
def debt(read_only, train_only, both, warmup):
    def a_batch(done):
        d = done[warmup:]
        return (d[-1] - d[0]) / (len(d) - 1)

    r, t, b = a_batch(read_only), a_batch(train_only), a_batch(both)
    return {"debt": b - t, "supply": max(0, r - t), "interference": b - t - max(0, r - t)}

# %% wrong: the same slice, divided by all its batches -> card: but that batch is still counted
def debt(read_only, train_only, both, warmup):
    r, t, b = ((done[-1] - done[warmup]) / len(done[warmup:]) for done in (read_only, train_only, both))
    return {"debt": b - t, "supply": max(0, r - t), "interference": b - t - max(0, r - t)}

# %% wrong: the last batch of the warm-up is counted -> card: divided by one batch too many
def debt(read_only, train_only, both, warmup):
    r, t, b = ((done[-1] - done[warmup - 1]) / len(done[warmup - 1:]) for done in (read_only, train_only, both))
    return {"debt": b - t, "supply": max(0, r - t), "interference": b - t - max(0, r - t)}
