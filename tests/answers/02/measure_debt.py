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

# %% wrong: the whole pass -> card: the whole pass, not a batch
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
