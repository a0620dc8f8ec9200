"""sharding.split"""

# %% right: reference
def my_slices(samples, batch_size, ranks, rank, even_batches, drop_last):
    total = samples
    if drop_last:
        total = samples // batch_size * batch_size
    elif even_batches:
        total = -(-samples // batch_size) * batch_size
    ids = [i % samples for i in range(total)]
    share = batch_size // ranks
    batches = [ids[i : i + batch_size] for i in range(0, total, batch_size)]
    slices = [batch[rank * share : (rank + 1) * share] for batch in batches]
    return [one for one in slices if one]

# %% right: a round of small batches
def my_slices(samples, batch_size, ranks, rank, even_batches, drop_last):
    share = batch_size // ranks
    mine = []
    for start in range(rank * share, samples + batch_size, batch_size):
        whole = start - rank * share
        if whole >= samples or (drop_last and whole + batch_size > samples):
            break
        end = start + share if even_batches else min(start + share, samples)
        if end > start:
            mine.append([i % samples for i in range(start, end)])
    return mine

# %% wrong: batches as large as before -> card: the ranks share the batch
def my_slices(samples, batch_size, ranks, rank, even_batches, drop_last):
    total = samples
    if drop_last:
        total = samples // (batch_size * ranks) * batch_size * ranks
    elif even_batches:
        total = -(-samples // (batch_size * ranks)) * batch_size * ranks
    ids = [i % samples for i in range(total)]
    return [ids[i : i + batch_size] for i in range(0, total, batch_size)][rank::ranks]

# %% wrong: every ranks-th sample of a batch -> card: a piece of neighbours
def my_slices(samples, batch_size, ranks, rank, even_batches, drop_last):
    total = samples
    if drop_last:
        total = samples // batch_size * batch_size
    elif even_batches:
        total = -(-samples // batch_size) * batch_size
    ids = [i % samples for i in range(total)]
    batches = [ids[i : i + batch_size] for i in range(0, total, batch_size)]
    return [batch[rank::ranks] for batch in batches if batch[rank::ranks]]

# %% wrong: the last batch in equal pieces -> card: as dispatch does
def my_slices(samples, batch_size, ranks, rank, even_batches, drop_last):
    mine = []
    for start in range(0, samples, batch_size):
        size = min(batch_size, samples - start)
        if size < batch_size and drop_last:
            break
        share = -(-size // ranks)
        mine.append([(start + rank * share + i) % samples for i in range(share)])
    return [[one for one in batch] for batch in mine]

# %% wrong: empty slices stay -> card: an empty batch
def my_slices(samples, batch_size, ranks, rank, even_batches, drop_last):
    total = samples // batch_size * batch_size if drop_last else samples
    if even_batches and not drop_last:
        total = -(-samples // batch_size) * batch_size
    ids = [i % samples for i in range(total)]
    share = batch_size // ranks
    return [ids[i : min(i + share, total)] for i in range(rank * share, total + batch_size, batch_size)]

# %% wrong: whole batches of the slice's size, with their rounds -> card: even_batches
def my_slices(samples, batch_size, ranks, rank, even_batches, drop_last):
    total = -(-samples // batch_size) * batch_size
    ids = [i % samples for i in range(total)]
    share = batch_size // ranks
    batches = [ids[i : i + batch_size] for i in range(0, total, batch_size)]
    if drop_last:
        batches = batches[: samples // batch_size]
    return [batch[rank * share : (rank + 1) * share] for batch in batches]

# %% wrong: keeps the tail although drop_last -> card: the batches are accelerate's with split_batches
def my_slices(samples, batch_size, ranks, rank, even_batches, drop_last):
    total = -(-samples // batch_size) * batch_size if even_batches or drop_last else samples
    ids = [i % samples for i in range(total)]
    share = batch_size // ranks
    batches = [ids[i : i + batch_size] for i in range(0, total, batch_size)]
    return [batch[rank * share : (rank + 1) * share] for batch in batches if batch[rank * share :]]
