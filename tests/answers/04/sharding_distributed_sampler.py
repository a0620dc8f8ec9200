"""sharding.distributed_sampler"""

# %% right: reference
def my_share(samples, ranks, rank, drop_last):
    total = samples // ranks * ranks if drop_last else -(-samples // ranks) * ranks
    ids = [i % samples for i in range(total)]
    return ids[rank::ranks]

# %% right: by arithmetic alone
def my_share(samples, ranks, rank, drop_last):
    size, over = divmod(samples, ranks)
    if over and not drop_last:
        size += 1
    return [(rank + turn * ranks) % samples for turn in range(size)]

# %% right: fills the list step by step
import torch


def my_share(samples, ranks, rank, drop_last):
    ids = list(range(samples))
    if drop_last:
        ids = ids[: len(ids) - len(ids) % ranks]
    while len(ids) % ranks:
        ids += ids[: min(ranks - len(ids) % ranks, samples)]
    return torch.tensor(ids, dtype=torch.int64)[rank::ranks]

# %% wrong: nothing is filled up -> card: the others wait for it
def my_share(samples, ranks, rank, drop_last):
    return list(range(samples))[rank::ranks]

# %% wrong: always cut -> card: no sample is left out
def my_share(samples, ranks, rank, drop_last):
    return list(range(samples // ranks * ranks))[rank::ranks]

# %% wrong: neighbouring blocks -> card: like cards
def my_share(samples, ranks, rank, drop_last):
    total = samples // ranks * ranks if drop_last else -(-samples // ranks) * ranks
    ids = [i % samples for i in range(total)]
    size = total // ranks
    return ids[rank * size : (rank + 1) * size]

# %% wrong: the last id again -> card: torch borrows from the start of the list
def my_share(samples, ranks, rank, drop_last):
    total = samples // ranks * ranks if drop_last else -(-samples // ranks) * ranks
    return [min(i, samples - 1) for i in range(total)][rank::ranks]

# %% wrong: goes round only once -> card: as many ids as the others
def my_share(samples, ranks, rank, drop_last):
    total = samples // ranks * ranks if drop_last else -(-samples // ranks) * ranks
    ids = list(range(samples))
    ids = ids[:total] + ids[: total - samples] if total > samples else ids[:total]
    return ids[rank::ranks]

# %% wrong: drop_last is not looked at -> card: with drop_last
def my_share(samples, ranks, rank, drop_last):
    total = -(-samples // ranks) * ranks
    return [i % samples for i in range(total)][rank::ranks]

# %% wrong: a round too many -> card: no more is borrowed
def my_share(samples, ranks, rank, drop_last):
    total = samples // ranks * ranks if drop_last else (samples // ranks + 1) * ranks
    return [i % samples for i in range(total)][rank::ranks]

# %% wrong: a number -> card: a list of ids
def my_share(samples, ranks, rank, drop_last):
    return samples // ranks
