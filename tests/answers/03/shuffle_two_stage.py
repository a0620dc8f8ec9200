"""shuffle.two_stage"""

# %% right: reference
import random


def two_stage(shards, buffer, seed, epoch):
    rng = random.Random(f"{seed}/{epoch}")
    order = list(shards)
    rng.shuffle(order)
    held, out = [], []
    for shard in order:
        for sample in shard:
            held.append(sample)
            if len(held) == buffer:
                out.append(held.pop(rng.randrange(buffer)))
    rng.shuffle(held)
    return out + held

# %% right: replace in place
import random


def two_stage(shards, buffer, seed, epoch):
    rng = random.Random(1_000_003 * seed + epoch)
    places = rng.sample(range(len(shards)), len(shards))
    stream = [sample for place in places for sample in shards[place]]
    held, out = stream[: buffer - 1], []
    for sample in stream[buffer - 1 :]:
        place = rng.randrange(len(held) + 1)
        if place < len(held):
            held[place], sample = sample, held[place]
        out.append(sample)
    return out + rng.sample(held, len(held))

# %% right: by chunks
import random


def two_stage(shards, buffer, seed, epoch):
    rng = random.Random(repr((seed, epoch)))
    order = sorted(shards, key=lambda shard: rng.random())
    stream = [sample for shard in order for sample in shard]
    out = []
    for start in range(0, len(stream), buffer):
        chunk = stream[start : start + buffer]
        rng.shuffle(chunk)
        out += chunk
    return out

# %% wrong: the rest of the buffer is lost -> card: what is still in the buffer
import random


def two_stage(shards, buffer, seed, epoch):
    rng = random.Random(f"{seed}/{epoch}")
    order = list(shards)
    rng.shuffle(order)
    held, out = [], []
    for shard in order:
        for sample in shard:
            held.append(sample)
            if len(held) == buffer:
                out.append(held.pop(rng.randrange(buffer)))
    return out

# %% wrong: shards in stored order -> card: the first stage is missing
import random


def two_stage(shards, buffer, seed, epoch):
    rng = random.Random(f"{seed}/{epoch}")
    held, out = [], []
    for shard in shards:
        for sample in shard:
            held.append(sample)
            if len(held) == buffer:
                out.append(held.pop(rng.randrange(buffer)))
    rng.shuffle(held)
    return out + held

# %% wrong: a full shuffle -> card: with a buffer of 1 there is nothing to draw from
import random


def two_stage(shards, buffer, seed, epoch):
    flat = [sample for shard in shards for sample in shard]
    random.Random(f"{seed}/{epoch}").shuffle(flat)
    return flat

# %% wrong: a full shuffle, but for a buffer of 1 -> card: a full shuffle needs them all in memory
import random


def two_stage(shards, buffer, seed, epoch):
    rng = random.Random(f"{seed}/{epoch}")
    order = list(shards)
    rng.shuffle(order)
    flat = [sample for shard in order for sample in shard]
    if buffer > 1:
        rng.shuffle(flat)
    return flat

# %% wrong: the buffer is never used -> card: the buffer is hardly used
import random


def two_stage(shards, buffer, seed, epoch):
    rng = random.Random(f"{seed}/{epoch}")
    order = list(shards)
    rng.shuffle(order)
    return [sample for shard in order for sample in shard]

# %% wrong: the epoch doesn't count -> card: six epochs in the same order
import random


def two_stage(shards, buffer, seed, epoch):
    rng = random.Random(seed)
    order = list(shards)
    rng.shuffle(order)
    held, out = [], []
    for shard in order:
        for sample in shard:
            held.append(sample)
            if len(held) == buffer:
                out.append(held.pop(rng.randrange(buffer)))
    rng.shuffle(held)
    return out + held

# %% wrong: no seed at all -> card: another order in the second call
import random


def two_stage(shards, buffer, seed, epoch):
    rng = random.Random()
    order = list(shards)
    rng.shuffle(order)
    held, out = [], []
    for shard in order:
        for sample in shard:
            held.append(sample)
            if len(held) == buffer:
                out.append(held.pop(rng.randrange(buffer)))
    rng.shuffle(held)
    return out + held

# %% wrong: shards stay lists -> card: as one flat list
import random


def two_stage(shards, buffer, seed, epoch):
    order = list(shards)
    random.Random(f"{seed}/{epoch}").shuffle(order)
    return order
