"""bucketing.batches"""

# %% right: reference
import random


def buckets(lengths, batch_size, pool, seed):
    order = list(range(len(lengths)))
    random.Random(seed).shuffle(order)
    batches = []
    for i in range(0, len(order), batch_size * pool):
        part = sorted(order[i : i + batch_size * pool], key=lambda one: lengths[one])
        batches += [part[j : j + batch_size] for j in range(0, len(part), batch_size)]
    return batches

# %% right: longest first
import random


def buckets(lengths, batch_size, pool, seed):
    rng = random.Random(f"pools {seed}")
    left = rng.sample(range(len(lengths)), len(lengths))
    batches = []
    while left:
        part, left = left[: batch_size * pool], left[batch_size * pool :]
        part.sort(key=lambda one: (lengths[one], one))
        cut = [part[j : j + batch_size] for j in range(0, len(part), batch_size)]
        batches += cut[::-1]
    return batches

# %% right: batches of a pool shuffled
import random


def buckets(lengths, batch_size, pool, seed):
    rng = random.Random(seed)
    order = list(range(len(lengths)))
    rng.shuffle(order)
    batches = []
    for i in range(0, len(order), batch_size * pool):
        part = sorted(order[i : i + batch_size * pool], key=lengths.__getitem__)
        cut = [part[j : j + batch_size] for j in range(0, len(part), batch_size)]
        rng.shuffle(cut)
        batches += cut
    return batches

# %% wrong: everything sorted -> card: the pools hold the same samples in every epoch
def buckets(lengths, batch_size, pool, seed):
    order = sorted(range(len(lengths)), key=lambda one: lengths[one])
    return [order[i : i + batch_size] for i in range(0, len(order), batch_size)]

# %% wrong: no sorting -> card: neighbours in length belong together
import random


def buckets(lengths, batch_size, pool, seed):
    order = list(range(len(lengths)))
    random.Random(seed).shuffle(order)
    return [order[i : i + batch_size] for i in range(0, len(order), batch_size)]

# %% wrong: a pool of so many samples -> card: a pool holds pool * batch_size samples
import random


def buckets(lengths, batch_size, pool, seed):
    order = list(range(len(lengths)))
    random.Random(seed).shuffle(order)
    batches = []
    for i in range(0, len(order), pool):
        part = sorted(order[i : i + pool], key=lambda one: lengths[one])
        batches += [part[j : j + batch_size] for j in range(0, len(part), batch_size)]
    return batches

# %% wrong: the last samples left out -> card: are the last samples
import random


def buckets(lengths, batch_size, pool, seed):
    order = list(range(len(lengths)))
    random.Random(seed).shuffle(order)
    batches = []
    for i in range(0, len(order), batch_size * pool):
        part = sorted(order[i : i + batch_size * pool], key=lambda one: lengths[one])
        batches += [part[j : j + batch_size] for j in range(0, len(part) - batch_size + 1, batch_size)]
    return batches

# %% wrong: lengths in the batches -> card: these are lengths, not numbers
import random


def buckets(lengths, batch_size, pool, seed):
    order = list(lengths)
    random.Random(seed).shuffle(order)
    batches = []
    for i in range(0, len(order), batch_size * pool):
        part = sorted(order[i : i + batch_size * pool])
        batches += [part[j : j + batch_size] for j in range(0, len(part), batch_size)]
    return batches

# %% wrong: not by the seed -> card: other batches in the second call
import random


def buckets(lengths, batch_size, pool, seed):
    order = list(range(len(lengths)))
    random.shuffle(order)
    batches = []
    for i in range(0, len(order), batch_size * pool):
        part = sorted(order[i : i + batch_size * pool], key=lambda one: lengths[one])
        batches += [part[j : j + batch_size] for j in range(0, len(part), batch_size)]
    return batches
