"""sharding.batch_shard"""

# %% right: reference
def my_batches(samples, batch_size, ranks, rank, even_batches, drop_last):
    total = samples
    if drop_last:
        total = samples // (batch_size * ranks) * batch_size * ranks
    elif even_batches:
        total = -(-samples // (batch_size * ranks)) * batch_size * ranks
    ids = [i % samples for i in range(total)]
    batches = [ids[i : i + batch_size] for i in range(0, total, batch_size)]
    return batches[rank::ranks]

# %% right: round by round
from itertools import cycle, islice


def my_batches(samples, batch_size, ranks, rank, even_batches, drop_last):
    stream, left, mine = cycle(range(samples)), samples, []
    while left > 0:
        size = batch_size * ranks
        if left < size and drop_last:
            break
        if left < size and not even_batches:
            size = left
        round_ids = list(islice(stream, size))
        batch = round_ids[rank * batch_size : (rank + 1) * batch_size]
        if batch:
            mine.append(batch)
        left -= size
    return mine

# %% wrong: neighbouring batches -> card: deals whole batches out in turn
def my_batches(samples, batch_size, ranks, rank, even_batches, drop_last):
    round_size = batch_size * ranks
    total = samples // round_size * round_size if drop_last else -(-samples // round_size) * round_size
    if not (drop_last or even_batches):
        total = samples
    ids = [i % samples for i in range(total)]
    batches = [ids[i : i + batch_size] for i in range(0, total, batch_size)]
    counts = [len(batches[r::ranks]) for r in range(ranks)]
    start = sum(counts[:rank])
    return batches[start : start + counts[rank]]

# %% wrong: single samples, as torch deals -> card: equal steps wherever
def my_batches(samples, batch_size, ranks, rank, even_batches, drop_last):
    ids = list(range(samples))[rank::ranks]
    return [ids[i : i + batch_size] for i in range(0, len(ids), batch_size)]

# %% wrong: single samples, filled up as torch does -> card: here a batch stays whole
def my_batches(samples, batch_size, ranks, rank, even_batches, drop_last):
    total = samples // ranks * ranks if drop_last else -(-samples // ranks) * ranks
    ids = [i % samples for i in range(total)][rank::ranks]
    return [ids[i : i + batch_size] for i in range(0, len(ids), batch_size)]

# %% wrong: the short batch stays short -> card: it is filled up before others are borrowed
def my_batches(samples, batch_size, ranks, rank, even_batches, drop_last):
    batches = [list(range(i, min(i + batch_size, samples))) for i in range(0, samples, batch_size)]
    whole = samples // (batch_size * ranks) * ranks
    if drop_last:
        batches = batches[:whole]
    elif even_batches:
        batches += [batches[i % len(batches)] for i in range(-len(batches) % ranks)]
    return batches[rank::ranks]

# %% wrong: drops the short batch alone -> card: equal steps wherever
def my_batches(samples, batch_size, ranks, rank, even_batches, drop_last):
    total = samples
    if drop_last:
        total = samples // batch_size * batch_size
    elif even_batches:
        total = -(-samples // (batch_size * ranks)) * batch_size * ranks
    ids = [i % samples for i in range(total)]
    return [ids[i : i + batch_size] for i in range(0, total, batch_size)][rank::ranks]

# %% wrong: always evens -> card: even_batches makes no difference
def my_batches(samples, batch_size, ranks, rank, even_batches, drop_last):
    round_size = batch_size * ranks
    total = samples // round_size * round_size if drop_last else -(-samples // round_size) * round_size
    ids = [i % samples for i in range(total)]
    return [ids[i : i + batch_size] for i in range(0, total, batch_size)][rank::ranks]

# %% wrong: one list of ids -> card: each rank gets a list of batches
def my_batches(samples, batch_size, ranks, rank, even_batches, drop_last):
    return list(range(samples))[rank::ranks]

# %% wrong: fills up with the last sample -> card: the batches are accelerate's
def my_batches(samples, batch_size, ranks, rank, even_batches, drop_last):
    total = samples
    if drop_last:
        total = samples // (batch_size * ranks) * batch_size * ranks
    elif even_batches:
        total = -(-samples // (batch_size * ranks)) * batch_size * ranks
    ids = [min(i, samples - 1) for i in range(total)]
    return [ids[i : i + batch_size] for i in range(0, total, batch_size)][rank::ranks]
